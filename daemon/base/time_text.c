/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parsers take what they understand off the front of a text and return a reason in words where
 * they do not: NULL is success.
 */
#include "base/time_text.h"

#include "base/array.h"
#include "base/duration_text.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { TEXT_BYTES_MAX = 128 };

static const char not_understood[] = "it is not understood";
static const char out_of_range[] = "it is out of range (1970 to 2554)";

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

static int set_fault(
	struct fault *fault, const char *text, const char *what, const char *why, const char *hint)
{
	char clean[UTF8_CLEAN_BYTES];

	(void)utf8_clean(clean, text, strnlen(text, TEXT_BYTES_MAX));
	return fault_set(fault, -EINVAL, "\"%s\" is no %s: %s; write %s", clean, what, why, hint);
}

int time_text_parse_duration(const char *text, uint64_t *ret_ns, struct fault *fault)
{
	const char *why = strnlen(text, TEXT_BYTES_MAX) < TEXT_BYTES_MAX
				  ? duration_text_parse(text, ret_ns)
				  : not_understood;

	return why ? set_fault(fault, text, "duration", why, "10min, 1h 30min, 2d or 500ms") : 0;
}

/* --- times --- */

enum zone_kind { ZONE_LOCAL, ZONE_FIXED };

struct zone {
	enum zone_kind kind;
	int is_dst;	  /* LOCAL: as in struct tm */
	int64_t offset_s; /* FIXED: east of UTC */
};

/* A time as it is written, in the zone's own terms. */
struct calendar {
	struct tm tm;
	int weekday; /* or -1 */
	uint64_t fraction_ns;
};

/* Does `text` end with `word`, in any case, as a word of its own? Takes it off. */
static bool take_last_word(char *text, const char *word)
{
	size_t size = strlen(text), word_size = strlen(word);
	char *at = text + size - word_size;

	if (word_size == 0 || size <= word_size || strcasecmp(at, word) != 0 ||
		(at[-1] != ' ' && at[-1] != '\t'))
		return false;
	while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	*at = '\0';
	return true;
}

/* Exactly two digits. */
static bool take_pair(const char **at, int *ret_value)
{
	if (!is_digit((*at)[0]) || !is_digit((*at)[1]))
		return false;
	*ret_value = ((*at)[0] - '0') * 10 + (*at)[1] - '0';
	*at += 2;
	return true;
}

/* "+01:00", "-0530", "+02" behind a time of day or a space: in a date, a '-' is none. */
static bool take_offset(char *text, int64_t *ret_offset_s)
{
	char *sign = strrchr(text, '+');
	const char *at;
	int hours, minutes = 0;

	if (!sign)
		sign = strrchr(text, '-');
	if (!sign || sign == text)
		return false;
	if (sign[-1] != ' ' && !memchr(text, ':', (size_t)(sign - text)))
		return false;
	at = sign + 1;
	if (!take_pair(&at, &hours))
		return false;
	if (*at) {
		at += *at == ':';
		if (!take_pair(&at, &minutes))
			return false;
	}
	if (*at || hours > 23 || minutes > 59)
		return false;
	*ret_offset_s = (hours * 60 + minutes) * (*sign == '-' ? -60 : 60);
	while (sign > text && sign[-1] == ' ')
		sign--;
	*sign = '\0';
	return true;
}

static void take_zone(char *text, struct zone *ret_zone)
{
	struct zone zone = { .kind = ZONE_FIXED };
	size_t size = strlen(text);

	*ret_zone = zone;
	if (take_last_word(text, "UTC") || take_last_word(text, "Z") ||
		take_offset(text, &ret_zone->offset_s))
		return;
	if (size > 1 && text[size - 1] == 'Z' && is_digit(text[size - 2])) {
		text[size - 1] = '\0';
		return;
	}
	zone.kind = ZONE_LOCAL;
	zone.is_dst = -1;
	for (int i = 0; i < 2 && zone.is_dst < 0; i++)
		if (take_last_word(text, tzname[i]))
			zone.is_dst = i;
	*ret_zone = zone;
}

/* At most `digits_max` digits, and at least one. */
static bool take_int(const char **at, size_t digits_max, int *ret_value)
{
	size_t digits = 0;
	int value = 0;

	for (; digits < digits_max && is_digit(**at); digits++)
		value = value * 10 + *(*at)++ - '0';
	*ret_value = value;
	return digits > 0;
}

