/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_addition.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_command.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: pilotlight symbols add [OPTION...] FILE...\n"
	"\n"
	"Takes functions, inlined calls and source lines of each FILE, a binary or a separate\n"
	"debug file, into the cache, and says what came of it. Of a binary the best source is\n"
	"taken: its debug file by build-id, by .gnu_debuglink, or itself. What the cache has of\n"
	"as good a source is kept.\n"
	"\n"
	"  --debug FILE     the debug file of the one binary that is added\n"
	"  --force          make anew what the cache has; the binary's unwind table goes, and\n"
	"                   is made anew when it is next seen in a recording\n"
	"  -j, --jobs N     how many files at a time (as many as CPUs, at most 4)\n"
	"  --memory SIZE    for the worker of each, with K, M or G (256M)\n"
	"  --timeout SECS   of CPU time for each; it may take two and a half times as long (120)\n"
	"  --cache DIR      the symbol cache\n"
	"  --json           an object a file, on a line\n"
	"  -h, --help       this\n";

enum {
	OPTION_DEBUG = 256,
	OPTION_FORCE,
	OPTION_MEMORY,
	OPTION_TIMEOUT,
	JOBS_DEFAULT_MAX = 4,
	JOBS_MAX = 64,
	TIMEOUT_S_MAX = 24 * 3600,
	PROGRESS_MS = 1000,
};

#define MEMORY_BYTES_MIN (16ULL << 20)

struct adding {
	struct symbols_options options;
	struct symbols_addition_settings settings;
	uint32_t jobs;
	char **files;
	size_t file_count, next, ended, failed;
	struct symbols_addition running[JOBS_MAX];
	size_t running_count;
	struct symbols_progress progress;
	struct output output;
	struct json json;
};

static void adding_free(struct adding *adding)
{
	for (size_t i = 0; i < adding->running_count; i++)
		symbols_addition_done(&adding->running[i]);
	broker_free(adding->settings.broker);
	symbol_cache_free(adding->settings.cache);
	free(adding);
}
DEFINE_CLEANUP(struct adding, adding_free);

/* --- what is told ----------------------------------------------------------------------------- */

static void write_result(struct adding *adding, const struct symbols_addition *addition,
	const struct symbols_added *added)
{
	struct json *json = &adding->json;

	if (!adding->options.is_json) {
		shown_text_string(&adding->output, addition->name);
		output_string(&adding->output, ": ");
		symbols_added_write(&adding->output, added);
		if (addition->has_removed_table)
			output_string(&adding->output, "; its unwind table was removed and is made "
						       "anew when it is needed");
		output_char(&adding->output, '\n');
		return;
	}
	json_begin_object(json);
	json_key(json, "file");
	json_string(json, addition->name);
	json_key(json, "result");
	json_string(json, added->result == SYMBOLS_ADDITION_ADDED ? "added" : "kept");
	symbols_added_write_json(json, added);
	json_key(json, "unwind_removed");
	json_bool(json, addition->has_removed_table);
	json_end_object(json);
	json_end_line(json);
}

static void tell_failure(struct adding *adding, const char *name,
	enum pilotlight_symbol_failure failure, const struct fault *fault)
{
	struct json *json = &adding->json;

	adding->failed++;
	symbols_progress_clear(&adding->progress);
	log_error("%s", fault->text);
	if (!adding->options.is_json)
		return;
	json_begin_object(json);
	json_key(json, "file");
	json_string(json, name);
	json_key(json, "result");
	json_string(json, "failed");
	json_key(json, "reason");
	json_string(json, symbols_text_failure_word((uint8_t)failure));
	json_key(json, "message");
	json_string(json, fault->text);
	json_end_object(json);
	json_end_line(json);
}

/* Was a debug file named, and the symbols are of something less? */
static void warn_of_debug_file(const struct adding *adding, const struct symbols_added *added)
{
	if (adding->settings.debug_path && added->result == SYMBOLS_ADDITION_ADDED &&
		symbol_file_header(added->file)->rank == PILOTLIGHT_SYMBOL_RANK_BINARY)
		log_warning("'%s' belongs to another binary or cannot be read, so the symbols are "
			    "the binary's own",
			adding->settings.debug_path);
}

static void tell(struct adding *adding, struct symbols_addition *addition)
{
	enum pilotlight_symbol_failure failure = PILOTLIGHT_SYMBOL_UNREADABLE;
	struct fault fault = { 0 };
	struct symbols_added added;
	int r;

	r = symbols_addition_finish(addition, &adding->settings, &added, &failure, &fault);
	if (r < 0) {
		tell_failure(adding, addition->name, failure, &fault);
		return;
	}
	symbols_progress_clear(&adding->progress);
	warn_of_debug_file(adding, &added);
	write_result(adding, addition, &added);
	symbols_added_done(&added);
}

