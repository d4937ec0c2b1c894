/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/event_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define KIB	  1024ULL
#define GIB	  (1ULL << 30)

/* The period is that of the event. */
#define COUNTED(number)                                                                     \
	[PILOTLIGHT_SOURCE_COUNTED + (number)] = {                                          \
		.name = "event-" #number,                                                   \
		.unit = "count",                                                            \
		.noun = "event",                                                            \
		.cost = "0.1 us for each hit of a tracepoint, and some us for each sample", \
		.default_period = 1,                                                        \
		.service_period = 1,                                                        \
		.least_period = 1,                                                          \
		.greatest_period = 1000000000000ULL,                                        \
	}

const struct event_source event_sources[PILOTLIGHT_SOURCES] = {
	[PILOTLIGHT_SOURCE_CPU] = {
		.name = "cpu",
		.title = "CPU time",
		.unit = "nanoseconds",
		.pprof_type = "cpu",
	},
	[PILOTLIGHT_SOURCE_OFFCPU] = {
		.name = "offcpu",
		.title = "time off CPU",
		.unit = "nanoseconds",
		.pprof_type = "off_cpu",
		.default_period = NS_PER_MS,
		.service_period = 10 * NS_PER_MS,
		.least_period = NS_PER_US, /* a sample costs some microseconds */
		.greatest_period = 1000 * NS_PER_MS,
		.cost = "0.1 to 0.4 us for each switch of threads, and some us for each sample",
		.is_cheap = true,
	},
	[PILOTLIGHT_SOURCE_RUNQUEUE] = {
		.name = "runqueue",
		.title = "time waiting for a CPU",
		.unit = "nanoseconds",
		.pprof_type = "run_queue",
		.default_period = NS_PER_MS,
		.service_period = 10 * NS_PER_MS,
		.least_period = NS_PER_US, /* a sample costs some microseconds */
		.greatest_period = 1000 * NS_PER_MS,
		.cost = "as offcpu, once for both",
		.is_cheap = true,
	},
	[PILOTLIGHT_SOURCE_FAULTS] = {
		.name = "faults",
		.title = "page faults",
		.unit = "count",
		.noun = "fault",
		.pprof_type = "page_faults",
		/* Primes, so that no loop of a program marches in step. */
		.default_period = 7,
		.service_period = 211,
		.cost = "some us for each sample; the kernel counts all others",
		.least_period = 1,
		.greatest_period = 1000000000,
	},
	[PILOTLIGHT_SOURCE_LOCK] = {
		.name = "lock",
		.title = "time waiting for locks",
		.unit = "nanoseconds",
		.pprof_type = "lock",
		.default_period = 100 * NS_PER_US,
		.service_period = 10 * NS_PER_MS,
		.cost = "0.25 us for each wait for a futex, 1 us for others, and some us for each sample",
		.least_period = NS_PER_US, /* a sample costs some microseconds */
		.greatest_period = 1000 * NS_PER_MS,
	},
	[PILOTLIGHT_SOURCE_KMEM_ALLOC] = {
		.name = "kmem:alloc",
		.title = "kernel memory allocated",
		.unit = "bytes",
		.pprof_type = "kmem_alloc",
		.cost = "0.15 us for each allocation, and some us for each sample",
		.default_period = 64 * KIB,
		.service_period = 1024 * KIB,
		.least_period = 1,
		.greatest_period = GIB,
	},
	[PILOTLIGHT_SOURCE_KMEM_LIVE] = {
		.name = "kmem:live",
		.title = "kernel memory allocated since sampling began, and not freed",
		.unit = "bytes",
		.pprof_type = "kmem_live",
		.cost = "0.2 us for each allocation and free, and some us for each sample",
		.default_period = 64 * KIB,
		.service_period = 1024 * KIB,
		.least_period = 1,
		.greatest_period = GIB,
		.is_live = true,
	},
	[PILOTLIGHT_SOURCE_KMEM_WASTE] = {
		.name = "kmem:waste",
		.title = "kernel memory allocated beyond what was requested",
		.unit = "bytes",
		.pprof_type = "kmem_waste",
		.cost = "0.1 us for each allocation, and some us for each sample",
		.default_period = 16 * KIB,
		.service_period = 1024 * KIB,
		.least_period = 1,
		.greatest_period = GIB,
	},
	[PILOTLIGHT_SOURCE_BLOCK] = {
		.name = "block",
		.title = "time of block I/O",
		.unit = "nanoseconds",
		.pprof_type = "block",
		.default_period = 100 * NS_PER_US,
		.service_period = 10 * NS_PER_MS,
		.cost = "3 us for each request",
		.least_period = NS_PER_US, /* a sample costs some microseconds */
		.greatest_period = 1000 * NS_PER_MS,
	},
	[PILOTLIGHT_SOURCE_BLOCK_BYTES] = {
		.name = "block:bytes",
		.title = "bytes of block I/O",
		.unit = "bytes",
		.pprof_type = "block_bytes",
		.default_period = 64 << 10,
		.service_period = 1 << 20,
		.cost = "as block, once for both",
		.least_period = 512,
		.greatest_period = 1 << 30,
	},
	[PILOTLIGHT_SOURCE_HEAP_ALLOC] = {
		.name = "heap:alloc",
		.title = "memory that programs allocated",
		.unit = "bytes",
		.pprof_type = "alloc_space",
		.cost = "0.5 us for each malloc() of the sampled processes",
		.default_period = 16 * KIB,
		.least_period = 1,
		.greatest_period = GIB,
	},
	[PILOTLIGHT_SOURCE_HEAP_LIVE] = {
		.name = "heap:live",
		.title = "memory that programs allocated since sampling began, and not freed",
		.unit = "bytes",
		.pprof_type = "inuse_space",
		.cost = "2 us for each malloc() with its free(), of the sampled processes",
		.default_period = 16 * KIB,
		.least_period = 1,
		.greatest_period = GIB,
		.is_live = true,
	},
	COUNTED(0),
	COUNTED(1),
	COUNTED(2),
	COUNTED(3),
};

