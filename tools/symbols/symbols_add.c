/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_addition.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	JOBS_DEFAULT_MAX = 4,
	JOBS_MAX = 64,
	TIMEOUT_S_MAX = 24 * 3600,
	PROGRESS_MS = 1000,
};

#define MEMORY_BYTES_MIN (16ULL << 20)

struct adding {
	struct symbols_invocation symbols;
	struct symbols_addition_settings settings;
	uint32_t jobs;
	size_t next, ended, failed; /* arguments */
	struct symbols_addition running[JOBS_MAX];
	size_t running_count;
	struct symbols_progress progress;
};

static void done(void *invocation)
{
	struct adding *adding = invocation;

	for (size_t i = 0; i < adding->running_count; i++)
		symbols_addition_done(&adding->running[i]);
	broker_free(adding->settings.broker);
	symbol_cache_free(adding->settings.cache);
}

/* --- the report ------------------------------------------------------------------------------- */

static void write_result(struct adding *adding, const struct symbols_addition *addition,
	const struct symbols_added *added)
{
	struct json *json = &adding->symbols.base.json;

	if (!adding->symbols.base.is_json) {
		shown_text_string(&adding->symbols.base.output, addition->name);
		output_string(&adding->symbols.base.output, ": ");
		symbols_added_write(&adding->symbols.base.output, added);
		if (addition->has_removed_table)
			output_string(&adding->symbols.base.output,
				"; its unwind table was removed and is made "
				"anew when it is needed");
		output_char(&adding->symbols.base.output, '\n');
		return;
	}
	json_begin_object(json);
	json_member_string(json, "file", addition->name);
	json_member_string(
		json, "result", added->result == SYMBOLS_ADDITION_ADDED ? "added" : "kept");
	symbols_added_write_json(json, added);
	json_member_bool(json, "unwind_removed", addition->has_removed_table);
	json_end_object(json);
	json_end_line(json);
}

static void report_failure(struct adding *adding, const char *name,
	enum pilotlight_symbol_failure failure, const struct fault *fault)
{
	struct json *json = &adding->symbols.base.json;

	adding->failed++;
	symbols_progress_clear(&adding->progress);
	log_error("%s", fault->text);
	if (!adding->symbols.base.is_json)
		return;
	json_begin_object(json);
	json_member_string(json, "file", name);
	json_member_string(json, "result", "failed");
	json_member_string(json, "reason", symbols_text_failure_word((uint8_t)failure));
	json_member_string(json, "message", fault->text);
	json_end_object(json);
	json_end_line(json);
}

/* Was --debug given, and the symbols come from a poorer source? */
static void warn_of_debug_file(const struct adding *adding, const struct symbols_added *added)
{
	if (adding->settings.debug_path && added->result == SYMBOLS_ADDITION_ADDED &&
		symbol_file_header(added->file)->rank == PILOTLIGHT_SYMBOL_RANK_BINARY)
		log_warning("'%s' belongs to another binary or cannot be read, so the symbols are "
			    "the binary's own",
			adding->settings.debug_path);
}

static void report(struct adding *adding, struct symbols_addition *addition)
{
	enum pilotlight_symbol_failure failure = PILOTLIGHT_SYMBOL_UNREADABLE;
	struct fault fault = { 0 };
	struct symbols_added added;
	int r;

	r = symbols_addition_finish(addition, &adding->settings, &added, &failure, &fault);
	if (r < 0) {
		report_failure(adding, addition->name, failure, &fault);
		return;
	}
	symbols_progress_clear(&adding->progress);
	warn_of_debug_file(adding, &added);
	write_result(adding, addition, &added);
	symbols_added_done(&added);
}

/* --- the work --------------------------------------------------------------------------------- */

static void start_more(struct adding *adding)
{
	while (adding->running_count < adding->jobs &&
		adding->next < (size_t)adding->symbols.base.argument_count) {
		const char *name = adding->symbols.base.arguments[adding->next++];
		struct fault fault = { 0 };

		if (symbols_addition_start(&adding->running[adding->running_count],
			    &adding->settings, name, &fault) == 0) {
			adding->running_count++;
			continue;
		}
		adding->ended++;
		report_failure(adding, name, PILOTLIGHT_SYMBOL_UNREADABLE, &fault);
	}
}

static void run_all(struct adding *adding)
{
	for (size_t i = 0; i < adding->running_count;) {
		struct symbols_addition *addition = &adding->running[i];
		struct fault fault = { 0 };
		int r = symbols_addition_run(addition, &adding->settings, &fault);

		if (r == 0) {
			i++;
			continue;
		}
		if (r < 0)
			report_failure(
				adding, addition->name, PILOTLIGHT_SYMBOL_UNREADABLE, &fault);
		else
			report(adding, addition);
		adding->ended++;
		symbols_addition_done(addition);
		*addition = adding->running[--adding->running_count];
	}
}

