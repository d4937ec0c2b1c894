/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/hash_index.h"
#include "jit/jit_table_state.h"

#include <errno.h>
#include <stdlib.h>

static struct jit_process *process_of(
	const struct jit_table *table, pid_t pid, uint64_t time_ns, struct process_image *ret_image)
{
	return process_table_image(table->images, pid, time_ns, ret_image) ? ret_image->data : NULL;
}

struct jit_process *jit_table_newest(const struct jit_table *table, pid_t pid)
{
	struct process_image image;

	return process_of(table, pid, UINT64_MAX, &image);
}

struct jit_process *jit_table_at(const struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	struct process_image image;
	struct jit_process *process = process_of(table, pid, time_ns, &image);

	return process && process->start_ns <= time_ns && time_ns <= process->end_ns ? process
										     : NULL;
}

static void remove_process(struct jit_table *table, struct jit_process *process)
{
	struct jit_process *last = table->processes[--table->process_count];

	table->processes[process->position] = last;
	last->position = process->position;
	for (size_t i = 0; process->has_forks && i < table->process_count; i++)
		if (table->processes[i]->forked_from == process)
			table->processes[i]->forked_from = NULL;
	jit_table_drop_dump(table, process);
	jit_table_drop_map(table, process);
	table->version++;
	free(process->until_ns);
	free(process);
}

/*
 * The user with the most processes makes room, so that one user's processes do not evict those of
 * others (I4). That holds for ended processes, too: their last samples are named after the next
 * drain only, and then the process table removes them anyway. Users share the counters, as there
 * may be many.
 */
enum { USER_COUNTERS = 256 };

static size_t counter_of(const struct jit_table *table, const struct jit_process *process)
{
	return hash_pair(jit_table_user_of(table, process), 0) % USER_COUNTERS;
}

static size_t biggest_user(const struct jit_table *table)
{
	size_t counts[USER_COUNTERS] = { 0 }, biggest = 0;

	for (size_t i = 0; i < table->process_count; i++)
		counts[counter_of(table, table->processes[i])]++;
	for (size_t i = 1; i < USER_COUNTERS; i++)
		if (counts[i] > counts[biggest])
			biggest = i;
	return biggest;
}

/* The order of eviction: ended processes, then the one without a sample for longest. */
static bool goes_before(const struct jit_process *first, const struct jit_process *second)
{
	bool has_ended = first->end_ns != PROCESS_LIVE;

	if (has_ended != (second->end_ns != PROCESS_LIVE))
		return has_ended;
	return has_ended ? first->end_ns < second->end_ns : first->sampled_ns < second->sampled_ns;
}

static bool evict_process(struct jit_table *table, const struct jit_process *kept)
{
	const size_t biggest = biggest_user(table);
	struct jit_process *first = NULL;

	for (size_t i = 0; i < table->process_count; i++) {
		struct jit_process *process = table->processes[i];

		if (process != kept && counter_of(table, process) == biggest &&
			(!first || goes_before(process, first)))
			first = process;
	}
	if (!first)
		return false;
	table->counters.processes_evicted += first->end_ns == PROCESS_LIVE;
	process_table_set_data(table->images, first->image, NULL);
	remove_process(table, first);
	return true;
}

/* `kept` is never evicted to make room; it may be NULL. Returns NULL if there is no room. */
static struct jit_process *new_process(
	struct jit_table *table, const struct process_image *image, const struct jit_process *kept)
{
	struct jit_process *process;

	if (table->process_count == table->limits.processes && !evict_process(table, kept))
		return NULL;
	if (ARRAY_RESERVE(table->processes, &table->process_capacity, table->process_count + 1,
		    table->limits.processes) < 0)
		return NULL;
	process = malloc(sizeof(*process));
	if (!process)
		return NULL;
	*process = (struct jit_process){
		.image = image->id,
		.position = (uint32_t)table->process_count,
		.pid = image->pid,
		.parent = image->parent,
		.start_ns = image->start_ns,
		.end_ns = image->end_ns,
		.since_ns = image->program_ns,
		.facts.uid = JIT_NO_USER,
		.dump = JIT_NO_FILE,
		.map = JIT_NO_FILE,
	};
	table->processes[table->process_count++] = process;
	table->version++;
	return process;
}

int jit_table_add(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process)
{
	struct process_image image = { 0 };
	struct jit_process *process =
		process_of(table, pid, time_ns ? time_ns : UINT64_MAX, &image);

	if (!process && image.pid > 0) {
		process = new_process(table, &image, NULL);
		if (!process)
			return -ENOMEM;
		process->lacks_marker_scan = true;
		process_table_set_data(table->images, image.id, process);
	}
	*ret_process = process;
	return 0;
}

/* --- callbacks of the process table --- */

static uint32_t share_file(struct jit_table *table, uint32_t file)
{
	if (file != JIT_NO_FILE)
		table->files[file].references++;
	return file;
}

/* Without room, the child starts without its parent's files. */
static void *fork_process(void *context, void *data, const struct process_image *image)
{
	struct jit_process *parent = data, *child;
	struct jit_table *table = context;

	parent->has_forks = true;
	child = new_process(table, image, parent);
	if (!child)
		return NULL;
	child->facts.uid = parent->facts.uid;
	child->is_fork = true;
	child->dump = share_file(table, parent->dump);
	child->map = share_file(table, parent->map);
	child->forked_from = parent;
	return child;
}

static void end_process(void *context, void *data, uint64_t end_ns)
{
	struct jit_process *process = data;
	struct jit_table *table = context;

	/* It has not ended: its map may grow. */
	if (end_ns == PROCESS_LIVE && process->map != JIT_NO_FILE)
		table->files[process->map].is_final = false;
	process->end_ns = end_ns;
	process->is_finished = false;
	process->final_bytes = 0;
	process->next_look_ns = 0;
	table->version++;
}

static bool is_finished(void *context, const void *data)
{
	const struct jit_process *process = data;

	(void)context;
	return process->is_finished;
}

static void free_process(void *context, void *data)
{
	remove_process(context, data);
}

void jit_table_attach(struct jit_table *table)
{
	const struct process_follower follower = {
		.context = table,
		.forked = fork_process,
		.ended = end_process,
		.is_finished = is_finished,
		.free = free_process,
	};

	process_table_follow(table->images, &follower);
}

void jit_table_detach(struct jit_table *table)
{
	process_table_follow(table->images, NULL);
	while (table->process_count > 0)
		remove_process(table, table->processes[0]);
}
