/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "jit/jit_table_state.h"

#include <errno.h>
#include <string.h>

enum {
	BUCKETS_MIN = 64,
	STEPS_SECONDS_MAX = 10,
	/* Of one file in one round: not so few that its upkeep counts; not so many that what it
	   adds before anybody looks is much of what may be held. */
	STEPS_SHARE_MIN = 256,
	READERS_SHARE = 4, /* of the bytes, for what waits in readers */
	STEPS_SHARE_MAX = 4096,
};

/* For a perf map it is looked soon after the memory is there, then less and less often. */
#define LOOK_NS_MIN 20000000ULL
#define LOOK_NS_MAX (2ULL * NSEC_PER_SEC)

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

/* The image that runs now; NULL without an error where a bound refuses it. */
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
	if (r < 0) {
		*ret_process = NULL;
		return r == -E2BIG ? 0 : r;
	}
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
	if (r < 0 || !process)
		return r;
	/* Of several dumps the last one counts. */
	return jit_table_open_jitdump(table, process, mapping, file.path);
}

int jit_table_note_fork(struct jit_table *table, pid_t pid, pid_t parent, uint64_t time_ns)
{
	struct jit_process *from = jit_table_newest(table, parent), *process;
	uint32_t from_id;
	int r;

	if (pid <= 0 || pid == parent || !from || from->end_ns != JIT_LIVE)
		return 0;
	from_id = (uint32_t)(from - table->processes);
	r = jit_table_begin(table, pid, time_ns, &process);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	from = &table->processes[from_id];
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

int jit_table_note_memory(struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	struct jit_process *process;
	int r;

	if (pid <= 0)
		return 0;
	r = find_or_begin(table, pid, time_ns, &process);
	if (r == 0 && process)
		process->is_asked = true;
	return r;
}

static int note_markers(struct jit_table *table, pid_t pid, uint64_t now_ns)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->known, pid, now_ns, &mappings);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = jit_table_note_marker(table, pid, 0, &mappings[i]);
	return r;
}

int jit_table_note_all(struct jit_table *table)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t cursor = 0;
	pid_t pid;
	int r = 0;

	while (r == 0 && process_table_next_live(table->known, &cursor, &pid))
		r = note_markers(table, pid, now_ns);
	return r;
}

/* --- reading --- */

/*
 * A live process without a file of its own, or with a dump that is none as yet, may have written a
 * perf map since; one that has ended has its last chance.
 */
static int look_for_perf_map(struct jit_table *table, struct jit_process *process, uint64_t now_ns)
{
	int r;

	if (process->has_own_map || process->is_over || now_ns < process->next_look_ns)
		return 0;
	if (process->look_interval_ns >= LOOK_NS_MAX && !process->is_asked &&
		process->end_ns == JIT_LIVE)
		return 0;
	r = jit_table_open_perf_map(table, process);
	process->look_interval_ns =
		process->look_interval_ns ? 2 * process->look_interval_ns : LOOK_NS_MIN;
	if (process->look_interval_ns > LOOK_NS_MAX)
		process->look_interval_ns = LOOK_NS_MAX;
	process->next_look_ns = now_ns + process->look_interval_ns;
	process->is_asked = false;
	return r;
}

static int look_at_processes(struct jit_table *table, uint64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; i < table->process_count && r == 0; i++) {
		struct jit_process *process = &table->processes[i];

		if (process->pid <= 0)
			continue;
		r = jit_table_know(table, process);
		if (r == -ENOMEM)
			return r;
		r = 0;
		if (jit_table_has_dump(table, process))
			jit_table_drop_map(table, process);
		else
			r = look_for_perf_map(table, process, now_ns);
	}
	return r;
}

/* Has every process that could write to the file ended? */
static bool is_written(const struct jit_table *table, uint32_t file)
{
	for (size_t i = 0; i < table->process_count; i++)
		if (table->processes[i].pid > 0 && table->processes[i].map == file &&
			table->processes[i].end_ns == JIT_LIVE)
			return false;
	return true;
}

static int64_t read_file(struct jit_table *table, uint32_t id, uint64_t now_ns, int64_t steps)
{
	struct jit_followed *file = &table->files[id];
	struct jitdump_reader_state state;
	int64_t left;

	if (file->perf_map)
		return perf_map_reader_run(
			file->perf_map, file->index, is_written(table, id), steps);
	left = jitdump_reader_run(file->jitdump, file->index, now_ns, steps);
	jitdump_reader_state(file->jitdump, &state);
	file->is_valid |= state.has_header;
	return left;
}

/* Who holds the most gives way until the rest has room. */
static void keep_to_limit(struct jit_table *table)
{
	while (table->code_bytes > table->limits.bytes) {
		struct jit_followed *biggest = &table->files[0];
		size_t most;

		for (size_t i = 1; i < table->file_count; i++)
			if (table->files[i].code_bytes > biggest->code_bytes)
				biggest = &table->files[i];
		most = biggest->code_bytes;
		code_index_set_limit(biggest->index, most / 2);
		/* At once, since it may be that nobody adds to it any more. */
		(void)code_index_trim(biggest->index);
		jit_table_measure(table, biggest);
		if (biggest->code_bytes >= most)
			return;
	}
}

/* Those that gave way may have more again. */
static void give_room(struct jit_table *table)
{
	if (table->code_bytes > table->limits.bytes / 2)
		return;
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0)
			code_index_set_limit(
				table->files[i].index, table->limits.bytes / JIT_INDEX_SHARE);
}

