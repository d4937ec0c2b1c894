/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a stack ends before its root, for the resolver; resolver.h has the reasons and their names.
 */
#pragma once

#include "resolve/resolver.h"

/* The frame that tells it; NULL for a whole stack. A literal. */
const char *resolver_cut_frame(enum resolver_cut cut);

enum resolver_cut resolver_cut_of(enum pilotlight_walk_end end);
