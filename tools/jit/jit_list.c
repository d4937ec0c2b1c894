/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "base/utf8.h"
#include "broker/broker.h"
#include "jit/jit_memory.h"
#include "jit/jit_table.h"
#include "process/process_scan.h"
#include "process/process_table.h"
#include "tools/jit/jit_commands.h"
#include "tools/jit/jit_process_file.h"
#include "tools/jit/jit_text.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bound, since a process may write faster than we read. */
#define CPU_NS_MAX (2ULL * NSEC_PER_SEC)
#define BYTES_MAX  ((size_t)256 << 20)

struct listing {
	struct invocation base;
	struct broker *broker;
	struct process_table *processes;
	struct jit_table *table;
	struct jit_process_report *reports; /* their paths are the table's */
	size_t count, capacity;
	uint64_t now_ns;
};

static void done(void *invocation)
{
	struct listing *listing = invocation;

	free(listing->reports);
	jit_table_free(listing->table);
	process_table_free(listing->processes);
	broker_free(listing->broker);
}

/* The most likely memory of generated code. A memfd comes last: it is mostly used as a file. */
static enum jit_memory memory_of(const struct listing *listing, pid_t pid)
{
	enum jit_memory likeliest = JIT_MEMORY_NONE;
	const struct process_mapping *mappings;
	size_t count;

	count = process_table_mappings(listing->processes, pid, listing->now_ns, &mappings);
	for (size_t i = 0; i < count; i++) {
		struct mapped_file file;
		enum jit_memory memory;

		process_table_file(listing->processes, mappings[i].file, &file);
		memory = jit_memory_of(&file);
		if (memory == JIT_MEMORY_PRIVATE || memory == JIT_MEMORY_SHARED)
			return memory;
		if (memory != JIT_MEMORY_NONE)
			likeliest = memory;
	}
	return likeliest;
}

/* Finds the processes and reads their files. Returns 0 or -errno with `fault`. */
static int look(struct listing *listing, struct fault *fault)
{
	_cleanup_(process_rescan_done) struct process_rescan scan = { 0 };
	struct jit_table_limits limits = jit_table_default_limits;
	size_t cursor = 0;
	pid_t pid;
	int r;

	limits.bytes = BYTES_MAX;
	listing->now_ns = clock_monotonic_ns();
	r = broker_new(NULL, &listing->broker);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &listing->processes);
	if (r == 0)
		r = jit_table_new(&limits, listing->broker, listing->processes, &listing->table);
	if (r < 0)
		return r;
	r = process_rescan_begin(&scan, "/proc");
	if (r == 0)
		r = process_rescan_run(
			&scan, listing->broker, listing->processes, listing->now_ns, UINT64_MAX);
	if (r < 0)
		return fault_set(fault, r, "cannot look through /proc: %s", strerror(-r));
	r = jit_table_note_all(listing->table);
	while (r == 0 && process_table_next_live(listing->processes, &cursor, &pid))
		if (memory_of(listing, pid) != JIT_MEMORY_NONE)
			r = jit_table_note_memory(listing->table, pid, listing->now_ns, 0);
	if (r == 0)
		r = jit_table_finish(listing->table, clock_monotonic_ns(), CPU_NS_MAX);
	return r;
}

