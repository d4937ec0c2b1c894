/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "kmemtrace/kmemtrace_folder.h"
#include "kmemtrace/kmemtrace_tracer.h"
#include "pilotlight/kmemtrace.h"
#include "tools/kmem/kmem_commands.h"
#include "tools/stop_signals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
	NICE = -10,
	DRAIN_PERIOD_MS = 50,
	READERS_END_MS = 2000, /* for readers to take the rest at the end */
	STACKS_BYTES_MAX = 64 << 20,
	RING_BYTES_DEFAULT = 8 << 20,
	RING_BYTES_MAX = 256 << 20,
};

struct tracing {
	struct invocation base;
	const char *root;
	bool is_files, wants_stacks, wants_pages;
	uint64_t ring_bytes, duration_ns;
	struct stop_signals signals;
	struct kmemtrace_tracer *tracer;
	struct kmemtrace_folder *folder;
	struct pollfd *polls; /* the signals, the rings, and one for each CPU's stream */
	uint64_t events, overrun_bytes;
	uint64_t next_status_ns; /* CLOCK_MONOTONIC */
};

enum { POLL_SIGNALS, POLL_RINGS, POLL_STREAMS };

static void prepare(void *invocation)
{
	struct tracing *tracing = invocation;

	tracing->root = "/run/pilotlight-kmemtrace";
	tracing->ring_bytes = RING_BYTES_DEFAULT;
	tracing->signals.fd = -1;
}

static void done(void *invocation)
{
	struct tracing *tracing = invocation;

	kmemtrace_tracer_free(tracing->tracer);
	kmemtrace_folder_free(tracing->folder);
	free(tracing->polls);
	stop_signals_done(&tracing->signals);
}

static void take_event(void *context, uint32_t cpu, const void *bytes, size_t size)
{
	struct tracing *tracing = context;

	tracing->events++;
	kmemtrace_folder_append(tracing->folder, cpu, bytes, size);
}

static int put_stacks(struct tracing *tracing)
{
	struct output_memory memory = { .limit_bytes = STACKS_BYTES_MAX };
	_cleanup_free_ struct output *output = calloc(1, sizeof(*output));
	int r;

	if (!output)
		return -ENOMEM;
	output_init(output, output_to_memory, &memory);
	kmemtrace_tracer_write_stacks(tracing->tracer, output);
	r = output_finish(output);
	if (r == 0)
		r = kmemtrace_folder_put(tracing->folder, "stacks", memory.bytes, memory.size);
	free(memory.bytes);
	return r;
}

/* Writes the files beside the streams. */
static int put_status(struct tracing *tracing, struct fault *fault)
{
	char text[32];
	int size, r;

	tracing->overrun_bytes = kmemtrace_tracer_overrun_bytes(tracing->tracer) +
				 kmemtrace_folder_overrun_bytes(tracing->folder);
	size = snprintf(text, sizeof(text), "%" PRIu64 "\n", tracing->overrun_bytes);
	r = kmemtrace_folder_put(tracing->folder, "total_overruns", text, (size_t)size);
	return r < 0 ? fault_set(fault, r, "cannot write into the folder '%s': %s", tracing->root,
			       strerror(-r))
		     : 0;
}

