/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/clock.h"
#include "jit/jit_table_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/*
	 * Steps for one file in one round. The minimum keeps the overhead of a turn small. The
	 * maximum keeps the code that a file adds before the next check small against the byte
	 * limit.
	 */
	STEPS_SHARE_MIN = 256,
	STEPS_SHARE_MAX = 4096,
	READERS_SHARE = 4, /* 1/4 of the bytes for the readers' pending lines */
	/* Read from a perf map after all its writers have ended: a million lines. */
	LAST_BYTES_MAX = 64 << 20,
};

/* The search for a perf map starts soon after the memory appears and backs off exponentially. */
#define LOOK_NS_MIN 20000000ULL
#define LOOK_NS_MAX (10ULL * NSEC_PER_SEC)

/* The interval between two runs. */
#define INTERVAL_NS_MIN 100000000ULL
#define INTERVAL_NS_MAX ((uint64_t)NSEC_PER_SEC)

/* Returns the address of the vdso, which each execve() moves. 0: unknown. */
static uint64_t vdso_of(const struct jit_table *table, pid_t pid, uint64_t now_ns)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->images, pid, now_ns, &mappings);

	for (size_t i = 0; i < count; i++) {
		struct mapped_file file;

		process_table_file(table->images, mappings[i].file, &file);
		if (strcmp(file.path, "[vdso]") == 0)
			return mappings[i].start;
	}
	return 0;
}

/*
 * A fork older than the profiler without a map of its own shares its parent's. The vdso tells it
 * from a child that executes another program.
 */
static void inherit_map(struct jit_table *table, struct jit_process *process, uint64_t now_ns)
{
	const struct jit_process *from;
	uint64_t vdso;

	if (process->map != JIT_NO_FILE || process->start_ns > 0 || !process->has_facts)
		return;
	from = jit_table_newest(table, process->facts.parent);
	if (!from || from == process || from->end_ns != PROCESS_LIVE || from->map == JIT_NO_FILE)
		return;
	vdso = vdso_of(table, process->pid, now_ns);
	if (vdso == 0 || vdso != vdso_of(table, from->pid, now_ns))
		return;
	process->map = from->map;
	table->files[process->map].references++;
	table->version++;
}

static bool wants_perf_map(const struct jit_process *process)
{
	if (process->has_own_map || process->is_finished)
		return false;
	/* Each attempt on an unresponsive file system costs the broker an opener. */
	if (process->open_error == -ETIMEDOUT)
		return false;
	return process->look_interval_ns < LOOK_NS_MAX || process->was_sampled ||
	       process->end_ns != PROCESS_LIVE;
}

static bool wants_markers(const struct jit_process *process)
{
	return process->lacks_marker_scan && process->was_sampled &&
	       process->end_ns == PROCESS_LIVE;
}

/*
 * A live process without a file, or with a dump that is not valid yet, may have written a perf map
 * since. An ended process gets one last attempt.
 */
static int look_for_perf_map(struct jit_table *table, struct jit_process *process, uint64_t now_ns)
{
	int r;

	if (!wants_perf_map(process) || now_ns < process->next_look_ns)
		return 0;
	r = jit_table_open_perf_map(table, process);
	if (r == 0)
		inherit_map(table, process, now_ns);
	process->look_interval_ns =
		process->look_interval_ns ? 2 * process->look_interval_ns : LOOK_NS_MIN;
	if (process->look_interval_ns > LOOK_NS_MAX)
		process->look_interval_ns = LOOK_NS_MAX;
	process->next_look_ns = now_ns + process->look_interval_ns;
	process->was_sampled = false;
	return r;
}

/* The marker was never reported, or its file was evicted. */
static int look_for_marker(struct jit_table *table, struct jit_process *process, uint64_t now_ns)
{
	if (!wants_markers(process) || now_ns < process->next_look_ns)
		return 0;
	return jit_table_open_marked(table, process, now_ns);
}

static int look_at_processes(struct jit_table *table, uint64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; i < table->process_count && r == 0; i++) {
		struct jit_process *process = table->processes[i];

		r = jit_table_read_facts(table, process);
		if (r == -ENOMEM)
			return r;
		r = look_for_marker(table, process, now_ns);
		if (r < 0)
			return r;
		if (jit_table_has_dump(table, process))
			jit_table_drop_map(table, process);
		else
			r = look_for_perf_map(table, process, now_ns);
	}
	return r;
}

/* Says whether all processes that could write to the file have ended. */
static bool is_written(const struct jit_table *table, uint32_t file)
{
	for (size_t i = 0; i < table->process_count; i++)
		if (table->processes[i]->map == file && table->processes[i]->end_ns == PROCESS_LIVE)
			return false;
	return true;
}

static uint64_t soonest_ns(const struct jit_table *table)
{
	return table->last_run_ns + INTERVAL_NS_MIN;
}

void jit_table_schedule_look(struct jit_table *table, const struct jit_process *process)
{
	uint64_t due_ns = soonest_ns(table);

	if (!wants_markers(process) &&
		(jit_table_has_dump(table, process) || !wants_perf_map(process)))
		return;
	if (due_ns < process->next_look_ns)
		due_ns = process->next_look_ns;
	if (due_ns < table->due_ns)
		table->due_ns = due_ns;
}

