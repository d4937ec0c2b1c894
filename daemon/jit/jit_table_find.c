/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jit_table_state.h"

#include <errno.h>
#include <string.h>

/* Threads of one runtime write their records slightly out of time order. */
#define DISORDER_NS 20000000ULL

/* The ancestors that are searched, for forks with files of their own. */
enum { GENERATIONS_MAX = 8 };

/* --- which code a process sees --- */

static bool is_gone(const struct jit_followed *file, uint32_t writer)
{
	return file->gone[writer / 8] & 1U << writer % 8;
}

/* The process sees the code of `pid` up to `until_ns`. */
static void see_until(struct jit_process *process, const struct jit_followed *file, uint32_t pid,
	uint64_t until_ns)
{
	uint64_t last_record_ns;
	uint32_t writer;

	if (jitdump_reader_writer(file->jitdump, pid, &writer, &last_record_ns) &&
		writer < process->until_count)
		process->until_ns[writer] = until_ns;
}

/* Lets the process see its ancestors' code up to each fork. Returns the oldest known ancestor. */
static const struct jit_process *see_line(
	const struct jit_table *table, struct jit_process *process, const struct jit_followed *file)
{
	const struct jit_process *younger = process, *older;

	for (size_t i = 0; i < table->limits.processes; i++, younger = older) {
		older = younger->forked_from;
		if (!older || older->dump != process->dump)
			break;
		if (older->has_facts)
			see_until(process, file, older->facts.ns_pid, younger->start_ns);
	}
	return younger;
}

/*
 * Computes which writers' records the process sees. A writer that never was a known process of the
 * file counts, because its pid means nothing. Of the known ones, only the process itself and its
 * ancestors count. If the oldest known ancestor is a fork, ended writers may be its ancestors, so
 * they count up to that fork.
 */
static void fill_view(
	const struct jit_table *table, struct jit_process *process, const struct jit_followed *file)
{
	const struct jit_process *first;

	for (size_t i = 0; i < table->process_count; i++) {
		const struct jit_process *other = table->processes[i];

		if (other->dump == process->dump && other->has_facts)
			see_until(process, file, other->facts.ns_pid, 0);
	}
	first = see_line(table, process, file);
	for (uint32_t i = 0; i < process->until_count; i++)
		if (process->until_ns[i] == UINT64_MAX && is_gone(file, i))
			process->until_ns[i] = first->is_fork ? first->start_ns : 0;
	see_until(process, file, process->facts.ns_pid, UINT64_MAX);
}

/* Recomputes the view if it may have changed. */
static void renew_view(const struct jit_table *table, struct jit_process *process)
{
	const struct jit_followed *file = jit_table_file(table, process);
	uint32_t count = jitdump_reader_writer_count(file->jitdump);
	uint64_t *until;

	if (process->view_version == table->version && process->until_count == count)
		return;
	process->view_version = table->version;
	process->until_count = 0;
	if (count == 0 || !process->has_facts)
		return;
	/* Without memory, the process sees too much code rather than none. */
	until = realloc(process->until_ns, count * sizeof(*until));
	if (!until)
		return;
	for (uint32_t i = 0; i < count; i++)
		until[i] = UINT64_MAX;
	process->until_ns = until;
	process->until_count = count;
	fill_view(table, process, file);
}

/* --- questions --- */

static bool find_in(const struct jit_table *table, struct jit_process *process, uint64_t time_ns,
	uint64_t address, bool is_shared, struct code_found *ret_found)
{
	const struct jit_followed *file = jit_table_file(table, process);
	struct code_view view = { .since_ns = process->since_ns };

	if (!file->jitdump)
		return code_index_find(file->index, address, time_ns, NULL, ret_found);
	renew_view(table, process);
	view.until_ns = process->until_ns;
	view.count = is_shared ? 0 : process->until_count;
	return code_index_find(file->index, address, time_ns, &view, ret_found);
}

/*
 * A fork with files of its own still has its parents' code as of the fork. Only the parents' files
 * name that code.
 */
static bool find(const struct jit_table *table, struct jit_process *process, uint64_t time_ns,
	uint64_t address, bool is_shared, struct code_found *ret_found)
{
	const struct jit_followed *asked = NULL;

	for (int i = 0; process && i < GENERATIONS_MAX; i++) {
		const struct jit_followed *file = jit_table_file(table, process);

		if (file && file != asked &&
			find_in(table, process, time_ns, address, is_shared, ret_found)) {
			if (asked)
				ret_found->until_ns = UINT64_MAX;
			return true;
		}
		if (file)
			asked = file;
		if (process->is_fork && process->start_ns < time_ns)
			time_ns = process->start_ns;
		process = process->forked_from;
	}
	return false;
}

enum jit_answer jit_table_find(const struct jit_table *table, pid_t pid, uint64_t first_ns,
	uint64_t last_ns, uint64_t address, bool is_shared, struct code_found *ret_found)
{
	struct jit_process *process = jit_table_at(table, pid, first_ns);
	struct code_found found, later;
	bool is_found, is_known_later;

	if (!process)
		return JIT_UNKNOWN;
	if (process->sampled_ns < last_ns)
		process->sampled_ns = last_ns;
	is_found = find(table, process, first_ns, address, is_shared, &found);
	if (last_ns > first_ns) {
		is_known_later = find(table, process, last_ns, address, is_shared, &later);
		if (is_found != is_known_later || (is_found && found.until_ns <= last_ns) ||
			(is_found && found.time_ns != later.time_ns))
			return JIT_AMBIGUOUS;
	}
	if (!is_found)
		return JIT_UNKNOWN;
	*ret_found = found;
	return JIT_FOUND;
}