static int open_all(struct tracing *tracing, struct fault *fault)
{
	const struct kmemtrace_tracer_settings settings = {
		.ring_bytes = (uint32_t)tracing->ring_bytes,
		.wants_stacks = tracing->wants_stacks,
		.wants_pages = tracing->wants_pages,
	};
	const uint32_t *cpus;
	char version[8];
	size_t count;
	int r, size;

	/* Those who allocate most would keep us from reading the rings in time. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	r = stop_signals_init(&tracing->signals, fault);
	if (r == 0)
		r = kmemtrace_tracer_new(&settings, take_event, tracing, &tracing->tracer, fault);
	if (r < 0)
		return r;
	cpus = kmemtrace_tracer_cpus(tracing->tracer, &count);
	tracing->polls = calloc(POLL_STREAMS + count, sizeof(*tracing->polls));
	if (!tracing->polls)
		return -ENOMEM;
	r = kmemtrace_folder_new(
		tracing->root, tracing->is_files, cpus, count, &tracing->folder, fault);
	if (r < 0)
		return r;
	size = snprintf(version, sizeof(version), "%d\n", PILOTLIGHT_KMEMTRACE_VERSION);
	r = kmemtrace_folder_put(tracing->folder, "abi_version", version, (size_t)size);
	if (r < 0)
		return fault_set(fault, r, "cannot write into the folder '%s': %s", tracing->root,
			strerror(-r));
	return put_status(tracing, fault);
}

/* Waits for events, for readers, or until it is time to drain. */
static int wait_for_work(struct tracing *tracing)
{
	size_t count;

	(void)kmemtrace_tracer_cpus(tracing->tracer, &count);
	tracing->polls[POLL_SIGNALS] =
		(struct pollfd){ .fd = tracing->signals.fd, .events = POLLIN };
	tracing->polls[POLL_RINGS] =
		(struct pollfd){ .fd = kmemtrace_tracer_poll_fd(tracing->tracer),
			.events = POLLIN };
	kmemtrace_folder_polls(tracing->folder, tracing->polls + POLL_STREAMS);
	return poll(tracing->polls, POLL_STREAMS + count, DRAIN_PERIOD_MS) < 0 && errno != EINTR
		       ? -errno
		       : 0;
}

static int trace(struct tracing *tracing, struct fault *fault)
{
	uint64_t end_ns = UINT64_MAX, now_ns = clock_monotonic_ns();

	if (tracing->duration_ns > 0)
		end_ns = now_ns + tracing->duration_ns;
	for (; now_ns < end_ns && !stop_signals_take(&tracing->signals);
		now_ns = clock_monotonic_ns()) {
		int r = kmemtrace_tracer_drain(tracing->tracer);

		if (r < 0)
			return fault_set(fault, r, "cannot read the rings: %s", strerror(-r));
		r = kmemtrace_folder_flush(tracing->folder, fault);
		if (r == 0 && now_ns >= tracing->next_status_ns) {
			r = put_status(tracing, fault);
			tracing->next_status_ns = now_ns + NSEC_PER_SEC;
		}
		if (r == 0)
			r = wait_for_work(tracing);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Empties the rings, and gives readers time to take the rest. */
static int finish(struct tracing *tracing, struct fault *fault)
{
	uint64_t end_ns = clock_monotonic_ns() + READERS_END_MS * 1000000ULL;
	int r;

	kmemtrace_tracer_stop(tracing->tracer);
	do {
		r = kmemtrace_tracer_drain(tracing->tracer);
	} while (r > 0);
	if (r == 0)
		r = kmemtrace_folder_flush(tracing->folder, fault);
	while (r == 0 && !kmemtrace_folder_is_flushed(tracing->folder) &&
		clock_monotonic_ns() < end_ns) {
		r = wait_for_work(tracing);
		if (r == 0)
			r = kmemtrace_folder_flush(tracing->folder, fault);
	}
	kmemtrace_folder_end(tracing->folder);
	if (r == 0 && tracing->wants_stacks) {
		r = put_stacks(tracing);
		if (r < 0)
			return fault_set(fault, r, "cannot write '%s/stacks': %s", tracing->root,
				strerror(-r));
	}
	return r < 0 ? r : put_status(tracing, fault);
}

static int run(void *invocation)
{
	struct tracing *tracing = invocation;
	struct fault *fault = &tracing->base.fault;
	int r;

	if (tracing->ring_bytes > RING_BYTES_MAX)
		return command_misuse(&kmem_trace, "--buffer takes at most 256M");
	r = open_all(tracing, fault);
	if (r == 0)
		r = kmemtrace_tracer_start(tracing->tracer, fault);
	if (r < 0)
		return r;
	(void)fprintf(stderr,
		tracing->is_files ? "tracing kernel memory into '%s'\n"
				  : "tracing kernel memory; read it by `pilotlight kmem read %s`\n",
		tracing->root);
	r = trace(tracing, fault);
	if (r == 0)
		r = finish(tracing, fault);
	if (r < 0)
		return r;
	(void)fprintf(stderr, "%" PRIu64 " events, %" PRIu64 " bytes overrun\n", tracing->events,
		tracing->overrun_bytes);
	if (tracing->wants_stacks)
		(void)fprintf(stderr, "%" PRIu64 " events without a stack\n",
			kmemtrace_tracer_stackless_events(tracing->tracer));
	return 0;
}

static const struct option_row options[] = {
	{ 0, "root", "DIR", "Offer the streams in DIR (/run/pilotlight-kmemtrace).", OPTION_STRING,
		.offset = offsetof(struct tracing, root) },
	{ 0, "files", NULL, "Write files cpu<n>.out instead of FIFOs, as kmemtrace-user does.",
		OPTION_SET, .offset = offsetof(struct tracing, is_files) },
	{ 0, "stacks", NULL,
		"Add the number of the kernel stack to each event. The file `stacks` has the "
		"stacks.",
		OPTION_SET, .offset = offsetof(struct tracing, wants_stacks) },
	{ 0, "pages", NULL, "Trace pages, too, also those that kmalloc() and the caches take.",
		OPTION_SET, .offset = offsetof(struct tracing, wants_pages) },
	{ 0, "for", "TIME", "Stop after TIME, such as 10s; else at Ctrl-C.", OPTION_DURATION,
		.offset = offsetof(struct tracing, duration_ns), .min = 1, .max = INT64_MAX },
	{ 0, "buffer", "SIZE", "Buffer SIZE bytes for each CPU (8M).", OPTION_BYTES,
		.offset = offsetof(struct tracing, ring_bytes), .min = 4096 },
	{ 0 },
};

const struct command kmem_trace = {
	.name = "kmem trace",
	.summary = "write kmalloc() and slab events to a stream for each CPU",
	.synopsis = "[OPTION...]",
	.description = "Trace kernel memory and offer the events in the binary format of "
		       "kmemtrace, ABI version 1: FIFOs cpu0, cpu1, ..., and the text files "
		       "total_overruns and abi_version. A stream whose reader is slow or absent "
		       "keeps 8 MiB; total_overruns counts the bytes of events beyond it. Needs "
		       "root and Linux 6.1.",
	.options = { options },
	.bytes = sizeof(struct tracing),
	.prepare = prepare,
	.run = run,
	.done = done,
};
