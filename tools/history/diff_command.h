/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight diff`: what has become more and what less, from one part of the history to another.
 */
#pragma once

/* Returns the program's exit status. */
int diff_main(int argc, char **argv);
