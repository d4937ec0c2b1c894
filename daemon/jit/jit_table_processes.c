/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/hash_index.h"
#include "jit/jit_table_state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static uint32_t *bucket_of(const struct jit_table *table, pid_t pid)
{
	return &table->buckets[hash_pair((uint64_t)pid, 0) & (table->bucket_count - 1)];
}

/* Where the id of the newest image of `pid` stands, or the end of its bucket. */
static uint32_t *newest_place(const struct jit_table *table, pid_t pid)
{
	uint32_t *place = bucket_of(table, pid);

	while (*place != JIT_NONE && table->processes[*place].pid != pid)
		place = &table->processes[*place].next;
	return place;
}

struct jit_process *jit_table_newest(const struct jit_table *table, pid_t pid)
{
	uint32_t id = *newest_place(table, pid);

	return id == JIT_NONE ? NULL : &table->processes[id];
}

struct jit_process *jit_table_at(const struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	uint32_t id = *newest_place(table, pid);

	while (id != JIT_NONE && table->processes[id].start_ns > time_ns)
		id = table->processes[id].older;
	/* After it there was another program, or nobody. */
	return id == JIT_NONE || table->processes[id].end_ns < time_ns ? NULL
								       : &table->processes[id];
}

struct jit_process *jit_table_forked_from(
	const struct jit_table *table, const struct jit_process *process)
{
	struct jit_process *from;

	if (process->forked_from == JIT_NONE)
		return NULL;
	from = &table->processes[process->forked_from];
	return from->serial == process->forked_from_serial ? from : NULL;
}

void jit_table_end(struct jit_table *table, struct jit_process *process, uint64_t time_ns)
{
	uint32_t id = (uint32_t)(process - table->processes);

	if (process->end_ns != JIT_LIVE)
		return;
	process->end_ns = time_ns < process->start_ns ? process->start_ns : time_ns;
	process->next_look_ns = 0;
	process->ended_after = JIT_NONE;
	if (table->last_ended == JIT_NONE)
		table->first_ended = id;
	else
		table->processes[table->last_ended].ended_after = id;
	table->last_ended = id;
	table->version++;
}

struct jit_process *jit_table_first_ended(const struct jit_table *table)
{
	return table->first_ended == JIT_NONE ? NULL : &table->processes[table->first_ended];
}

/* Of images of one pid the oldest ends first. */
static void unchain(struct jit_table *table, uint32_t id)
{
	const struct jit_process *process = &table->processes[id];
	uint32_t *place = newest_place(table, process->pid);

	assert(process->older == JIT_NONE);
	if (*place == id) {
		*place = process->next;
		return;
	}
	while (table->processes[*place].older != id)
		place = &table->processes[*place].older;
	table->processes[*place].older = JIT_NONE;
}

void jit_table_remove_first_ended(struct jit_table *table)
{
	uint32_t id = table->first_ended;
	struct jit_process *process = &table->processes[id];

	table->first_ended = process->ended_after;
	if (table->first_ended == JIT_NONE)
		table->last_ended = JIT_NONE;
	unchain(table, id);
	jit_table_drop_dump(table, process);
	jit_table_drop_map(table, process);
	free(process->until_ns);
	/* Without a pid it is nobody's. */
	*process = (struct jit_process){
		.forked_from = JIT_NONE,
		.dump = JIT_NONE,
		.map = JIT_NONE,
		.next = table->free_process,
	};
	table->free_process = id;
	table->version++;
}

/* Nobody has asked for it for longest. Of images of one pid the oldest goes first. */
static struct jit_process *least_asked(const struct jit_table *table)
{
	struct jit_process *least = NULL;

	for (size_t i = 0; i < table->process_count; i++) {
		struct jit_process *process = &table->processes[i];

		if (process->pid > 0 && process->older == JIT_NONE &&
			(!least || process->asked_ns < least->asked_ns))
			least = process;
	}
	return least;
}

static int take_slot(struct jit_table *table, uint32_t *ret_id)
{
	int r;

	if (table->free_process == JIT_NONE && table->process_count >= table->limits.processes) {
		if (!jit_table_first_ended(table)) {
			struct jit_process *least = least_asked(table);

			jit_table_end(table, least, least->start_ns);
			table->counters.processes_evicted++;
		}
		jit_table_remove_first_ended(table);
	}
	if (table->free_process != JIT_NONE) {
		*ret_id = table->free_process;
		table->free_process = table->processes[*ret_id].next;
		return 0;
	}
	r = ARRAY_RESERVE(table->processes, &table->process_capacity, table->process_count + 1,
		table->limits.processes);
	if (r < 0)
		return r;
	*ret_id = (uint32_t)table->process_count++;
	return 0;
}

int jit_table_begin(
	struct jit_table *table, pid_t pid, uint64_t time_ns, struct jit_process **ret_process)
{
	struct jit_process *before = jit_table_newest(table, pid);
	uint32_t id = 0, *place;
	int r;

	if (before)
		jit_table_end(table, before, time_ns);
	r = take_slot(table, &id);
	if (r < 0)
		return r;
	/* Room may have been made by taking out the one before. */
	before = jit_table_newest(table, pid);
	if (before && time_ns < before->end_ns)
		time_ns = before->end_ns;
	place = newest_place(table, pid);
	table->processes[id] = (struct jit_process){
		.pid = pid,
		.start_ns = time_ns,
		.since_ns = time_ns,
		.end_ns = JIT_LIVE,
		.serial = ++table->last_serial,
		.forked_from = JIT_NONE,
		.dump = JIT_NONE,
		.map = JIT_NONE,
		.older = *place,
		.next = *place == JIT_NONE ? (uint32_t)JIT_NONE : table->processes[*place].next,
		.ended_after = JIT_NONE,
	};
	*place = id;
	table->version++;
	*ret_process = &table->processes[id];
	return 0;
}
