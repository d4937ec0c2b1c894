/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_summary.h"

#include "base/clock.h"
#include "render/caption.h"
#include "render/comm_totals.h"
#include "render/function_totals.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

enum { HOTTEST = 5 };

void record_cost_begin(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/clear_refs", "we");

	if (file)
		(void)fputs("5", file); /* resets VmHWM: proc(5) */
}

/* VmHWM is the kernel's hiwater_rss; ru_maxrss may include the program that was here before
 * execve(). */
static void read_memory(const struct rusage *own, struct record_cost *cost)
{
	_cleanup_fclose_ FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t kib;

	cost->peak_rss_bytes = (uint64_t)own->ru_maxrss * 1024;
	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
			cost->peak_rss_bytes = kib * 1024;
		if (sscanf(line, "RssFile: %" SCNu64, &kib) == 1)
			cost->file_bytes = kib * 1024;
	}
}

void record_cost_read(struct record_cost *ret_cost)
{
	struct rusage own = { 0 }, children = { 0 };
	struct record_cost cost = { 0 };

	(void)getrusage(RUSAGE_SELF, &own);
	(void)getrusage(RUSAGE_CHILDREN, &children);
	read_memory(&own, &cost);
	cost.cpu_ns = clock_rusage_cpu_ns(&own) + clock_rusage_cpu_ns(&children);
	cost.peak_rss_bytes += (uint64_t)children.ru_maxrss * 1024;
	*ret_cost = cost;
}

static double per_cent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static const char *event_of(const struct profile *profile)
{
	return string_pool_get(&profile->strings, profile->event);
}

static void print_samples(FILE *file, const struct pipeline_report *report)
{
	const struct accounts *accounts = &report->accounts.of[PILOTLIGHT_SOURCE_CPU];

	(void)fprintf(file,
		"samples    %" PRIu64 " fired = %" PRIu64 " stored + %" PRIu64 " idle + %" PRIu64
		" filtered + %" PRIu64 " lost",
		accounts->fired, accounts_stored(accounts), accounts->dropped[PILOTLIGHT_DROP_IDLE],
		accounts->dropped[PILOTLIGHT_DROP_FILTERED], accounts_lost(accounts));
	if (report->expected)
		(void)fprintf(file, " (%" PRIu64 " expected)", report->expected);
	(void)fputc('\n', file);
}

static void print_losses(FILE *file, const struct profile *profile, const struct accounts *accounts,
	const uint64_t *cuts)
{
	char losses[CAPTION_LOSSES_BYTES], amount[CAPTION_AMOUNT_BYTES];
	bool is_first = true;

	(void)fputs(caption_losses(profile, accounts, losses), file);
	for (enum resolver_cut cut = RESOLVER_CUT_NONE + 1; cut < RESOLVER_CUT_COUNT; cut++) {
		if (cuts[cut] == 0)
			continue;
		(void)fprintf(file, "%s%s %s", is_first ? "; stacks cut short: " : ", ",
			resolver_cut_name(cut), caption_plain_amount(profile, cuts[cut], amount));
		is_first = false;
	}
}

/* A profile of what lives has no losses of its own: nobody knows whether they would. */
static const struct accounts *losses_of(
	const struct profile *profile, size_t source, const struct pipeline_report *report)
{
	return event_sources[source].is_live ? &report->accounts.of[source] : &profile->accounts;
}

static void print_lost(FILE *file, const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report)
{
	const struct profile *cpu = sampled[PILOTLIGHT_SOURCE_CPU];
	uint64_t refused;

	(void)fputs("lost       ", file);
	print_losses(file, cpu, &cpu->accounts, report->resolver.cuts[PILOTLIGHT_SOURCE_CPU]);
	if (report->capture.children_not_followed > 0)
		(void)fprintf(file, "; %" PRIu64 " child processes not sampled",
			report->capture.children_not_followed);
	if (report->capture.skipped_events > 0)
		(void)fprintf(file, "; %" PRIu64 " events of kernel memory in interrupts not seen",
			report->capture.skipped_events);
	if (report->capture.allocator_calls_lost > 0)
		(void)fprintf(file, "; %" PRIu64 " calls of allocators whose return was not seen",
			report->capture.allocator_calls_lost);
	refused = report->processes.images_evicted + report->processes.images_refused +
		  report->processes.mappings_refused + report->processes.files_refused;
	if (refused > 0)
		(void)fprintf(file, "; %" PRIu64 " facts about processes dropped for lack of room",
			refused);
	if (report->sideband.lost + report->sideband.refused > 0)
		(void)fprintf(file, "; %" PRIu64 " side-band records (exec, fork, mmap) lost",
			report->sideband.lost + report->sideband.refused);
	(void)fputc('\n', file);
	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!sampled[i])
			continue;
		(void)fprintf(file, "           %s: ", event_of(sampled[i]));
		print_losses(file, sampled[i], losses_of(sampled[i], i, report),
			report->resolver.cuts[i]);
		(void)fputc('\n', file);
	}
}

