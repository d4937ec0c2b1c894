/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/count_events.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/event_source.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/capture_probe.h"
#include "capture/counted_event.h"
#include "capture/cpu_list.h"
#include "capture/kernel_cost.h"
#include "capture/lock_programs.h"
#include "capture/perf_event.h"
#include "capture/perf_event_opener.h"
#include "capture/uprobe_event.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing"

/* Of an event that is only tried out. */
#define PERIOD_TRIED 1000003ULL

struct count_event {
	enum pilotlight_source source;
	uint32_t cpu; /* of a probe, the number of its place: it is hit on all CPUs */
	int fd;
	struct bpf_link *link;
	uint64_t enabled_ns;
};

struct count_events {
	struct sampler *programs;
	const struct capture_settings *settings;
	struct perf_event_opener *opener;
	struct count_event *items;
	size_t count, capacity;
};

/* NULL: the source is no event that a user has named. */
static const struct pilotlight_counted_event *counted_of(
	const struct capture_settings *settings, enum pilotlight_source source)
{
	return event_source_is_counted(source)
		       ? &settings->counted[source - PILOTLIGHT_SOURCE_COUNTED]
		       : NULL;
}

static bool has_kind(const struct capture_settings *settings, enum pilotlight_counted_kind kind)
{
	for (size_t i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (settings->counted[i].kind == kind)
			return true;
	return false;
}

/*
 * Where the ring's lock does not detect that it is taken twice, a sample would wait for it for ever
 * (bpf/lock.bpf.h). NULL: the event is no such one.
 */
static const char *lock_reason_of(const struct pilotlight_counted_event *event)
{
	struct lock_support support = { .has_spin_locks = false };

	if (!counted_event_is_of_locks(event))
		return NULL;
	lock_support_read(&support);
	return support.has_spin_locks ? NULL
				      : "before Linux 6.16 a sample at a lock could stop its CPU "
					"for ever; sample the event lock instead";
}

static int check_locks(const struct capture_settings *settings, struct fault *fault)
{
	for (size_t i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++) {
		const char *reason = lock_reason_of(&settings->counted[i]);

		if (reason)
			return fault_set(fault, -EOPNOTSUPP, "cannot count %s: %s",
				settings->counted[i].name, reason);
	}
	return 0;
}

int count_events_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	(void)bpf_program__set_autoload(programs->progs.count_fault,
		amount_programs_has(settings, PILOTLIGHT_SOURCE_FAULTS));
	(void)bpf_program__set_autoload(
		programs->progs.count_event, has_kind(settings, PILOTLIGHT_COUNTED_PERF));
	(void)bpf_program__set_autoload(programs->progs.count_tracepoint,
		has_kind(settings, PILOTLIGHT_COUNTED_TRACEPOINT));
	(void)bpf_program__set_autoload(
		programs->progs.count_probe, has_kind(settings, PILOTLIGHT_COUNTED_PROBE));
	return check_locks(settings, fault);
}

int count_events_new(struct sampler *programs, const struct capture_settings *settings,
	struct perf_event_opener *opener, struct count_events **ret_events)
{
	struct count_events *events = calloc(1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	events->programs = programs;
	events->settings = settings;
	events->opener = opener;
	*ret_events = events;
	return 0;
}

void count_events_free(struct count_events *events)
{
	if (!events)
		return;
	count_events_stop(events);
	free(events->items);
	free(events);
}

static void close_event(struct count_event *event)
{
	if (event->link)
		(void)bpf_link__destroy(event->link);
	else if (event->fd >= 0)
		(void)close(event->fd);
}

static void remove_event(struct count_events *events, size_t i)
{
	close_event(&events->items[i]);
	events->items[i] = events->items[--events->count];
}

void count_events_stop(struct count_events *events)
{
	while (events->count > 0)
		remove_event(events, events->count - 1);
}

static bool has_this_kind(const struct count_events *events, enum pilotlight_source source,
	enum pilotlight_counted_kind kind)
{
	const struct pilotlight_counted_event *counted = counted_of(events->settings, source);

