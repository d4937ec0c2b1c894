/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "jit/jit_memory.h"
#include "jit/jit_table_state.h"

#include <errno.h>
#include <string.h>

enum { BUCKETS_MIN = 64 };

const struct jit_table_limits jit_table_default_limits = {
	.processes = 4096,
	.files = 512,
	.bytes = 16 << 20,
	.steps_per_s = 100000,
	.cpu_per_mille = 50,
};

int jit_table_new(const struct jit_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct jit_table **ret_table)
{
	_cleanup_(jit_table_freep) struct jit_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->broker = broker;
	table->known = processes;
	table->due_ns = UINT64_MAX;
	table->free_process = table->first_ended = table->last_ended = JIT_NONE;
	table->bucket_count = BUCKETS_MIN;
	while (table->bucket_count < limits->processes)
		table->bucket_count *= 2;
	table->buckets = malloc(table->bucket_count * sizeof(*table->buckets));
	if (!table->buckets)
		return -ENOMEM;
	memset(table->buckets, 0xff, table->bucket_count * sizeof(*table->buckets));
	*ret_table = TAKE_PTR(table);
	return 0;
}

void jit_table_free(struct jit_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->process_count; i++) {
		jit_table_drop_dump(table, &table->processes[i]);
		jit_table_drop_map(table, &table->processes[i]);
		free(table->processes[i].until_ns);
	}
	free(table->processes);
	free(table->buckets);
	free(table->files);
	free(table);
}

/* --- facts --- */

/* The image that runs now. */
static int find_or_begin(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process)
{
	struct jit_process *process = jit_table_newest(table, pid);
	int r;

	*ret_process = process;
	if (process && (process->end_ns == JIT_LIVE || time_ns <= process->end_ns))
		return 0;
	/* It was there before this was seen of it, but not before the one that it follows ended. */
	r = jit_table_begin(table, pid, process ? process->end_ns + 1 : 0, ret_process);
	if (r < 0)
		return r;
	(*ret_process)->wants_markers = true;
	(*ret_process)->parent = process_table_parent(table->known, pid, time_ns);
	return 0;
}

int jit_table_note_marker(
	struct jit_table *table, pid_t pid, uint64_t time_ns, const struct process_mapping *mapping)
{
	struct jit_process *process;
	struct mapped_file file;
	int r;

	process_table_file(table->known, mapping->file, &file);
	if (pid <= 0 || !jit_file_is_marker(file.path))
		return 0;
	r = find_or_begin(table, pid, time_ns, &process);
	if (r < 0)
		return r;
	process->wants_markers = false;
	/* Of several dumps the last one counts. */
	return jit_table_open_jitdump(table, process, mapping, file.path);
}

int jit_table_note_fork(struct jit_table *table, pid_t pid, pid_t parent, uint64_t time_ns)
{
	struct jit_process *from = jit_table_newest(table, parent), *process;
	uint64_t serial;
	uint32_t from_id;
	int r;

	if (pid <= 0 || pid == parent)
		return 0;
	/* Whoever had the pid before is gone, though nobody may have told. */
	jit_table_note_exit(table, pid, time_ns);
	if (!from || from->end_ns != JIT_LIVE)
		return 0;
	from_id = (uint32_t)(from - table->processes);
	/* It is not the one to make room. */
	if (from->asked_ns < time_ns)
		from->asked_ns = time_ns;
	serial = from->serial;
	r = jit_table_begin(table, pid, time_ns, &process);
	if (r < 0)
		return r;
	process->asked_ns = time_ns;
	from = &table->processes[from_id];
	if (from->serial != serial)
		return 0;
	process->parent = parent;
	process->is_fork = true;
	process->since_ns = from->since_ns;
	process->dump = from->dump;
	process->map = from->map;
	process->forked_from = from_id;
	process->forked_from_serial = from->serial;
	if (process->dump != JIT_NONE)
		table->files[process->dump].references++;
	if (process->map != JIT_NONE)
		table->files[process->map].references++;
	return 0;
}

void jit_table_note_exec(struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	jit_table_note_exit(table, pid, time_ns);
}

void jit_table_note_exit(struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	struct jit_process *process = jit_table_newest(table, pid);

	if (process && process->start_ns <= time_ns)
		jit_table_end(table, process, time_ns);
}

/* A parent may generate code before and after a fork within one tick of /proc's clock. */
static void refine_start(struct jit_table *table, struct jit_process *process, uint64_t start_ns)
{
	uint64_t boottime_ns = clock_boottime_ns(), age_ns, now_ns = clock_monotonic_ns();

	if (!process->is_start_rounded || start_ns < process->facts.start_ns ||
		start_ns - process->facts.start_ns > NSEC_PER_SEC || start_ns > boottime_ns)
		return;
	age_ns = boottime_ns - start_ns;
	process->start_ns = now_ns > age_ns ? now_ns - age_ns : 0;
	process->is_start_rounded = false;
	table->version++;
}

