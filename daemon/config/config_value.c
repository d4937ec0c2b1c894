/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/fault.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "capture/cgroup_choice.h"
#include "config/address.h"
#include "config/config_events.h"
#include "config/config_knob.h"
#include "query/function_metric.h"
#include "query/function_pattern.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* Decimal digits of a percentage in parts per million: 1 ppm is 0.0001 %. */
enum { PPM_DIGITS = 4, PPM_OF_PERCENT = 10000 };

enum { HOST_NAME_BYTES_MAX = 253 }; /* RFC 1035 */

/* Of sinks. All headers, and the longest URL with its path, fit the request to a sender; all labels
 * the parameters of a query. */
enum {
	SINK_LIST_MAX = 16,
	URL_BYTES = 1024,
	HEADER_BYTES = 480,
	LABEL_NAME_BYTES = 64,
	LABEL_BYTES = 160,
};

static const char BYTE_UNITS[] = "KMGT";

static int invalid(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int invalid(char *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(reason, CONFIG_REASON_BYTES, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Reads digits and advances `*text`. Returns false if there are none or the number overflows. */
static bool take_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;
	uint64_t number = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return false;
	if (at == *text)
		return false;
	*text = at;
	*ret_number = number;
	return true;
}

static bool parse_bytes(const char *text, uint64_t *ret_bytes)
{
	const char *unit;
	uint64_t bytes;

	if (!take_number(&text, &bytes))
		return false;
	unit = *text ? strchr(BYTE_UNITS, *text) : NULL;
	if (unit) {
		unsigned shift = (unsigned)(unit - BYTE_UNITS + 1) * 10;

		if (bytes > UINT64_MAX >> shift)
			return false;
		bytes <<= shift;
		text++;
	}
	if (*text)
		return false;
	*ret_bytes = bytes;
	return true;
}

static bool parse_percent(const char *text, uint64_t *ret_ppm)
{
	uint64_t whole, ppm;
	unsigned unit = PPM_OF_PERCENT;

	if (!take_number(&text, &whole) || __builtin_mul_overflow(whole, unit, &ppm))
		return false;
	if (*text == '.') {
		text++;
		for (int i = 0; i < PPM_DIGITS && *text >= '0' && *text <= '9'; i++, text++) {
			unit /= 10;
			ppm += unit * (uint64_t)(*text - '0');
		}
	}
	if (*text && strcmp(text, "%") != 0)
		return false;
	*ret_ppm = ppm;
	return true;
}

static bool parse_hz(const char *text, uint64_t *ret_hz)
{
	uint64_t hz;

	if (!take_number(&text, &hz) || (*text && strcmp(text, "Hz") != 0))
		return false;
	*ret_hz = hz;
	return true;
}

static bool parse_count(const char *text, uint64_t *ret_count)
{
	uint64_t count;

	if (!take_number(&text, &count) || *text)
		return false;
	*ret_count = count;
	return true;
}

static bool parse_duration(const char *text, uint64_t *ret_ns)
{
	return time_text_parse_duration(text, ret_ns, NULL) == 0;
}

/* How to parse, format and describe one kind of number. */
struct number_kind {
	bool (*parse)(const char *text, uint64_t *ret_number);
	void (*format)(uint64_t number, char text[TIME_TEXT_BYTES]);
	const char *remedy;
};

static void format_bytes(uint64_t bytes, char text[TIME_TEXT_BYTES])
{
	unsigned units = 0;

	while (units < sizeof(BYTE_UNITS) - 1 && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		units++;
	}
	if (units > 0)
		(void)snprintf(
			text, TIME_TEXT_BYTES, "%" PRIu64 "%c", bytes, BYTE_UNITS[units - 1]);
	else
		(void)snprintf(text, TIME_TEXT_BYTES, "%" PRIu64, bytes);
}

static void format_duration(uint64_t ns, char text[TIME_TEXT_BYTES])
{
	(void)time_text_format_duration(ns, text);
}

static void format_percent(uint64_t ppm, char text[TIME_TEXT_BYTES])
{
	(void)snprintf(text, TIME_TEXT_BYTES, "%g", (double)ppm / PPM_OF_PERCENT);
}

static void format_count(uint64_t count, char text[TIME_TEXT_BYTES])
{
	(void)snprintf(text, TIME_TEXT_BYTES, "%" PRIu64, count);
}

static const struct number_kind number_kinds[] = {
	[CONFIG_BYTES] = { parse_bytes, format_bytes,
		"is not a number of bytes: write digits and K, M, G or T, such as 64M" },
	[CONFIG_DURATION] = { parse_duration, format_duration,
		"is not a duration: write a number and ms, s, min, h or d, such as 10s" },
	[CONFIG_NUMBER] = { parse_count, format_count, "is not a number: write digits" },
	[CONFIG_HZ] = { parse_hz, format_count,
		"is not a frequency: write a number of samples a second, such as 99" },
	[CONFIG_PERCENT] = { parse_percent, format_percent,
		"is not a percentage: write a number with four decimals at most, such as 0.15" },
};

static int set_number(
	const struct config_knob *knob, const char *text, uint64_t *field, char *reason)
{
	const struct number_kind *kind = &number_kinds[knob->kind];
	char least[TIME_TEXT_BYTES], most[TIME_TEXT_BYTES];
	uint64_t number;

	if (!kind->parse(text, &number))
		return invalid(reason, "%s", kind->remedy);
	if (number < knob->least || number > knob->most) {
		kind->format(knob->least, least);
		kind->format(knob->most, most);
		return invalid(reason, "is out of range: write %s to %s", least, most);
	}
	*field = number;
	return 0;
}

static int set_boolean(const char *text, bool *field, char *reason)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1",
		"n", "y", "f", "t" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(text, words[i]) == 0) {
			*field = i % 2;
			return 0;
		}
	return invalid(reason, "is not a boolean: write yes or no");
}

