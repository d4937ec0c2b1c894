/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/broker.h"
#include "capture/capture.h"
#include "engine/heap_reader.h"
#include "process/process_table.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSES_MAX = 4096,
	ALLOCATORS_MAX = 32,
	ALLOCATORS_OF_PROCESS_MAX = 8,
	OTHERS = 1024, /* remembered files that are no allocators */
	WAITING_MAX = 4096,
};

struct allocator {
	uint64_t identity; /* of its file */
	size_t count;
	struct heap_function functions[HEAP_FUNCTIONS_MAX];
};

struct watched {
	pid_t pid;
	bool reports; /* its allocator samples itself */
	size_t count;
	struct {
		uint32_t allocator;
		uint64_t since_ns; /* when all its probes were set */
	} probed[ALLOCATORS_OF_PROCESS_MAX];
};

/* A mapping whose file is not read yet. */
struct waiting {
	pid_t pid;
	struct process_mapping mapping;
	uint64_t identity; /* of the file */
};

/* Of the allocators of a mapping. */
enum wanted { WANTS_ALL, WANTS_REPORTERS };

struct heap_watch {
	struct capture *capture;
	struct broker *broker;
	struct process_table *processes;
	struct heap_reader *reader, *own_reader; /* own: NULL if it is borrowed */
	struct waiting *waiting;
	size_t waiting_count, waiting_capacity;
	struct watched *watched;
	size_t watched_count, watched_capacity;
	pid_t *named; /* by heap_watch_follow() */
	size_t named_count, named_capacity;
	struct allocator allocators[ALLOCATORS_MAX];
	size_t allocator_count;
	uint64_t others[OTHERS]; /* identities, in the places that they choose */
	struct heap_watch_counters counters;
	int error; /* of the first allocator without probes */
	bool has_warned;
};

int heap_watch_new(struct capture *capture, struct broker *broker, struct process_table *processes,
	struct heap_reader *reader, struct heap_watch **ret_watch)
{
	_cleanup_(heap_watch_freep) struct heap_watch *watch = calloc(1, sizeof(*watch));
	int r = 0;

	if (!watch)
		return -ENOMEM;
	watch->capture = capture;
	watch->broker = broker;
	watch->processes = processes;
	if (!reader)
		r = heap_reader_new(NULL, &watch->own_reader);
	if (r < 0)
		return r;
	watch->reader = reader ? reader : watch->own_reader;
	*ret_watch = TAKE_PTR(watch);
	return 0;
}

void heap_watch_free(struct heap_watch *watch)
{
	if (!watch)
		return;
	heap_reader_free(watch->own_reader);
	free(watch->waiting);
	free(watch->watched);
	free(watch->named);
	free(watch);
}

static struct watched *find(const struct heap_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->watched_count; i++)
		if (watch->watched[i].pid == pid)
			return &watch->watched[i];
	return NULL;
}

static int add(struct heap_watch *watch, const struct watched *process)
{
	int r = ARRAY_RESERVE(
		watch->watched, &watch->watched_capacity, watch->watched_count + 1, PROCESSES_MAX);

	if (r == 0)
		watch->watched[watch->watched_count++] = *process;
	return r;
}

int heap_watch_follow(struct heap_watch *watch, pid_t pid)
{
	int r = ARRAY_RESERVE(
		watch->named, &watch->named_capacity, watch->named_count + 1, PROCESSES_MAX);

	if (r == 0)
		watch->named[watch->named_count++] = pid;
	if (r == 0 && !find(watch, pid))
		r = add(watch, &(struct watched){ .pid = pid });
	return r;
}

/* Says once why memory is missing from the profile. */
static void note_refusal(struct heap_watch *watch, const struct waiting *waiting, int error)
{
	struct mapped_file file;

	/* The process has ended, or has mapped something else there. */
	if (error == -ESRCH || error == -ENOENT)
		return;
	watch->counters.refused++;
	watch->error = watch->error ? watch->error : error;
	if (watch->has_warned)
		return;
	watch->has_warned = true;
	process_table_file(watch->processes, waiting->mapping.file, &file);
	log_warning("cannot probe the allocator in %s of process %d: %s; continuing without what "
		    "it allocates",
		file.path, (int)waiting->pid, strerror(-error));
}

/* --- files ------------------------------------------------------------------------------------ */

enum { ALLOCATOR_NONE = -1, ALLOCATOR_UNKNOWN = -2 };