	return counted && counted->kind == kind;
}

/* NULL: the source has no such event. */
static const struct bpf_program *program_of(
	const struct count_events *events, enum pilotlight_source source)
{
	const __typeof__(events->programs->progs) *programs = &events->programs->progs;

	if (!amount_programs_has(events->settings, source))
		return NULL;
	if (has_this_kind(events, source, PILOTLIGHT_COUNTED_TRACEPOINT))
		return programs->count_tracepoint;
	if (has_this_kind(events, source, PILOTLIGHT_COUNTED_PROBE))
		return programs->count_probe;
	if (counted_of(events->settings, source))
		return programs->count_event;
	return source == PILOTLIGHT_SOURCE_FAULTS ? programs->count_fault : NULL;
}

/* `counted` NULL: page faults. */
static int describe(const struct pilotlight_counted_event *counted, uint64_t period,
	struct perf_event_attr *ret_attr)
{
	if (counted)
		return counted_event_describe(counted, period, TRACING, ret_attr);
	*ret_attr = (struct perf_event_attr){
		.size = sizeof(*ret_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};
	return 0;
}

/* Attaching enables it. The program learns from the cookie which source it counts. */
static struct bpf_link *attach(
	const struct count_events *events, enum pilotlight_source source, int fd)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = source);

	if (!counted_of(events->settings, source))
		options.bpf_cookie = 0;
	return bpf_program__attach_perf_event_opts(program_of(events, source), fd, &options);
}

/* A place in the file that the user's own process has opened. */
static int open_place(
	const struct count_events *events, enum pilotlight_source source, uint32_t number)
{
	const struct capture_probe *probe =
		&events->settings->probes[source - PILOTLIGHT_SOURCE_COUNTED];
	char path[32];
	const struct uprobe_place place = {
		.path = path,
		.offset = probe->places[number].offset,
		.semaphore_offset = probe->places[number].semaphore_offset,
	};
	int fd, r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->fd);
	r = uprobe_event_open(&place, &fd);
	return r < 0 ? r : fd;
}

static int open_event(
	const struct count_events *events, enum pilotlight_source source, uint32_t cpu)
{
	struct perf_event_attr attr;
	int r;

	if (has_this_kind(events, source, PILOTLIGHT_COUNTED_PROBE))
		return open_place(events, source, cpu);
	r = describe(
		counted_of(events->settings, source), events->settings->periods[source], &attr);
	return r < 0 ? r : perf_event_opener_open(events->opener, &attr, cpu);
}

static int add_event(struct count_events *events, enum pilotlight_source source, uint32_t cpu)
{
	struct count_event event = { .source = source, .cpu = cpu };
	int r = ARRAY_RESERVE(events->items, &events->capacity, events->count + 1, SIZE_MAX);

	if (r < 0)
		return r;
	event.fd = open_event(events, source, cpu);
	if (event.fd < 0)
		return event.fd;
	event.link = attach(events, source, event.fd);
	if (!event.link) {
		r = -errno;
		close_event(&event);
		return r;
	}
	events->items[events->count++] = event;
	return 0;
}

static bool has_event(
	const struct count_events *events, enum pilotlight_source source, uint32_t cpu)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].source == source && events->items[i].cpu == cpu)
			return true;
	return false;
}