static bool is_choice(const char *choices, const char *text)
{
	size_t size = strlen(text);

	while (*choices) {
		size_t word = strcspn(choices, " ");

		if (word == size && memcmp(choices, text, size) == 0)
			return true;
		choices += word;
		choices += strspn(choices, " ");
	}
	return false;
}

static int check_socket(const char *text, char *reason)
{
	const struct sockaddr_un *address = NULL;

	if (!*text)
		return 0;
	if (*text != '/')
		return invalid(reason, "is not an absolute path: write one that starts with '/'");
	if (text[strlen(text) - 1] == '/')
		return invalid(reason, "is a folder: write the path of a socket in it");
	if (strlen(text) >= sizeof(address->sun_path))
		return invalid(reason, "is too long for a socket path: write at most %zu bytes",
			sizeof(address->sun_path) - 1);
	return 0;
}

static int check_secret(const char *text, char *reason)
{
	if (*text == '/' ? strlen(text) < PATH_MAX
			 : !strpbrk(text, "/ \t") && strlen(text) < NAME_MAX)
		return 0;
	return invalid(reason, "is neither an absolute path nor the name of a credential: write "
			       "one of them");
}

static int check_url(const char *text, char *reason)
{
	const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
			   : strncmp(text, "http://", 7) == 0 ? text + 7
							      : "";

	if (!*text)
		return 0;
	if (strlen(text) >= URL_BYTES)
		return invalid(reason, "is too long: write at most %d bytes", URL_BYTES - 1);
	/* The path of the protocol is appended. */
	return *host && *host != '/' && !strpbrk(host, "?# \t")
		       ? 0
		       : invalid(reason, "is not the address of a receiver: write http:// or "
					 "https://, a host and maybe a port");
}

static int check_events(const char *text, char *reason)
{
	struct config_events events;

	return config_events_parse_allowed(text, &events, reason);
}

/* The list as a whole: there is room for some events of perf. */
static int check_event(const struct config_list *list, const char *text, char *reason)
{
	struct config_events events = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = config_events_add(&events, list->items[i], reason);
	if (r == 0)
		r = config_events_add(&events, text, reason);
	if (r == 0 && events.counted_count > PILOTLIGHT_COUNTED_EVENTS)
		return invalid(reason, "is one too many: write at most %d events of perf",
			PILOTLIGHT_COUNTED_EVENTS);
	return r;
}

/* Checks the syntax only. config_check_group() checks existence: the default needs no group. */
static int check_group(const char *text, char *reason)
{
	if (!*text || strpbrk(text, " \t:,/"))
		return invalid(reason, "is not a group name: write one, such as adm");
	return 0;
}

