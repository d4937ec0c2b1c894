/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that a terminal can do what `pilotlight top` needs, by terminfo(5). */
#pragma once

#include <stdbool.h>

/* Are standard input and output a terminal whose cursor can be moved? */
bool top_terminal_can_draw(void);
