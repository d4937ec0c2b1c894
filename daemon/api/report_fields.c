/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_fields.h"

#include "base/array.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define FIELD(name) offsetof(struct report, name), sizeof(((struct report *)NULL)->name)

const struct report_field report_fields[] = {
	{ "service", "started_seconds", "start_time_seconds",
		"When the service's engine was started, since 1970.", FIELD(service.started_ns),
		REPORT_NANOSECONDS },
	{ "service", "now_seconds", "time_seconds", "The service's clock, since 1970.",
		FIELD(service.now_ns), REPORT_NANOSECONDS },
	{ "service", "cpus", "cpus", "CPUs that there may be.", FIELD(service.cpu_count),
		REPORT_NUMBER },
	{ "service", "online_cpus", "online_cpus", "CPUs that run now.",
		FIELD(service.online_cpu_count), REPORT_NUMBER },
	{ "service", "engine_starts", "engine_starts_total",
		"Engines started; more than one: it was started again.",
		FIELD(service.engine_starts), REPORT_NUMBER },

	{ "sampling", "rate_hz", "sampling_rate_hertz", "Samples a second on each CPU, now.",
		FIELD(service.rate_hz), REPORT_NUMBER },
	{ "sampling", "wanted_rate_hz", "sampling_rate_wanted_hertz",
		"Samples a second on each CPU, as configured.", FIELD(service.wanted_rate_hz),
		REPORT_NUMBER },
	{ "sampling", "window_seconds", "window_seconds", "How long a window of the history is.",
		FIELD(service.window_ns), REPORT_NANOSECONDS },
	{ "sampling", "drain_lag_seconds", "drain_lag_seconds",
		"Between the end of the last drain and when it was due.",
		FIELD(service.drain_lag_ns), REPORT_NANOSECONDS },

	{ "cost", "ppm", "cost_ratio",
		"Of all CPU time of the machine, what the service used in the last minute.",
		FIELD(service.cost_ppm), REPORT_PPM_DOUBLE },
	{ "cost", "max_ppm", "cost_max_ratio", "What it may use of it; the rate follows.",
		FIELD(service.max_cost_ppm), REPORT_PPM },
	{ "cost", "bpf_seconds", "bpf_cpu_seconds_total", "CPU time of the BPF programs.",
		FIELD(service.bpf_ns), REPORT_NANOSECONDS },
	{ "cost", "engine_cpu_seconds", "engine_cpu_seconds_total",
		"CPU time of the engine that runs.", FIELD(service.engine_cpu_ns),
		REPORT_NANOSECONDS },
	{ "cost", "broker_cpu_seconds", "broker_cpu_seconds_total",
		"CPU time of the broker and of its children that have ended: symbols, queries, "
		"former engines.",
		FIELD(service.broker_cpu_ns), REPORT_NANOSECONDS },

	{ "memory", "bytes", "memory_bytes", "Memory of the whole service, BPF maps included.",
		FIELD(service.memory_bytes), REPORT_NUMBER },
	{ "memory", "max_bytes", "memory_max_bytes", "The budget of it.",
		FIELD(service.memory_max_bytes), REPORT_NUMBER },
	{ "memory", "map_bytes", "memory_map_bytes", "Of it, BPF maps.", FIELD(service.map_bytes),
		REPORT_NUMBER },
	{ "memory", "sideband_bytes", "memory_sideband_bytes",
		"Of it, the rings of the kernel's side-band.", FIELD(service.sideband_bytes),
		REPORT_NUMBER },
	{ "memory", "engine_bytes", "memory_engine_bytes", "Of it, the engine.",
		FIELD(service.engine_bytes), REPORT_NUMBER },
	{ "memory", "profile_bytes", "memory_profile_bytes", "Of the engine, the open window.",
		FIELD(service.profile_bytes), REPORT_NUMBER },
	{ "memory", "jit_bytes", "memory_jit_bytes", "Of the engine, names of generated code.",
		FIELD(service.jit_bytes), REPORT_NUMBER },

	{ "history", "is_kept", "history_kept", "Whether a history is kept.",
		FIELD(service.has_history), REPORT_BOOLEAN },
	{ "history", "is_failing", "history_failing", "Whether it cannot be written at present.",
		FIELD(service.is_history_failing), REPORT_BOOLEAN },
	{ "history", "windows_sealed", "windows_sealed_total", "Windows written since the start.",
		FIELD(service.windows_sealed), REPORT_NUMBER },
	{ "history", "windows_dropped", "windows_dropped_total",
		"Windows that could not be written.", FIELD(service.windows_dropped),
		REPORT_NUMBER },
	{ "history", "sealed_until_seconds", "sealed_until_time_seconds",
		"Until when the history holds all there is, since 1970.",
		FIELD(service.sealed_until_ns), REPORT_NANOSECONDS },
	{ "history", "bytes", "history_bytes", "The history on disk.", FIELD(service.history_bytes),
		REPORT_NUMBER },
	{ "history", "max_bytes", "history_max_bytes", "What it may take.",
		FIELD(service.history_max_bytes), REPORT_NUMBER },
	{ "history", "days", "history_databases", "Its databases, one a day.",
		FIELD(service.history_days), REPORT_NUMBER },
	{ "history", "windows", "history_windows", "Windows in it.", FIELD(service.history_windows),
		REPORT_NUMBER },
	{ "history", "first_seconds", "history_first_time_seconds",
		"The beginning of its first window, since 1970.", FIELD(service.history_first_ns),
		REPORT_NANOSECONDS },
	{ "history", "last_seconds", "history_last_time_seconds",
		"The end of its last window, since 1970.", FIELD(service.history_last_ns),
		REPORT_NANOSECONDS },

	{ "names", "binaries_wanted", "binaries_wanted_total",
		"Binaries whose symbols were wanted.", FIELD(service.binaries_wanted),
		REPORT_NUMBER },
	{ "names", "binaries_cached", "binaries_cached_total",
		"Of them, those that the symbol cache had.", FIELD(service.binaries_cached),
		REPORT_NUMBER },
	{ "names", "binaries_extracted", "binaries_extracted_total",
		"Of them, those whose symbols were extracted.", FIELD(service.binaries_extracted),
		REPORT_NUMBER },
	{ "names", "binaries_failed", "binaries_failed_total",
		"Of them, those whose symbols were not to be had.", FIELD(service.binaries_failed),
		REPORT_NUMBER },
	{ "names", "binaries_pending", "binaries_pending", "Of them, those still to be done.",
		FIELD(service.binaries_pending), REPORT_NUMBER },
	{ "names", "symbol_cache_bytes", "symbol_cache_bytes", "The symbol cache on disk.",
		FIELD(service.symbol_cache_bytes), REPORT_NUMBER },
	{ "names", "symbol_cache_max_bytes", "symbol_cache_max_bytes", "What it may take.",
		FIELD(service.symbol_cache_max_bytes), REPORT_NUMBER },
	{ "names", "symbol_cache_entries", "symbol_cache_entries", "Binaries in it.",
		FIELD(service.symbol_cache_entries), REPORT_NUMBER },

	{ "processes", "known", "processes", "Processes that are known.", FIELD(service.processes),
		REPORT_NUMBER },
	{ "processes", "refused", "processes_refused_total", "Processes beyond the bound.",
		FIELD(service.processes_refused), REPORT_NUMBER },
	{ "processes", "mappings", "mappings", "Executable mappings that are known.",
		FIELD(service.mappings), REPORT_NUMBER },
	{ "processes", "sideband_records", "sideband_records_total",
		"Records of the kernel's side-band that were read.",
		FIELD(service.sideband_records), REPORT_NUMBER },
	{ "processes", "sideband_lost", "sideband_records_lost_total",
		"Records of it that were lost.", FIELD(service.sideband_lost), REPORT_NUMBER },

	{ "stacks", "by_tables", "stacks_by_tables_total", "User stacks walked by unwind tables.",
		FIELD(service.stacks_by_tables), REPORT_NUMBER },
	{ "stacks", "by_frame_pointers", "stacks_by_frame_pointers_total",
		"User stacks walked by frame pointers.", FIELD(service.stacks_by_frame_pointers),
		REPORT_NUMBER },
	{ "stacks", "cut", "stacks_cut_total", "User stacks that end before their root.",
		FIELD(service.stacks_cut), REPORT_NUMBER },

	{ "jit", "process_count", "jit_processes", "Processes that tell of generated code.",
		FIELD(service.jit_processes), REPORT_NUMBER },
	{ "jit", "samples", "jit_samples_total", "Samples in generated code.",
		FIELD(service.jit_samples), REPORT_NUMBER },
	{ "jit", "leaves_unknown", "jit_leaves_unknown_total", "Of them, those without a name.",
		FIELD(service.jit_leaves_unknown), REPORT_NUMBER },
	{ "jit", "waiting", "jit_samples_waiting", "Samples that wait for their name.",
		FIELD(service.jit_waiting), REPORT_NUMBER },

	{ "http", "connections", "http_connections_total", "Connections that were made.",
		FIELD(http.connections), REPORT_NUMBER },
	{ "http", "connections_refused", "http_connections_refused_total",
		"Of them, those beyond a bound.", FIELD(http.connections_refused), REPORT_NUMBER },
	{ "http", "connections_open", "http_connections_open", "Connections now.", FIELD(http.open),
		REPORT_NUMBER },
	{ "http", "requests", "http_requests_total", "Requests.", FIELD(http.requests),
		REPORT_NUMBER },
	{ "http", "timeouts", "http_timeouts_total",
		"Requests that did not arrive, and answers that were not read.",
		FIELD(http.timeouts), REPORT_NUMBER },
	{ "http", "sent_bytes", "http_sent_bytes_total", "Bytes of answers.", FIELD(http.bytes),
		REPORT_NUMBER },

	{ "queries", "answered", "queries_answered_total", "Profiles made for somebody.",
		FIELD(queries.answered), REPORT_NUMBER },
	{ "queries", "refused", "queries_refused_total",
		"Queries for what makes no sense or is not there.", FIELD(queries.refused),
		REPORT_NUMBER },
	{ "queries", "failed", "queries_failed_total", "Queries that failed.",
		FIELD(queries.failed), REPORT_NUMBER },
	{ "queries", "timed_out", "queries_timed_out_total", "Queries whose time was over.",
		FIELD(queries.timed_out), REPORT_NUMBER },
	{ "queries", "abandoned", "queries_abandoned_total",
		"Queries whose client did not wait for the answer.", FIELD(queries.abandoned),
		REPORT_NUMBER },
	{ "queries", "running", "queries_running", "Queries that are being answered.",
		FIELD(queries.running), REPORT_NUMBER },
	{ "queries", "waiting", "queries_waiting", "Queries that wait.", FIELD(queries.waiting),
		REPORT_NUMBER },
};
const size_t report_field_count = ARRAY_SIZE(report_fields);

