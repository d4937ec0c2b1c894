/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_fields.h"

#include "base/array.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define FIELD(name) offsetof(struct report, name), sizeof(((struct report *)NULL)->name)

const struct report_field report_fields[] = {
	{ "service", "started_seconds", "start_time_seconds",
		"Start time of the engine, in seconds since 1970.", FIELD(service.started_ns),
		REPORT_NANOSECONDS },
	{ "service", "now_seconds", "time_seconds",
		"Current time of the service, in seconds since 1970.", FIELD(service.now_ns),
		REPORT_NANOSECONDS },
	{ "service", "cpus", "cpus", "Number of possible CPUs.", FIELD(service.cpu_count),
		REPORT_NUMBER },
	{ "service", "online_cpus", "online_cpus", "Number of CPUs that are online.",
		FIELD(service.online_cpu_count), REPORT_NUMBER },
	{ "service", "engine_starts", "engine_starts_total",
		"Engine starts, with restarts and reloads.", FIELD(service.engine_starts),
		REPORT_NUMBER },
	{ "service", "config_refused", "config_refused",
		"1: the configuration had a mistake at the last reload, so the old one holds.",
		FIELD(service.is_config_refused), REPORT_BOOLEAN },

	{ "sampling", "rate_hz", "sampling_rate_hertz", "Current samples per second on each CPU.",
		FIELD(service.rate_hz), REPORT_NUMBER },
	{ "sampling", "wanted_rate_hz", "sampling_rate_wanted_hertz",
		"Configured samples per second on each CPU.", FIELD(service.wanted_rate_hz),
		REPORT_NUMBER },
	{ "sampling", "window_seconds", "window_seconds",
		"Length of a window of the history, in seconds.", FIELD(service.window_ns),
		REPORT_NANOSECONDS },
	{ "sampling", "drain_lag_seconds", "drain_lag_seconds",
		"Delay of the last read of the BPF maps, in seconds.", FIELD(service.drain_lag_ns),
		REPORT_NANOSECONDS },

	{ "cost", "ppm", "cost_ratio",
		"Share of the machine's CPU time that the service used in the last minute, without "
		"reading JIT files.",
		FIELD(service.cost_ppm), REPORT_PPM_DOUBLE },
	{ "cost", "max_ppm", "cost_max_ratio",
		"Limit of the cost ratio; the sampling rate adapts to it.",
		FIELD(service.max_cost_ppm), REPORT_PPM },
	{ "cost", "bpf_seconds", "bpf_cpu_seconds_total",
		"CPU time of the BPF programs, in seconds.", FIELD(service.bpf_ns),
		REPORT_NANOSECONDS },
	{ "cost", "engine_cpu_seconds", "engine_cpu_seconds_total",
		"CPU time of the current engine, in seconds.", FIELD(service.engine_cpu_ns),
		REPORT_NANOSECONDS },
	{ "cost", "broker_cpu_seconds", "broker_cpu_seconds_total",
		"CPU time of the broker and of its children that have exited (symbol workers, "
		"queries, former engines), in seconds.",
		FIELD(service.broker_cpu_ns), REPORT_NANOSECONDS },

	{ "memory", "bytes", "memory_bytes", "Memory of the whole service, with BPF maps.",
		FIELD(service.memory_bytes), REPORT_NUMBER },
	{ "memory", "max_bytes", "memory_max_bytes",
		"Limit of memory_bytes without memory_answer_bytes.",
		FIELD(service.memory_max_bytes), REPORT_NUMBER },
	{ "memory", "map_bytes", "memory_map_bytes",
		"Memory of the BPF maps, part of memory_bytes.", FIELD(service.map_bytes),
		REPORT_NUMBER },
	{ "memory", "sideband_bytes", "memory_sideband_bytes",
		"Memory of the rings of perf side-band events, part of memory_bytes.",
		FIELD(service.sideband_bytes), REPORT_NUMBER },
	{ "memory", "engine_bytes", "memory_engine_bytes",
		"Memory of the engine, part of memory_bytes.", FIELD(service.engine_bytes),
		REPORT_NUMBER },
	{ "memory", "profile_bytes", "memory_profile_bytes",
		"Memory of the open window, part of memory_engine_bytes.",
		FIELD(service.profile_bytes), REPORT_NUMBER },
	{ "memory", "jit_bytes", "memory_jit_bytes",
		"Memory of the names of JIT code, part of memory_engine_bytes.",
		FIELD(service.jit_bytes), REPORT_NUMBER },
	{ "memory", "claim_bytes", "memory_claim_bytes",
		"Memory of what processes claim to be, part of memory_engine_bytes.",
		FIELD(service.claim_bytes), REPORT_NUMBER },
	{ "memory", "sink_bytes", "memory_sink_bytes",
		"Memory of what receivers have already, part of memory_bytes.",
		FIELD(service.sink_bytes), REPORT_NUMBER },
	{ "memory", "answer_bytes", "memory_answer_bytes",
		"Memory of answers that clients have not read yet, part of memory_bytes.",
		FIELD(service.answer_bytes), REPORT_NUMBER },

	{ "history", "is_kept", "history_kept", "1 if the service keeps a history.",
		FIELD(service.has_history), REPORT_BOOLEAN },
	{ "history", "is_failing", "history_failing", "1 while the history cannot be written.",
		FIELD(service.is_history_failing), REPORT_BOOLEAN },
	{ "history", "windows_sealed", "windows_sealed_total", "Windows written to the history.",
		FIELD(service.windows_sealed), REPORT_NUMBER },
	{ "history", "windows_dropped", "windows_dropped_total",
		"Windows that could not be written to the history.", FIELD(service.windows_dropped),
		REPORT_NUMBER },
	{ "history", "untimed_no_room", "samples_untimed_no_room_total",
		"Times of samples left out because the open window had no room for them.",
		FIELD(service.untimed[STORE_UNTIMED_NO_ROOM]), REPORT_NUMBER },
	{ "history", "untimed_too_large", "samples_untimed_too_large_total",
		"Samples written without times, or whose times left when windows were merged, "
		"because the times of one window were too many. At most: of merged ones, also "
		"those that had none.",
		FIELD(service.untimed[STORE_UNTIMED_TOO_LARGE]), REPORT_NUMBER },
	{ "history", "untimed_damaged", "samples_untimed_damaged_total",
		"Samples whose times left when windows were merged, because they were damaged.",
		FIELD(service.untimed[STORE_UNTIMED_DAMAGED]), REPORT_NUMBER },
	{ "history", "sealed_until_seconds", "sealed_until_time_seconds",
		"End of the last window in the history, in seconds since 1970; the history is "
		"complete up to it.",
		FIELD(service.sealed_until_ns), REPORT_NANOSECONDS },
	{ "history", "bytes", "history_bytes", "Size of the history on disk.",
		FIELD(service.history.bytes), REPORT_NUMBER },
	{ "history", "max_bytes", "history_max_bytes", "Limit of history_bytes.",
		FIELD(service.history_max_bytes), REPORT_NUMBER },
	{ "history", "days", "history_databases", "Databases of the history, one per day.",
		FIELD(service.history.days), REPORT_NUMBER },
	{ "history", "windows", "history_windows", "Windows in the history.",
		FIELD(service.history.windows), REPORT_NUMBER },
	{ "history", "first_seconds", "history_first_time_seconds",
		"Start of the first window in the history, in seconds since 1970.",
		FIELD(service.history.first_ns), REPORT_NANOSECONDS },
	{ "history", "last_seconds", "history_last_time_seconds",
		"End of the last window in the history, in seconds since 1970.",
		FIELD(service.history.last_ns), REPORT_NANOSECONDS },

	{ "names", "binaries_wanted", "binaries_wanted_total",
		"Binaries whose symbols were requested.", FIELD(service.binaries_wanted),
		REPORT_NUMBER },
	{ "names", "binaries_cached", "binaries_cached_total",
		"Requested binaries that were in the symbol cache.", FIELD(service.binaries_cached),
		REPORT_NUMBER },
	{ "names", "binaries_extracted", "binaries_extracted_total",
		"Requested binaries whose symbols were extracted.",
		FIELD(service.binaries_extracted), REPORT_NUMBER },
	{ "names", "binaries_failed", "binaries_failed_total",
		"Requested binaries whose symbols could not be obtained.",
		FIELD(service.binaries_failed), REPORT_NUMBER },
	{ "names", "binaries_pending", "binaries_pending",
		"Requested binaries that wait for extraction.", FIELD(service.binaries_pending),
		REPORT_NUMBER },
	{ "names", "symbol_cache_bytes", "symbol_cache_bytes", "Size of the symbol cache on disk.",
		FIELD(service.symbol_cache_bytes), REPORT_NUMBER },
	{ "names", "symbol_cache_max_bytes", "symbol_cache_max_bytes",
		"Limit of symbol_cache_bytes.", FIELD(service.symbol_cache_max_bytes),
		REPORT_NUMBER },
	{ "names", "symbol_cache_entries", "symbol_cache_entries", "Binaries in the symbol cache.",
		FIELD(service.symbol_cache_entries), REPORT_NUMBER },

	{ "processes", "known", "processes", "Processes tracked.", FIELD(service.processes),
		REPORT_NUMBER },
	{ "processes", "refused", "processes_refused_total",
		"Processes not tracked because the table was full.",
		FIELD(service.processes_refused), REPORT_NUMBER },
	{ "processes", "threads_refused", "threads_refused_total",
		"Times that a thread had no room in the kernel, so that its waits are not sampled.",
		FIELD(service.threads_refused), REPORT_NUMBER },
	{ "processes", "mappings", "mappings", "Executable mappings tracked.",
		FIELD(service.mappings), REPORT_NUMBER },
	{ "processes", "contexts_read", "process_contexts_read_total",
		"OpenTelemetry contexts of processes that were read, each again after some "
		"minutes.",
		FIELD(service.contexts_read), REPORT_NUMBER },
	{ "processes", "contexts_invalid", "process_contexts_invalid_total",
		"OpenTelemetry contexts of processes that could not be read: of another version, "
		"or damaged.",
		FIELD(service.contexts_invalid), REPORT_NUMBER },
	{ "processes", "contexts_refused", "process_contexts_refused_total",
		"Times that what a process claims of itself had no room.",
		FIELD(service.contexts_refused), REPORT_NUMBER },
	{ "processes", "sideband_records", "sideband_records_total", "perf side-band records read.",
		FIELD(service.sideband_records), REPORT_NUMBER },
	{ "processes", "sideband_lost", "sideband_records_lost_total",
		"perf side-band records lost.", FIELD(service.sideband_lost), REPORT_NUMBER },

	{ "stacks", "by_tables", "stacks_by_tables_total", "User stacks unwound by unwind tables.",
		FIELD(service.stacks_by_tables), REPORT_NUMBER },
	{ "stacks", "by_frame_pointers", "stacks_by_frame_pointers_total",
		"User stacks unwound by frame pointers.", FIELD(service.stacks_by_frame_pointers),
		REPORT_NUMBER },
	{ "stacks", "cut", "stacks_cut_total",
		"User stacks that the tables' walk could not follow to a root.",
		FIELD(service.stacks_cut), REPORT_NUMBER },

	{ "interpreted", "samples", "interpreted_samples_total",
		"Samples with frames of an interpreter's code.", FIELD(service.interpreted_samples),
		REPORT_NUMBER },
	{ "interpreted", "frames", "interpreted_frames_total", "Frames of an interpreter's code.",
		FIELD(service.interpreted_frames), REPORT_NUMBER },
	{ "interpreted", "nameless", "interpreted_frames_nameless_total",
		"Frames of an interpreter's code without a name.",
		FIELD(service.interpreted_nameless), REPORT_NUMBER },
	{ "interpreted", "codes", "interpreted_codes", "Code objects whose names are kept.",
		FIELD(service.interpreted_codes), REPORT_NUMBER },
	{ "interpreted", "bytes", "interpreted_bytes", "Memory of these names, in bytes.",
		FIELD(service.interpreted_bytes), REPORT_NUMBER },
	{ "interpreted", "refused", "interpreted_codes_refused_total",
		"Code objects that had no room for their names.",
		FIELD(service.interpreted_refused), REPORT_NUMBER },
	{ "interpreted", "cut", "interpreted_codes_cut_total",
		"Code objects that had no room for their lines, and have only their names.",
		FIELD(service.interpreted_cut), REPORT_NUMBER },
	{ "interpreted", "disputed", "interpreted_codes_disputed_total",
		"Code objects that had the hash of another one, and took its name from it.",
		FIELD(service.interpreted_disputed), REPORT_NUMBER },

	{ "jit", "process_count", "jit_processes", "Processes that publish names of JIT code.",
		FIELD(service.jit_processes), REPORT_NUMBER },
	{ "jit", "samples", "jit_samples_total", "Samples in JIT code.", FIELD(service.jit_samples),
		REPORT_NUMBER },
	{ "jit", "leaves_unknown", "jit_leaves_unknown_total",
		"Samples in JIT code whose leaf has no name.", FIELD(service.jit_leaves_unknown),
		REPORT_NUMBER },
	{ "jit", "waiting", "jit_samples_waiting", "Samples in JIT code that wait for a name.",
		FIELD(service.jit_waiting), REPORT_NUMBER },

	{ "users", "over_window", "samples_over_window_quota_total",
		"Samples shown as [names over quota]: their user's share of the window was used "
		"up.",
		FIELD(service.excess.total[USER_WINDOW]), REPORT_NUMBER },
	{ "users", "over_history", "samples_over_history_quota_total",
		"Samples stored as [names over quota]: their user's share of the day was used up.",
		FIELD(service.excess.total[USER_HISTORY]), REPORT_NUMBER },
	{ "users", "over_binaries", "binaries_over_quota_total",
		"Lookups of new binaries refused: their user's share of the table was used up.",
		FIELD(service.excess.total[USER_BINARIES]), REPORT_NUMBER },
	{ "users", "over_symbols", "symbols_over_quota_total",
		"Requests of symbols and unwind tables refused or late: their user's share of the "
		"workers was used up.",
		FIELD(service.excess.total[USER_SYMBOLS]), REPORT_NUMBER },
	{ "users", "over_unwind", "unwind_tables_over_quota_total",
		"Unwind tables that had no room, each time, or made room for another user's.",
		FIELD(service.excess.total[USER_UNWIND]), REPORT_NUMBER },
	{ "users", "over_jit", "jit_names_over_quota_total",
		"Times that half of a file's names of JIT code, or a file, left: its user had "
		"most.",
		FIELD(service.excess.total[USER_JIT]), REPORT_NUMBER },
	{ "users", "over_processes", "processes_over_quota_total",
		"Processes that were not followed: their user had most.",
		FIELD(service.excess.total[USER_PROCESSES]), REPORT_NUMBER },
	{ "users", "over_mappings", "mappings_over_quota_total",
		"Mappings that were not noted: their process or user had most.",
		FIELD(service.excess.total[USER_MAPPINGS]), REPORT_NUMBER },
	{ "users", "over_files", "mapped_files_over_quota_total",
		"Mapped files that were not noted: their user had most.",
		FIELD(service.excess.total[USER_FILES]), REPORT_NUMBER },
	{ "users", "over_live", "live_over_quota_total",
		"Sampled allocations that live and are left out: their user had most.",
		FIELD(service.excess.total[USER_LIVE]), REPORT_NUMBER },

	{ "http", "connections", "http_connections_total", "HTTP connections accepted or refused.",
		FIELD(http.connections), REPORT_NUMBER },
	{ "http", "connections_refused", "http_connections_refused_total",
		"HTTP connections refused because of a limit.", FIELD(http.connections_refused),
		REPORT_NUMBER },
	{ "http", "connections_open", "http_connections_open", "Open HTTP connections.",
		FIELD(http.open), REPORT_NUMBER },
	{ "http", "requests", "http_requests_total", "HTTP requests.", FIELD(http.requests),
		REPORT_NUMBER },
	{ "http", "timeouts", "http_timeouts_total",
		"HTTP requests not received, and answers not read, in time.", FIELD(http.timeouts),
		REPORT_NUMBER },
	{ "http", "sent_bytes", "http_sent_bytes_total", "Bytes of answers sent.",
		FIELD(http.bytes), REPORT_NUMBER },

	{ "queries", "answered", "queries_answered_total", "Queries answered with a profile.",
		FIELD(queries.answered), REPORT_NUMBER },
	{ "queries", "refused", "queries_refused_total",
		"Queries refused: invalid, or nothing found (4xx).", FIELD(queries.refused),
		REPORT_NUMBER },
	{ "queries", "failed", "queries_failed_total", "Queries failed (5xx), without timeouts.",
		FIELD(queries.failed), REPORT_NUMBER },
	{ "queries", "timed_out", "queries_timed_out_total",
		"Queries timed out, in the queue or while running (504).", FIELD(queries.timed_out),
		REPORT_NUMBER },
	{ "queries", "abandoned", "queries_abandoned_total",
		"Queries cancelled because the client disconnected.", FIELD(queries.abandoned),
		REPORT_NUMBER },
	{ "queries", "running", "queries_running", "Queries running.", FIELD(queries.running),
		REPORT_NUMBER },
	{ "queries", "waiting", "queries_waiting", "Queries waiting.", FIELD(queries.waiting),
		REPORT_NUMBER },
};
const size_t report_field_count = ARRAY_SIZE(report_fields);