static int check_pattern(const char *text, char *reason)
{
	struct fault fault = { 0 };
	regex_t pattern;
	int r = *text ? function_pattern_compile(text, &pattern, &fault) : 0;

	if (r == -EINVAL)
		return invalid(reason, "is not a regular expression: %.*s",
			CONFIG_REASON_BYTES - 40, fault.text);
	if (r == 0 && *text)
		regfree(&pattern);
	return r;
}

static int check_text(const struct config_knob *knob, const char *text, char *reason)
{
	switch (knob->kind) {
	case CONFIG_CHOICE:
		return is_choice(knob->choices, text)
			       ? 0
			       : invalid(reason, "is not a valid choice: write one of %s",
					 knob->choices);
	case CONFIG_EVENTS:
		return check_events(text, reason);
	case CONFIG_SOCKET:
		return check_socket(text, reason);
	case CONFIG_SECRET:
		return check_secret(text, reason);
	case CONFIG_PATTERN:
		return check_pattern(text, reason);
	case CONFIG_URL:
		return check_url(text, reason);
	default:
		return check_group(text, reason);
	}
}

static int set_text(const struct config_knob *knob, const char *text, char **field, char *reason)
{
	bool is_yes = false;
	char *copy;
	int r;

	/* These were booleans: "on", "true" and "1" stay valid. */
	if (knob->kind == CONFIG_CHOICE && is_choice(knob->choices, "yes") &&
		set_boolean(text, &is_yes, reason) == 0)
		text = is_yes ? "yes" : "no";
	r = check_text(knob, text, reason);
	if (r < 0)
		return r;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int check_host_name(const char *text, char *reason)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-._";
	size_t size = strspn(text, characters);

	if (size > 0 && size <= HOST_NAME_BYTES_MAX && !text[size] && text[0] != '.')
		return 0;
	return invalid(reason, "is not a host name: write one without a port, such as "
			       "profiles.example.org");
}

static int check_rule(const char *text, char *reason)
{
	struct cgroup_choice choice = { .count = 0 };
	struct fault fault = { 0 };

	if (cgroup_choice_add(&choice, text, false, &fault) == 0)
		return 0;
	/* It begins with the value, which the problem names already. */
	return invalid(reason, "%.*s", CONFIG_REASON_BYTES - 1,
		strchr(fault.text + 1, '\'') ? strchr(fault.text + 1, '\'') + 2 : fault.text);
}

static int check_select(const char *text, char *reason)
{
	_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
	const char *colon = strchr(text, ':');
	struct fault fault = { 0 };
	char name[32];
	int r;

	if (!colon || (size_t)(colon - text) >= sizeof(name))
		return invalid(reason, "is not a selection: write what and a value, such as "
				       "unit:nginx.service");
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	r = function_metric_new(&metric);
	if (r == 0)
		r = function_metric_select(metric, name, colon + 1, &fault);
	return r < 0 && r != -ENOMEM ? invalid(reason, "is not a selection: %.*s",
					       CONFIG_REASON_BYTES - 40, fault.text)
				     : r;
}

/* A field of HTTP: RFC 9110. */
static int check_header(const char *text, char *reason)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789!#$%&'*+-.^_`|~";
	size_t name = strspn(text, characters);

	for (const char *at = text; *at; at++)
		if ((*at < ' ' || *at > '~') && *at != '\t')
			name = 0;
	if (name == 0 || text[name] != ':' || !text[name + 1] || strlen(text) >= HEADER_BYTES)
		return invalid(reason, "is not a header: write Name: value, such as "
				       "X-Scope-OrgID: team");
	return 0;
}

/* The encoders set these; a receiver would see two. */
static const char *const reserved_labels[] = { "service.name", "container.id", "k8s.pod.uid",
	"host.name", "host.id", "os.type" };

static int check_label(const char *text, char *reason)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._-/";
	size_t name = strspn(text, characters), size = strlen(text);

	if (name == 0 || text[name] != '=' || !text[name + 1] || name >= LABEL_NAME_BYTES ||
		size >= LABEL_BYTES)
		return invalid(reason, "is not a label: write name=value, such as "
				       "deployment.environment=test");
	for (size_t i = name; i < size; i += utf8_shown(text + i, size - i))
		if (utf8_shown(text + i, size - i) == 0 || text[i] == ',')
			return invalid(reason,
				"has a value with a comma, or one that is not UTF-8: write "
				"another one");
	for (size_t i = 0; i < ARRAY_SIZE(reserved_labels); i++)
		if (strlen(reserved_labels[i]) == name &&
			memcmp(reserved_labels[i], text, name) == 0)
			return invalid(reason, "is set by the service: choose another name");
	return 0;
}