static uint64_t rounded(double value)
{
	/* False of what is no number, too. */
	if (!(value > 0))
		return 0;
	return value < 1e15 ? (uint64_t)(value + 0.5) : (uint64_t)1e15;
}

uint64_t report_field_get(const struct report_field *field, const struct report *report)
{
	const char *at = (const char *)report + field->offset;
	uint32_t narrow;
	uint64_t wide;
	double real;

	if (field->unit == REPORT_PPM_DOUBLE) {
		memcpy(&real, at, sizeof(real));
		return rounded(real);
	}
	if (field->bytes == sizeof(bool))
		return *(const bool *)at;
	if (field->bytes == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

const char *report_drop_name(enum pilotlight_drop reason, char name[REPORT_NAME_BYTES])
{
	const char *text = accounts_drop_name(reason);
	size_t i;

	for (i = 0; text[i] && i + 1 < REPORT_NAME_BYTES; i++)
		name[i] = text[i] == ' ' ? '_' : (char)tolower((unsigned char)text[i]);
	name[i] = '\0';
	return name;
}

const char *report_path_name(enum pilotlight_path path)
{
	static const char *const names[] = {
		[PILOTLIGHT_PATH_MAP] = "map",
		[PILOTLIGHT_PATH_RING] = "ring",
	};

	_Static_assert(ARRAY_SIZE(names) == PILOTLIGHT_PATH_COUNT, "each has a name");
	return names[path];
}

const char *report_event_name(enum pilotlight_event event)
{
	static const char *const names[] = {
		[PILOTLIGHT_EVENT_BUILD_ID_CALL] = "build_id_call",
		[PILOTLIGHT_EVENT_BUILD_ID_COLLISION] = "build_id_collision",
		[PILOTLIGHT_EVENT_STACK_COLLISION] = "stack_collision",
		[PILOTLIGHT_EVENT_STACKMAP_FULL] = "stackmap_full",
		[PILOTLIGHT_EVENT_COUNTS_FULL] = "counts_full",
		[PILOTLIGHT_EVENT_STACK_ERROR] = "stack_error",
		[PILOTLIGHT_EVENT_TIMED] = "timed",
		[PILOTLIGHT_EVENT_WALK_UNSENT] = "walk_unsent",
	};

	_Static_assert(ARRAY_SIZE(names) == PILOTLIGHT_EVENT_COUNT, "each has a name");
	return names[event];
}

const char *report_walker_name(enum pilotlight_walker walker)
{
	static const char *const names[] = {
		[PILOTLIGHT_WALKER_KERNEL] = "kernel",
		[PILOTLIGHT_WALKER_TABLES] = "tables",
	};

	_Static_assert(ARRAY_SIZE(names) == PILOTLIGHT_WALKERS, "each has a name");
	return names[walker];
}

const char *report_walk_end_name(enum pilotlight_walk_end end)
{
	static const char *const names[] = {
		[PILOTLIGHT_WALK_ROOT] = "root",
		[PILOTLIGHT_WALK_NO_TABLE] = "no_table",
		[PILOTLIGHT_WALK_NO_FUNCTION] = "no_function",
		[PILOTLIGHT_WALK_UNREADABLE] = "unreadable",
		[PILOTLIGHT_WALK_UNSUPPORTED] = "unsupported",
		[PILOTLIGHT_WALK_NO_CODE] = "no_code",
		[PILOTLIGHT_WALK_LOOPED] = "looped",
		[PILOTLIGHT_WALK_DEEP] = "deep",
	};

	_Static_assert(ARRAY_SIZE(names) == PILOTLIGHT_WALK_ENDS, "each has a name");
	return names[end];
}
