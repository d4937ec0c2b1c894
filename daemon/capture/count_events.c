/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/count_events.h"

#include "base/array.h"
#include "base/event_source.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_cost.h"
#include "capture/perf_event.h"
#include "capture/perf_event_opener.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct count_event {
	enum pilotlight_source source;
	uint32_t cpu;
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

void count_events_prepare(struct sampler *programs, const struct capture_settings *settings)
{
	(void)bpf_program__set_autoload(programs->progs.count_fault,
		amount_programs_has(settings, PILOTLIGHT_SOURCE_FAULTS));
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

/* NULL: the source has no such event. */
static const struct bpf_program *program_of(
	const struct count_events *events, enum pilotlight_source source)
{
	if (!amount_programs_has(events->settings, source))
		return NULL;
	return source == PILOTLIGHT_SOURCE_FAULTS ? events->programs->progs.count_fault : NULL;
}

static void describe(const struct count_events *events, enum pilotlight_source source,
	struct perf_event_attr *ret_attr)
{
	*ret_attr = (struct perf_event_attr){
		.size = sizeof(*ret_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = events->settings->periods[source],
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};
}

static int add_event(struct count_events *events, enum pilotlight_source source, uint32_t cpu)
{
	struct count_event event = { .source = source, .cpu = cpu };
	struct perf_event_attr attr;
	int r = ARRAY_RESERVE(events->items, &events->capacity, events->count + 1, SIZE_MAX);

	if (r < 0)
		return r;
	describe(events, source, &attr);
	event.fd = perf_event_opener_open(events->opener, &attr, cpu);
	if (event.fd < 0)
		return event.fd;
	/* Attaching enables it. */
	event.link = bpf_program__attach_perf_event(program_of(events, source), event.fd);
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

static int fault_of(enum pilotlight_source source, int error, struct fault *fault)
{
	const struct event_source *kind = &event_sources[source];

	if (error == -EPERM || error == -EACCES)
		return fault_set(fault, error,
			"cannot count %s on each CPU (%s): run as root, or with CAP_PERFMON",
			kind->title, strerror(-error));
	return fault_set(
		fault, error, "cannot count %s on each CPU: %s", kind->title, strerror(-error));
}

static int add_cpus(struct count_events *events, enum pilotlight_source source,
	const uint32_t *cpus, size_t count, struct fault *fault)
{
	for (size_t i = 0; i < count; i++) {
		int r = has_event(events, source, cpus[i]) ? 0 : add_event(events, source, cpus[i]);

		if (r < 0 && r != -ENODEV)
			return fault_of(source, r, fault);
	}
	return 0;
}

int count_events_set_cpus(
	struct count_events *events, const uint32_t *cpus, size_t count, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; i < events->count;) {
		if (has_cpu(cpus, count, events->items[i].cpu) &&
			perf_event_advance(events->items[i].fd, &events->items[i].enabled_ns))
			i++;
		else
			remove_event(events, i);
	}
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (program_of(events, i))
			r = add_cpus(events, i, cpus, count, fault);
	return r;
}

void count_events_add_cost(const struct sampler *programs, uint64_t *ns)
{
	kernel_cost_add_program(bpf_program__fd(programs->progs.count_fault), NULL, ns);
}