/* Says whether its writer has written records with later times. */
static bool is_told(const struct jit_process *process, const struct jit_followed *file,
	const struct jitdump_reader_state *state, uint64_t time_ns)
{
	uint64_t last_record_ns = state->last_record_ns;
	uint32_t writer;

	/* A fork may not have written yet, and records of others say nothing about it. */
	if (process->has_facts && !jitdump_reader_writer(file->jitdump, process->facts.ns_pid,
					  &writer, &last_record_ns))
		last_record_ns = process->is_fork ? 0 : state->last_record_ns;
	return last_record_ns > time_ns && last_record_ns - time_ns > DISORDER_NS;
}

bool jit_table_is_final(const struct jit_table *table, pid_t pid, uint64_t time_ns, bool is_named)
{
	const struct jit_process *process = jit_table_at(table, pid, time_ns);
	const struct jit_followed *file = process ? jit_table_file(table, process) : NULL;
	struct jitdump_reader_state state;

	if (!process || process->is_finished)
		return true;
	if (!file)
		return false;
	if (!file->jitdump)
		return is_named;
	jitdump_reader_state(file->jitdump, &state);
	return is_told(process, file, &state, time_ns);
}

uint64_t jit_table_code_version(const struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	const struct jit_process *process = jit_table_at(table, pid, time_ns);
	const struct jit_followed *file = process ? jit_table_file(table, process) : NULL;
	struct code_index_counters counters;

	if (!file)
		return 0;
	code_index_counters(file->index, &counters);
	return counters.loads + counters.moves;
}

const char *jit_table_runtime(const struct jit_table *table, pid_t pid, uint64_t time_ns)
{
	const struct jit_process *process = jit_table_at(table, pid, time_ns);
	const struct jit_followed *file = process ? jit_table_file(table, process) : NULL;
	struct jitdump_reader_state state;
	struct perf_map_reader_state map_state;

	if (!file)
		return "";
	if (file->jitdump) {
		jitdump_reader_state(file->jitdump, &state);
		return jitdump_runtime_name(state.runtime);
	}
	perf_map_reader_state(file->perf_map, &map_state);
	return map_state.is_erlang ? jitdump_runtime_name(JITDUMP_RUNTIME_ERLANG) : "";
}

static void report_file(const struct jit_table *table, const struct jit_process *process,
	struct jit_process_report *report)
{
	const struct jit_followed *file = jit_table_file(table, process);

	report->path = file->path;
	report->is_jitdump = file->jitdump != NULL;
	report->sharers = file->references;
	report->symbols = code_index_count(file->index);
	report->bytes = code_index_bytes(file->index);
	code_index_counters(file->index, &report->code);
	if (file->jitdump) {
		jitdump_reader_state(file->jitdump, &report->jitdump);
		report->last_record_ns = report->jitdump.last_record_ns;
	} else {
		perf_map_reader_state(file->perf_map, &report->perf_map);
	}
	report->runtime = jit_table_runtime(table, process->pid, process->start_ns);
}

bool jit_table_next(
	const struct jit_table *table, size_t *cursor, struct jit_process_report *ret_report)
{
	while (*cursor < table->process_count) {
		const struct jit_process *process = table->processes[(*cursor)++];

		*ret_report = (struct jit_process_report){
			.pid = process->pid,
			.ns_pid = process->facts.ns_pid,
			.has_ended = process->end_ns != PROCESS_LIVE,
			.path = "",
			.runtime = "",
		};
		memcpy(ret_report->comm, process->facts.comm, sizeof(ret_report->comm));
		if (jit_table_file(table, process))
			report_file(table, process, ret_report);
		else
			ret_report->open_error = process->open_error;
		return true;
	}
	return false;
}

void jit_table_counters(const struct jit_table *table, struct jit_table_counters *ret_counters)
{
	*ret_counters = table->counters;
}

size_t jit_table_bytes(const struct jit_table *table)
{
	size_t bytes = sizeof(*table) + table->process_capacity * sizeof(*table->processes) +
		       table->process_count * sizeof(**table->processes) +
		       table->file_capacity * sizeof(*table->files);

	for (size_t i = 0; i < table->process_count; i++)
		bytes += table->processes[i]->until_count * sizeof(uint64_t);
	for (size_t i = 0; i < table->file_count; i++) {
		const struct jit_followed *file = &table->files[i];

		if (file->references == 0)
			continue;
		bytes += strlen(file->path) + 1;
		bytes += code_index_bytes(file->index);
		bytes += file->jitdump ? jitdump_reader_bytes(file->jitdump)
				       : perf_map_reader_bytes(file->perf_map);
	}
	return bytes;
}

const struct user_share *jit_table_share(const struct jit_table *table)
{
	return &table->code_share;
}

const struct user_excess *jit_table_excess(const struct jit_table *table)
{
	return &table->excess;
}
