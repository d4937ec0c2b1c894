/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_text.h"

#include "base/array.h"
#include "base/json.h"
#include "base/output.h"
#include "symbol/symbol_file.h"
#include "tools/shown_text.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct rank_text {
	const char *word;
	const char *text;
} ranks[] = {
	[PILOTLIGHT_SYMBOL_RANK_NONE] = { "none", "none" },
	[PILOTLIGHT_SYMBOL_RANK_BINARY] = { "binary", "the binary itself" },
	[PILOTLIGHT_SYMBOL_RANK_DEBUGLINK] = { "debuglink",
		"a debug file, by .gnu_debuglink and its checksum" },
	[PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD] = { "debuginfod",
		"a debug file of a debuginfod server" },
	[PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE] = { "debug-file", "a debug file, by build-id" },
};

static const struct failure_text {
	const char *word;
	const char *text;
	const char *remedy;
} failures[] = {
	[PILOTLIGHT_SYMBOL_OK] = { "ok", "nothing failed", "add the binary again" },
	[PILOTLIGHT_SYMBOL_NOTHING] = { "nothing", "it has neither symbols nor debug information",
		"install its debug package, name its debug file with `symbols add --debug`, or "
		"`pilotlight symbols fetch` it" },
	[PILOTLIGHT_SYMBOL_DAMAGED] = { "damaged", "its symbols or debug information are damaged",
		"compare the file with its package" },
	[PILOTLIGHT_SYMBOL_TOO_BIG] = { "too-big", "it exceeds the limits of a symbol file",
		"use a build of it with less debug information (-g1)" },
	[PILOTLIGHT_SYMBOL_NO_MEMORY] = { "no-memory", "a worker's memory was not enough",
		"add it with `symbols add --memory` and more than 256M" },
	[PILOTLIGHT_SYMBOL_TIMEOUT] = { "timeout", "a worker took too long and was ended",
		"add it with `symbols add --timeout` and more than 120 seconds" },
	[PILOTLIGHT_SYMBOL_CRASHED] = { "crashed", "it crashed a worker",
		"report this, with the file" },
	[PILOTLIGHT_SYMBOL_NO_SPACE] = { "no-space", "there is no space left on the disk",
		"free some, or name a folder on another disk with --cache" },
	[PILOTLIGHT_SYMBOL_UNREADABLE] = { "unreadable", "it cannot be opened or read",
		"check its permissions" },
};

static const struct {
	uint32_t bit;
	const char *name;
} contents_names[] = {
	{ PILOTLIGHT_SYMBOL_HAS_DYNSYM, "dynsym" },
	{ PILOTLIGHT_SYMBOL_HAS_SYMTAB, "symtab" },
	{ PILOTLIGHT_SYMBOL_HAS_DEBUGDATA, "debugdata" },
	{ PILOTLIGHT_SYMBOL_HAS_PLT, "plt" },
	{ PILOTLIGHT_SYMBOL_HAS_DWARF, "dwarf" },
	{ PILOTLIGHT_SYMBOL_HAS_ALTERNATE, "dwz" },
	{ PILOTLIGHT_SYMBOL_HAS_SPLIT, "split-dwarf" },
	{ PILOTLIGHT_SYMBOL_HAS_EH_FRAME, "eh-frame" },
	{ PILOTLIGHT_SYMBOL_HAS_DEBUG_FRAME, "debug-frame" },
	{ PILOTLIGHT_SYMBOL_LACKS_SPLIT, "split-missing" },
	{ PILOTLIGHT_SYMBOL_HAS_GO_TABLE, "go-table" },
	{ PILOTLIGHT_SYMBOL_HAS_INFERRED, "inferred" },
	{ PILOTLIGHT_SYMBOL_LACKS_DECODER, "zydis-missing" },
	{ PILOTLIGHT_SYMBOL_HAS_RUNTIME, "runtime" },
	{ PILOTLIGHT_SYMBOL_LACKS_RUNTIME, "runtime-unknown" },
	{ PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED, "runtime-compressed" },
	{ PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED, "runtime-stripped" },
};