/* The allocator's number; ALLOCATOR_NONE: the file has none; ALLOCATOR_UNKNOWN: it is not read. */
static int find_allocator(const struct heap_watch *watch, uint64_t identity)
{
	for (size_t i = 0; i < watch->allocator_count; i++)
		if (watch->allocators[i].identity == identity)
			return (int)i;
	return watch->others[identity % OTHERS] == identity ? ALLOCATOR_NONE : ALLOCATOR_UNKNOWN;
}

static void note_failure(struct heap_watch *watch, uint64_t identity, int error)
{
	for (size_t i = 0; i < watch->waiting_count; i++)
		if (watch->waiting[i].identity == identity)
			note_refusal(watch, &watch->waiting[i], error);
}

/* Takes what the reader has found. A file beyond the bound counts as one without an allocator. */
static void note_file(struct heap_watch *watch, const struct heap_file *file)
{
	struct allocator *next = &watch->allocators[watch->allocator_count];

	if (file->result > 0 && watch->allocator_count < ALLOCATORS_MAX) {
		*next = (struct allocator){ .identity = file->identity,
			.count = (size_t)file->result };
		memcpy(next->functions, file->functions, next->count * sizeof(*next->functions));
		watch->allocator_count++;
		watch->counters.allocators++;
		return;
	}
	watch->others[file->identity % OTHERS] = file->identity;
	if (file->result > 0)
		note_failure(watch, file->identity, -ENOSPC);
	else if (file->result < 0 && file->result != -ENOEXEC && file->result != -EFBIG)
		note_failure(watch, file->identity, file->result);
}

/* Returns 0, or -errno: the file cannot be opened. */
static int begin_reading(struct heap_watch *watch, const struct waiting *waiting)
{
	const struct broker_process process = { .pid = waiting->pid };
	struct mapped_file file;
	int fd, r;

	process_table_file(watch->processes, waiting->mapping.file, &file);
	r = broker_open_mapping(watch->broker, &process, waiting->mapping.start,
		waiting->mapping.end, file.path, &fd);
	if (r == 0)
		heap_reader_add(watch->reader, waiting->identity, fd);
	return r;
}

/* --- probes ----------------------------------------------------------------------------------- */

/* The last kinds first, those that free: an address that was noted must not be freed unseen. */
static int set_probes(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping,
	const struct allocator *allocator)
{
	struct pilotlight_capture_probe probe = {
		.pid = (uint32_t)pid,
		.mapping_start = mapping->start,
		.mapping_end = mapping->end,
	};
	int r = 0;

	for (int kind = PILOTLIGHT_HEAP_FUNCTIONS - 1; r == 0 && kind >= 0; kind--)
		for (size_t i = 0; r == 0 && i < allocator->count; i++) {
			if (allocator->functions[i].function != (unsigned)kind)
				continue;
			probe.function = (uint32_t)kind;
			probe.offset = allocator->functions[i].offset;
			probe.semaphore = allocator->functions[i].semaphore;
			probe.arguments = allocator->functions[i].arguments;
			r = capture_set_probe(watch->capture, &probe);
			if (r == 0)
				watch->counters.probes++;
		}
	return r;
}

static bool reports(const struct allocator *allocator)
{
	return allocator->functions[0].function == PILOTLIGHT_HEAP_REPORT_ALLOC;
}

/* From now on its calls do not count, and nor do those of what it forks. */
static int begin_reports(struct heap_watch *watch, struct watched *process)
{
	const struct pilotlight_capture_probe probe = {
		.pid = (uint32_t)process->pid,
		.function = PILOTLIGHT_HEAP_REPORTS,
	};
	int r = process->reports ? 0 : capture_set_probe(watch->capture, &probe);

	process->reports |= r == 0;
	return r;
}

static bool has_probes(const struct watched *process, uint32_t allocator)
{
	for (size_t i = 0; i < process->count; i++)
		if (process->probed[i].allocator == allocator)
			return true;
	return false;
}

static int probe_once(struct heap_watch *watch, struct watched *process,
	const struct process_mapping *mapping, uint32_t allocator)
{
	int r;

	if (has_probes(process, allocator))
		return 0;
	if (process->count == ALLOCATORS_OF_PROCESS_MAX)
		return -ENOSPC;
	r = set_probes(watch, process->pid, mapping, &watch->allocators[allocator]);
	if (r < 0)
		return r;
	process->probed[process->count].allocator = allocator;
	process->probed[process->count++].since_ns = clock_monotonic_ns();
	return 0;
}

