/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pilotlight top` needs of a terminal, as terminfo(5) describes it. */
#pragma once

#include <stdbool.h>

/* Are standard input and output a terminal whose cursor can be moved? */
bool top_terminal_can_draw(void);
