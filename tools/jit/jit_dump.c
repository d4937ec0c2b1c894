/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/output.h"
#include "tools/jit/jit_command.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight jit dump [--json] FILE\n"
	"\n"
	"Shows a jitdump file: its header, then each record with its offset in the file,\n"
	"its time, what it is, process/thread, address, size and name. Source lines stand\n"
	"below the record that has them.\n"
	"\n"
	"  --json      an object a line\n"
	"  -h, --help  this\n";

struct dumping {
	bool is_json;
	bool has_header;
	struct output output;
	struct json json;
};

static void write_header(struct dumping *dumping, const struct jitdump_header *header)
{
	if (dumping->has_header)
		return;
	dumping->has_header = true;
	if (dumping->is_json)
		jit_text_json_header(&dumping->json, header);
	else
		jit_text_write_header(&dumping->output, header);
}

static int visit(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	struct dumping *dumping = context;

	write_header(dumping, header);
	/* Of the rest of the file, see write_rest(). */
	if (error == -EMSGSIZE)
		return dumping->output.error;
	if (dumping->is_json)
		jit_text_json_record(&dumping->json, file_offset, header, record, error);
	else
		jit_text_write_record(&dumping->output, file_offset, header, record, error);
	return dumping->output.error;
}

/* What could not be read as records: a tail that is not whole as yet, or no record at all. */
static void write_rest(struct dumping *dumping, const struct jitdump_reader_state *state)
{
	bool is_lost = state->fault == JITDUMP_FAULT_RECORD_SIZE;
	uint64_t offset = is_lost ? state->fault_offset : state->file_bytes - state->unread_bytes;
	uint64_t bytes = state->file_bytes > offset ? state->file_bytes - offset : 0;
	struct json *json = &dumping->json;

	if (bytes == 0)
		return;
	if (!dumping->is_json) {
		output_printf(&dumping->output, "0x%08" PRIx64 " %19s  (%s: %" PRIu64 " bytes)\n",
			offset, "",
			is_lost ? jitdump_fault_name(state->fault) : "a record that is not whole",
			bytes);
		return;
	}
	json_begin_object(json);
	json_key(json, "offset");
	json_u64(json, offset);
	json_key(json, "kind");
	json_string(json, is_lost ? "LOST" : "PARTIAL");
	json_key(json, "bytes");
	json_u64(json, bytes);
	json_end_object(json);
	json_end_line(json);
}

static int dump(struct dumping *dumping, const char *path, struct fault *fault)
{
	struct jitdump_reader_state state;
	struct jit_input input;
	int r, finished;

	r = jit_input_open(path, &input, fault);
	if (r == 0)
		r = jit_input_read(&input, NULL, visit, dumping, &state, fault);
	jit_input_done(&input);
	if (r == 0) {
		write_header(dumping, &state.header);
		write_rest(dumping, &state);
	}
	/* What went before a failure is shown all the same. */
	finished = command_finish_output(&dumping->output, fault);
	return finished < 0 ? finished : r;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ struct dumping *dumping = calloc(1, sizeof(*dumping));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!dumping)
		return command_fail(&fault, -ENOMEM);
	parsed = command_parse_plainly(
		command, argc, argv, 1, 1, "a jitdump file", &dumping->is_json);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&dumping->output, STDOUT_FILENO);
	json_init(&dumping->json, &dumping->output);
	r = dump(dumping, argv[optind], &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command jit_dump = {
	"jit",
	"dump",
	"the records of a jitdump file as text",
	help,
	run,
};