/* --- how it goes on --------------------------------------------------------------------------- */

static void start_more(struct adding *adding)
{
	while (adding->running_count < adding->jobs && adding->next < adding->file_count) {
		const char *name = adding->files[adding->next++];
		struct fault fault = { 0 };

		if (symbols_addition_start(&adding->running[adding->running_count],
			    &adding->settings, name, &fault) == 0) {
			adding->running_count++;
			continue;
		}
		adding->ended++;
		tell_failure(adding, name, PILOTLIGHT_SYMBOL_UNREADABLE, &fault);
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
			tell_failure(adding, addition->name, PILOTLIGHT_SYMBOL_UNREADABLE, &fault);
		else
			tell(adding, addition);
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
		/* Each is told when it is known. */
		if (command_finish_output(&adding->output, fault) < 0)
			return adding->output.error;
		if (adding->ended == adding->file_count)
			return 0;
		if (adding->running_count < adding->jobs && adding->next < adding->file_count)
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
				adding->ended, adding->file_count,
				adding->running_count > 0 ? adding->running[0].name : "");
	}
}

/* Better told once, before the work, than of each file after it. */
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

/* --- what is asked for ------------------------------------------------------------------------ */

static uint32_t count_cpus(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	return CPU_COUNT(&cpus) < JOBS_DEFAULT_MAX ? (uint32_t)CPU_COUNT(&cpus) : JOBS_DEFAULT_MAX;
}

static bool parse_number(const char *text, uint32_t max, uint32_t *ret_number)
{
	uint64_t number;

	if (strspn(text, "0123456789") != strlen(text) ||
		symbols_argument_bytes(text, &number) < 0 || number < 1 || number > max)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static enum command_parse take_option(
	const struct command *command, int option, struct adding *adding)
{
	struct worker_pool_options *workers = &adding->settings.workers;

	switch (option) {
	case OPTION_DEBUG:
		adding->settings.debug_path = optarg;
		return COMMAND_PARSE_RUN;
	case OPTION_FORCE:
		adding->settings.is_forced = true;
		return COMMAND_PARSE_RUN;
	case 'j':
		if (!parse_number(optarg, JOBS_MAX, &adding->jobs))
			return command_wrong(
				command, "--jobs takes a number from 1 to 64, not", optarg);
		return COMMAND_PARSE_RUN;
	case OPTION_MEMORY:
		if (symbols_argument_bytes(optarg, &workers->memory_bytes) < 0 ||
			workers->memory_bytes < MEMORY_BYTES_MIN)
			return command_wrong(
				command, "--memory takes 16M or more, as 512M or 1G, not", optarg);
		return COMMAND_PARSE_RUN;
	case OPTION_TIMEOUT:
		if (!parse_number(optarg, TIMEOUT_S_MAX, &workers->cpu_s))
			return command_wrong(
				command, "--timeout takes seconds from 1 to 86400, not", optarg);
		workers->timeout_ns = workers->cpu_s * 2500000000ULL;
		return COMMAND_PARSE_RUN;
	default:
		return symbols_take_option(command, option, &adding->options);
	}
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct adding *adding)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "debug", required_argument, NULL, OPTION_DEBUG },
		{ "force", no_argument, NULL, OPTION_FORCE },
		{ "jobs", required_argument, NULL, 'j' },
		{ "memory", required_argument, NULL, OPTION_MEMORY },
		{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
		{ 0 },
	};
	enum command_parse r;
	int option;

	adding->jobs = count_cpus();
	while ((option = getopt_long(argc, argv, "hj:", long_options, NULL)) >= 0) {
		r = take_option(command, option, adding);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	r = command_check_arguments(command, argc, argv, 1, argc, "a file");
	if (r == COMMAND_PARSE_RUN && adding->settings.debug_path && argc - optind > 1)
		return command_wrong(command,
			"--debug is the debug file of one binary, and there is also",
			argv[optind + 1]);
	adding->files = argv + optind;
	adding->file_count = (size_t)(argc - optind);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(adding_freep) struct adding *adding = calloc(1, sizeof(*adding));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!adding)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, adding);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&adding->output, STDOUT_FILENO);
	json_init(&adding->json, &adding->output);
	r = symbols_open_cache(&adding->options, SYMBOL_CACHE_BYTES_DEFAULT, true,
		&adding->settings.cache, &fault);
	if (r == 0)
		r = check_cache(adding->settings.cache, &fault);
	if (r == 0)
		r = broker_new(NULL, &adding->settings.broker);
	if (r == 0)
		r = add_all(adding, &fault);
	symbols_progress_clear(&adding->progress);
	if (r < 0)
		return command_fail(&fault, r);
	return adding->failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command symbols_add = {
	"symbols",
	"add",
	"take binaries and debug files in",
	help,
	run,
};
