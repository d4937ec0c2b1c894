/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BATCH_MAX = 1024,
	INPUT_BYTES = 64 * 1024,
	LINE_BYTES_MAX = 4096, /* the rest of a longer line is ignored */
	COMPLAINTS_MAX = 10,
};

struct question {
	const char *text; /* borrowed */
	size_t size;
	uint64_t address; /* as the user wrote it */
	int error;	  /* 0, or -errno: not an address */
};

struct lookup {
	struct symbols_invocation symbols;
	bool is_offset;
	struct symbol_cache *cache;
	struct symbol_file *file;
	char input[INPUT_BYTES]; /* of standard input */
	uint64_t line_count;
	bool is_skipping; /* the rest of a long line */
	uint64_t mistakes;
	size_t count; /* of the batch */
	struct question questions[BATCH_MAX];
	uint64_t vaddrs[BATCH_MAX];
	uint32_t frames[BATCH_MAX];
	uint64_t places[BATCH_MAX];
};

static void done(void *invocation)
{
	struct lookup *lookup = invocation;

	symbol_file_free(lookup->file);
	symbol_cache_free(lookup->cache);
}

static void write_line(struct lookup *lookup, const char *function, uint64_t place)
{
	struct symbol_place source = symbol_file_place(lookup->file, place);
	struct output *output = &lookup->symbols.base.output;

	shown_text_string(output, *function ? function : "??");
	output_char(output, '\n');
	shown_text_string(output, *source.file ? source.file : "??");
	output_char(output, ':');
	output_u64(output, source.line);
	output_char(output, ':');
	output_u64(output, source.column);
	output_char(output, '\n');
}

static void write_text(struct lookup *lookup, size_t i)
{
	uint32_t frame = lookup->frames[i];
	uint64_t place = lookup->places[i];

	do {
		const char *function = symbol_file_frame_name(lookup->file, frame);
		uint64_t call = 0;
		uint32_t parent = symbol_file_frame_parent(lookup->file, frame, &call);

		write_line(lookup, function, place);
		frame = parent;
		place = call;
	} while (frame);
	output_char(&lookup->symbols.base.output, '\n');
}

static void write_json_frames(struct lookup *lookup, uint32_t frame, uint64_t place)
{
	struct json *json = &lookup->symbols.base.json;

	while (frame || place) {
		struct symbol_place source = symbol_file_place(lookup->file, place);
		uint64_t call = 0;
		uint32_t parent = symbol_file_frame_parent(lookup->file, frame, &call);

		json_begin_object(json);
		json_member_string(json, "function", symbol_file_frame_name(lookup->file, frame));
		json_member_string(json, "file", source.file);
		json_member_u64(json, "line", source.line);
		json_member_u64(json, "column", source.column);
		json_member_bool(json, "inlined", parent != 0);
		json_end_object(json);
		if (!parent)
			break;
		frame = parent;
		place = call;
	}
}

static void write_json(struct lookup *lookup, size_t i)
{
	const struct question *question = &lookup->questions[i];
	struct json *json = &lookup->symbols.base.json;

	json_begin_object(json);
	json_key(json, "address");
	if (question->error == 0)
		json_hex(json, question->address);
	else
		json_string_bytes(json, question->text, question->size);
	json_key(json, "frames");
	json_begin_array(json);
	write_json_frames(lookup, lookup->frames[i], lookup->places[i]);
	json_end_array(json);
	if (question->error < 0) {
		json_member_string(json, "error", "no address");
	}
	json_end_object(json);
	json_end_line(json);
}

/* An address without a vaddr is unknown. */
static bool find_vaddr(
	const struct lookup *lookup, const struct question *question, uint64_t *ret_vaddr)
{
	if (question->error < 0)
		return false;
	if (lookup->is_offset)
		return symbol_file_find_vaddr(lookup->file, question->address, ret_vaddr);
	*ret_vaddr = question->address;
	return true;
}

static void answer(struct lookup *lookup)
{
	for (size_t i = 0; i < lookup->count; i++) {
		/* Any will do where there is none. */
		lookup->vaddrs[i] = 0;
		(void)find_vaddr(lookup, &lookup->questions[i], &lookup->vaddrs[i]);
	}
	symbol_file_find(
		lookup->file, lookup->vaddrs, lookup->count, lookup->frames, lookup->places);
	for (size_t i = 0; i < lookup->count; i++) {
		uint64_t vaddr;

		if (!find_vaddr(lookup, &lookup->questions[i], &vaddr))
			lookup->frames[i] = 0, lookup->places[i] = 0;
		if (lookup->symbols.base.is_json)
			write_json(lookup, i);
		else
			write_text(lookup, i);
	}
	lookup->count = 0;
}

