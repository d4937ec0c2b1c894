/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units of time, as systemd.time(7) has them: what time_text.h is made of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number as it is written, for a unit that may come behind it. */
struct decimal {
	uint64_t whole;
	const char *fraction; /* its digits; borrowed from the text */
	size_t fraction_size;
};

/* Takes "12", "12.5" or ".5" off the front. False: there is none, or it is too great. */
bool decimal_take(const char **at, struct decimal *ret_decimal);

/*
 * Adds as many units of `unit_ns`, at most a year, to `*ns`, which is untouched where it would
 * overflow: false.
 */
bool decimal_add(uint64_t *ns, const struct decimal *decimal, uint64_t unit_ns);

/* All of the text. Returns NULL, or in words why it is no duration. */
const char *duration_text_parse(const char *text, uint64_t *ret_ns);
