/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cpu_events.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/perf_event.h"
#include "capture/perf_event_opener.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* The sources that can drive the sampler, best first. */
static const struct source {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint8_t precise_ip;
} sources[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 2 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0 },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0 },
};

enum { SOURCES = ARRAY_SIZE(sources), CLOCK_SOURCE = SOURCES - 1 };

struct cpu_event {
	uint32_t cpu;
	int fd;
	bool is_precise;
	struct bpf_link *link;	  /* owns the attachment, and the fd with it */
	uint64_t enabled_ns;	  /* when last read */
	uint64_t rate_enabled_ns; /* enabled_ns when the present rate was set */
};

struct cpu_events {
	const struct bpf_program *program;
	struct perf_event_opener *opener;
	uint32_t rate_hz;
	size_t source; /* the first of `sources` that has not failed on any CPU */
	size_t source_end;
	struct cpu_event *items;
	size_t count, capacity;
	bool was_open;
	uint64_t past_expected; /* of closed events, and at earlier rates */
};

static void close_event(struct cpu_event *event)
{
	if (event->link)
		(void)bpf_link__destroy(event->link);
	else if (event->fd >= 0)
		(void)close(event->fd);
}

void cpu_events_free(struct cpu_events *events)
{
	if (!events)
		return;
	cpu_events_stop(events);
	free(events->items);
	free(events);
}

int cpu_events_new(const struct bpf_program *program, uint32_t rate_hz,
	struct perf_event_opener *opener, struct cpu_events **ret_events)
{
	struct cpu_events *events = calloc(1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	events->program = program;
	events->opener = opener;
	events->rate_hz = rate_hz;
	events->source_end = SOURCES;
	*ret_events = events;
	return 0;
}

void cpu_events_set_sources(struct cpu_events *events, bool may_be_cycles, bool may_be_clock)
{
	events->source = may_be_cycles ? 0 : CLOCK_SOURCE;
	events->source_end = may_be_clock ? SOURCES : CLOCK_SOURCE;
}

static int open_event(const struct cpu_events *events, const struct source *source, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = source->type,
		.config = source->config,
		.sample_freq = events->rate_hz,
		.freq = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.precise_ip = source->precise_ip,
		.disabled = 1,
		/*
		 * With a precise event the registers are not the sample's. The kernel requires perf
		 * to walk the stack before BPF may ask for it.
		 */
		.sample_type = source->precise_ip ? PERF_SAMPLE_CALLCHAIN : 0,
	};

	return perf_event_opener_open(events->opener, &attr, cpu);
}

/* Opens and attaches with one source. Returns 0 or -errno. */
static int start_event(
	struct cpu_events *events, const struct source *source, struct cpu_event *event)
{
	event->fd = open_event(events, source, event->cpu);
	if (event->fd < 0)
		return event->fd;
	event->is_precise = source->precise_ip > 0;
	/* Attaching enables it. */
	event->link = bpf_program__attach_perf_event(events->program, event->fd);
	if (!event->link) {
		int error = -errno;

		close_event(event);
		return error;
	}
	return 0;
}

static int add_cpu(struct cpu_events *events, uint32_t cpu)
{
	struct cpu_event event = { .cpu = cpu, .fd = -1 };
	int r;

	r = ARRAY_RESERVE(events->items, &events->capacity, events->count + 1, SIZE_MAX);
	if (r < 0)
		return r;
	r = start_event(events, &sources[events->source], &event);
	if (r < 0)
		return r;
	events->items[events->count++] = event;
	events->was_open = true;
	return 0;
}

/*
 * Only for the clock. Its timer restarts with each event and each change of rate, so that the rest
 * of a period never fires.
 */
static uint64_t expected_at_this_rate(struct cpu_events *events, struct cpu_event *event)
{
	(void)perf_event_advance(event->fd, &event->enabled_ns);
	if (events->source != CLOCK_SOURCE)
		return 0;
	return (event->enabled_ns - event->rate_enabled_ns) / (NSEC_PER_SEC / events->rate_hz);
}

static void remove_event(struct cpu_events *events, size_t i)
{
	events->past_expected += expected_at_this_rate(events, &events->items[i]);
	close_event(&events->items[i]);
	events->items[i] = events->items[--events->count];
}

