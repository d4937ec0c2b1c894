/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight symbols`: the symbol cache, which names come from. */
#pragma once

/* Returns the program's exit status. */
int symbols_main(int argc, char **argv);