static void complain(struct lookup *lookup, const char *text, size_t size, int error, uint64_t line)
{
	const char *why = error == -ERANGE ? "is more than 64 bits" : "is no address";
	char clean[256];
	size_t shown = size < sizeof(clean) ? size : sizeof(clean) - 1;

	if (lookup->mistakes++ >= COMPLAINTS_MAX)
		return;
	for (size_t i = 0; i < shown; i++)
		clean[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
	clean[shown] = '\0';
	if (line > 0)
		log_error("line %" PRIu64 " of standard input: '%s' %s (hexadecimal, as 0x1f)",
			line, clean, why);
	else
		log_error("'%s' %s (hexadecimal, as 0x1f)", clean, why);
}

/* `line` is 0 if the text is an argument. */
static void ask(struct lookup *lookup, const char *text, size_t size, uint64_t line)
{
	struct question *question = &lookup->questions[lookup->count++];

	*question = (struct question){ .text = text, .size = size };
	question->error = symbols_argument_address(text, size, &question->address);
	if (question->error < 0)
		complain(lookup, text, size, question->error, line);
}

/* Answers the lines in the first `size` bytes of the input, and returns how many bytes they were.
 */
static size_t answer_lines(struct lookup *lookup, size_t size, bool is_at_end)
{
	size_t start = 0;

	while (start < size) {
		const char *line = lookup->input + start, *newline;
		size_t length = size - start;

		newline = memchr(line, '\n', length);
		if (newline)
			length = (size_t)(newline - line);
		else if (length < LINE_BYTES_MAX && !is_at_end)
			break;
		if (!lookup->is_skipping)
			ask(lookup, line, length < LINE_BYTES_MAX ? length : LINE_BYTES_MAX,
				++lookup->line_count);
		if (lookup->count == BATCH_MAX)
			answer(lookup);
		lookup->is_skipping = !newline;
		start += length + (newline ? 1 : 0);
	}
	answer(lookup);
	return start;
}

static int ask_lines(struct lookup *lookup, struct fault *fault)
{
	size_t have = 0, used;
	ssize_t size;
	int r;

	do {
		do
			size = read(
				STDIN_FILENO, lookup->input + have, sizeof(lookup->input) - have);
		while (size < 0 && errno == EINTR);
		if (size < 0)
			return fault_set(
				fault, -errno, "cannot read standard input: %s", strerror(errno));
		have += (size_t)size;
		used = answer_lines(lookup, have, size == 0);
		have -= used;
		memmove(lookup->input, lookup->input + used, have);
		/* The writer of a pipe may wait for the answer. */
		r = command_flush(&lookup->symbols.base);
	} while (r == 0 && size > 0);
	return r;
}

static bool has_offsets(const struct symbol_file *file)
{
	const struct pilotlight_symbol_segment *segments =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_SEGMENTS);
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS);

	for (uint64_t i = 0; i < count; i++)
		if (segments[i].file_bytes > 0)
			return true;
	return false;
}

static int look_up(struct lookup *lookup)
{
	struct fault *fault = &lookup->symbols.base.fault;
	char **arguments = lookup->symbols.base.arguments;
	int count = lookup->symbols.base.argument_count;
	int r;

	r = symbols_open(&lookup->symbols, arguments[0], &lookup->cache, &lookup->file, fault);
	if (r < 0)
		return r;
	if (lookup->is_offset && !has_offsets(lookup->file))
		return fault_set(fault, -ENODATA,
			"the symbols of '%s' were made of a debug file alone, so offsets are not "
			"known; `pilotlight symbols add --force BINARY`, or give addresses",
			arguments[0]);
	if (count == 1)
		r = ask_lines(lookup, fault);
	for (int i = 1; i < count; i++) {
		ask(lookup, arguments[i], strlen(arguments[i]), 0);
		if (lookup->count == BATCH_MAX || i == count - 1)
			answer(lookup);
	}
	if (r == 0 || lookup->symbols.base.output.error < 0)
		r = command_flush(&lookup->symbols.base);
	if (lookup->mistakes > COMPLAINTS_MAX)
		log_error("and %" PRIu64 " more that are no addresses",
			lookup->mistakes - COMPLAINTS_MAX);
	return r;
}

static int run(void *invocation)
{
	struct lookup *lookup = invocation;
	int r = look_up(lookup);

	return r == 0 && lookup->mistakes > 0 ? EXIT_FAILURE : r;
}

static const struct option_row options[] = {
	{ 0, "offset", NULL, "The addresses are offsets in the binary's file.", OPTION_SET,
		.offset = offsetof(struct lookup, is_offset) },
	{ 0 },
};

const struct command symbols_lookup = {
	.name = "symbols lookup",
	.summary = "print functions and source lines of addresses",
	.synopsis = "[OPTION...] BUILD-ID [ADDR...]",
	.description = "Name addresses, those on standard input if none is given, one a line. For "
		       "each, print the functions that were inlined there, the innermost first, "
		       "and the function that contains them: the name, then FILE:LINE:COLUMN, and "
		       "an empty line after each address, as llvm-symbolizer does. What is unknown "
		       "is ?? and ??:0:0.\n\nAddresses are hexadecimal, with or without 0x, as the "
		       "binary was linked. Input that is no address is reported, answered as "
		       "unknown, and makes the exit status 1.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.argument = "a build-id",
	.bytes = sizeof(struct lookup),
	.run = run,
	.done = done,
};