const struct event_source event_source_wall = {
	.name = "wall",
	.title = "time on CPU, off CPU and waiting for a CPU",
	.unit = "nanoseconds",
	.pprof_type = "wall",
};

bool event_source_find(const char *name, enum pilotlight_source *ret_source)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!event_source_is_counted(i) && strcmp(event_sources[i].name, name) == 0) {
			*ret_source = i;
			return true;
		}
	}
	return false;
}

bool event_source_parse_set(
	const char *text, const char *separators, uint32_t *ret_sources, const char **ret_unknown)
{
	uint32_t sources = 0;
	enum pilotlight_source source;

	for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
		size_t size = strcspn(text, separators);
		char name[32];

		*ret_unknown = text;
		if (size >= sizeof(name))
			return false;
		memcpy(name, text, size);
		name[size] = '\0';
		if (strcmp(name, event_source_wall.name) == 0)
			sources |= 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU |
				   1U << PILOTLIGHT_SOURCE_RUNQUEUE;
		else if (event_source_find(name, &source))
			sources |= 1U << source;
		else
			return false;
		text += size;
	}
	*ret_sources = sources;
	return true;
}

uint32_t event_source_cheap(void)
{
	uint32_t sources = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		sources |= event_sources[i].is_cheap ? 1U << i : 0;
	return sources;
}

const struct event_source *event_source_of(const char *event)
{
	enum pilotlight_source source = PILOTLIGHT_SOURCE_CPU;

	if (strcmp(event, event_source_wall.name) == 0)
		return &event_source_wall;
	if (*event && !event_source_find(event, &source) && !event_source_index(event, &source))
		source = PILOTLIGHT_SOURCE_COUNTED;
	return &event_sources[source];
}

