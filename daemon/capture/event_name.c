/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/event_name.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISE_IP_MAX = 3, SYSFS_BYTES = 256 };

/* Primes, so that no loop marches in step. At most some hundred samples a second of a CPU. */
#define PERIOD_CYCLES 10000019ULL
#define PERIOD_OFTEN  1000003ULL
#define PERIOD_MISSES 10007ULL

static const struct generic_event {
	const char *name, *alias;
	uint32_t type;
	uint64_t config, period;
} generic_events[] = {
	/* "cycles" is an event of CPU time in the history. */
	{ "cpu-cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, PERIOD_CYCLES },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERIOD_CYCLES },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
		PERIOD_OFTEN },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, PERIOD_MISSES },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		PERIOD_OFTEN },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERIOD_MISSES },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, PERIOD_OFTEN },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
		PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERIOD_OFTEN },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
		PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERIOD_OFTEN },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, PERIOD_CYCLES },
	{ "page-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 7 },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 7 },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1 },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1 },
	{ "cgroup-switches", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES, 1 },
};

/* CACHE-OPERATION or CACHE-OPERATION-misses; in the kernel's order of numbers. */
static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch",
	"node" };
static const char *const operations[][2] = {
	{ "-loads", "-load-misses" },
	{ "-stores", "-store-misses" },
	{ "-prefetches", "-prefetch-misses" },
};

/* What is being looked up: a part of the user's text. */
struct part {
	const char *text;
	size_t size;
};

static bool is(const struct part *part, const char *name)
{
	return strlen(name) == part->size && strncmp(part->text, name, part->size) == 0;
}

static bool find_generic(
	const struct part *name, struct pilotlight_counted_event *event, uint64_t *period)
{
	for (size_t i = 0; i < ARRAY_SIZE(generic_events); i++) {
		const struct generic_event *one = &generic_events[i];

		if (!is(name, one->name) && (!one->alias || !is(name, one->alias)))
			continue;
		(void)snprintf(event->name, sizeof(event->name), "%s", one->name);
		event->type = one->type;
		event->config = one->config;
		*period = one->period;
		return true;
	}
	return false;
}

static bool find_cache(
	const struct part *name, struct pilotlight_counted_event *event, uint64_t *period)
{
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		size_t size = strlen(caches[i]);
		const struct part rest = { name->text + size, name->size - size };

		if (name->size <= size || strncmp(name->text, caches[i], size) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(operations); j++)
			for (size_t is_miss = 0; is_miss < 2; is_miss++)
				if (is(&rest, operations[j][is_miss])) {
					event->type = PERF_TYPE_HW_CACHE;
					event->config = i | j << 8 | is_miss << 16;
					*period = is_miss ? PERIOD_MISSES : PERIOD_OFTEN;
					return true;
				}
	}
	return false;
}

