/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight status`: how the service is, as it tells itself. */
#pragma once

/* Returns the program's exit status. */
int status_main(int argc, char **argv);
