/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the arguments of a USDT probe are, of x86-64: "8@%rdi -4@$7 8@-24(%rbp)". The size before
 * '@' is negative if the argument is signed. The text is hostile (I8).
 */
#pragma once

#include "pilotlight/probe_argument.h"

#include <stdint.h>

enum { USDT_ARGUMENTS_MAX = 3 }; /* of more, the first ones are read */

/*
 * Reads the first arguments. PILOTLIGHT_ARGUMENT_NONE stands for one that is missing, or that is
 * in a way that the encoding cannot tell, such as at an address with an index.
 */
void usdt_arguments_parse(const char *text, uint32_t ret_arguments[USDT_ARGUMENTS_MAX]);