static int print_processes(FILE *file, const struct profile *profile)
{
	_cleanup_(comm_totals_freep) struct comm_totals *totals = NULL;
	int r = comm_totals_new(profile, &totals);

	if (r < 0)
		return r;
	(void)fprintf(file, "processes  %zu", totals->process_count);
	for (size_t i = 0; i < totals->count && i < HOTTEST; i++)
		(void)fprintf(file, "%s%s %.1f %%", i == 0 ? "; hottest: " : ", ",
			string_pool_get(&profile->strings, totals->items[i].comm),
			per_cent(totals->items[i].samples, totals->samples));
	(void)fputc('\n', file);
	return 0;
}

static int print_functions(FILE *file, const struct profile *profile)
{
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;
	char name[FRAME_NAME_BYTES];
	int r = function_totals_new(profile, FRAME_BY_FUNCTION, &totals);

	if (r < 0)
		return r;
	(void)fputs("functions ", file);
	for (size_t i = 0; i < totals->count && i < HOTTEST && totals->items[i].self > 0; i++) {
		(void)frame_label_format(&totals->labels->items[totals->items[i].label], name);
		(void)fprintf(file, "%s %.60s %.1f %%", i == 0 ? "" : ",", name,
			per_cent(totals->items[i].self, totals->samples));
	}
	(void)fputc('\n', file);
	return 0;
}

static void print_walks(FILE *file, const struct profile *profile, const struct accounts *accounts)
{
	const uint64_t by_tables = accounts->walked[PILOTLIGHT_WALKER_TABLES];
	char tables[CAPTION_AMOUNT_BYTES], kernel[CAPTION_AMOUNT_BYTES];

	(void)fprintf(file,
		"%s walked by unwind tables (%.1f %% to the root), %s by frame pointers",
		caption_plain_amount(profile, by_tables, tables),
		per_cent(accounts->ends[PILOTLIGHT_WALK_ROOT], by_tables),
		caption_plain_amount(profile, accounts->walked[PILOTLIGHT_WALKER_KERNEL], kernel));
}

static void print_stacks(FILE *file, const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report)
{
	const double mib = 1024 * 1024;
	const struct unwinder_report *files = &report->unwinding.files;

	(void)fputs("stacks     ", file);
	print_walks(
		file, sampled[PILOTLIGHT_SOURCE_CPU], &report->accounts.of[PILOTLIGHT_SOURCE_CPU]);
	if (files->limit_bytes > 0)
		(void)fprintf(file, "; %zu tables loaded, %.1f of %.0f MiB", files->loaded,
			(double)files->used_bytes / mib, (double)files->limit_bytes / mib);
	if (files->evicted > 0)
		(void)fprintf(file, ", %zu evicted", files->evicted);
	if (report->unwinding.tables.pending > 0)
		(void)fprintf(file, ", %" PRIu64 " not made yet", report->unwinding.tables.pending);
	(void)fputc('\n', file);
	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!sampled[i])
			continue;
		(void)fprintf(file, "           %s: ", event_of(sampled[i]));
		print_walks(file, sampled[i], &report->accounts.of[i]);
		(void)fputc('\n', file);
	}
}

static void print_jit(FILE *file, const struct pipeline_report *report)
{
	const struct late_counters *jit = &report->jit_samples;

	if (jit->frames == 0)
		return;
	(void)fprintf(file,
		"JIT code   %" PRIu64 " samples with JIT frames, %" PRIu64 " in JIT code",
		jit->samples, jit->leaves);
	if (jit->leaves > 0)
		(void)fprintf(file, " (%.1f %% named)",
			per_cent(jit->leaves - jit->leaves_unknown, jit->leaves));
	if (jit->frames_ambiguous > 0)
		(void)fprintf(file, ", %" PRIu64 " frames ambiguous", jit->frames_ambiguous);
	if (jit->hurried > 0)
		(void)fprintf(file, ", %" PRIu64 " named early for lack of room", jit->hurried);
	if (report->jit.files_distrusted > 0)
		(void)fprintf(
			file, "; %" PRIu64 " files not trusted", report->jit.files_distrusted);
	if (report->jit.files_evicted + report->jit.processes_evicted > 0)
		(void)fprintf(file, "; %" PRIu64 " files or processes evicted",
			report->jit.files_evicted + report->jit.processes_evicted);
	if (report->jit.maps_cut > 0)
		(void)fprintf(file, "; %" PRIu64 " perf maps not read to their end",
			report->jit.maps_cut);
	(void)fputc('\n', file);
}