/* What readers hold besides: lines that come before their code, nearly always at once. */
static void keep_readers_small(struct jit_table *table)
{
	size_t bytes = 0;

	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0 && table->files[i].jitdump)
			bytes += jitdump_reader_bytes(table->files[i].jitdump);
	if (bytes <= table->limits.bytes / READERS_SHARE)
		return;
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0 && table->files[i].jitdump)
			jitdump_reader_forget_lines(table->files[i].jitdump);
}

/* What a run may still take. */
struct budget {
	int64_t steps;
	uint64_t cpu_until_ns; /* CPU time of this thread */
};

static bool has_left(const struct budget *budget)
{
	return budget->steps > 0 && clock_thread_cpu_ns() < budget->cpu_until_ns;
}

static struct budget new_budget(int64_t steps, uint64_t cpu_ns)
{
	uint64_t now_ns = clock_thread_cpu_ns();

	return (struct budget){
		.steps = steps,
		.cpu_until_ns = cpu_ns < UINT64_MAX - now_ns ? now_ns + cpu_ns : UINT64_MAX,
	};
}

/* One turn for each file that has anything to read. */
static int read_round(
	struct jit_table *table, uint64_t now_ns, int64_t share, struct budget *budget)
{
	for (size_t i = 0; i < table->file_count; i++) {
		uint32_t id = (uint32_t)((table->first_file + i) % table->file_count);
		struct jit_followed *file = &table->files[id];
		int64_t offered = share < budget->steps ? share : budget->steps, left;

		if (file->references == 0 || !file->has_more || !has_left(budget))
			continue;
		left = read_file(table, id, now_ns, offered);
		jit_table_measure(table, file);
		keep_to_limit(table);
		if (left < 0)
			return (int)left;
		file->was_read = true;
		file->has_more = left == 0;
		budget->steps -= offered - left;
	}
	return 0;
}

static int read_files(struct jit_table *table, uint64_t now_ns, struct budget *budget)
{
	size_t busy = 0;
	int r = 0;

	for (size_t i = 0; i < table->file_count; i++) {
		table->files[i].has_more = table->files[i].references > 0;
		table->files[i].was_read = false;
		busy += table->files[i].has_more;
	}
	while (busy > 0 && has_left(budget) && r == 0) {
		int64_t share = budget->steps / (int64_t)busy;

		if (share < STEPS_SHARE_MIN)
			share = STEPS_SHARE_MIN;
		if (share > STEPS_SHARE_MAX)
			share = STEPS_SHARE_MAX;
		r = read_round(table, now_ns, share, budget);
		busy = 0;
		for (size_t i = 0; i < table->file_count; i++)
			busy += table->files[i].references > 0 && table->files[i].has_more;
	}
	if (table->file_count > 0)
		table->first_file = (table->first_file + 1) % table->file_count;
	return r;
}

/* How much of the file has been read, and how long it was then. */
static uint64_t read_bytes(const struct jit_followed *file, uint64_t *ret_file_bytes)
{
	struct perf_map_reader_state map;
	struct jitdump_reader_state dump;

	if (file->jitdump) {
		jitdump_reader_state(file->jitdump, &dump);
		*ret_file_bytes = dump.file_bytes;
		return dump.file_bytes - dump.unread_bytes;
	}
	perf_map_reader_state(file->perf_map, &map);
	*ret_file_bytes = map.file_bytes;
	return map.file_bytes - map.unread_bytes;
}

/* To its end, or to where that was when the process was no more: others may still add to it. */
static bool is_read(const struct jit_table *table, struct jit_process *ended)
{
	const struct jit_followed *file = jit_table_file(table, ended);
	uint64_t file_bytes, read;

	if (!file || (file->was_read && !file->has_more))
		return true;
	if (!file->was_read)
		return false;
	read = read_bytes(file, &file_bytes);
	if (ended->final_bytes == 0)
		ended->final_bytes = file_bytes;
	return read >= ended->final_bytes;
}

/* Whoever has ended, and whose files have been read to their ends since, is over. */
static void finish_ended(struct jit_table *table)
{
	uint32_t id = table->first_ended;

	while (id != JIT_NONE) {
		struct jit_process *ended = &table->processes[id];

		ended->is_over = ended->is_over || is_read(table, ended);
		id = ended->ended_after;
	}
}

static int run(struct jit_table *table, uint64_t now_ns, struct budget budget)
{
	int r = look_at_processes(table, now_ns);

	give_room(table);
	if (r == 0)
		r = read_files(table, now_ns, &budget);
	if (r == 0) {
		keep_readers_small(table);
		finish_ended(table);
	}
	return r;
}

int jit_table_run(struct jit_table *table, uint64_t now_ns)
{
	const uint64_t most_ns = (uint64_t)STEPS_SECONDS_MAX * NSEC_PER_SEC;
	uint64_t passed_ns = NSEC_PER_SEC;

	/* Callers may have read the clock before others that came first. */
	if (table->last_run_ns)
		passed_ns = now_ns > table->last_run_ns ? now_ns - table->last_run_ns : 0;
	if (passed_ns > most_ns)
		passed_ns = most_ns;
	if (now_ns > table->last_run_ns)
		table->last_run_ns = now_ns;
	return run(table, now_ns,
		new_budget((int64_t)((double)table->limits.steps_per_s * (double)passed_ns /
				     NSEC_PER_SEC),
			passed_ns / 1000 * table->limits.cpu_per_mille));
}

int jit_table_finish(struct jit_table *table, uint64_t now_ns, int64_t steps, uint64_t cpu_ns)
{
	/* All have their last chance. */
	for (size_t i = 0; i < table->process_count; i++) {
		table->processes[i].next_look_ns = 0;
		table->processes[i].is_asked = true;
	}
	return run(table, now_ns, new_budget(steps, cpu_ns));
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