static uint64_t rounded(double value)
{
	/* The comparison is false for NaN, too. */
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

static const char *const path_names[] = {
	[PILOTLIGHT_PATH_MAP] = "map",
	[PILOTLIGHT_PATH_RING] = "ring",
};
_Static_assert(ARRAY_SIZE(path_names) == PILOTLIGHT_PATH_COUNT, "each has a name");

static const char *const event_names[] = {
	[PILOTLIGHT_EVENT_BUILD_ID_CALL] = "build_id_call",
	[PILOTLIGHT_EVENT_BUILD_ID_COLLISION] = "build_id_collision",
	[PILOTLIGHT_EVENT_STACK_COLLISION] = "stack_collision",
	[PILOTLIGHT_EVENT_STACKMAP_FULL] = "stackmap_full",
	[PILOTLIGHT_EVENT_COUNTS_FULL] = "counts_full",
	[PILOTLIGHT_EVENT_STACK_ERROR] = "stack_error",
	[PILOTLIGHT_EVENT_TIMED] = "timed",
	[PILOTLIGHT_EVENT_WALK_UNSENT] = "walk_unsent",
	[PILOTLIGHT_EVENT_THREAD_REFUSED] = "thread_refused",
	[PILOTLIGHT_EVENT_WAIT_REFUSED] = "wait_refused",
	[PILOTLIGHT_EVENT_THINNED] = "thinned",
	[PILOTLIGHT_EVENT_WAKER_REFUSED] = "waker_refused",
	[PILOTLIGHT_EVENT_SURVEYED] = "surveyed",
};
_Static_assert(ARRAY_SIZE(event_names) == PILOTLIGHT_EVENT_COUNT, "each has a name");

static const char *const walker_names[] = {
	[PILOTLIGHT_WALKER_KERNEL] = "kernel",
	[PILOTLIGHT_WALKER_TABLES] = "tables",
};
_Static_assert(ARRAY_SIZE(walker_names) == PILOTLIGHT_WALKERS, "each has a name");

static const char *const walk_end_names[] = {
	[PILOTLIGHT_WALK_ROOT] = "root",
	[PILOTLIGHT_WALK_NO_TABLE] = "no_table",
	[PILOTLIGHT_WALK_NO_FUNCTION] = "no_function",
	[PILOTLIGHT_WALK_UNREADABLE] = "unreadable",
	[PILOTLIGHT_WALK_UNSUPPORTED] = "unsupported",
	[PILOTLIGHT_WALK_NO_CODE] = "no_code",
	[PILOTLIGHT_WALK_LOOPED] = "looped",
	[PILOTLIGHT_WALK_DEEP] = "deep",
	[PILOTLIGHT_WALK_NO_FRAME_POINTER] = "no_frame_pointer",
	[PILOTLIGHT_WALK_BLOCKED] = "blocked",
};
_Static_assert(ARRAY_SIZE(walk_end_names) == PILOTLIGHT_WALK_ENDS, "each has a name");

const struct report_counters report_counters[REPORT_COUNTERS] = {
	{ "stored", "samples_stored_total", "path",
		"Samples stored in profiles, including windows that could not be written.",
		offsetof(struct accounts, stored), PILOTLIGHT_PATH_COUNT, path_names },
	[REPORT_DROPPED] = { "dropped", "samples_dropped_total", "reason",
		"Samples dropped, by reason; idle and filtered samples are not losses.",
		offsetof(struct accounts, dropped), PILOTLIGHT_DROP_COUNT, NULL },
	{ "events", "sample_events_total", "event",
		"Events that degraded a sample without losing it.",
		offsetof(struct accounts, events), PILOTLIGHT_EVENT_COUNT, event_names },
	{ "walked", "samples_walked_total", "walker", "Samples with a user stack, by unwinder.",
		offsetof(struct accounts, walked), PILOTLIGHT_WALKERS, walker_names },
	{ "walk_ends", "table_walks_total", "end",
		"Unwinds by unwind tables, by reason of their end.",
		offsetof(struct accounts, ends), PILOTLIGHT_WALK_ENDS, walk_end_names },
};

uint64_t report_counter_get(
	const struct report_counters *counters, const struct accounts *accounts, size_t i)
{
	return ((const uint64_t *)((const char *)accounts + counters->offset))[i];
}

const char *report_counter_name(
	const struct report_counters *counters, size_t i, char name[REPORT_NAME_BYTES])
{
	const char *text = counters->names ? counters->names[i] : accounts_drop_name(i);
	size_t size;

	for (size = 0; text[size] && size + 1 < REPORT_NAME_BYTES; size++)
		name[size] = text[size] == ' ' ? '_' : (char)tolower((unsigned char)text[size]);
	name[size] = '\0';
	return name;
}

const struct report_outcome report_outcomes[REPORT_OUTCOMES] = {
	{ "freed", "freed", offsetof(struct live_counters, freed) },
	{ "replaced", "whose address was allocated again",
		offsetof(struct live_counters, replaced) },
	{ "expired", "expired", offsetof(struct live_counters, expired) },
	{ "thinned", "thinned out", offsetof(struct live_counters, thinned) },
	{ "refused", "left out for lack of room", offsetof(struct live_counters, refused) },
};

uint64_t report_outcome_get(
	const struct report_outcome *outcome, const struct live_counters *counters)
{
	return *(const uint64_t *)((const char *)counters + outcome->offset);
}

const struct report_resource report_resources[USER_RESOURCES] = {
	[USER_WINDOW] = { "window", "Window", "samples without names", true },
	[USER_HISTORY] = { "history", "Day", "samples stored without names", true },
	[USER_BINARIES] = { "binaries", "Binaries", "lookups refused", false },
	[USER_SYMBOLS] = { "symbols", "Symbols", "requests refused or late", false },
	[USER_UNWIND] = { "unwind", "Unwind", "tables without room", false },
	[USER_JIT] = { "jit", "JIT names", "files cut or dropped", true },
	[USER_PROCESSES] = { "processes", "Processes", "refused", false },
	[USER_MAPPINGS] = { "mappings", "Mappings", "refused", false },
	[USER_FILES] = { "files", "Files", "refused", false },
	[USER_LIVE] = { "live", "What lives", "samples left out", false },
};
