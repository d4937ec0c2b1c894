/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/duration_text.h"

#include "base/array.h"

#include <string.h>

#define USEC_NS	  UINT64_C(1000)
#define MSEC_NS	  (1000 * USEC_NS)
#define SECOND_NS (1000 * MSEC_NS)
#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS	  (60 * MINUTE_NS)
#define DAY_NS	  (24 * HOUR_NS)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " \t");
}

static bool find_unit(const char *name, size_t size, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", SECOND_NS },
		{ "s", SECOND_NS },
		{ "sec", SECOND_NS },
		{ "second", SECOND_NS },
		{ "seconds", SECOND_NS },
		{ "m", MINUTE_NS },
		{ "min", MINUTE_NS },
		{ "minute", MINUTE_NS },
		{ "minutes", MINUTE_NS },
		{ "h", HOUR_NS },
		{ "hr", HOUR_NS },
		{ "hour", HOUR_NS },
		{ "hours", HOUR_NS },
		{ "d", DAY_NS },
		{ "day", DAY_NS },
		{ "days", DAY_NS },
		{ "w", 7 * DAY_NS },
		{ "week", 7 * DAY_NS },
		{ "weeks", 7 * DAY_NS },
		{ "M", 2629800 * SECOND_NS },
		{ "month", 2629800 * SECOND_NS },
		{ "months", 2629800 * SECOND_NS },
		{ "y", 31557600 * SECOND_NS },
		{ "year", 31557600 * SECOND_NS },
		{ "years", 31557600 * SECOND_NS },
		{ "ms", MSEC_NS },
		{ "msec", MSEC_NS },
		{ "us", USEC_NS },
		{ "usec", USEC_NS },
		{ "\xc2\xb5s", USEC_NS }, /* the micro sign, and the Greek letter */
		{ "\xce\xbcs", USEC_NS },
		{ "ns", 1 },
		{ "nsec", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].name) == size && memcmp(units[i].name, name, size) == 0) {
			*ret_ns = units[i].ns;
			return true;
		}
	return false;
}

bool decimal_parse(const char **at, struct decimal *ret_decimal)
{
	struct decimal decimal = { 0 };
	const char *start = *at;

	for (; is_digit(**at); (*at)++)
		if (__builtin_mul_overflow(decimal.whole, 10, &decimal.whole) ||
			__builtin_add_overflow(
				decimal.whole, (uint64_t)(**at - '0'), &decimal.whole))
			return false;
	if (**at == '.') {
		decimal.fraction = ++*at;
		while (is_digit(**at))
			(*at)++;
		decimal.fraction_size = (size_t)(*at - decimal.fraction);
		if (decimal.fraction_size == 0)
			return false;
	}
	*ret_decimal = decimal;
	return *at > start;
}

bool decimal_add(uint64_t *ns, const struct decimal *decimal, uint64_t unit_ns)
{
	uint64_t sum;

	if (__builtin_mul_overflow(decimal->whole, unit_ns, &sum) ||
		__builtin_add_overflow(sum, *ns, &sum))
		return false;
	for (size_t i = 0; i < decimal->fraction_size; i++) {
		/* The greatest unit leaves room for a digit; what is left of it becomes finer. */
		uint64_t digit = (uint64_t)(decimal->fraction[i] - '0');

		if (__builtin_add_overflow(sum, digit * unit_ns / 10, &sum))
			return false;
		unit_ns /= 10;
	}
	*ns = sum;
	return true;
}

const char *duration_text_parse(const char *text, uint64_t *ret_ns)
{
	const char *at = skip_spaces(text);
	uint64_t ns = 0, unit_ns;

	if (!*at)
		return "it is not understood";
	while (*at) {
		struct decimal decimal;
		size_t size;

		if (!decimal_parse(&at, &decimal) || *at == '.')
			return "it is not understood";
		at = skip_spaces(at);
		size = strcspn(at, " \t.0123456789");
		if (!find_unit(at, size, &unit_ns))
			return "it is not understood";
		if (!decimal_add(&ns, &decimal, unit_ns))
			return "it is too long";
		at = skip_spaces(at + size);
	}
	*ret_ns = ns;
	return NULL;
}
