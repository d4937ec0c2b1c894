/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "jit/code_index.h"
#include "jit/perf_map_reader.h"
#include "tools/jit/jit_command.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight jit symbols [--at TIME] [--json] FILE\n"
	"\n"
	"The code that a jitdump file or a perf map tells of, as the lines of a perf map:\n"
	"start and size in hexadecimal, and the name, sorted by address. What was put over\n"
	"other code has its place.\n"
	"\n"
	"  --at TIME   what there was at this time, in ns or as `jit dump` has it, in seconds\n"
	"              with a point; otherwise what there is at the end of the file\n"
	"  --json      an object a line\n"
	"  -h, --help  this\n";

enum { OPTION_AT = 256 };

/* Of memory: some ten million symbols. */
#define INDEX_BYTES_MAX ((size_t)1 << 30)

enum { STEPS = 1 << 20 };

struct asking {
	bool is_json, has_time;
	uint64_t time_ns;
	struct code_index *index;
	struct output output;
	struct json json;
};

static void asking_free(struct asking *asking)
{
	code_index_free(asking->index);
	free(asking);
}
DEFINE_CLEANUP(struct asking, asking_free);

static int read_perf_map(struct asking *asking, struct jit_input *input, struct fault *fault)
{
	_cleanup_(perf_map_reader_freep) struct perf_map_reader *reader = NULL;
	struct perf_map_reader_state state;
	int64_t left;
	int r;

	r = perf_map_reader_new(TAKE_FD(input->fd), &reader);
	if (r < 0)
		return r;
	do
		left = perf_map_reader_run(reader, asking->index, true, STEPS);
	while (left == 0);
	if (left < 0)
		return (int)left;
	perf_map_reader_state(reader, &state);
	if (state.counters.lines == state.counters.malformed && state.file_bytes > 0)
		return fault_set(fault, -EBADMSG, "'%s' is neither a jitdump file nor a perf map",
			input->path);
	return 0;
}

static int read_file(struct asking *asking, struct jit_input *input, struct fault *fault)
{
	struct jitdump_reader_state state;
	int r;

	if (!input->is_jitdump && asking->has_time)
		return fault_set(fault, -EINVAL,
			"'%s' is no jitdump file, and nothing else tells times: leave --at out",
			input->path);
	if (!input->is_jitdump)
		return read_perf_map(asking, input, fault);
	r = jit_input_read(input, asking->index, NULL, NULL, &state, fault);
	if (r == 0 && asking->has_time && (state.header.flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP))
		return fault_set(fault, -EINVAL,
			"'%s' has times of the CPU's counter, which --at cannot ask for",
			input->path);
	if (r == 0 && state.fault != JITDUMP_FAULT_NONE)
		log_warning("'%s' cannot be read beyond byte %" PRIu64
			    ", continuing with what comes before: %s",
			input->path, state.fault_offset, jitdump_fault_name(state.fault));
	return r;
}

static void warn_of_losses(const struct asking *asking, const char *path)
{
	struct code_index_counters counters;
	uint64_t dropped;

	code_index_counters(asking->index, &counters);
	/* What went for want of room; what the file itself has wrong is for `jit verify`. */
	dropped = counters.history_dropped + counters.lines_dropped + counters.code_dropped;
	if (dropped > 0)
		log_warning(
			"there is more in '%s' than fits into memory, continuing without %" PRIu64
			" of its facts",
			path, dropped);
}

static int visit(void *context, const struct code_found *found)
{
	struct asking *asking = context;
	struct json *json = &asking->json;
	char time[JIT_TEXT_TIME_BYTES];

	if (!asking->is_json) {
		output_printf(
			&asking->output, "%" PRIx64 " %" PRIx64 " ", found->address, found->size);
		output_string(&asking->output, found->name);
		output_char(&asking->output, '\n');
		return asking->output.error;
	}
	json_begin_object(json);
	json_key(json, "address");
	json_hex(json, found->address);
	json_key(json, "size");
	json_u64(json, found->size);
	json_key(json, "name");
	json_string(json, found->name);
	json_key(json, "since");
	json_string(json, jit_text_time(found->time_ns, time));
	json_end_object(json);
	json_end_line(json);
	return asking->output.error;
}

static int ask(struct asking *asking, const char *path, struct fault *fault)
{
	struct jit_input input;
	int r;

	r = code_index_new(INDEX_BYTES_MAX, &asking->index);
	if (r < 0)
		return r;
	r = jit_input_open(path, &input, fault);
	if (r == 0)
		r = read_file(asking, &input, fault);
	jit_input_done(&input);
	if (r < 0)
		return r;
	warn_of_losses(asking, path);
	(void)code_index_each(asking->index, asking->has_time ? asking->time_ns : UINT64_MAX, NULL,
		visit, asking);
	return command_finish_output(&asking->output, fault);
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct asking *asking)
{
	static const struct option long_options[] = {
		COMMAND_OPTIONS,
		{ "at", required_argument, NULL, OPTION_AT },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option != OPTION_AT)
			r = command_take_option(command, option, &asking->is_json);
		else if (jit_text_parse_time(optarg, &asking->time_ns) < 0)
			r = command_wrong(command,
				"--at takes ns, or seconds with a point and up to nine digits, not",
				optarg);
		else
			asking->has_time = true;
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 1, 1, "a jitdump file or a perf map");
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(asking_freep) struct asking *asking = calloc(1, sizeof(*asking));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!asking)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, asking);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&asking->output, STDOUT_FILENO);
	json_init(&asking->json, &asking->output);
	r = ask(asking, argv[optind], &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command jit_symbols = {
	"jit",
	"symbols",
	"the code that there is at some time, as a perf map",
	help,
	run,
};
