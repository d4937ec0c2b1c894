/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/output.h"
#include "tools/jit/jit_commands.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct dumping {
	struct invocation base;
	bool has_header;
};

static void write_header(struct dumping *dumping, const struct jitdump_header *header)
{
	if (dumping->has_header)
		return;
	dumping->has_header = true;
	if (dumping->base.is_json)
		jit_text_json_header(&dumping->base.json, header);
	else
		jit_text_write_header(&dumping->base.output, header);
}

static int visit(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	struct dumping *dumping = context;

	write_header(dumping, header);
	/* About the rest of the file, see write_rest(). */
	if (error == -EMSGSIZE)
		return dumping->base.output.error;
	if (dumping->base.is_json)
		jit_text_json_record(&dumping->base.json, file_offset, header, record, error);
	else
		jit_text_write_record(&dumping->base.output, file_offset, header, record, error);
	return dumping->base.output.error;
}

/* Reports bytes that are not records: an incomplete tail, or damage. */
static void write_rest(struct dumping *dumping, const struct jitdump_reader_state *state)
{
	bool is_lost = state->fault == JITDUMP_FAULT_RECORD_SIZE;
	uint64_t offset = is_lost ? state->fault_offset : state->file_bytes - state->unread_bytes;
	uint64_t bytes = state->file_bytes > offset ? state->file_bytes - offset : 0;
	struct json *json = &dumping->base.json;

	if (bytes == 0)
		return;
	if (!dumping->base.is_json) {
		output_printf(&dumping->base.output,
			"0x%08" PRIx64 " %19s  (%s: %" PRIu64 " bytes)\n", offset, "",
			is_lost ? jitdump_fault_name(state->fault) : "a record that is not whole",
			bytes);
		return;
	}
	json_begin_object(json);
	json_member_u64(json, "offset", offset);
	json_member_string(json, "kind", is_lost ? "LOST" : "PARTIAL");
	json_member_u64(json, "bytes", bytes);
	json_end_object(json);
	json_end_line(json);
}

static int run(void *invocation)
{
	struct dumping *dumping = invocation;
	struct fault *fault = &dumping->base.fault;
	struct jitdump_reader_state state;
	struct jit_input input;
	int r, finished;

	r = jit_input_open(dumping->base.arguments[0], &input, fault);
	if (r == 0)
		r = jit_input_read(&input, NULL, visit, dumping, &state, fault);
	jit_input_done(&input);
	if (r == 0) {
		write_header(dumping, &state.header);
		write_rest(dumping, &state);
	}
	/* Show the records before a failure, too. */
	finished = command_flush(&dumping->base);
	return finished < 0 ? finished : r;
}

const struct command jit_dump = {
	.name = "jit dump",
	.summary = "print the records of a jitdump file",
	.synopsis = "[OPTION...] FILE",
	.description = "Print a jitdump file: its header, then each record with its offset in the "
		       "file, its time, what it is, process/thread, address, size and name. Source "
		       "lines follow the record that has them.",
	.has_json = true,
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a jitdump file",
	.bytes = sizeof(struct dumping),
	.run = run,
};
