/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight record`: profiles now, without a daemon, and leaves one file. */
#pragma once

/* Returns the program's exit status; that of the recorded command, if there is one and all went
 * well. */
int record_main(int argc, char **argv);