static int probe(struct heap_watch *watch, struct watched *process,
	const struct process_mapping *mapping, uint32_t allocator)
{
	bool is_reporter = reports(&watch->allocators[allocator]);
	int r;

	if (!is_reporter && process->reports)
		return 0;
	r = probe_once(watch, process, mapping, allocator);
	return r == 0 && is_reporter ? begin_reports(watch, process) : r;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* A process may have executed something else, or mapped another file there. */
static bool is_mapped(const struct heap_watch *watch, const struct waiting *waiting)
{
	const struct process_mapping *mappings;
	size_t count = process_table_mappings(
		watch->processes, waiting->pid, clock_monotonic_ns(), &mappings);

	for (size_t i = 0; i < count; i++)
		if (mappings[i].start == waiting->mapping.start &&
			mappings[i].file == waiting->mapping.file)
			return true;
	return false;
}

/* Sets the probes if the file is known. Returns false: it waits on. */
static bool handle(struct heap_watch *watch, const struct waiting *waiting, enum wanted wanted)
{
	struct watched *process = find(watch, waiting->pid);
	int allocator = find_allocator(watch, waiting->identity), r;

	if (!process || allocator == ALLOCATOR_NONE)
		return true;
	if (allocator == ALLOCATOR_UNKNOWN && (heap_reader_has(watch->reader, waiting->identity) ||
						      heap_reader_is_full(watch->reader)))
		return false;
	if (allocator >= 0 && wanted == WANTS_REPORTERS && !reports(&watch->allocators[allocator]))
		return false;
	if (!is_mapped(watch, waiting))
		return true;
	r = allocator >= 0 ? probe(watch, process, &waiting->mapping, (uint32_t)allocator)
			   : begin_reading(watch, waiting);
	if (r < 0)
		note_refusal(watch, waiting, r);
	return allocator >= 0 || r < 0;
}

static void handle_all(struct heap_watch *watch, enum wanted wanted)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->waiting_count; i++)
		if (!handle(watch, &watch->waiting[i], wanted))
			watch->waiting[kept++] = watch->waiting[i];
	watch->waiting_count = kept;
}

/* NULL: no mapping of that file by that process waits. */
static struct waiting *find_waiting(const struct heap_watch *watch, pid_t pid, uint64_t identity)
{
	for (size_t i = 0; i < watch->waiting_count; i++)
		if (watch->waiting[i].pid == pid && watch->waiting[i].identity == identity)
			return &watch->waiting[i];
	return NULL;
}

static void add_waiting(struct heap_watch *watch, const struct waiting *waiting)
{
	struct waiting *same = find_waiting(watch, waiting->pid, waiting->identity);
	int r;

	/* Any mapping of a file will do; the last one is the likeliest to stay. */
	if (same) {
		*same = *waiting;
		return;
	}
	r = ARRAY_RESERVE(
		watch->waiting, &watch->waiting_capacity, watch->waiting_count + 1, WAITING_MAX);

	if (r == 0)
		watch->waiting[watch->waiting_count++] = *waiting;
	else
		note_refusal(watch, waiting, r);
}

static void forget_waiting(struct heap_watch *watch, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->waiting_count; i++)
		if (watch->waiting[i].pid != pid)
			watch->waiting[kept++] = watch->waiting[i];
	watch->waiting_count = kept;
}

static void map(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping)
{
	struct waiting waiting = { .pid = pid, .mapping = *mapping };
	struct mapped_file file;

	process_table_file(watch->processes, mapping->file, &file);
	waiting.identity = file.identity;
	if (file.is_regular && find_allocator(watch, file.identity) != ALLOCATOR_NONE)
		add_waiting(watch, &waiting);
}

void heap_watch_mapped(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping)
{
	if (!find(watch, pid))
		return;
	map(watch, pid, mapping);
	handle_all(watch, WANTS_ALL);
}

void heap_watch_executed(struct heap_watch *watch, pid_t pid)
{
	struct watched *process = find(watch, pid);

	if (process)
		process->reports = false;
	forget_waiting(watch, pid);
}

int heap_watch_poll_fd(const struct heap_watch *watch)
{
	return heap_reader_poll_fd(watch->reader);
}

void heap_watch_run(struct heap_watch *watch)
{
	struct heap_file file;

	while (heap_reader_take(watch->reader, false, &file))
		note_file(watch, &file);
	handle_all(watch, WANTS_ALL);
}

