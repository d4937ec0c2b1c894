/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_deviations.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Deviations of each kind that are shown as text without --all. */
enum { SHOWN_MAX = 8 };

static const struct {
	const char *word;
	const char *meaning; /* for profiles */
} kinds[JIT_DEVIATIONS] = {
	[JIT_DEVIATION_HEADER_SIZE] = { "header-size",
		"nothing: bytes beyond the header's fields are skipped" },
	[JIT_DEVIATION_HEADER_MACHINE] = { "header-machine",
		"nothing for names; other tools may refuse the file" },
	[JIT_DEVIATION_HEADER_PADDING] = { "header-padding", "nothing: V8 marks its files so" },
	[JIT_DEVIATION_HEADER_FLAGS] = { "header-flags",
		"unknown flags are ignored; perf refuses the file" },
	[JIT_DEVIATION_HEADER_CLOCK] = { "header-clock",
		"nothing: only the times of records are used" },
	[JIT_DEVIATION_CLOCK] = { "clock",
		"samples cannot be matched to such records: code is named too late or never" },
	[JIT_DEVIATION_BACKWARD] = { "backward",
		"nothing for small steps: records are used in the order of their times" },
	[JIT_DEVIATION_RECORD_SIZE] = { "record-size",
		"the start of the next record is unknown: the rest of the file is lost" },
	[JIT_DEVIATION_DAMAGED] = { "damaged", "this record is lost, but not those that follow" },
	[JIT_DEVIATION_UNKNOWN] = { "unknown-record", "nothing: the record is skipped" },
	[JIT_DEVIATION_PIDS] = { "pids",
		"several processes write one file, after a fork: each sees its own code" },
	[JIT_DEVIATION_NO_NAME] = { "no-name", "samples in this code have no name" },
	[JIT_DEVIATION_NAME_TEXT] = { "name-text", "bytes that are not UTF-8 are shown as U+FFFD" },
	[JIT_DEVIATION_NO_CODE] = { "no-code",
		"nothing for names; the code cannot be disassembled" },
	[JIT_DEVIATION_VMA] = { "vma", "nothing: the code's own address is used" },
	[JIT_DEVIATION_ADDRESS] = { "address", "no code can be there: the record is refused" },
	[JIT_DEVIATION_MOVE_UNKNOWN] = { "move-unknown",
		"the moved code is unknown: the new address has no name" },
	[JIT_DEVIATION_MOVE_SIZE] = { "move-size", "the size in the record is used" },
	[JIT_DEVIATION_LINES_DAMAGED] = { "lines-damaged",
		"source lines of this function are lost from there on, but not its name" },
	[JIT_DEVIATION_LINES_BIASED] = { "lines-biased",
		"source lines are 64 bytes off in tools that do not correct it; pilotlight does" },
	[JIT_DEVIATION_LINES_UNCLAIMED] = { "lines-unclaimed",
		"source lines without their code are lost" },
	[JIT_DEVIATION_UNWINDING] = { "unwinding",
		"stacks through this code cannot be walked by this record" },
	[JIT_DEVIATION_AFTER_CLOSE] = { "after-close", "nothing: reading continues" },
	[JIT_DEVIATION_PARTIAL_TAIL] = { "partial-tail",
		"the reader waits for the rest of the record; it is lost if the writer was "
		"killed" },
	[JIT_NOTE_CPU_CLOCK] = { "cpu-clock",
		"a note: times need converting, which only the machine itself can do" },
	[JIT_NOTE_NO_CLOSE] = { "no-close", "a note: the end of the file replaces it" },
	[JIT_NOTE_UNCHECKED] = { "unchecked", "a note: the file is too big for a full comparison" },
};

void jit_deviations_init(
	struct jit_deviations *deviations, struct output *output, struct json *json, bool is_all)
{
	*deviations = (struct jit_deviations){ .output = output, .json = json, .is_all = is_all };
}

static bool is_note(enum jit_deviation kind)
{
	return kind >= JIT_NOTE_CPU_CLOCK;
}

static void write_json(
	struct json *json, enum jit_deviation kind, uint64_t offset, const char *found)
{
	json_begin_object(json);
	json_member_u64(json, "offset", offset);
	json_member_string(json, "kind", kinds[kind].word);
	json_member_bool(json, "note", is_note(kind));
	json_member_string(json, "found", found);
	json_member_string(json, "means", kinds[kind].meaning);
	json_end_object(json);
	json_end_line(json);
}

void jit_deviations_add(struct jit_deviations *deviations, enum jit_deviation kind, uint64_t offset,
	const char *format, ...)
{
	char found[256];
	va_list arguments;

	deviations->counts[kind]++;
	if (!deviations->json && !deviations->is_all && deviations->counts[kind] > SHOWN_MAX)
		return;
	va_start(arguments, format);
	(void)vsnprintf(found, sizeof(found), format, arguments);
	va_end(arguments);
	if (deviations->json)
		write_json(deviations->json, kind, offset, found);
	else
		output_printf(deviations->output, "0x%08" PRIx64 "  %-15s  %s\n", offset,
			kinds[kind].word, found);
}

void jit_deviations_sum_up(struct jit_deviations *deviations, uint64_t records)
{
	struct output *output = deviations->output;
	bool has_title = false;

	if (deviations->json)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(deviations->counts); i++) {
		if (deviations->counts[i] == 0)
			continue;
		if (!has_title)
			output_printf(
				output, "\nIn %" PRIu64 " records, and what it means:\n", records);
		has_title = true;
		output_printf(output, "%10" PRIu64 "  %-15s  %s\n", deviations->counts[i],
			kinds[i].word, kinds[i].meaning);
	}
	if (!has_title)
		output_printf(output, "%" PRIu64 " records, nothing to tell of\n", records);
}

bool jit_deviations_has_any(const struct jit_deviations *deviations)
{
	for (enum jit_deviation kind = 0; !is_note(kind); kind++)
		if (deviations->counts[kind] > 0)
			return true;
	return false;
}
