/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "jit/code_index.h"
#include "jit/perf_map_reader.h"
#include "tools/jit/jit_commands.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bound on memory (I4): some ten million symbols. */
#define INDEX_BYTES_MAX ((size_t)1 << 30)

enum { STEPS = 1 << 20 };

struct listing {
	struct invocation base;
	bool has_time;
	uint64_t time_ns;
	struct code_index *index;
};

static void done(void *invocation)
{
	struct listing *listing = invocation;

	code_index_free(listing->index);
}

static int read_perf_map(struct listing *listing, struct jit_input *input, struct fault *fault)
{
	_cleanup_(perf_map_reader_freep) struct perf_map_reader *reader = NULL;
	struct perf_map_reader_state state;
	int64_t left;
	int r;

	r = perf_map_reader_new(TAKE_FD(input->fd), &reader);
	if (r < 0)
		return r;
	do
		left = perf_map_reader_run(reader, listing->index, true, STEPS);
	while (left == 0);
	if (left < 0)
		return (int)left;
	perf_map_reader_state(reader, &state);
	if (state.counters.lines == state.counters.malformed && state.file_bytes > 0)
		return fault_set(fault, -EBADMSG, "'%s' is neither a jitdump file nor a perf map",
			input->path);
	return 0;
}

static int read_file(struct listing *listing, struct jit_input *input, struct fault *fault)
{
	struct jitdump_reader_state state;
	int r;

	if (!input->is_jitdump && listing->has_time)
		return fault_set(fault, -EINVAL,
			"'%s' is no jitdump file, and nothing else tells times: leave --at out",
			input->path);
	if (!input->is_jitdump)
		return read_perf_map(listing, input, fault);
	r = jit_input_read(input, listing->index, NULL, NULL, &state, fault);
	if (r == 0 && listing->has_time && (state.header.flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP))
		return fault_set(fault, -EINVAL,
			"'%s' has times of the CPU's counter, which --at cannot ask for",
			input->path);
	if (r == 0 && state.fault != JITDUMP_FAULT_NONE)
		log_warning("'%s' cannot be read beyond byte %" PRIu64
			    ", continuing with what comes before: %s",
			input->path, state.fault_offset, jitdump_fault_name(state.fault));
	return r;
}

static void warn_of_losses(const struct listing *listing, const char *path)
{
	struct code_index_counters counters;
	uint64_t dropped;

	code_index_counters(listing->index, &counters);
	/* Reports symbols lost at the bound; `jit verify` reports errors of the file. */
	dropped = counters.history_dropped + counters.lines_dropped + counters.code_dropped;
	if (dropped > 0)
		log_warning(
			"there is more in '%s' than fits into memory, continuing without %" PRIu64
			" of its facts",
			path, dropped);
}

static int visit(void *context, const struct code_found *found)
{
	struct listing *listing = context;
	struct json *json = &listing->base.json;
	char time[JIT_TEXT_TIME_BYTES];

	if (!listing->base.is_json) {
		output_printf(&listing->base.output, "%" PRIx64 " %" PRIx64 " ", found->address,
			found->size);
		output_string(&listing->base.output, found->name);
		output_char(&listing->base.output, '\n');
		return listing->base.output.error;
	}
	json_begin_object(json);
	json_member_hex(json, "address", found->address);
	json_member_u64(json, "size", found->size);
	json_member_string(json, "name", found->name);
	json_member_string(json, "since", jit_text_time(found->time_ns, time));
	json_end_object(json);
	json_end_line(json);
	return listing->base.output.error;
}

static int run(void *invocation)
{
	struct listing *listing = invocation;
	struct fault *fault = &listing->base.fault;
	const char *path = listing->base.arguments[0];
	struct jit_input input;
	int r;

	r = code_index_new(INDEX_BYTES_MAX, &listing->index);
	if (r < 0)
		return r;
	r = jit_input_open(path, &input, fault);
	if (r == 0)
		r = read_file(listing, &input, fault);
	jit_input_done(&input);
	if (r < 0)
		return r;
	warn_of_losses(listing, path);
	r = code_index_each(listing->index, listing->has_time ? listing->time_ns : UINT64_MAX, NULL,
		visit, listing);
	/* command_flush() reports an error of the output. */
	if (r < 0 && !listing->base.output.error)
		return r;
	return command_flush(&listing->base);
}

static int take_time(void *invocation, const struct option_row *option, const char *value)
{
	struct listing *listing = invocation;

	(void)option;
	if (jit_text_parse_time(value, &listing->time_ns) < 0)
		return command_misuse(listing->base.command,
			"--at takes ns, or seconds with a point and up to nine digits, not '%s'",
			value);
	listing->has_time = true;
	return 0;
}

static const struct option_row options[] = {
	{ 0, "at", "TIME",
		"Print what existed at TIME: in ns, or in seconds with a point as `jit dump` "
		"prints "
		"it. Without it: what exists at the end of the file.",
		OPTION_CALL, .take = take_time },
	{ 0 },
};

const struct command jit_symbols = {
	.name = "jit symbols",
	.summary = "print the code that exists at some time, as a perf map",
	.synopsis = "[OPTION...] FILE",
	.description = "Print the code that a jitdump file or a perf map names, as the lines of a "
		       "perf map: start and size in hexadecimal, and the name, sorted by address. "
		       "Newer code replaces the code it overlaps.",
	.has_json = true,
	.options = { options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a jitdump file or a perf map",
	.bytes = sizeof(struct listing),
	.run = run,
	.done = done,
};