static int check_item(const struct config_knob *knob, const char *text, char *reason)
{
	struct address address;
	struct fault fault = { 0 };
	const char *host;

	if (knob->kind == CONFIG_ADDRESSES) {
		if (address_parse(text, &address, &fault) < 0)
			return invalid(reason, "is not an address with a port: write numbers, such "
					       "as 127.0.0.1:7447 or [::1]:7447");
		return 0;
	}
	if (knob->kind == CONFIG_HOSTS)
		return check_host_name(text, reason);
	if (knob->kind == CONFIG_CGROUPS)
		return check_rule(text, reason);
	if (knob->kind == CONFIG_SELECT)
		return check_select(text, reason);
	if (knob->kind == CONFIG_HEADERS)
		return check_header(text, reason);
	if (knob->kind == CONFIG_LABELS)
		return check_label(text, reason);
	host = strncmp(text, "https://", 8) == 0  ? text + 8
	       : strncmp(text, "http://", 7) == 0 ? text + 7
						  : "";
	return *host && *host != '/'
		       ? 0
		       : invalid(reason,
				 "is not a server URL: write http:// or https:// and a host");
}

/* Include= and Exclude= are one choice. */
static size_t list_max(const struct config_knob *knob)
{
	switch (knob->kind) {
	case CONFIG_CGROUPS:
		return CGROUP_RULES_MAX / 2;
	case CONFIG_SELECT:
		return CONFIG_METRIC_SELECT_MAX;
	case CONFIG_HEADERS:
	case CONFIG_LABELS:
		return SINK_LIST_MAX;
	default:
		return CONFIG_LIST_MAX;
	}
}

static int add_item(
	const struct config_knob *knob, const char *text, struct config_list *list, char *reason)
{
	_cleanup_free_ char *copy = NULL;
	size_t capacity = list->count;
	int r = knob->kind == CONFIG_EVENT_LIST ? check_event(list, text, reason)
						: check_item(knob, text, reason);

	if (r < 0)
		return r;
	if (list->count == list_max(knob))
		return invalid(reason, "exceeds the limit of the list: write at most %zu entries",
			list_max(knob));
	copy = strdup(text);
	if (!copy || ARRAY_RESERVE(list->items, &capacity, list->count + 1, CONFIG_LIST_MAX) < 0)
		return -ENOMEM;
	list->items[list->count++] = TAKE_PTR(copy);
	return 0;
}

int config_knob_set(const struct config_knob *knob, const char *text, void *owner,
	char reason[CONFIG_REASON_BYTES])
{
	void *field = (char *)owner + knob->offset;

	switch (knob->kind) {
	case CONFIG_BYTES:
	case CONFIG_DURATION:
	case CONFIG_NUMBER:
	case CONFIG_HZ:
	case CONFIG_PERCENT:
		return set_number(knob, text, field, reason);
	case CONFIG_BOOLEAN:
		return set_boolean(text, field, reason);
	case CONFIG_CHOICE:
	case CONFIG_EVENTS:
	case CONFIG_GROUP:
	case CONFIG_SOCKET:
	case CONFIG_SECRET:
	case CONFIG_PATTERN:
	case CONFIG_URL:
		return set_text(knob, text, field, reason);
	case CONFIG_ADDRESSES:
	case CONFIG_HOSTS:
	case CONFIG_URLS:
	case CONFIG_CGROUPS:
	case CONFIG_SELECT:
	case CONFIG_HEADERS:
	case CONFIG_LABELS:
	case CONFIG_EVENT_LIST:
		return add_item(knob, text, field, reason);
	}
	return -EINVAL;
}

static void clear_list(struct config_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct config_list){ 0 };
}

void config_knob_clear(const struct config_knob *knob, void *owner)
{
	void *field = (char *)owner + knob->offset;

	if (config_knob_is_list(knob)) {
		clear_list(field);
	} else if (knob->kind == CONFIG_CHOICE || knob->kind == CONFIG_EVENTS ||
		   knob->kind == CONFIG_GROUP || knob->kind == CONFIG_SOCKET ||
		   knob->kind == CONFIG_SECRET || knob->kind == CONFIG_PATTERN ||
		   knob->kind == CONFIG_URL) {
		free(*(char **)field);
		*(char **)field = NULL;
	}
}