static int add_all(struct adding *adding, struct fault *fault)
{
	struct pollfd fds[JOBS_MAX];

	symbols_progress_init(&adding->progress);
	for (;;) {
		start_more(adding);
		run_all(adding);
		/* Report each result as soon as it is known. */
		if (command_flush(&adding->symbols.base) < 0)
			return adding->symbols.base.output.error;
		if (adding->ended == (size_t)adding->symbols.base.argument_count)
			return 0;
		if (adding->running_count < adding->jobs &&
			adding->next < (size_t)adding->symbols.base.argument_count)
			continue;
		for (size_t i = 0; i < adding->running_count; i++)
			fds[i] = (struct pollfd){
				.fd = symbols_addition_poll_fd(&adding->running[i]),
				.events = POLLIN,
			};
		if (poll(fds, adding->running_count, PROGRESS_MS) < 0 && errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		if (symbols_progress_is_due(&adding->progress))
			symbols_progress_show(&adding->progress, "%zu of %zu files; %s",
				adding->ended, (size_t)adding->symbols.base.argument_count,
				adding->running_count > 0 ? adding->running[0].name : "");
	}
}

/* Report it once before the work, not for each file after it. */
static int check_cache(struct symbol_cache *cache, struct fault *fault)
{
	struct symbol_cache_draft draft;
	int r = symbol_cache_begin(cache, &draft);

	if (r < 0)
		return fault_set(fault, r,
			"cannot write to the symbol cache '%s': %s; name another one by --cache",
			symbol_cache_directory(cache), strerror(-r));
	symbol_cache_draft_done(cache, &draft);
	return 0;
}

/* --- options ---------------------------------------------------------------------------------- */

static uint32_t count_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	return CPU_COUNT(&cpus) < JOBS_DEFAULT_MAX ? (uint32_t)CPU_COUNT(&cpus) : JOBS_DEFAULT_MAX;
}

static void prepare(void *invocation)
{
	struct adding *adding = invocation;

	adding->jobs = count_cpus();
}

static int run(void *invocation)
{
	struct adding *adding = invocation;
	struct invocation *base = &adding->symbols.base;
	struct worker_pool_options *workers = &adding->settings.workers;
	int r;

	/* Elapsed time is limited less strictly: a worker may wait for the disk. */
	workers->timeout_ns = workers->cpu_s * 2500000000ULL;
	if (adding->settings.debug_path && base->argument_count > 1)
		return command_misuse(base->command,
			"--debug is the debug file of one binary, and there is also '%s'",
			base->arguments[1]);
	r = symbols_open_cache(&adding->symbols, SYMBOL_CACHE_BYTES_DEFAULT, true,
		&adding->settings.cache, &base->fault);
	if (r == 0)
		r = check_cache(adding->settings.cache, &base->fault);
	if (r == 0)
		r = broker_new(NULL, &adding->settings.broker);
	if (r == 0)
		r = add_all(adding, &base->fault);
	symbols_progress_clear(&adding->progress);
	if (r < 0)
		return r;
	return adding->failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct option_row options[] = {
	{ 0, "debug", "FILE", "The debug file of the one binary that is added.", OPTION_STRING,
		.offset = offsetof(struct adding, settings.debug_path) },
	{ 0, "force", NULL,
		"Extract again what the cache has. The binary's unwind table is removed; the next "
		"recording that meets the binary makes it again.",
		OPTION_SET, .offset = offsetof(struct adding, settings.is_forced) },
	{ 'j', "jobs", "N", "Read N files at a time (as many as CPUs, at most 4).", OPTION_NUMBER,
		.offset = offsetof(struct adding, jobs), .min = 1, .max = JOBS_MAX },
	{ 0, "memory", "SIZE", "Memory for the worker of a file, with K, M or G (256M).",
		OPTION_BYTES, .offset = offsetof(struct adding, settings.workers.memory_bytes),
		.min = MEMORY_BYTES_MIN },
	{ 0, "timeout", "SECS",
		"CPU time for a file (120); a worker is also ended after two and a half times as "
		"long.",
		OPTION_NUMBER, .offset = offsetof(struct adding, settings.workers.cpu_s), .min = 1,
		.max = TIMEOUT_S_MAX },
	{ 0 },
};

const struct command symbols_add = {
	.name = "symbols add",
	.summary = "add the symbols of binaries and debug files",
	.synopsis = "[OPTION...] FILE...",
	.description =
		"Extract functions, inlined calls and source lines of each FILE, a binary or a "
		"separate debug file, into the cache, and print the result. For a binary the best "
		"source is used: its debug file by build-id, by .gnu_debuglink, or the binary "
		"itself. Symbols from as good a source that are in the cache already are kept.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.argument = "a file",
	.bytes = sizeof(struct adding),
	.prepare = prepare,
	.run = run,
	.done = done,
};