const char *event_source_wait(enum pilotlight_source source, enum pilotlight_wait wait)
{
	/* Most waits are interruptible, and the stack says for what. */
	static const char *const names[PILOTLIGHT_WAITS] = {
		[PILOTLIGHT_WAIT_UNINTERRUPTIBLE] = "[blocked: uninterruptible]",
		[PILOTLIGHT_WAIT_DISK] = "[blocked: I/O]",
		[PILOTLIGHT_WAIT_IDLE] = "[blocked: idle kernel thread]",
		[PILOTLIGHT_WAIT_STOPPED] = "[blocked: stopped]",
		[PILOTLIGHT_WAIT_OTHER] = "[blocked: parked or frozen]",
		[PILOTLIGHT_WAIT_PREEMPTED] = "[waiting for a CPU: preempted]",
		[PILOTLIGHT_WAIT_WOKEN] = "[waiting for a CPU: woken]",
		[PILOTLIGHT_WAIT_THROTTLED] = "[throttled by cpu.max]",
		[PILOTLIGHT_WAIT_FUTEX] = "[lock: futex]",
		[PILOTLIGHT_WAIT_MUTEX] = "[lock: mutex]",
		[PILOTLIGHT_WAIT_RT_MUTEX] = "[lock: rt-mutex]",
		[PILOTLIGHT_WAIT_RWSEM_READ] = "[lock: rwsem, read]",
		[PILOTLIGHT_WAIT_RWSEM_WRITE] = "[lock: rwsem, write]",
		[PILOTLIGHT_WAIT_PERCPU_RWSEM] = "[lock: percpu-rwsem]",
		[PILOTLIGHT_WAIT_SEMAPHORE] = "[lock: semaphore]",
		[PILOTLIGHT_WAIT_SPINLOCK] = "[lock: spinlock]",
		[PILOTLIGHT_WAIT_RWLOCK] = "[lock: rwlock]",
		[PILOTLIGHT_WAIT_BLOCK_READ] = "[block: read]",
		[PILOTLIGHT_WAIT_BLOCK_WRITE] = "[block: write]",
		[PILOTLIGHT_WAIT_BLOCK_FLUSH] = "[block: flush]",
		[PILOTLIGHT_WAIT_BLOCK_DISCARD] = "[block: discard]",
		[PILOTLIGHT_WAIT_BLOCK_OTHER] = "[block: other]",
		[PILOTLIGHT_WAIT_LONG] = "[idle threads]",
	};
	static const char *const unknown[PILOTLIGHT_SOURCES] = {
		[PILOTLIGHT_SOURCE_OFFCPU] = "[blocked]",
		[PILOTLIGHT_SOURCE_RUNQUEUE] = "[waiting for a CPU]",
		[PILOTLIGHT_SOURCE_LOCK] = "[lock]",
		[PILOTLIGHT_SOURCE_BLOCK] = "[block]",
		[PILOTLIGHT_SOURCE_BLOCK_BYTES] = "[block]",
	};

	if (unknown[source] && wait < PILOTLIGHT_WAITS && names[wait])
		return names[wait];
	return unknown[source];
}

bool event_source_is_kmem(enum pilotlight_source source)
{
	return source == PILOTLIGHT_SOURCE_KMEM_ALLOC || source == PILOTLIGHT_SOURCE_KMEM_LIVE ||
	       source == PILOTLIGHT_SOURCE_KMEM_WASTE;
}

bool event_source_is_block(enum pilotlight_source source)
{
	return source == PILOTLIGHT_SOURCE_BLOCK || source == PILOTLIGHT_SOURCE_BLOCK_BYTES;
}

bool event_source_has(const struct event_source *source, const char *event)
{
	if (event_source_is_cpu(source))
		return strcmp(event, "cpu-clock") == 0 || strcmp(event, "cycles") == 0;
	return strcmp(event, source->name) == 0;
}

bool event_source_index(const char *event, enum pilotlight_source *ret_source)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!event_source_is_counted(i) && event_source_has(&event_sources[i], event)) {
			*ret_source = i;
			return true;
		}
	}
	return false;
}

bool event_source_is_cpu(const struct event_source *source)
{
	return source == &event_sources[PILOTLIGHT_SOURCE_CPU];
}

bool event_source_is_of_wall(enum pilotlight_source source)
{
	return source == PILOTLIGHT_SOURCE_CPU || source == PILOTLIGHT_SOURCE_OFFCPU ||
	       source == PILOTLIGHT_SOURCE_RUNQUEUE;
}

enum event_unit event_source_unit(const struct event_source *source)
{
	if (strcmp(source->unit, "count") == 0)
		return EVENT_UNIT_COUNT;
	return strcmp(source->unit, "bytes") == 0 ? EVENT_UNIT_BYTES : EVENT_UNIT_TIME;
}

bool event_source_is_counted(enum pilotlight_source source)
{
	return source >= PILOTLIGHT_SOURCE_COUNTED && source <= PILOTLIGHT_SOURCE_COUNTED_LAST;
}

const char *event_source_title(const char *event)
{
	const struct event_source *source = event_source_of(event);

	return source->title ? source->title : event;
}

const char *event_source_type(const char *event, char text[EVENT_TYPE_BYTES])
{
	const struct event_source *source = event_source_of(event);

	if (source->pprof_type)
		return source->pprof_type;
	(void)snprintf(text, EVENT_TYPE_BYTES, "%s", event);
	for (char *next = text; *next; next++)
		if (!isalnum((unsigned char)*next))
			*next = '_';
	return text;
}
