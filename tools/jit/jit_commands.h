/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of `pilotlight jit`. */
#pragma once

#include "tools/command.h"

extern const struct command jit_list, jit_dump, jit_symbols, jit_verify, jit_tail;
