/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_events.h"

#include "base/array.h"
#include "base/event_source.h"
#include "base/fault.h"
#include "capture/event_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A service samples for ever: what is shorter costs more than it tells. */
#define PERIOD_NS_MIN 100000ULL

static const char separators[] = ", \t";

static int invalid(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int invalid(char *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(reason, CONFIG_REASON_BYTES, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Cuts "/period=N/" off. Returns false if something else follows the name. */
static bool take_period(char *name, uint64_t *ret_period)
{
	static const char key[] = "/period=";
	char *slash = strchr(name, '/'), *end;

	if (!slash)
		return true;
	if (strncmp(slash, key, sizeof(key) - 1) != 0 || slash[sizeof(key) - 1] < '0' ||
		slash[sizeof(key) - 1] > '9')
		return false;
	errno = 0;
	*ret_period = strtoull(slash + sizeof(key) - 1, &end, 10);
	*slash = '\0';
	return errno == 0 && strcmp(end, "/") == 0 && *ret_period > 0;
}

static int check_source(enum pilotlight_source i, uint64_t period, char *reason)
{
	const struct event_source *source = &event_sources[i];
	uint64_t least = source->least_period;

	if (source->service_period == 0 && i != PILOTLIGHT_SOURCE_CPU)
		return invalid(reason,
			"cannot be sampled by the service: use `pilotlight record -e %s`",
			source->name);
	if (event_source_unit(source) == EVENT_UNIT_TIME && least < PERIOD_NS_MIN)
		least = PERIOD_NS_MIN;
	if (period && (period < least || period > source->greatest_period))
		return invalid(reason,
			"has a period that is out of range: write %" PRIu64 " to %" PRIu64 " %s",
			least, source->greatest_period, source->unit);
	return 0;
}

static int add_sources(
	struct config_events *events, uint32_t sources, uint64_t period, char *reason)
{
	int r = 0;

	if (period && sources & 1U << PILOTLIGHT_SOURCE_CPU)
		return invalid(reason,
			"has no period of its own: cpu has a rate, FrequencyHz=, and "
			"wall is a sum");
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			r = check_source(i, period, reason);
	if (r < 0)
		return r;
	events->sources |= sources;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			events->periods[i] = period;
	return 0;
}

static int add_counted(
	struct config_events *events, const char *name, uint64_t period, char *reason)
{
	struct counted_limit limit;
	size_t i = 0;

	if (strncmp(name, "usdt:", strlen("usdt:")) == 0)
		return invalid(reason,
			"cannot be sampled by the service: use `pilotlight record -e %.64s`", name);
	if (event_name_find(name, EVENT_NAME_PMU, &limit.event, &limit.least_period, NULL) < 0)
		return invalid(reason,
			"is no event: write names as `pilotlight events` lists them, events of "
			"perf "
			"such as cache-misses, or tracepoints such as sched:sched_process_exec");
	if (period > event_sources[PILOTLIGHT_SOURCE_COUNTED].greatest_period)
		return invalid(reason, "has a period that is out of range: write 1 to %" PRIu64,
			event_sources[PILOTLIGHT_SOURCE_COUNTED].greatest_period);
	if (period)
		limit.least_period = period;
	while (i < events->counted_count &&
		strcmp(events->counted[i].event.name, limit.event.name) != 0)
		i++;
	if (i == ARRAY_SIZE(events->counted))
		return invalid(reason, "is one too many: write at most %zu events of perf",
			ARRAY_SIZE(events->counted));
	events->counted[i] = limit;
	if (i == events->counted_count)
		events->counted_count++;
	return 0;
}

int config_events_add(
	struct config_events *events, const char *text, char reason[CONFIG_REASON_BYTES])
{
	char name[2 * PILOTLIGHT_EVENT_NAME_BYTES];
	const char *unknown;
	uint64_t period = 0;
	uint32_t sources;

	if (snprintf(name, sizeof(name), "%s", text) >= (int)sizeof(name))
		return invalid(reason, "is no event: it is too long");
	if (!take_period(name, &period))
		return invalid(reason, "is no event: only /period=N/ may follow a name");
	if (event_source_parse_set(name, separators, &sources, &unknown) && sources)
		return add_sources(events, sources, period, reason);
	return add_counted(events, name, period, reason);
}

static int add_names(struct config_events *events, const char *text, char *reason)
{
	int r = 0;

	for (text += strspn(text, separators); r == 0 && *text; text += strspn(text, separators)) {
		char name[2 * PILOTLIGHT_EVENT_NAME_BYTES], why[CONFIG_REASON_BYTES] = "";
		size_t size = strcspn(text, separators);

		if (size >= sizeof(name))
			return invalid(reason, "has no event in '%.100s': it is too long", text);
		memcpy(name, text, size);
		name[size] = '\0';
		r = config_events_add(events, name, why);
		if (r < 0)
			return invalid(reason,
				"has no event in '%.64s', which %.160s; or write cheap, all or "
				"none",
				name, why);
		text += size;
	}
	return r;
}

/* Of perf and tracepoints, each is to be named: some come a million times a second. */
static uint32_t all_sources(void)
{
	uint32_t sources = 0;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		sources |= event_source_is_counted(i) ? 0 : 1U << i;
	return sources;
}

int config_events_parse_allowed(
	const char *text, struct config_events *ret_events, char reason[CONFIG_REASON_BYTES])
{
	struct config_events events = { 0 };
	int r = 0;

	if (strcmp(text, "cheap") == 0)
		events.sources = event_source_cheap();
	else if (strcmp(text, "all") == 0)
		events.sources = all_sources();
	else if (strcmp(text, "none") != 0)
		r = add_names(&events, text, reason);
	if (r == 0)
		*ret_events = events;
	return r;
}

void config_events_read(const struct config *config, struct config_events *ret_events)
{
	char reason[CONFIG_REASON_BYTES];

	*ret_events = (struct config_events){ 0 };
	for (size_t i = 0; i < config->events.count; i++)
		(void)config_events_add(ret_events, config->events.items[i], reason);
}

void config_events_read_allowed(const struct config *config, struct config_events *ret_events)
{
	char reason[CONFIG_REASON_BYTES];

	*ret_events = (struct config_events){ 0 };
	(void)config_events_parse_allowed(config->allow_events, ret_events, reason);
}