/* rNNN: the PMU's own number, in hexadecimal digits. */
static bool find_raw(
	const struct part *name, struct pilotlight_counted_event *event, uint64_t *period)
{
	uint64_t config = 0;

	if (name->size < 2 || name->size > 17 || name->text[0] != 'r')
		return false;
	for (size_t i = 1; i < name->size; i++) {
		unsigned char digit = (unsigned char)name->text[i];

		if (!isxdigit(digit))
			return false;
		config = config << 4 |
			 (uint64_t)(isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
	}
	event->type = PERF_TYPE_RAW;
	event->config = config;
	*period = PERIOD_OFTEN;
	return true;
}

static bool read_line(const char *folder, const char *path, char line[SYSFS_BYTES])
{
	_cleanup_fclose_ FILE *file = NULL;
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%s/%s", folder, path) >= (int)sizeof(whole))
		return false;
	file = fopen(whole, "re");
	if (!file || !fgets(line, SYSFS_BYTES, file))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* Puts the value's bits where the format says: "config:0-7,32-35". */
static bool place_bits(const char *format, uint64_t value, struct pilotlight_counted_event *event)
{
	const char *next = strchr(format, ':');
	uint64_t *field = strncmp(format, "config:", 7) == 0	? &event->config
			  : strncmp(format, "config1:", 8) == 0 ? &event->config1
								: NULL;

	if (!field)
		return false;
	do {
		unsigned first, last;
		int count = sscanf(next + 1, "%u-%u", &first, &last);

		if (count == 1)
			last = first;
		if (count < 1 || first > last || last > 63)
			return false;
		for (unsigned bit = first; bit <= last; bit++, value >>= 1)
			*field |= (value & 1) << bit;
		next = strchr(next + 1, ',');
	} while (next);
	return value == 0;
}

/* A term "umask=0x1", or "edge", which is 1. */
static bool place_term(
	const char *pmu, const char *term, size_t size, struct pilotlight_counted_event *event)
{
	char path[SYSFS_BYTES], format[SYSFS_BYTES];
	size_t name_size = strcspn(term, "=");
	uint64_t value = 1;

	if (name_size < size)
		value = strtoull(term + name_size + 1, NULL, 0);
	else
		name_size = size;
	if (snprintf(path, sizeof(path), "format/%.*s", (int)name_size, term) >= (int)sizeof(path))
		return false;
	return read_line(pmu, path, format) && place_bits(format, value, event);
}

/* An event that the kernel names: "event=0x3c,umask=0x1". */
static bool find_listed(const struct part *name, const char *pmu,
	struct pilotlight_counted_event *event, uint64_t *period)
{
	char path[SYSFS_BYTES], terms[SYSFS_BYTES], type[SYSFS_BYTES];
	struct pilotlight_counted_event found = *event;

	if (memchr(name->text, '/', name->size) || memchr(name->text, '.', name->size) ||
		snprintf(path, sizeof(path), "events/%.*s", (int)name->size, name->text) >=
			(int)sizeof(path) ||
		!read_line(pmu, path, terms) || !read_line(pmu, "type", type))
		return false;
	/* The host opens no other PMU. */
	if (strtoul(type, NULL, 10) != PERF_TYPE_RAW)
		return false;
	found.type = PERF_TYPE_RAW;
	for (const char *term = terms; *term;) {
		size_t size = strcspn(term, ",");

		if (!place_term(pmu, term, size, &found))
			return false;
		term += size + (term[size] == ',');
	}
	*event = found;
	*period = PERIOD_OFTEN;
	return true;
}

/* "u", "k" and up to three "p", as after "instructions:". */
static bool take_modifiers(const char *text, struct pilotlight_counted_event *event)
{
	bool wants_user = false, wants_kernel = false;

	if (!*text)
		return false;
	for (; *text; text++) {
		wants_user |= *text == 'u';
		wants_kernel |= *text == 'k';
		event->precise_ip += *text == 'p';
		if (!strchr("ukp", *text))
			return false;
	}
	event->excludes_user = wants_kernel && !wants_user;
	event->excludes_kernel = wants_user && !wants_kernel;
	return event->precise_ip <= PRECISE_IP_MAX;
}

static bool is_word(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return size > 0;
}

static bool find_tracepoint(const char *name, struct pilotlight_counted_event *event)
{
	size_t size = strcspn(name, ":");

	if (!name[size] || !is_word(name, size) ||
		!is_word(name + size + 1, strlen(name + size + 1)))
		return false;
	event->kind = PILOTLIGHT_COUNTED_TRACEPOINT;
	return true;
}

/* Events of the PMU or of the kernel's software. Returns 0; -ENOENT: there is none; -EINVAL: its
 * modifiers are wrong. */
static int find_perf(
	const char *name, const char *pmu, struct pilotlight_counted_event *event, uint64_t *period)
{
	const struct part part = { name, strcspn(name, ":") };
	const char *modifiers = name + part.size;
	size_t size;

	if (!find_generic(&part, event, period) && !find_cache(&part, event, period) &&
		!find_raw(&part, event, period) && !find_listed(&part, pmu, event, period))
		return -ENOENT;
	event->kind = PILOTLIGHT_COUNTED_PERF;
	if (*modifiers && !take_modifiers(modifiers + 1, event))
		return -EINVAL;
	size = strlen(event->name);
	if (size == 0)
		(void)snprintf(event->name, sizeof(event->name), "%s", name);
	else
		(void)snprintf(event->name + size, sizeof(event->name) - size, "%s", modifiers);
	return 0;
}

int event_name_find(const char *name, const char *pmu, struct pilotlight_counted_event *ret_event,
	uint64_t *ret_period, struct fault *fault)
{
	struct pilotlight_counted_event event = { 0 };
	uint64_t period = 1;
	int r;

	if (strlen(name) >= sizeof(event.name))
		return fault_set(fault, -EINVAL,
			"the name of the event '%.80s' is longer than %zu characters", name,
			sizeof(event.name) - 1);
	r = find_perf(name, pmu, &event, &period);
	if (r == -ENOENT && find_tracepoint(name, &event)) {
		(void)snprintf(event.name, sizeof(event.name), "%s", name);
		r = 0;
	}
	if (r < 0)
		return fault_set(fault, -EINVAL, "there is no event '%s'", name);
	*ret_event = event;
	*ret_period = period;
	return 0;
}