/* Schedules the next run; `has_news`: this run found something to read. */
static void set_due(struct jit_table *table, bool has_news)
{
	table->interval_ns *= 2;
	if (has_news || table->interval_ns < INTERVAL_NS_MIN)
		table->interval_ns = INTERVAL_NS_MIN;
	if (table->interval_ns > INTERVAL_NS_MAX)
		table->interval_ns = INTERVAL_NS_MAX;
	table->due_ns = UINT64_MAX;
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0 && !table->files[i].is_final)
			table->due_ns = table->last_run_ns + table->interval_ns;
	for (size_t i = 0; i < table->process_count; i++)
		jit_table_schedule_look(table, table->processes[i]);
	table->run_version = table->version;
}

uint64_t jit_table_due_ns(const struct jit_table *table, bool is_awaited)
{
	bool is_hurried = is_awaited && table->due_ns != UINT64_MAX;

	return is_hurried || table->version != table->run_version ? soonest_ns(table)
								  : table->due_ns;
}

/* The last read of a perf map, whose names no running process needs, is bounded. */
static int64_t read_perf_map(struct jit_table *table, uint32_t id, int64_t steps)
{
	struct jit_followed *file = &table->files[id];
	bool is_last = is_written(table, id);
	struct perf_map_reader_state state;
	int64_t left;

	perf_map_reader_state(file->perf_map, &state);
	if (!is_last)
		file->live_bytes = state.counters.bytes;
	if (state.counters.bytes - file->live_bytes >= LAST_BYTES_MAX) {
		file->is_final = true;
		table->counters.maps_cut++;
		return steps;
	}
	left = perf_map_reader_run(file->perf_map, file->index, is_last, steps);
	file->is_final = is_last && left > 0;
	return left;
}

static int64_t read_file(struct jit_table *table, uint32_t id, int64_t steps)
{
	struct jit_followed *file = &table->files[id];
	struct jitdump_reader_state state;
	int64_t left;

	if (file->perf_map)
		return read_perf_map(table, id, steps);
	left = jitdump_reader_run(file->jitdump, file->index, steps);
	jitdump_reader_state(file->jitdump, &state);
	file->is_valid |= state.has_header;
	return left;
}

/* The biggest file of the user with the most bytes. */
static struct jit_followed *find_biggest(struct jit_table *table)
{
	const struct user_counter *greatest = user_share_greatest(&table->code_share);
	struct jit_followed *biggest = NULL;

	for (size_t i = 0; i < table->file_count; i++) {
		struct jit_followed *file = &table->files[i];

		if (file->references > 0 &&
			user_share_is_counter(&table->code_share, greatest, file->user) &&
			(!biggest || file->code_bytes > biggest->code_bytes))
			biggest = file;
	}
	return biggest;
}

/* Halves the biggest index of the user with the most bytes until all fit. */
static void keep_to_limit(struct jit_table *table)
{
	while (table->code_bytes > table->limits.bytes) {
		struct jit_followed *biggest = find_biggest(table);
		size_t most;

		if (!biggest)
			return;
		most = biggest->code_bytes;
		user_excess_add(&table->excess, biggest->user, USER_JIT, 1);
		code_index_set_limit(biggest->index, most / 2);
		/* Trim now, since no more code may ever be added to it. */
		(void)code_index_trim(biggest->index);
		jit_table_measure(table, biggest);
		if (biggest->code_bytes >= most)
			return;
	}
}

/* Restores the full limit of every index. */
static void give_room(struct jit_table *table)
{
	if (table->code_bytes > table->limits.bytes / 2)
		return;
	for (size_t i = 0; i < table->file_count; i++)
		if (table->files[i].references > 0)
			code_index_set_limit(
				table->files[i].index, table->limits.bytes / JIT_INDEX_SHARE);
}

/* Readers also hold lines that arrive before their code, nearly always for a moment only. */
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

/* The rest of a run's budget. */
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

static int compare_turns(const void *a, const void *b, void *context)
{
	const struct jit_table *table = context;
	const struct jit_followed *first = &table->files[*(const uint32_t *)a];
	const struct jit_followed *second = &table->files[*(const uint32_t *)b];

	if (first->rank != second->rank)
		return first->rank < second->rank ? -1 : 1;
	return (first->level_ns > second->level_ns) - (first->level_ns < second->level_ns);
}

static int64_t turn_steps(int64_t steps, uint64_t users, uint64_t files)
{
	int64_t turn = steps / (int64_t)(users * files);

	if (turn < STEPS_SHARE_MIN)
		return STEPS_SHARE_MIN;
	return turn < STEPS_SHARE_MAX ? turn : STEPS_SHARE_MAX;
}

/*
 * Orders the files with unread data: first one of each user, then a second one, and so on, because
 * a run may have time for some only. The users on whom the least time was spent lately come first.
 * Users get equal parts of `steps`, and their files equal parts of these.
 */
