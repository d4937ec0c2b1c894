/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight jit`: code that virtual machines generate, and what they write of it. */
#pragma once

/* Returns the program's exit status. */
int jit_main(int argc, char **argv);
