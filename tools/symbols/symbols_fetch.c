/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "symbolize/debuginfod_fetch.h"
#include "tools/symbols/symbols_addition.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMEOUT_S_DEFAULT = 600,
	TIMEOUT_S_MAX = 24 * 3600,
	SLICE_MS = 500,
};
#define SLICE_NS (SLICE_MS * UINT64_C(1000000))

struct fetching {
	struct symbols_invocation symbols;
	const char *urls;
	uint32_t timeout_s;
	struct symbol_identity identity;
	struct symbol_cache *cache;
	struct broker *broker;
	struct symbolizer *symbolizer;
	struct symbols_added added;
};

static void done(void *invocation)
{
	struct fetching *fetching = invocation;

	symbols_added_done(&fetching->added);
	symbolizer_free(fetching->symbolizer);
	broker_free(fetching->broker);
	symbol_cache_free(fetching->cache);
}

static int explain(
	const struct fetching *fetching, const char *text, int error, struct fault *fault)
{
	if (error == -ETIMEDOUT)
		return fault_set(fault, error,
			"no debug file of '%s' within %" PRIu32 " s from %s; try again, or with "
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

static int prepare_symbolizer(struct fetching *fetching, const char *text, struct fault *fault)
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
		&fetching->symbols, SYMBOL_CACHE_BYTES_DEFAULT, true, &fetching->cache, fault);
	if (r == 0)
		r = broker_new(NULL, &fetching->broker);
	if (r < 0)
		return r;
	options.cache = fetching->cache;
	options.broker = fetching->broker;
	return symbolizer_new(&options, &fetching->symbolizer);
}

/* In slices, so that a terminal shows progress. */
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
	struct invocation *base = &fetching->symbols.base;

	if (!base->is_json) {
		symbols_added_write(&base->output, &fetching->added);
		output_char(&base->output, '\n');
		return;
	}
	json_begin_object(&base->json);
	symbols_added_write_json(&base->json, &fetching->added);
	json_end_object(&base->json);
	json_end_line(&base->json);
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
	return command_flush(&fetching->symbols.base);
}

static void prepare(void *invocation)
{
	struct fetching *fetching = invocation;

	fetching->urls = getenv("DEBUGINFOD_URLS");
	fetching->timeout_s = TIMEOUT_S_DEFAULT;
}

static int run(void *invocation)
{
	struct fetching *fetching = invocation;
	struct invocation *base = &fetching->symbols.base;
	int r = prepare_symbolizer(fetching, base->arguments[0], &base->fault);

	return r == 0 ? fetch(fetching, base->arguments[0], &base->fault) : r;
}

static const struct option_row options[] = {
	{ 0, "urls", "URLS", "The servers, separated by spaces ($DEBUGINFOD_URLS).", OPTION_STRING,
		.offset = offsetof(struct fetching, urls) },
	{ 0, "timeout", "SECS", "Give up after SECS seconds (600).", OPTION_NUMBER,
		.offset = offsetof(struct fetching, timeout_s), .min = 1, .max = TIMEOUT_S_MAX },
	{ 0 },
};

const struct command symbols_fetch = {
	.name = "symbols fetch",
	.summary = "get a debug file from debuginfod servers",
	.synopsis = "[OPTION...] BUILD-ID",
	.description = "Get the debug file of a binary from debuginfod servers and add its symbols "
		       "to the cache. BUILD-ID is a whole build-id, or the path of the binary.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a build-id",
	.bytes = sizeof(struct fetching),
	.prepare = prepare,
	.run = run,
	.done = done,
};