const char *symbols_text_rank_word(uint8_t rank)
{
	return rank < ARRAY_SIZE(ranks) ? ranks[rank].word : "unknown";
}

const char *symbols_text_rank(uint8_t rank)
{
	return rank < ARRAY_SIZE(ranks) ? ranks[rank].text : "unknown to this version";
}

const char *symbols_text_failure_word(uint8_t failure)
{
	return failure < ARRAY_SIZE(failures) ? failures[failure].word : "unknown";
}

const char *symbols_text_failure(uint8_t failure)
{
	return failure < ARRAY_SIZE(failures) ? failures[failure].text
					      : "the reason is unknown to this version";
}

const char *symbols_text_remedy(uint8_t failure)
{
	return failures[failure < ARRAY_SIZE(failures) ? failure : PILOTLIGHT_SYMBOL_OK].remedy;
}

const char *symbols_text_machine(uint16_t machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "arm";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "riscv";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390";
	default:
		return NULL;
	}
}

void symbols_text_write_contents(struct output *output, uint32_t contents)
{
	const char *separator = "";

	for (size_t i = 0; i < ARRAY_SIZE(contents_names); i++) {
		if (!(contents & contents_names[i].bit))
			continue;
		output_string(output, separator);
		output_string(output, contents_names[i].name);
		separator = ", ";
	}
}

void symbols_text_json_contents(struct json *json, uint32_t contents)
{
	json_begin_array(json);
	for (size_t i = 0; i < ARRAY_SIZE(contents_names); i++)
		if (contents & contents_names[i].bit)
			json_string(json, contents_names[i].name);
	json_end_array(json);
}

const char *symbols_text_time(uint64_t time_s, char text[SYMBOLS_TEXT_TIME_BYTES])
{
	time_t time = (time_t)time_s;
	struct tm broken;

	if (time <= 0 || !localtime_r(&time, &broken) || broken.tm_year > 9999 - 1900 ||
		strftime(text, SYMBOLS_TEXT_TIME_BYTES, "%Y-%m-%d %H:%M", &broken) == 0)
		(void)strcpy(text, "-");
	return text;
}

void symbols_text_write_origin(struct output *output, const struct pilotlight_symbol_header *header)
{
	shown_text_write(output, header->origin, strnlen(header->origin, sizeof(header->origin)));
}

void symbols_text_json_origin(struct json *json, const struct pilotlight_symbol_header *header)
{
	json_string_bytes(json, header->origin, strnlen(header->origin, sizeof(header->origin)));
}

void symbols_text_count_frames(
	const struct symbol_file *file, uint64_t *ret_functions, uint64_t *ret_inlined)
{
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES);

	*ret_functions = *ret_inlined = 0;
	for (uint64_t i = 1; i < count; i++)
		(*(symbol_file_frame_parent(file, (uint32_t)i, NULL) ? ret_inlined
								     : ret_functions))++;
}

void symbols_text_json_losses(struct json *json, const struct pilotlight_symbol_header *header)
{
	json_member_u64(json, "units_failed", header->units_failed);
	json_member_u64(json, "ranges_outside", header->ranges_outside);
	json_member_u64(json, "names_failed", header->names_failed);
	json_member_u64(json, "symbol_tables_failed", header->symbols_failed);
}

bool symbols_text_has_losses(const struct pilotlight_symbol_header *header)
{
	return header->units_failed || header->ranges_outside || header->names_failed ||
	       header->symbols_failed;
}

void symbols_text_write_losses(struct output *output, const struct pilotlight_symbol_header *header)
{
	const struct {
		uint32_t count;
		const char *one, *many;
	} losses[] = {
		{ header->units_failed, "compilation unit", "compilation units" },
		{ header->ranges_outside, "range outside of the code",
			"ranges outside of the code" },
		{ header->names_failed, "name", "names" },
		{ header->symbols_failed, "symbol table", "symbol tables" },
	};
	const char *separator = "";

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		if (losses[i].count == 0)
			continue;
		output_printf(output, "%s%" PRIu32 " %s", separator, losses[i].count,
			losses[i].count == 1 ? losses[i].one : losses[i].many);
		separator = ", ";
	}
}
