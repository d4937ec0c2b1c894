/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's style and scripts, embedded in the program. The scripts form one module, in this
 * order. */
#pragma once

#include "render/content_source.h"

enum { PAGE_SCRIPTS = 10 };

extern const struct content_part page_style;
extern const struct content_part page_scripts[PAGE_SCRIPTS];
