/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses numbers with units of time as in systemd.time(7), for time_text.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number as written, before its unit is known. */
struct decimal {
	uint64_t whole;
	const char *fraction; /* its digits; borrowed from the text */
	size_t fraction_size;
};

/* Parses "12", "12.5" or ".5" and moves `at` past it. False: no number, or too great. */
bool decimal_parse(const char **at, struct decimal *ret_decimal);

/*
 * Adds the number of units of `unit_ns`, at most a year, to `*ns`. False, with `*ns` untouched:
 * overflow.
 */
bool decimal_add(uint64_t *ns, const struct decimal *decimal, uint64_t unit_ns);

/* Parses the whole text. Returns NULL, or the reason why it is not a duration. */
const char *duration_text_parse(const char *text, uint64_t *ret_ns);
