/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "jit/jit_memory.h"
#include "jit/jit_table_state.h"

#include <errno.h>
#include <string.h>

const struct jit_table_limits jit_table_default_limits = {
	.processes = 4096,
	.files = 512,
	.bytes = 16 << 20,
	.steps_per_s = 100000,
	.cpu_per_mille = 50,
};

int jit_table_new(const struct jit_table_limits *limits, struct broker *broker,
	struct process_table *images, struct jit_table **ret_table)
{
	_cleanup_(jit_table_freep) struct jit_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->broker = broker;
	table->images = images;
	table->due_ns = UINT64_MAX;
	table->code_share.capacity = limits->bytes;
	jit_table_attach(table);
	*ret_table = TAKE_PTR(table);
	return 0;
}

void jit_table_free(struct jit_table *table)
{
	if (!table)
		return;
	jit_table_detach(table);
	free(table->processes);
	free(table->files);
	free(table->order);
	free(table);
}

/* --- facts --- */

int jit_table_note_marker(
	struct jit_table *table, pid_t pid, uint64_t time_ns, const struct process_mapping *mapping)
{
	struct jit_process *process;
	struct mapped_file file;
	int r;

	process_table_file(table->images, mapping->file, &file);
	if (!jit_file_is_marker(file.path))
		return 0;
	r = jit_table_add(table, pid, time_ns, &process);
	if (r < 0 || !process)
		return r;
	process->lacks_marker_scan = false;
	/* The last of several dumps counts. */
	return jit_table_open_jitdump(table, process, mapping, file.path);
}

/* /proc's clock is too coarse: a parent may generate code before and after a fork in one tick. */
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

int jit_table_note_memory(struct jit_table *table, pid_t pid, uint64_t time_ns, uint64_t start_ns)
{
	struct jit_process *process;
	int r = jit_table_add(table, pid, time_ns, &process);

	if (r < 0 || !process)
		return r;
	process->was_sampled = true;
	jit_table_schedule_look(table, process);
	refine_start(table, process, start_ns);
	if (process->sampled_ns < time_ns)
		process->sampled_ns = time_ns;
	return 0;
}

/*
 * An older process with a jitdump whose name has another pid is a fork of that file's writer, or of
 * a fork of it. /proc has its parent and its start.
 */
static int find_parent(struct jit_table *table, struct jit_process *process)
{
	const struct jit_followed *file = jit_table_file(table, process);
	struct jit_process *from;
	int r;

	if (!file || !file->jitdump || process->is_fork || process->start_ns > 0)
		return 0;
	r = jit_table_read_facts(table, process);
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
		process->forked_from = from;
		from->has_forks = true;
	}
	table->version++;
	return 0;
}

/* Searches the mappings for a jitdump's marker and for memory that may hold generated code. */
static void look_at_mappings(const struct jit_table *table, pid_t pid, uint64_t now_ns,
	bool *ret_has_marker, bool *ret_has_memory)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->images, pid, now_ns, &mappings);

	*ret_has_marker = *ret_has_memory = false;
	for (size_t i = 0; i < count; i++) {
		struct mapped_file file;

		process_table_file(table->images, mappings[i].file, &file);
		*ret_has_marker |= jit_file_is_marker(file.path);
		*ret_has_memory |= jit_memory_of(&file) != JIT_MEMORY_NONE;
	}
}

static int note_process(struct jit_table *table, pid_t pid, uint64_t now_ns)
{
	struct jit_process *process = jit_table_newest(table, pid);
	bool has_marker, has_memory;
	int r = 0;

	/* This runs again after lost records. */
	if (process && process->dump != JIT_NO_FILE)
		return 0;
	look_at_mappings(table, pid, now_ns, &has_marker, &has_memory);
	if (has_marker) {
		r = jit_table_add(table, pid, 0, &process);
		if (r == 0 && process)
			r = jit_table_open_marked(table, process, now_ns);
	}
	/* It may have a perf map, which its forks share. */
	return r == 0 && has_memory ? jit_table_note_memory(table, pid, 0, 0) : r;
}

int jit_table_note_all(struct jit_table *table)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t cursor = 0;
	pid_t pid;
	int r = 0;

	while (r == 0 && process_table_next_live(table->images, &cursor, &pid))
		r = note_process(table, pid, now_ns);
	for (size_t i = 0; r == 0 && i < table->process_count; i++)
		r = find_parent(table, table->processes[i]);
	return r;
}

/* A fork keeps its parents' code from the time of the fork for as long as it lives. */
static uint64_t horizon(const struct jit_table *table, uint32_t file, uint64_t time_ns)
{
	for (size_t i = 0; i < table->process_count; i++) {
		const struct jit_process *process = table->processes[i];

		if (process->dump == file && process->is_fork && process->start_ns < time_ns)
			time_ns = process->start_ns;
	}
	return time_ns;
}

void jit_table_retire(struct jit_table *table, uint64_t time_ns)
{
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0 && table->files[i].jitdump) {
			code_index_retire(
				table->files[i].index, horizon(table, (uint32_t)i, time_ns));
			jit_table_measure(table, &table->files[i]);
		}
}