static int compare_pids(const void *a, const void *b)
{
	const struct jit_process_report *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Also lists processes that surely have generated code but no file: their code stays unnamed. */
static int collect(struct listing *listing)
{
	struct jit_process_report report;
	size_t cursor = 0;
	int r;

	while (jit_table_next(listing->table, &cursor, &report)) {
		if (!report.path[0] && memory_of(listing, report.pid) == JIT_MEMORY_MEMFD)
			continue;
		r = ARRAY_RESERVE(listing->reports, &listing->capacity, listing->count + 1,
			jit_table_default_limits.processes);
		if (r < 0)
			return r;
		listing->reports[listing->count++] = report;
	}
	if (listing->count > 0)
		qsort(listing->reports, listing->count, sizeof(report), compare_pids);
	return 0;
}

/* The columns that both kinds of files have. */
struct figures {
	const char *kind;
	uint64_t records, bytes, unread_bytes, damaged;
};

static struct figures figures_of(const struct jit_process_report *report)
{
	const struct perf_map_reader_state *map = &report->perf_map;
	const struct jitdump_reader_state *dump = &report->jitdump;

	if (!report->path[0])
		return (struct figures){ .kind = "none" };
	if (!report->is_jitdump)
		return (struct figures){ "perf-map", map->counters.lines, map->file_bytes,
			map->unread_bytes, map->counters.malformed };
	return (struct figures){ "jitdump", dump->counters.records, dump->file_bytes,
		dump->unread_bytes, dump->counters.damaged + dump->counters.lines_damaged };
}

/* The age of the last record. False: it has no time. */
static bool age_of(const struct listing *listing, const struct jit_process_report *report,
	uint64_t *ret_age_ns)
{
	if (report->last_record_ns == 0)
		return false;
	*ret_age_ns = listing->now_ns > report->last_record_ns
			      ? listing->now_ns - report->last_record_ns
			      : 0;
	return true;
}

static void print(struct listing *listing, const struct jit_process_report *report)
{
	const struct figures figures = figures_of(report);
	char comm[UTF8_CLEAN_BYTES], bytes[SHOWN_TEXT_BYTES_BYTES], memory[SHOWN_TEXT_BYTES_BYTES];
	char lag[SHOWN_TEXT_BYTES_BYTES], age[JIT_TEXT_TIME_BYTES] = "-";
	struct output *output = &listing->base.output;
	uint64_t age_ns;

	(void)utf8_clean(comm, report->comm, strnlen(report->comm, sizeof(report->comm)));
	if (age_of(listing, report, &age_ns))
		(void)snprintf(age, sizeof(age), "%.1f s", (double)age_ns / (double)NSEC_PER_SEC);
	output_printf(output,
		"%7d  %-15s  %-8s  %-8s  %9" PRIu64 "  %9zu  %10s  %10s  %10s  %9s  %7" PRIu64 "  ",
		(int)report->pid, comm, *report->runtime ? report->runtime : "-", figures.kind,
		figures.records, report->symbols, shown_text_bytes(figures.bytes, bytes),
		shown_text_bytes(report->bytes, memory),
		shown_text_bytes(figures.unread_bytes, lag), age, figures.damaged);
	shown_text_string(output, report->path);
	if (!report->path[0])
		output_printf(output, "(%s)",
			report->open_error == 0 || report->open_error == -ENOENT
				? "neither jitdump nor perf map"
				: jit_process_file_explain(report->open_error));
	if (report->is_jitdump && report->jitdump.fault != JITDUMP_FAULT_NONE)
		output_printf(output, " (%s at byte %" PRIu64 ")",
			jitdump_fault_name(report->jitdump.fault), report->jitdump.fault_offset);
	if (report->sharers > 1)
		output_printf(output, " (of %" PRIu32 " processes)", report->sharers);
	output_char(output, '\n');
}

static void print_json_troubles(struct json *json, const struct jit_process_report *report)
{
	if (report->open_error < 0) {
		json_member_string(json, "error", strerror(-report->open_error));
	}
	if (report->is_jitdump && report->jitdump.fault != JITDUMP_FAULT_NONE) {
		json_member_string(json, "fault", jitdump_fault_name(report->jitdump.fault));
		json_member_u64(json, "fault_offset", report->jitdump.fault_offset);
	}
}

static void print_json(struct listing *listing, const struct jit_process_report *report)
{
	const struct figures figures = figures_of(report);
	struct json *json = &listing->base.json;
	uint64_t age_ns;

	json_begin_object(json);
	json_key(json, "pid");
	json_i64(json, report->pid);
	json_member_u64(json, "ns_pid", report->ns_pid);
	json_key(json, "comm");
	json_string_bytes(json, report->comm, strnlen(report->comm, sizeof(report->comm)));
	json_member_string(json, "runtime", report->runtime);
	json_member_string(json, "kind", figures.kind);
	json_member_string(json, "path", report->path);
	json_member_u64(json, "bytes", figures.bytes);
	json_member_u64(json, "records", figures.records);
	json_member_u64(json, "symbols", report->symbols);
	json_member_u64(json, "memory_bytes", report->bytes);
	json_member_u64(json, "unread_bytes", figures.unread_bytes);
	json_member_u64(json, "damaged", figures.damaged);
	json_member_u64(json, "dropped",
		report->code.history_dropped + report->code.lines_dropped +
			report->code.code_dropped);
	json_member_u64(json, "sharers", report->sharers);
	json_key(json, "age_s");
	if (age_of(listing, report, &age_ns))
		json_seconds(json, (double)age_ns / (double)NSEC_PER_SEC);
	else
		json_null(json);
	print_json_troubles(json, report);
	json_end_object(json);
	json_end_line(json);
}

static int run(void *invocation)
{
	struct listing *listing = invocation;
	int r = look(listing, &listing->base.fault);

	if (r == 0)
		r = collect(listing);
	if (r < 0)
		return r;
	if (!listing->base.is_json && listing->count > 0)
		output_printf(&listing->base.output,
			"%7s  %-15s  %-8s  %-8s  %9s  %9s  %10s  %10s  %10s  %9s  %7s  %s\n", "PID",
			"COMMAND", "RUNTIME", "KIND", "RECORDS", "SYMBOLS", "SIZE", "MEMORY", "LAG",
			"AGE", "DAMAGED", "FILE");
	for (size_t i = 0; i < listing->count; i++) {
		if (listing->base.is_json)
			print_json(listing, &listing->reports[i]);
		else
			print(listing, &listing->reports[i]);
	}
	return command_flush(&listing->base);
}

const struct command jit_list = {
	.name = "jit list",
	.summary = "list the processes that generate code, and their files",
	.synopsis = "[OPTION...]",
	.description = "List the processes that generate code, and the files in which they name "
		       "it: RECORDS (lines of a perf map), SYMBOLS that exist now, SIZE of the "
		       "file, MEMORY that its symbols take, LAG (bytes of a record that is not "
		       "complete yet), AGE of the last record, and how many records are DAMAGED. "
		       "Only root sees other users' processes.",
	.has_json = true,
	.bytes = sizeof(struct listing),
	.run = run,
	.done = done,
};