static void print_runtimes(FILE *file, const struct pipeline_report *report)
{
	const struct resolver_counters *resolver = &report->resolver;
	uint64_t frames = resolver->interpreted_frames;

	if (frames == 0)
		return;
	(void)fprintf(file,
		"Runtimes   %" PRIu64 " samples with frames of Python, JavaScript, Ruby, Java, PHP "
		"or Perl (%.1f %% named)",
		resolver->interpreted, per_cent(frames - resolver->interpreted_nameless, frames));
	if (resolver->interpreted_unplaced > 0)
		(void)fprintf(file, ", %" PRIu64 " frames beyond the end of their native stack",
			resolver->interpreted_unplaced);
	if (report->runtime_names.refused > 0)
		(void)fprintf(
			file, "; %" PRIu64 " functions had no room", report->runtime_names.refused);
	if (report->runtime_names.cut > 0)
		(void)fprintf(file, "; %" PRIu64 " functions had no room for their lines",
			report->runtime_names.cut);
	if (report->runtime_names.disputed > 0)
		(void)fprintf(file, "; %" PRIu64 " functions had the hash of others",
			report->runtime_names.disputed);
	(void)fputc('\n', file);
}

static void print_symbols(FILE *file, const struct symbolizer_counters *symbols)
{
	static const char *const reasons[PILOTLIGHT_SYMBOL_FAILURES] = {
		[PILOTLIGHT_SYMBOL_NOTHING] = "without symbols",
		[PILOTLIGHT_SYMBOL_DAMAGED] = "damaged",
		[PILOTLIGHT_SYMBOL_TOO_BIG] = "too big",
		[PILOTLIGHT_SYMBOL_NO_MEMORY] = "out of memory",
		[PILOTLIGHT_SYMBOL_TIMEOUT] = "timed out",
		[PILOTLIGHT_SYMBOL_CRASHED] = "crashed a worker",
		[PILOTLIGHT_SYMBOL_NO_SPACE] = "disk full",
		[PILOTLIGHT_SYMBOL_UNREADABLE] = "unreadable",
	};

	(void)fprintf(file,
		"symbols    %" PRIu64 " binaries: %" PRIu64 " in the cache, %" PRIu64 " extracted",
		symbols->requested, symbols->cached, symbols->extracted);
	if (symbols->worker_cpu_ns > 0)
		(void)fprintf(file, " in %.0f ms", (double)symbols->worker_cpu_ns / 1e6);
	for (size_t i = PILOTLIGHT_SYMBOL_OK + 1; i < PILOTLIGHT_SYMBOL_FAILURES; i++)
		if (symbols->failed[i] > 0)
			(void)fprintf(file, ", %" PRIu64 " %s", symbols->failed[i], reasons[i]);
	if (symbols->refused > 0)
		(void)fprintf(file, ", %" PRIu64 " over the limit", symbols->refused);
	if (symbols->pending > 0)
		(void)fprintf(file, ", %" PRIu64 " not waited for", symbols->pending);
	if (symbols->units_failed > 0)
		(void)fprintf(file,
			"; %" PRIu64 " compilation units damaged or without their split DWARF file",
			symbols->units_failed);
	if (symbols->fetched + symbols->fetch_failed + symbols->fetches_pending > 0)
		(void)fprintf(file, "; debuginfod: %" PRIu64 " fetched, %" PRIu64 " failed",
			symbols->fetched, symbols->fetch_failed);
	if (symbols->fetches_pending > 0)
		(void)fprintf(file, ", %" PRIu64 " not waited for", symbols->fetches_pending);
	(void)fputc('\n', file);
}

static bool has_further_sources(const struct profile *const sampled[PILOTLIGHT_SOURCES])
{
	bool has = false;

	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		has |= sampled[i] != NULL;
	return has;
}