static bool has_cpu(const uint32_t *cpus, size_t count, uint32_t cpu)
{
	for (size_t i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

/* Why an event of perf or a tracepoint cannot be opened; NULL: no other words than the error's. */
static const char *reason_of(const struct pilotlight_counted_event *counted, int error)
{
	if (!counted)
		return NULL;
	if (counted->kind == PILOTLIGHT_COUNTED_TRACEPOINT && error == -ENOENT)
		return "the kernel has no such tracepoint, or tracefs is not mounted at " TRACING;
	if (counted->kind == PILOTLIGHT_COUNTED_PERF && counted->type != PERF_TYPE_SOFTWARE &&
		(error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO || error == -EINVAL))
		return "this machine has no PMU that counts it, like most virtual machines";
	return NULL;
}

static int fault_of(const struct count_events *events, enum pilotlight_source source, int error,
	struct fault *fault)
{
	const struct pilotlight_counted_event *counted = counted_of(events->settings, source);
	const char *name = counted ? counted->name : event_sources[source].title;
	const char *reason = reason_of(counted, error);

	if (error == -EPERM || error == -EACCES)
		return fault_set(fault, error,
			"cannot count %s on each CPU (%s): run as root, or with CAP_PERFMON", name,
			strerror(-error));
	if (reason && counted->kind == PILOTLIGHT_COUNTED_TRACEPOINT)
		return fault_set(fault, error,
			"cannot count %s: %s; `perf list tracepoint` lists them", name, reason);
	if (reason)
		return fault_set(
			fault, error, "cannot count %s (%s): %s", name, strerror(-error), reason);
	if (counted && counted->kind == PILOTLIGHT_COUNTED_PROBE)
		return fault_set(fault, error,
			"cannot set the probe %s (%s): it needs a kernel with "
			"CONFIG_UPROBE_EVENTS, and a file of a program on a disk",
			name, strerror(-error));
	return fault_set(fault, error, "cannot count %s on each CPU: %s", name, strerror(-error));
}

static int add_cpus(struct count_events *events, enum pilotlight_source source,
	const uint32_t *cpus, size_t count, struct fault *fault)
{
	for (size_t i = 0; i < count; i++) {
		int r = has_event(events, source, cpus[i]) ? 0 : add_event(events, source, cpus[i]);

		if (r < 0 && r != -ENODEV)
			return fault_of(events, source, r, fault);
		/* Its program runs on all CPUs, whichever the event is of. */
		if (has_this_kind(events, source, PILOTLIGHT_COUNTED_TRACEPOINT))
			break;
	}
	return 0;
}

static int add_places(
	struct count_events *events, enum pilotlight_source source, struct fault *fault)
{
	const struct capture_probe *probe =
		&events->settings->probes[source - PILOTLIGHT_SOURCE_COUNTED];

	for (uint32_t i = 0; i < probe->count; i++) {
		int r = has_event(events, source, i) ? 0 : add_event(events, source, i);

		if (r < 0)
			return fault_of(events, source, r, fault);
	}
	return 0;
}

/* Does it still count? A CPU that went offline and came back needs a new event. */
static bool is_good(const struct count_events *events, struct count_event *event,
	const uint32_t *cpus, size_t count)
{
	return has_this_kind(events, event->source, PILOTLIGHT_COUNTED_PROBE) ||
	       (has_cpu(cpus, count, event->cpu) &&
		       perf_event_advance(event->fd, &event->enabled_ns));
}

int count_events_set_cpus(
	struct count_events *events, const uint32_t *cpus, size_t count, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; i < events->count;) {
		if (is_good(events, &events->items[i], cpus, count))
			i++;
		else
			remove_event(events, i);
	}
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++) {
		if (!program_of(events, i))
			continue;
		r = has_this_kind(events, i, PILOTLIGHT_COUNTED_PROBE)
			    ? add_places(events, i, fault)
			    : add_cpus(events, i, cpus, count, fault);
	}
	return r;
}

int count_events_find_missing(const struct pilotlight_counted_event *event,
	struct perf_event_opener *opener, char ret_missing[PILOTLIGHT_MISSING_BYTES])
{
	_cleanup_close_ int fd = -1;
	struct perf_event_attr attr;
	const char *reason = event ? lock_reason_of(event) : NULL;
	uint32_t *cpus = NULL;
	int r = 0;

	if (!reason && !(event && event->kind == PILOTLIGHT_COUNTED_PROBE)) {
		r = cpu_list_read_online(&cpus);
		if (r > 0)
			r = describe(event, PERIOD_TRIED, &attr);
		if (r == 0)
			fd = r = perf_event_opener_open(opener, &attr, cpus[0]);
		free(cpus);
	}
	if (!reason && r < 0)
		reason = reason_of(event, r) ? reason_of(event, r) : strerror(-r);
	(void)snprintf(ret_missing, PILOTLIGHT_MISSING_BYTES, "%s", reason ? reason : "");
	return r == -EPERM || r == -EACCES ? r : 0;
}

void count_events_add_cost(const struct sampler *programs, uint64_t *ns)
{
	const struct bpf_program *const counted[] = {
		programs->progs.count_fault,
		programs->progs.count_event,
		programs->progs.count_tracepoint,
		programs->progs.count_probe,
	};

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		kernel_cost_add_program(bpf_program__fd(counted[i]), NULL, ns);
}