void jit_table_note_lost(struct jit_table *table, uint64_t time_ns)
{
	for (size_t i = 0; i < table->process_count; i++) {
		struct jit_process *process = &table->processes[i];

		if (process->pid > 0 && process->end_ns == JIT_LIVE &&
			!process_table_is_live(table->known, process->pid))
			jit_table_end(table, process, time_ns);
	}
}

int jit_table_note_memory(struct jit_table *table, pid_t pid, uint64_t time_ns, uint64_t start_ns)
{
	struct jit_process *process;
	int r;

	if (pid <= 0)
		return 0;
	r = find_or_begin(table, pid, time_ns, &process);
	if (r < 0)
		return r;
	process->is_asked = true;
	jit_table_note_look(table, process);
	refine_start(table, process, start_ns);
	if (process->asked_ns < time_ns)
		process->asked_ns = time_ns;
	return 0;
}

int jit_table_note_markers(struct jit_table *table, pid_t pid, uint64_t now_ns)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->known, pid, now_ns, &mappings);
	int r = 0;

	/* Of several the one that was mapped last counts: as a rule that is the lowest. */
	while (count > 0 && r == 0)
		r = jit_table_note_marker(table, pid, 0, &mappings[--count]);
	return r;
}

/*
 * A process that was there before and has a file that another has made is a fork of that, or of a
 * fork of it: /proc tells whose, and when.
 */
static int find_parent(struct jit_table *table, struct jit_process *process)
{
	const struct jit_followed *file = jit_table_file(table, process);
	struct jit_process *from;
	int r;

	if (!file || !file->jitdump || process->is_fork || process->start_ns > 0)
		return 0;
	r = jit_table_know(table, process);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (jit_file_marker_number(file->path) == process->facts.ns_pid)
		return 0;
	process->is_fork = true;
	process->is_start_rounded = true;
	process->start_ns = process->facts.started_ns;
	process->parent = process->facts.parent;
	from = jit_table_newest(table, process->parent);
	if (from && from != process && from->dump == process->dump) {
		process->forked_from = (uint32_t)(from - table->processes);
		process->forked_from_serial = from->serial;
	}
	table->version++;
	return 0;
}

static bool has_memory(const struct jit_table *table, pid_t pid, uint64_t now_ns)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->known, pid, now_ns, &mappings);

	for (size_t i = 0; i < count; i++) {
		struct mapped_file file;

		process_table_file(table->known, mappings[i].file, &file);
		if (jit_memory_of(&file) != JIT_MEMORY_NONE)
			return true;
	}
	return false;
}

int jit_table_note_all(struct jit_table *table)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t cursor = 0;
	pid_t pid;
	int r = 0;

	while (r == 0 && process_table_next_live(table->known, &cursor, &pid)) {
		const struct jit_process *process = jit_table_newest(table, pid);

		/* It is done more than once, where facts have been lost. */
		if (process && process->end_ns == JIT_LIVE && process->dump != JIT_NONE)
			continue;
		r = jit_table_note_markers(table, pid, now_ns);
		/* It may have a perf map, which its forks have too. */
		if (r == 0 && has_memory(table, pid, now_ns))
			r = jit_table_note_memory(table, pid, 0, 0);
	}
	for (size_t i = 0; r == 0 && i < table->process_count; i++)
		if (table->processes[i].pid > 0)
			r = find_parent(table, &table->processes[i]);
	return r;
}

/* What a fork had of its parents' code when it was made, it has as long as it is there. */
static uint64_t horizon(const struct jit_table *table, uint32_t file, uint64_t time_ns)
{
	for (size_t i = 0; i < table->process_count; i++) {
		const struct jit_process *process = &table->processes[i];

		if (process->pid > 0 && process->dump == file && process->is_fork &&
			process->start_ns < time_ns)
			time_ns = process->start_ns;
	}
	return time_ns;
}

void jit_table_retire(struct jit_table *table, uint64_t time_ns)
{
	const struct jit_process *process;

	while ((process = jit_table_first_ended(table)) && process->is_over &&
		process->end_ns < time_ns)
		jit_table_remove_first_ended(table);
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0 && table->files[i].jitdump) {
			code_index_retire(
				table->files[i].index, horizon(table, (uint32_t)i, time_ns));
			jit_table_measure(table, &table->files[i]);
		}
}
