/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/counted_event.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PRECISE_IP_MAX = 3 };

/* Printable, and zeros behind it. */
static bool is_name(const char name[PILOTLIGHT_EVENT_NAME_BYTES])
{
	size_t size = strnlen(name, PILOTLIGHT_EVENT_NAME_BYTES);

	if (size == 0 || size == PILOTLIGHT_EVENT_NAME_BYTES)
		return false;
	for (size_t i = 0; i < PILOTLIGHT_EVENT_NAME_BYTES; i++)
		if (i < size ? name[i] <= ' ' || name[i] > '~' || strchr("/\"\\", name[i])
			     : name[i] != '\0')
			return false;
	return true;
}

static bool is_word(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return size > 0;
}

/* Has it a name, and nothing that only events of perf have? */
static bool is_name_alone(const struct pilotlight_counted_event *event)
{
	return event->type == 0 && event->config == 0 && event->config1 == 0 &&
	       !event->excludes_user && !event->excludes_kernel && !event->precise_ip;
}

static bool is_tracepoint(const struct pilotlight_counted_event *event)
{
	size_t size = strcspn(event->name, ":");

	return event->name[size] && is_word(event->name, size) &&
	       is_word(event->name + size + 1, strlen(event->name + size + 1)) &&
	       is_name_alone(event);
}

bool counted_event_is_software(uint64_t config)
{
	switch (config) {
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CPU_MIGRATIONS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
	case PERF_COUNT_SW_CGROUP_SWITCHES:
		return true;
	default:
		return false;
	}
}

static bool is_perf(const struct pilotlight_counted_event *event)
{
	if (event->excludes_user > 1 || event->excludes_kernel > 1 ||
		event->precise_ip > PRECISE_IP_MAX)
		return false;
	switch (event->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return true;
	case PERF_TYPE_SOFTWARE:
		return counted_event_is_software(event->config) && event->config1 == 0;
	default:
		return false;
	}
}

bool counted_event_is_valid(const struct pilotlight_counted_event *event)
{
	static const struct pilotlight_counted_event none = { 0 };

	switch ((enum pilotlight_counted_kind)event->kind) {
	case PILOTLIGHT_COUNTED_NONE:
		return memcmp(event, &none, sizeof(none)) == 0;
	case PILOTLIGHT_COUNTED_PERF:
		return is_name(event->name) && is_perf(event);
	case PILOTLIGHT_COUNTED_TRACEPOINT:
		return is_name(event->name) && is_tracepoint(event);
	case PILOTLIGHT_COUNTED_PROBE:
		return is_name(event->name) && is_name_alone(event);
	case PILOTLIGHT_COUNTED_KINDS:
		break;
	}
	return false;
}

bool counted_event_is_of_locks(const struct pilotlight_counted_event *event)
{
	return event->kind == PILOTLIGHT_COUNTED_TRACEPOINT &&
	       strncmp(event->name, "lock:", strlen("lock:")) == 0;
}

/* The kernel's number of a tracepoint. */
static int read_id(const char *tracing, const char *name, uint64_t *ret_id)
{
	int size = (int)strcspn(name, ":");
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", tracing, size, name,
		    name + size + 1) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	return fscanf(file, "%" SCNu64, ret_id) == 1 ? 0 : -EBADMSG;
}

int counted_event_describe(const struct pilotlight_counted_event *event, uint64_t period,
	const char *tracing, struct perf_event_attr *ret_attr)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.sample_period = period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.exclude_user = event->excludes_user,
		.exclude_kernel = event->excludes_kernel,
		/* As perf: with a modifier, the hypervisor is not meant. */
		.exclude_hv = event->excludes_user || event->excludes_kernel,
		.exclude_guest = event->type != PERF_TYPE_SOFTWARE,
		.precise_ip = event->precise_ip,
		/* Else BPF gets no stack of a precise event. */
		.sample_type = event->precise_ip ? PERF_SAMPLE_CALLCHAIN : 0,
		.disabled = 1,
	};
	uint64_t id = 0;
	int r = 0;

	if (event->kind == PILOTLIGHT_COUNTED_TRACEPOINT) {
		r = read_id(tracing, event->name, &id);
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = id;
		attr.exclude_guest = 0;
		/* The program runs at each, whatever the period. */
		attr.sample_period = 1;
	}
	if (r == 0)
		*ret_attr = attr;
	return r;
}
