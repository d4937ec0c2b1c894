/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/broker.h"
#include "capture/capture.h"
#include "engine/heap_functions.h"
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

/* Of the allocators of a mapping. */
enum wanted { WANTS_ALL, WANTS_REPORTERS };

struct heap_watch {
	struct capture *capture;
	struct broker *broker;
	struct process_table *processes;
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
	struct heap_watch **ret_watch)
{
	struct heap_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->capture = capture;
	watch->broker = broker;
	watch->processes = processes;
	*ret_watch = watch;
	return 0;
}

void heap_watch_free(struct heap_watch *watch)
{
	if (!watch)
		return;
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
static void note_refusal(struct heap_watch *watch, pid_t pid, const char *path, int error)
{
	/* The process has ended, or has mapped something else there. */
	if (error == -ESRCH || error == -ENOENT)
		return;
	watch->counters.refused++;
	watch->error = watch->error ? watch->error : error;
	if (watch->has_warned)
		return;
	watch->has_warned = true;
	log_warning("cannot probe the allocator in %s of process %d: %s; continuing without what "
		    "it allocates",
		path, (int)pid, strerror(-error));
}

/* Finds the allocator in a file, or finds out that there is none. */
static int read_file(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping,
	const struct mapped_file *file, struct allocator *ret_allocator)
{
	const struct broker_process process = { .pid = pid };
	struct allocator allocator = { .identity = file->identity };
	_cleanup_close_ int fd = -1;
	int r;

	r = broker_open_mapping(
		watch->broker, &process, mapping->start, mapping->end, file->path, &fd);
	if (r == 0)
		r = heap_functions_find(fd, allocator.functions);
	if (r < 0)
		return r;
	allocator.count = (size_t)r;
	*ret_allocator = allocator;
	return 0;
}

/* Returns the allocator's number, or -errno; -ENOEXEC: the file has none. */
static int find_allocator(struct heap_watch *watch, pid_t pid,
	const struct process_mapping *mapping, const struct mapped_file *file)
{
	uint64_t *other = &watch->others[file->identity % OTHERS];
	struct allocator *next = &watch->allocators[watch->allocator_count];
	int r;

	for (size_t i = 0; i < watch->allocator_count; i++)
		if (watch->allocators[i].identity == file->identity)
			return (int)i;
	if (*other == file->identity)
		return -ENOEXEC;
	if (watch->allocator_count == ALLOCATORS_MAX)
		return -ENOSPC;
	r = read_file(watch, pid, mapping, file, next);
	if (r == -ENOEXEC || r == -EFBIG || (r == 0 && next->count == 0)) {
		*other = file->identity;
		return -ENOEXEC;
	}
	if (r < 0)
		return r;
	watch->counters.allocators++;
	return (int)watch->allocator_count++;
}

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
	const struct process_mapping *mapping, const struct mapped_file *file, enum wanted wanted)
{
	int number = find_allocator(watch, process->pid, mapping, file), r;
	bool is_reporter;

	if (number < 0)
		return number == -ENOEXEC ? 0 : number;
	is_reporter = reports(&watch->allocators[number]);
	if (!is_reporter && (wanted == WANTS_REPORTERS || process->reports))
		return 0;
	r = probe_once(watch, process, mapping, (uint32_t)number);
	return r == 0 && is_reporter ? begin_reports(watch, process) : r;
}

static void map(struct heap_watch *watch, struct watched *process,
	const struct process_mapping *mapping, enum wanted wanted)
{
	struct mapped_file file;
	int r;

	process_table_file(watch->processes, mapping->file, &file);
	if (!file.is_regular)
		return;
	r = probe(watch, process, mapping, &file, wanted);
	if (r < 0)
		note_refusal(watch, process->pid, file.path, r);
}

void heap_watch_mapped(struct heap_watch *watch, pid_t pid, const struct process_mapping *mapping)
{
	struct watched *process = find(watch, pid);

	if (process)
		map(watch, process, mapping, WANTS_ALL);
}

void heap_watch_executed(struct heap_watch *watch, pid_t pid)
{
	struct watched *process = find(watch, pid);

	if (process)
		process->reports = false;
}

static void map_all(struct heap_watch *watch, struct watched *process, enum wanted wanted)
{
	const struct process_mapping *mappings;
	size_t count = process_table_mappings(
		watch->processes, process->pid, clock_monotonic_ns(), &mappings);

	for (size_t i = 0; i < count; i++)
		map(watch, process, &mappings[i], wanted);
}

int heap_watch_begin(struct heap_watch *watch, struct fault *fault)
{
	for (size_t i = 0; i < watch->watched_count; i++) {
		map_all(watch, &watch->watched[i], WANTS_REPORTERS);
		map_all(watch, &watch->watched[i], WANTS_ALL);
	}
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
}

void heap_watch_ended(struct heap_watch *watch, pid_t pid)
{
	struct watched *process = find(watch, pid);

	if (process)
		*process = watch->watched[--watch->watched_count];
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
