/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct show {
	struct symbols_invocation symbols;
	struct symbol_identity identity;
	char *path; /* owned */
	uint64_t used_s;
	uint64_t functions, inlined;
	struct symbol_file *file;
	struct symbols_unwind unwind;
};

static void done(void *invocation)
{
	struct show *show = invocation;

	symbol_file_free(show->file);
	symbols_unwind_done(&show->unwind);
	free(show->path);
}

static int visit(void *context, const struct symbol_cache_entry *entry)
{
	struct show *show = context;

	if (!symbol_identity_equal(&entry->identity, &show->identity))
		return 0;
	show->path = strdup(entry->path);
	if (!show->path)
		return -ENOMEM;
	show->used_s = entry->used_s;
	return 1; /* found */
}

/* The count without the empty first entry. */
static uint64_t count_entries(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section)
{
	uint64_t count = symbol_file_count(file, section);

	return count > 0 ? count - 1 : 0;
}

static void write_json_segments(struct json *json, const struct symbol_file *file)
{
	const struct pilotlight_symbol_segment *segments =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_SEGMENTS);
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS);

	json_key(json, "segments");
	json_begin_array(json);
	for (uint64_t i = 0; i < count; i++) {
		json_begin_object(json);
		json_member_hex(json, "offset", segments[i].offset);
		json_member_hex(json, "vaddr", segments[i].vaddr);
		json_member_u64(json, "file_bytes", segments[i].file_bytes);
		json_member_u64(json, "memory_bytes", segments[i].memory_bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_json_counts(struct json *json, const struct show *show)
{
	const struct symbol_file *file = show->file;

	json_member_u64(json, "functions", show->functions);
	json_member_u64(json, "inlined", show->inlined);
	json_member_u64(json, "boundaries", symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES));
	json_member_u64(json, "lines", symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS));
	json_member_u64(json, "files", count_entries(file, PILOTLIGHT_SYMBOL_FILES));
	json_member_u64(json, "string_bytes", symbol_file_count(file, PILOTLIGHT_SYMBOL_STRINGS));
}

static void write_json(struct show *show)
{
	struct json *json = &show->symbols.base.json;
	const struct pilotlight_symbol_header *header = symbol_file_header(show->file);
	const char *machine = symbols_text_machine(header->machine);
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_member_string(json, "identity", symbol_identity_format(&show->identity, text));
	json_member_string(json, "path", show->path);
	json_member_u64(json, "bytes", header->file_bytes);
	json_member_u64(json, "version", header->version);
	json_member_u64(json, "created_s", header->created_s);
	json_member_u64(json, "used_s", show->used_s);
	json_member_string(json, "source", symbols_text_rank_word(header->rank));
	if (header->rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
		json_member_string(json, "reason", symbols_text_failure_word(header->failure));
	}
	json_key(json, "origin");
	symbols_text_json_origin(json, header);
	json_key(json, "contents");
	symbols_text_json_contents(json, header->contents);
	json_key(json, "machine");
	if (machine)
		json_string(json, machine);
	else
		json_u64(json, header->machine);
	json_member_hex(json, "base_vaddr", header->base_vaddr);
	write_json_segments(json, show->file);
	write_json_counts(json, show);
	json_key(json, "unwind");
	symbols_unwind_json(&show->unwind, json);
	symbols_text_json_losses(json, header);
	json_end_object(json);
	json_end_line(json);
}

static void write_source(struct output *output, const struct pilotlight_symbol_header *header)
{
	output_printf(output, "source     %s", symbols_text_rank(header->rank));
	if (header->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		output_printf(output, ": %s; %s", symbols_text_failure(header->failure),
			symbols_text_remedy(header->failure));
	output_string(output, "\norigin     ");
	symbols_text_write_origin(output, header);
	output_string(output, "\ncontents   ");
	symbols_text_write_contents(output, header->contents);
	output_char(output, '\n');
}

static void write_code(struct output *output, const struct symbol_file *file)
{
	const struct pilotlight_symbol_header *header = symbol_file_header(file);
	const struct pilotlight_symbol_segment *segments =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_SEGMENTS);
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS);
	const char *machine = symbols_text_machine(header->machine);

	if (machine)
		output_printf(output, "machine    %s\n", machine);
	else
		output_printf(output, "machine    %" PRIu16 "\n", header->machine);
	for (uint64_t i = 0; i < count; i++) {
		output_printf(output, "segment    vaddr 0x%" PRIx64 ", %" PRIu64 " bytes",
			segments[i].vaddr, segments[i].memory_bytes);
		if (segments[i].file_bytes > 0)
			output_printf(output, ", offset 0x%" PRIx64 "\n", segments[i].offset);
		else
			output_string(output, ", offset not known\n");
	}
}