static bool take_separator(const char **at, char separator)
{
	if (**at != separator)
		return false;
	(*at)++;
	return true;
}

static bool is_leap_year(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* "2026-11-20" or, as strptime(3) has it, "26-11-20". */
static const char *take_date(const char **at, struct tm *tm)
{
	const char *start = *at;
	int year, month, day;

	if (!take_int(at, 4, &year))
		return not_understood;
	if (*at - start == 2)
		year += year < 69 ? 2000 : 1900;
	else if (*at - start != 4)
		return not_understood;
	if (!take_separator(at, '-') || !take_int(at, 2, &month) || !take_separator(at, '-') ||
		!take_int(at, 2, &day) || is_digit(**at))
		return not_understood;
	if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
		return "there is no such day";
	if (year < 1900)
		return out_of_range;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return NULL;
}

/* "03:12", "03:12:30", "03:12:30.5" */
static const char *take_time_of_day(const char **at, struct calendar *calendar)
{
	struct decimal seconds = { 0 };
	int hour, minute;

	if (!take_int(at, 2, &hour) || !take_separator(at, ':') || !take_int(at, 2, &minute))
		return not_understood;
	if (take_separator(at, ':') && (!is_digit(**at) || !decimal_parse(at, &seconds)))
		return not_understood;
	/* A leap second is the first one of the next minute. */
	if (hour > 23 || minute > 59 || seconds.whole > 60)
		return "there is no such time of day";
	calendar->tm.tm_hour = hour;
	calendar->tm.tm_min = minute;
	calendar->tm.tm_sec = (int)seconds.whole;
	seconds.whole = 0;
	(void)decimal_add(&calendar->fraction_ns, &seconds, SECOND_NS);
	return NULL;
}

/* A word at the start, with a space or nothing behind it. */
static bool take_first_word(const char **at, const char *word)
{
	size_t size = strlen(word);

	if (strncasecmp(*at, word, size) != 0 || ((*at)[size] && (*at)[size] != ' '))
		return false;
	*at = skip_spaces(*at + size);
	return true;
}

static int take_weekday(const char **at)
{
	static const char *const names[][2] = {
		{ "Sun", "Sunday" },
		{ "Mon", "Monday" },
		{ "Tue", "Tuesday" },
		{ "Wed", "Wednesday" },
		{ "Thu", "Thursday" },
		{ "Fri", "Friday" },
		{ "Sat", "Saturday" },
	};

	for (int day = 0; day < (int)ARRAY_SIZE(names); day++)
		if (take_first_word(at, names[day][0]) || take_first_word(at, names[day][1]))
			return day;
	return -1;
}

static bool take_day_word(const char **at, struct tm *tm)
{
	static const struct {
		const char *word;
		int days;
	} words[] = { { "today", 0 }, { "yesterday", -1 }, { "tomorrow", 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (take_first_word(at, words[i].word)) {
			tm->tm_mday += words[i].days;
			return true;
		}
	return false;
}

/* Begins with the midnight of today in `calendar`. */
static const char *parse_calendar(const char *at, struct calendar *calendar)
{
	const char *why;
	bool has_day;

	calendar->weekday = take_weekday(&at);
	has_day = calendar->weekday < 0 && take_day_word(&at, &calendar->tm);
	if (!has_day && (calendar->weekday >= 0 || at[strspn(at, "0123456789")] != ':')) {
		why = take_date(&at, &calendar->tm);
		if (why)
			return why;
		if ((*at == 'T' || *at == 't') && is_digit(at[1]))
			at++;
		else if (*at && *at != ' ' && *at != '\t')
			return not_understood;
		at = skip_spaces(at);
		has_day = true;
	}
	why = has_day && !*at ? NULL : take_time_of_day(&at, calendar);
	return why ? why : *at ? not_understood : NULL;
}

static bool to_ns(int64_t seconds, uint64_t fraction_ns, uint64_t *ret_ns)
{
	uint64_t ns;

	if (seconds < 0 || __builtin_mul_overflow((uint64_t)seconds, SECOND_NS, &ns) ||
		__builtin_add_overflow(ns, fraction_ns, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

/* `text` loses its zone. */
static const char *parse_day_and_time(char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now_s = (time_t)(now_ns / SECOND_NS);
	struct calendar calendar = { 0 };
	struct zone zone;
	const char *why;
	int64_t seconds;

	tzset();
	take_zone(text, &zone);
	now_s += zone.kind == ZONE_FIXED ? zone.offset_s : 0;
	if (!(zone.kind == ZONE_FIXED ? gmtime_r(&now_s, &calendar.tm)
				      : localtime_r(&now_s, &calendar.tm)))
		return out_of_range;
	calendar.tm.tm_hour = calendar.tm.tm_min = calendar.tm.tm_sec = 0;
	why = parse_calendar(text, &calendar);
	if (why)
		return why;
	calendar.tm.tm_isdst = zone.is_dst;
	seconds = zone.kind == ZONE_FIXED ? timegm(&calendar.tm) : mktime(&calendar.tm);
	if (calendar.weekday >= 0 && calendar.tm.tm_wday != calendar.weekday)
		return "that is another day of the week";
	return to_ns(seconds - zone.offset_s, calendar.fraction_ns, ret_ns) ? NULL : out_of_range;
}

static const char *parse_relative(const char *span, bool is_past, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t ns, result;
	const char *why = duration_text_parse(span, &ns);

	if (why)
		return why;
	if (is_past ? __builtin_sub_overflow(now_ns, ns, &result)
		    : __builtin_add_overflow(now_ns, ns, &result))
		return out_of_range;
	*ret_ns = result;
	return NULL;
}

/* "@1763608320.5" */
static const char *parse_epoch(const char *at, uint64_t *ret_ns)
{
	struct decimal number;
	uint64_t ns = 0;

	if (!decimal_parse(&at, &number) || *at)
		return not_understood;
	if (!decimal_add(&ns, &number, SECOND_NS))
		return out_of_range;
	*ret_ns = ns;
	return NULL;
}

/* `text` is the caller's to destroy. */
static const char *parse_time(char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	if (strcasecmp(text, "now") == 0) {
		*ret_ns = now_ns;
		return NULL;
	}
	if (text[0] == '@')
		return parse_epoch(text + 1, ret_ns);
	if (text[0] == '+' || text[0] == '-')
		return parse_relative(text + 1, text[0] == '-', now_ns, ret_ns);
	if (take_last_word(text, "ago"))
		return parse_relative(text, true, now_ns, ret_ns);
	if (take_last_word(text, "left"))
		return parse_relative(text, false, now_ns, ret_ns);
	return parse_day_and_time(text, now_ns, ret_ns);
}

int time_text_parse(
	const char *text, uint64_t now_ns, uint64_t *ret_realtime_ns, struct fault *fault)
{
	const char *start = skip_spaces(text), *why = not_understood;
	size_t size = strnlen(start, TEXT_BYTES_MAX);
	char copy[TEXT_BYTES_MAX];

	while (size > 0 && (start[size - 1] == ' ' || start[size - 1] == '\t'))
		size--;
	if (size > 0 && size < TEXT_BYTES_MAX) {
		memcpy(copy, start, size);
		copy[size] = '\0';
		why = parse_time(copy, now_ns, ret_realtime_ns);
	}
	return why ? set_fault(fault, text, "time", why,
			     "2026-11-20 03:12, 03:12, yesterday, 10min ago or @1763608320")
		   : 0;
}

/* --- */

const char *time_text_format(uint64_t realtime_ns, char text[TIME_TEXT_BYTES])
{
	time_t seconds = (time_t)(realtime_ns / SECOND_NS);
	struct tm tm;

	tzset();
	if (!localtime_r(&seconds, &tm) ||
		strftime(text, TIME_TEXT_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(text, TIME_TEXT_BYTES, "@%" PRIu64, (uint64_t)seconds);
	return text;
}

const char *time_text_format_duration(uint64_t ns, char text[TIME_TEXT_BYTES])
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "d", DAY_NS }, { "h", HOUR_NS }, { "min", MINUTE_NS }, { "s", SECOND_NS },
		{ "ms", MSEC_NS }, { "us", USEC_NS }, { "ns", 1 } };
	uint64_t next;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (ns < units[i].ns)
			continue;
		next = i + 1 < ARRAY_SIZE(units) ? ns % units[i].ns / units[i + 1].ns : 0;
		if (next > 0)
			(void)snprintf(text, TIME_TEXT_BYTES, "%" PRIu64 "%s %" PRIu64 "%s",
				ns / units[i].ns, units[i].name, next, units[i + 1].name);
		else
			(void)snprintf(text, TIME_TEXT_BYTES, "%" PRIu64 "%s", ns / units[i].ns,
				units[i].name);
		return text;
	}
	(void)snprintf(text, TIME_TEXT_BYTES, "0s");
	return text;
}
