/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight top`: what takes the CPUs' time now, on a terminal. */
#pragma once

/* Returns the program's exit status. */
int top_main(int argc, char **argv);