static void write_text(struct show *show)
{
	const struct pilotlight_symbol_header *header = symbol_file_header(show->file);
	const struct symbol_file *file = show->file;
	char text[SYMBOL_IDENTITY_TEXT_BYTES], bytes[SHOWN_TEXT_BYTES_BYTES];
	char created[SYMBOLS_TEXT_TIME_BYTES], used[SYMBOLS_TEXT_TIME_BYTES];
	struct output *output = &show->symbols.base.output;

	output_printf(output, "identity   %s\nfile       ",
		symbol_identity_format(&show->identity, text));
	shown_text_string(output, show->path);
	output_printf(output, "\nsize       %s (%" PRIu64 " bytes), format version %" PRIu32 "\n",
		shown_text_bytes(header->file_bytes, bytes), header->file_bytes, header->version);
	output_printf(output, "created    %s\nlast used  %s\n",
		symbols_text_time(header->created_s, created),
		symbols_text_time(show->used_s, used));
	write_source(output, header);
	write_code(output, file);
	output_printf(output,
		"functions  %" PRIu64 "\ninlined    %" PRIu64 "\nboundaries %" PRIu64
		"\nlines      %" PRIu64 "\nfiles      %" PRIu64 "\nstrings    %" PRIu64
		" bytes\nleft out   ",
		show->functions, show->inlined,
		symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES),
		symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS),
		count_entries(file, PILOTLIGHT_SYMBOL_FILES),
		symbol_file_count(file, PILOTLIGHT_SYMBOL_STRINGS));
	if (symbols_text_has_losses(header))
		symbols_text_write_losses(output, header);
	else
		output_string(output, "nothing");
	output_char(output, '\n');
	symbols_unwind_write(&show->unwind, output);
}

static int run(void *invocation)
{
	struct show *show = invocation;
	struct fault *fault = &show->symbols.base.fault;
	const char *text = show->symbols.base.arguments[0];
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r;

	r = symbols_open_cache(&show->symbols, SYMBOL_CACHE_BYTES_DEFAULT, false, &cache, fault);
	if (r < 0 && r != -ENOENT)
		return r;
	r = symbols_argument_find(cache, text, &show->identity, fault);
	if (r < 0)
		return r;
	/* Find it before opening: opening updates the time of the last use. */
	r = cache ? symbol_cache_each(cache, false, visit, show) : 0;
	if (r < 0)
		return fault_set(fault, r, "cannot read the symbol cache: %s", strerror(-r));
	if (r == 1)
		r = symbol_cache_find(cache, &show->identity, &show->file);
	else
		r = -ENOENT;
	if (r < 0)
		return fault_set(fault, r,
			r == -ENOENT ? "there are no symbols of '%s', or damaged ones; `pilotlight "
				       "symbols add FILE` makes them"
				     : "cannot read the symbols of '%s'",
			text);
	show->identity = symbol_file_identity(show->file);
	r = symbols_unwind_find(&show->unwind, cache, &show->identity, fault);
	if (r < 0)
		return r;
	symbols_text_count_frames(show->file, &show->functions, &show->inlined);
	if (show->symbols.base.is_json)
		write_json(show);
	else
		write_text(show);
	return command_flush(&show->symbols.base);
}

const struct command symbols_show = {
	.name = "symbols show",
	.summary = "print everything about one symbol file",
	.synopsis = "[OPTION...] BUILD-ID",
	.description = "Print everything that is known about a symbol file: its path, source and "
		       "age, what it contains, what was lost when it was made; and the binary's "
		       "unwind table, if there is one.",
	.has_json = true,
	.options = { symbols_cache_option },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a build-id",
	.bytes = sizeof(struct show),
	.run = run,
	.done = done,
};