static void print_cost(FILE *file, const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report, const struct record_cost *cost)
{
	const double mib = 1024 * 1024;
	uint64_t maps = report->capture.map_bytes;
	uint64_t bytes = cost->peak_rss_bytes + maps - report->capture.mapped_bytes;
	uint64_t machine_ns = report->elapsed_ns * sampled[PILOTLIGHT_SOURCE_CPU]->cpu_count;

	(void)fputs("cost       ", file);
	if (report->capture.program_runs > 0)
		(void)fputs("BPF ", file);
	/* The time is of all programs, the number of runs that of samples of CPU time. */
	if (report->capture.program_runs > 0 && !has_further_sources(sampled))
		(void)fprintf(file, "%.1f us a sample, ",
			(double)report->capture.program_ns / 1e3 /
				(double)report->capture.program_runs);
	if (report->capture.program_runs > 0)
		(void)fprintf(file, "%.1f ms in all; ", (double)report->capture.program_ns / 1e6);
	(void)fprintf(file, "CPU %.0f ms", (double)cost->cpu_ns / 1e6);
	/* Of a short recording it is all start and end, and may be more than the machine. */
	if (report->elapsed_ns >= NSEC_PER_SEC)
		(void)fprintf(file, " (%.2f %% of the machine)",
			per_cent(cost->cpu_ns + report->capture.program_ns, machine_ns));
	(void)fprintf(file, "; memory at most %.1f MiB, with %.1f MiB of maps\n",
		(double)bytes / mib, (double)maps / mib);
}

/* Amounts of time: the number of periods tells nothing. */
static void print_source(FILE *file, const struct profile *profile, enum pilotlight_source source,
	const struct pipeline_report *report)
{
	const struct accounts *accounts = &profile->accounts;
	const struct live_counters *live = &report->live[source];
	char stored[CAPTION_AMOUNT_BYTES], filtered[CAPTION_AMOUNT_BYTES];
	char lost[CAPTION_AMOUNT_BYTES];

	(void)fprintf(file, "%-10s %s stored, %s filtered, %s lost", event_of(profile),
		caption_amount(profile, accounts_stored(accounts), stored),
		caption_amount(profile, accounts->dropped[PILOTLIGHT_DROP_FILTERED], filtered),
		caption_amount(profile, accounts_lost(losses_of(profile, source, report)), lost));
	if (accounts->events[PILOTLIGHT_EVENT_THREAD_REFUSED] > 0)
		(void)fprintf(file, "; %" PRIu64 " times a thread not sampled for lack of room",
			accounts->events[PILOTLIGHT_EVENT_THREAD_REFUSED]);
	if (accounts->events[PILOTLIGHT_EVENT_THINNED] > 0)
		(void)fprintf(file, "; %" PRIu64 " samples stand for others, which came too fast",
			accounts->events[PILOTLIGHT_EVENT_THINNED]);
	if (live->thinned > 0)
		(void)fprintf(file, "; %" PRIu64 " allocations thinned out, others stand for them",
			live->thinned);
	if (live->expired > 0)
		(void)fprintf(file, "; %" PRIu64 " expired after a day", live->expired);
	if (live->refused > 0)
		(void)fprintf(file,
			"; %" PRIu64 " left out for lack of room, which stand for %" PRIu64
			" periods",
			live->refused, live->refused_periods);
	(void)fputc('\n', file);
}

/* The first profile that is written may be a sum, with a bound of its own. */
static void print_times(FILE *file, const struct profile *profile,
	const struct profile *const sampled[PILOTLIGHT_SOURCES])
{
	uint64_t left_out = profile->times_left_out;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (sampled[i] && sampled[i] != profile)
			left_out += sampled[i]->times_left_out;
	if (left_out > 0)
		(void)fprintf(file, "times      %" PRIu64 " of samples left out for lack of room\n",
			left_out);
}

int record_summary_print(FILE *file, const struct profile *profile,
	const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report, const struct record_cost *cost)
{
	int r;

	print_samples(file, report);
	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (sampled[i])
			print_source(file, sampled[i], (enum pilotlight_source)i, report);
	print_times(file, profile, sampled);
	print_lost(file, sampled, report);
	r = print_processes(file, profile);
	if (r == 0)
		r = print_functions(file, profile);
	if (r < 0)
		return r;
	print_stacks(file, sampled, report);
	print_runtimes(file, report);
	print_jit(file, report);
	print_symbols(file, &report->symbols);
	print_cost(file, sampled, report, cost);
	return 0;
}
