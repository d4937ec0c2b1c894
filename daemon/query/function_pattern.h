/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pattern for names of functions: a POSIX extended regular expression, found anywhere in the
 * name, case-sensitive. Back-references are refused: with them the time of a match is not bounded.
 * The pattern is the administrator's, the names are anybody's, 1 KiB long at most.
 */
#pragma once

#include "base/fault.h"

#include <regex.h>
#include <stdbool.h>

enum { FUNCTION_PATTERN_BYTES_MAX = 256 };

/*
 * Returns 0; -EINVAL with `fault`: "at character 5: Unmatched ( or \(", counted from 1 in bytes; or
 * -ENOMEM. After 0 the caller releases the pattern by regfree().
 */
int function_pattern_compile(const char *text, regex_t *ret_pattern, struct fault *fault);

bool function_pattern_matches(const regex_t *pattern, const char *name);