static bool has_cpu(const uint32_t *cpus, size_t count, uint32_t cpu)
{
	for (size_t i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static bool is_sampled(const struct cpu_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].cpu == cpu)
			return true;
	return false;
}

bool cpu_events_error_passes(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EINTR ||
	       error == -ETIMEDOUT || error == -EAGAIN;
}

/*
 * Skips a CPU that has gone meanwhile, unless it is the only one. Returns a temporary error of a
 * CPU only if no other CPU refuses the source for good.
 */
static int add_cpus(struct cpu_events *events, const uint32_t *cpus, size_t count)
{
	int passing = 0, r = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_sampled(events, cpus[i]))
			continue;
		r = add_cpu(events, cpus[i]);
		/* Other events of this source were opened: a privilege is missing, for now. */
		if ((r == -EACCES || r == -EPERM) && events->was_open)
			r = -EAGAIN;
		if (cpu_events_error_passes(r))
			passing = r;
		else if (r < 0 && r != -ENODEV)
			return r;
	}
	if (passing < 0)
		return passing;
	return events->count > 0 ? 0 : r;
}

int cpu_events_set_cpus(struct cpu_events *events, const uint32_t *cpus, size_t count)
{
	int r;

	for (size_t i = 0; i < events->count;) {
		if (has_cpu(cpus, count, events->items[i].cpu) &&
			perf_event_advance(events->items[i].fd, &events->items[i].enabled_ns))
			i++;
		else
			remove_event(events, i);
	}
	/* All CPUs use the same source: if one CPU refuses it, all use the next one. */
	for (;;) {
		r = add_cpus(events, cpus, count);
		if (r == 0 || cpu_events_error_passes(r) ||
			events->source + 1 == events->source_end)
			return r;
		cpu_events_stop(events);
		events->source++;
	}
}

void cpu_events_stop(struct cpu_events *events)
{
	while (events->count > 0)
		remove_event(events, events->count - 1);
}

size_t cpu_events_count(const struct cpu_events *events)
{
	return events->count;
}

bool cpu_events_are_precise(const struct cpu_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->items[i].is_precise)
			return true;
	return false;
}

const char *cpu_events_name(const struct cpu_events *events)
{
	return events->was_open ? sources[events->source].name : "";
}

uint32_t cpu_events_rate_hz(const struct cpu_events *events)
{
	return events->rate_hz;
}

/*
 * The kernel expects the value in its own form of the event: a PMU's frequency stays one, but the
 * clock's became a period in nanoseconds (perf_swevent_init_hrtimer()).
 */
static int set_event_rate(
	const struct cpu_events *events, const struct cpu_event *event, uint32_t rate_hz)
{
	uint64_t value = events->source == CLOCK_SOURCE ? NSEC_PER_SEC / rate_hz : rate_hz;

	return ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &value) < 0 ? -errno : 0;
}

/* An event that keeps the new rate is closed: its samples would count for more than they are. */
static void restore_rate(struct cpu_events *events, size_t count)
{
	while (count-- > 0)
		if (set_event_rate(events, &events->items[count], events->rate_hz) < 0)
			remove_event(events, count);
}

int cpu_events_set_rate(struct cpu_events *events, uint32_t rate_hz)
{
	uint64_t expected = 0;
	size_t done = 0;
	int r = 0;

	if (rate_hz == 0)
		return -EINVAL;
	if (rate_hz == events->rate_hz)
		return 0;
	while (done < events->count && r == 0) {
		expected += expected_at_this_rate(events, &events->items[done]);
		r = set_event_rate(events, &events->items[done], rate_hz);
		done += r == 0;
	}
	if (r < 0) {
		restore_rate(events, done);
		return r;
	}
	for (size_t i = 0; i < events->count; i++)
		events->items[i].rate_enabled_ns = events->items[i].enabled_ns;
	events->past_expected += expected;
	events->rate_hz = rate_hz;
	return 0;
}

uint64_t cpu_events_expected(struct cpu_events *events)
{
	uint64_t expected = events->past_expected;

	if (events->source != CLOCK_SOURCE)
		return 0;
	for (size_t i = 0; i < events->count; i++)
		expected += expected_at_this_rate(events, &events->items[i]);
	return expected;
}