/* Only here, before sampling begins, does it wait. */
static void read_all(struct heap_watch *watch)
{
	struct heap_file file;

	handle_all(watch, WANTS_REPORTERS);
	while (heap_reader_take(watch->reader, true, &file)) {
		note_file(watch, &file);
		handle_all(watch, WANTS_REPORTERS);
	}
}

static void begin_process(struct heap_watch *watch, pid_t pid)
{
	const struct process_mapping *mappings;
	size_t count =
		process_table_mappings(watch->processes, pid, clock_monotonic_ns(), &mappings);

	for (size_t i = 0; i < count; i++)
		map(watch, pid, &mappings[i]);
	read_all(watch);
	handle_all(watch, WANTS_ALL);
}

int heap_watch_begin(struct heap_watch *watch, struct fault *fault)
{
	/* Each process after the other, or the mappings of many would exceed the bound. */
	for (size_t i = 0; i < watch->watched_count; i++)
		begin_process(watch, watch->watched[i].pid);
	if (watch->counters.probes > 0 || watch->error == 0)
		return 0;
	return fault_set(fault, watch->error,
		"cannot sample heaps (%s): uprobes need root, CONFIG_UPROBE_EVENTS, and the "
		"tracing file system at /sys/kernel/tracing; `pilotlight doctor` shows which is "
		"missing",
		strerror(-watch->error));
}

void heap_watch_forked(struct heap_watch *watch, pid_t parent, pid_t child, uint64_t time_ns)
{
	const struct watched *from = find(watch, parent);
	struct watched process = { .pid = child };

	if (!from || parent == child)
		return;
	process.reports = from->reports;
	/* The kernel copies what is there. Nothing goes twice if a fork met the setting of probes:
	 * then the child has some of them, and gets all of them again (bpf/heap.bpf.h). */
	for (size_t i = 0; i < from->count; i++)
		if (from->probed[i].since_ns < time_ns)
			process.probed[process.count++] = from->probed[i];
	heap_watch_ended(watch, child);
	if (add(watch, &process) < 0)
		watch->counters.refused++;
	/* What the parent waits for, the child has mapped, too. */
	for (size_t i = 0, count = watch->waiting_count; i < count; i++) {
		struct waiting waiting = watch->waiting[i];

		waiting.pid = child;
		if (watch->waiting[i].pid == parent)
			add_waiting(watch, &waiting);
	}
}

void heap_watch_ended(struct heap_watch *watch, pid_t pid)
{
	struct watched *process = find(watch, pid);

	if (process)
		*process = watch->watched[--watch->watched_count];
	forget_waiting(watch, pid);
}

static bool is_named(const struct heap_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->named_count; i++)
		if (watch->named[i] == pid)
			return true;
	return false;
}

/* The kernel side notes a victim among what lives, at no address. */
static bool is_victim(const struct heap_watch *watch, pid_t pid, uint64_t since_ns)
{
	const struct pilotlight_live_key key = { .tgid = (uint32_t)pid,
		.source = PILOTLIGHT_SOURCE_HEAP_LIVE };
	struct pilotlight_live noted;

	return bpf_map_lookup_elem(capture_maps(watch->capture)->live_fd, &key, &noted) == 0 &&
	       noted.time_ns >= since_ns;
}

enum heap_holder heap_watch_holder(const struct heap_watch *watch, pid_t pid, uint64_t time_ns)
{
	struct process_image image, last;

	if (is_victim(watch, pid, time_ns))
		return HEAP_HOLDER_VICTIM;
	/* The table forgets what has ended. */
	if (!process_table_image(watch->processes, pid, time_ns, &image))
		return is_named(watch, pid) ? HEAP_HOLDER_PROCESS : HEAP_HOLDER_NONE;
	if (image.end_ns == PROCESS_LIVE)
		return HEAP_HOLDER_PROCESS;
	/* By execve(), or by its end? */
	if (!is_named(watch, pid) ||
		(process_table_image(watch->processes, pid, clock_monotonic_ns(), &last) &&
			last.id != image.id))
		return HEAP_HOLDER_NONE;
	return HEAP_HOLDER_PROCESS;
}

void heap_watch_finish(const struct heap_watch *watch)
{
	if (watch->counters.allocators == 0)
		log_warning("no heap was sampled: no file of the processes has a symbol malloc; a "
			    "program that brings its own allocator needs its symbol table");
}

void heap_watch_counters(const struct heap_watch *watch, struct heap_watch_counters *ret_counters)
{
	*ret_counters = watch->counters;
}
