/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of `pilotlight kmem`. */
#pragma once

#include "tools/command.h"

extern const struct command kmem_report, kmem_trace, kmem_read;
