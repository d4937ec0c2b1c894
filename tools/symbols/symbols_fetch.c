/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "symbolize/debuginfod_fetch.h"
#include "tools/symbols/symbols_addition.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_command.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: pilotlight symbols fetch [OPTION...] BUILD-ID\n"
	"\n"
	"Asks debuginfod servers for the debug file of a binary and takes it into the cache.\n"
	"BUILD-ID is a whole build-id, or the path of the binary.\n"
	"\n"
	"  --urls URLS      the servers, with spaces between them ($DEBUGINFOD_URLS)\n"
	"  --timeout SECS   for all of it (600)\n"
	"  --cache DIR      the symbol cache\n"
	"  --json           the same as an object\n"
	"  -h, --help       this\n";

enum {
	OPTION_URLS = 256,
	OPTION_TIMEOUT,
	TIMEOUT_S_DEFAULT = 600,
	TIMEOUT_S_MAX = 24 * 3600,
	SLICE_MS = 500,
};
#define SLICE_NS (SLICE_MS * UINT64_C(1000000))

struct fetching {
	struct symbols_options options;
	const char *urls;
	uint64_t timeout_s;
	struct symbol_identity identity;
	struct symbol_cache *cache;
	struct broker *broker;
	struct symbolizer *symbolizer;
	struct symbols_added added;
	struct output output;
};

static void fetching_free(struct fetching *fetching)
{
	symbols_added_done(&fetching->added);
	symbolizer_free(fetching->symbolizer);
	broker_free(fetching->broker);
	symbol_cache_free(fetching->cache);
	free(fetching);
}
DEFINE_CLEANUP(struct fetching, fetching_free);

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct fetching *fetching)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "urls", required_argument, NULL, OPTION_URLS },
		{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	fetching->urls = getenv("DEBUGINFOD_URLS");
	fetching->timeout_s = TIMEOUT_S_DEFAULT;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option == OPTION_URLS)
			fetching->urls = optarg;
		else if (option != OPTION_TIMEOUT)
			r = symbols_take_option(command, option, &fetching->options);
		else if (strspn(optarg, "0123456789") != strlen(optarg) ||
			 symbols_argument_bytes(optarg, &fetching->timeout_s) < 0 ||
			 fetching->timeout_s < 1 || fetching->timeout_s > TIMEOUT_S_MAX)
			r = command_wrong(
				command, "--timeout takes seconds from 1 to 86400, not", optarg);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 1, 1, "a build-id");
}

static int explain(
	const struct fetching *fetching, const char *text, int error, struct fault *fault)
{
	if (error == -ETIMEDOUT)
		return fault_set(fault, error,
			"no debug file of '%s' within %" PRIu64 " s from %s; try again, or with "
			"more --timeout",
			text, fetching->timeout_s, fetching->urls);
	if (error == -ENODATA)
		return fault_set(fault, error,
			"what %s sent for '%s' is not its debug file, or cannot be read; ask "
			"another server",
			fetching->urls, text);
	return fault_set(fault, error, "cannot fetch the debug file of '%s' from %s: %s", text,
		fetching->urls, debuginfod_fetch_explain(error));
}

static int prepare(struct fetching *fetching, const char *text, struct fault *fault)
{
	struct symbolizer_options options = {
		.debuginfod_urls = fetching->urls,
		.fetch_timeout_ns = fetching->timeout_s * NSEC_PER_SEC,
	};
	struct build_id id;
	int r;

	if (!fetching->urls || strspn(fetching->urls, " ") == strlen(fetching->urls))
		return fault_set(fault, -EINVAL,
			"no server to ask; name one by --urls or $DEBUGINFOD_URLS, such as "
			"https://debuginfod.elfutils.org");
	r = symbols_argument_build_id(text, &id, fault);
	if (r < 0)
		return r;
	fetching->identity = symbol_identity_of_build_id(&id);
	r = symbols_open_cache(
		&fetching->options, SYMBOL_CACHE_BYTES_DEFAULT, true, &fetching->cache, fault);
	if (r == 0)
		r = broker_new(NULL, &fetching->broker);
	if (r < 0)
		return r;
	options.cache = fetching->cache;
	options.broker = fetching->broker;
	return symbolizer_new(&options, &fetching->symbolizer);
}

/* In slices, so that a terminal sees that something goes on. */
static int wait_for_it(struct fetching *fetching, uint64_t started_ns)
{
	uint64_t end_ns = started_ns + fetching->timeout_s * NSEC_PER_SEC;
	struct symbols_progress progress;
	int r;

	symbols_progress_init(&progress);
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t slice_ns = now_ns + SLICE_NS < end_ns ? now_ns + SLICE_NS : end_ns;

		r = symbolizer_fetch(fetching->symbolizer, &fetching->identity.id, slice_ns);
		if (r != -EAGAIN || clock_monotonic_ns() >= end_ns)
			break;
		if (symbols_progress_is_due(&progress))
			symbols_progress_show(&progress, "%3.0f s  waiting for %s",
				(double)(now_ns - started_ns) / 1e9, fetching->urls);
	}
	symbols_progress_clear(&progress);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

static void write_result(struct fetching *fetching)
{
	struct json json;

	if (!fetching->options.is_json) {
		symbols_added_write(&fetching->output, &fetching->added);
		output_char(&fetching->output, '\n');
		return;
	}
	json_init(&json, &fetching->output);
	json_begin_object(&json);
	symbols_added_write_json(&json, &fetching->added);
	json_end_object(&json);
	json_end_line(&json);
}

static int fetch(struct fetching *fetching, const char *text, struct fault *fault)
{
	uint64_t started_ns = clock_monotonic_ns();
	struct symbolizer_counters counters;
	int r;

	r = wait_for_it(fetching, started_ns);
	if (r < 0)
		return explain(fetching, text, r, fault);
	r = symbols_added_read(fetching->cache, &fetching->identity, &fetching->added);
	if (r < 0)
		return fault_set(fault, r,
			"the symbols of '%s' could not be kept in '%s'; is there space, and may "
			"you write to it?",
			text, symbol_cache_directory(fetching->cache));
	symbolizer_counters(fetching->symbolizer, &counters);
	fetching->added.elapsed_ns = clock_monotonic_ns() - started_ns;
	fetching->added.worker_cpu_ns = counters.worker_cpu_ns;
	write_result(fetching);
	return command_finish_output(&fetching->output, fault);
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(fetching_freep) struct fetching *fetching = calloc(1, sizeof(*fetching));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!fetching)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, fetching);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&fetching->output, STDOUT_FILENO);
	r = prepare(fetching, argv[optind], &fault);
	if (r == 0)
		r = fetch(fetching, argv[optind], &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command symbols_fetch = {
	"symbols",
	"fetch",
	"ask debuginfod servers for a debug file",
	help,
	run,
};