static int order_files(struct jit_table *table, int64_t steps, size_t *ret_count)
{
	struct user_share ranks = { 0 };
	uint64_t now_ns = clock_monotonic_ns(), users = 0;
	size_t count = 0;
	int r = ARRAY_RESERVE(
		table->order, &table->order_capacity, table->file_count, table->limits.files);

	if (r < 0)
		return r;
	jit_table_charge_files(table);
	for (size_t i = 0; i < table->file_count; i++) {
		uint32_t id = (uint32_t)((table->first_file + i) % table->file_count);
		struct jit_followed *file = &table->files[id];

		if (file->references == 0 || !file->has_more)
			continue;
		file->rank = (uint32_t)user_share_held(&ranks, file->user);
		file->level_ns = user_time_level(&table->time, file->user, now_ns);
		user_share_add(&ranks, file->user, 1);
		users += file->rank == 0;
		table->order[count++] = id;
	}
	for (size_t i = 0; i < count; i++) {
		struct jit_followed *file = &table->files[table->order[i]];

		file->turn_steps = turn_steps(steps, users, user_share_held(&ranks, file->user));
	}
	qsort_r(table->order, count, sizeof(*table->order), compare_turns, table);
	*ret_count = count;
	return 0;
}

/* Gives each file with unread data one turn. */
static int read_round(struct jit_table *table, struct budget *budget, bool *has_news)
{
	size_t count;
	int r = order_files(table, budget->steps, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && has_left(budget); i++) {
		uint32_t id = table->order[i];
		struct jit_followed *file = &table->files[id];
		int64_t offered = file->turn_steps, left;
		uint64_t begin_ns = clock_thread_cpu_ns();

		if (offered > budget->steps)
			offered = budget->steps;
		left = read_file(table, id, offered);
		user_time_add(&table->time, file->user, clock_thread_cpu_ns() - begin_ns,
			clock_monotonic_ns());
		jit_table_measure(table, file);
		keep_to_limit(table);
		if (left < 0)
			return (int)left;
		file->was_read = true;
		file->has_more = left == 0;
		*has_news |= left != offered;
		budget->steps -= offered - left;
	}
	return 0;
}

static int read_files(struct jit_table *table, struct budget *budget, bool *ret_has_news)
{
	bool has_news = false;
	size_t busy = 0;
	int r = 0;

	table->time.leak_ppm = table->limits.cpu_per_mille * 1000;
	for (size_t i = 0; i < table->file_count; i++) {
		table->files[i].has_more =
			table->files[i].references > 0 && !table->files[i].is_final;
		table->files[i].was_read = false;
		busy += table->files[i].has_more;
	}
	while (busy > 0 && has_left(budget) && r == 0) {
		r = read_round(table, budget, &has_news);
		busy = 0;
		for (size_t i = 0; i < table->file_count; i++)
			busy += table->files[i].references > 0 && table->files[i].has_more;
	}
	if (table->file_count > 0)
		table->first_file = (table->first_file + 1) % table->file_count;
	/* Unread data may be news. */
	*ret_has_news = has_news || busy > 0;
	return r;
}

/* Returns the bytes read, and the size of the file at that time. */
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

/*
 * Says whether the file was read to its end, or to its size when the process ended. Others may
 * still append to it.
 */
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

static void finish_ended(struct jit_table *table)
{
	for (size_t i = 0; i < table->process_count; i++) {
		struct jit_process *process = table->processes[i];

		if (process->end_ns != PROCESS_LIVE && !process->is_finished)
			process->is_finished = is_read(table, process);
	}
}

static int run(struct jit_table *table, uint64_t now_ns, struct budget budget)
{
	bool has_facts = table->version != table->run_version, was_read = false;
	int r = look_at_processes(table, now_ns);

	give_room(table);
	if (r == 0)
		r = read_files(table, &budget, &was_read);
	if (r == 0) {
		keep_readers_small(table);
		finish_ended(table);
	}
	set_due(table, has_facts || was_read);
	return r;
}

int jit_table_run(struct jit_table *table, uint64_t now_ns)
{
	uint64_t passed_ns = NSEC_PER_SEC;

	/* Callers may pass a clock reading older than an earlier caller's. */
	if (table->last_run_ns)
		passed_ns = now_ns > table->last_run_ns ? now_ns - table->last_run_ns : 0;
	/* After a pause, samples wait in the kernel: a long run would delay the next drain (I5). */
	if (passed_ns > NSEC_PER_SEC)
		passed_ns = NSEC_PER_SEC;
	if (now_ns > table->last_run_ns)
		table->last_run_ns = now_ns;
	return run(table, now_ns,
		new_budget((int64_t)((double)table->limits.steps_per_s * (double)passed_ns /
				     NSEC_PER_SEC),
			passed_ns / 1000 * table->limits.cpu_per_mille));
}

int jit_table_finish(struct jit_table *table, uint64_t now_ns, uint64_t cpu_ns)
{
	/* Gives every process one last attempt. */
	for (size_t i = 0; i < table->process_count; i++) {
		table->processes[i]->next_look_ns = 0;
		table->processes[i]->was_sampled = true;
	}
	return run(table, now_ns, new_budget(INT64_MAX, cpu_ns));
}
