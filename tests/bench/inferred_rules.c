/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inferred_rules [-v] FILE...
 *
 * Compares the rules that are inferred from instructions with those that the compiler wrote: takes
 * files with .eh_frame, infers rules for all of their code as if they had none, and looks at each
 * byte of code that both know. A line for each file: the code that call frame information
 * describes, and the share of it with the same CFA, with none, and with another; the share of the
 * same with another place of the caller's frame pointer; the time of the inference, and its speed.
 * -v prints each range with another CFA.
 */
#include "extract/unwind_inferred.h"

#include "base/clock.h"
#include "base/fault.h"
#include "extract/extraction.h"
#include "extract/unwind_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REGISTER_RBP = 6, REGISTER_RSP = 7 };

struct comparison {
	const char *path;
	bool is_verbose;
	uint64_t code, same, unknown, other, pointer_other, unsupported;
	uint64_t bytes, cpu_ns;
};

static bool has_same_cfa(const struct pilotlight_unwind_rule *rule, const struct code_state *state)
{
	if (rule->kind != PILOTLIGHT_UNWIND_CFA)
		return false;
	if (rule->base == REGISTER_RSP)
		return state->depth == rule->offset;
	return rule->base == REGISTER_RBP && state->frame == rule->offset;
}

static bool has_same_pointer(
	const struct pilotlight_unwind_rule *rule, const struct code_state *state)
{
	switch (rule->frame_pointer) {
	case PILOTLIGHT_UNWIND_FP_SAME:
		return state->is_callers;
	case PILOTLIGHT_UNWIND_FP_AT_CFA:
		return state->saved == rule->frame_pointer_offset || state->is_callers;
	default:
		return true;
	}
}

/* A range of code for which both have one rule. */
static void compare(struct comparison *comparison, const struct pilotlight_unwind_rule *rule,
	const struct code_state *state, uint32_t start, uint32_t end)
{
	uint32_t bytes = end - start;

	if (rule->kind == PILOTLIGHT_UNWIND_STOP)
		return;
	comparison->code += bytes;
	if (rule->kind == PILOTLIGHT_UNWIND_ROOT && (!state || state->is_root)) {
		comparison->same += bytes;
	} else if (!state || (state->depth == 0 && state->frame == 0 && !state->is_root)) {
		comparison->unknown += bytes;
	} else if (rule->kind != PILOTLIGHT_UNWIND_CFA && rule->kind != PILOTLIGHT_UNWIND_ROOT) {
		comparison->unsupported += bytes;
	} else if (!has_same_cfa(rule, state)) {
		comparison->other += bytes;
		if (comparison->is_verbose)
			printf("%x-%x cfi %d(%d) kind %d; inferred rsp %d rbp %d root %d\n", start,
				end, rule->offset, rule->base, rule->kind, state->depth,
				state->frame, state->is_root);
	} else {
		comparison->same += bytes;
		if (!has_same_pointer(rule, state)) {
			comparison->pointer_other += bytes;
			if (comparison->is_verbose)
				printf("%x-%x rbp: cfi %d %d; inferred %d %d\n", start, end,
					rule->frame_pointer, rule->frame_pointer_offset,
					state->saved, state->is_callers);
		}
	}
}

static void compare_rows(struct comparison *comparison, const struct unwind_rows *rows,
	const struct unwind_inferred *inferred)
{
	const struct unwind_rows_item *items = rows->items.items;
	const struct unwind_inferred_row *guesses = inferred->rows.items;
	size_t next = 0, count = inferred->rows.count;

	for (size_t i = 0; i + 1 < rows->items.count; i++) {
		uint32_t at = items[i].offset, end = items[i + 1].offset;

		while (at < end) {
			const struct code_state *state = NULL;
			uint32_t stop = end;

			while (next < count && guesses[next].offset <= at)
				next++;
			if (next > 0 && guesses[next - 1].state > 0)
				state = &inferred->states[guesses[next - 1].state - 1];
			if (next < count && guesses[next].offset < stop)
				stop = guesses[next].offset;
			compare(comparison, &rows->rules.rules[items[i].rule], state, at, stop);
			at = stop;
		}
	}
}

static int run(struct comparison *comparison, int fd)
{
	const struct extraction_files files = {
		.binary_fd = fd, .debug_fd = -1, .alternate_fd = -1, .package_fd = -1
	};
	const struct unwind_functions no_functions = { .failed = 0 };
	const struct unwind_go no_go = { .failed = 0 };
	struct unwind_functions functions = { 0 };
	struct unwind_sections sections = { 0 };
	const struct unwind_inferred none = { .states = NULL };
	struct unwind_inferred inferred = { 0 };
	struct unwind_rows rows = { 0 };
	struct unwind_gaps gaps = { 0 };
	struct unwind_files opened;
	struct unwind_stubs stubs;
	struct scratch scratch;
	int memory = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uint64_t start;
	int r;

	scratch_init(&scratch, memory, 8ULL << 30, 1ULL << 30);
	r = unwind_files_open(&opened, &files);
	if (r == 0)
		r = unwind_sections_read(&sections, &opened, &scratch);
	if (r == 0)
		r = unwind_functions_read(&functions, &sections, &opened, &scratch);
	if (r == 0)
		r = unwind_stubs_find(&stubs, &opened);
	start = clock_process_cpu_ns();
	if (r == 0)
		r = unwind_gaps_read(&gaps, &no_functions, &no_go, &stubs, &opened, &scratch);
	if (r == 0)
		r = unwind_inferred_read(&inferred, &gaps, &opened, &scratch);
	comparison->cpu_ns = clock_process_cpu_ns() - start;
	comparison->bytes = gaps.bytes.count;
	if (r == 0)
		r = unwind_rows_build(
			&rows, &functions, &sections, &opened, &stubs, &no_go, &none, &scratch);
	if (r == 0)
		compare_rows(comparison, &rows, &inferred);
	unwind_rows_done(&rows);
	unwind_inferred_done(&inferred);
	unwind_gaps_done(&gaps);
	unwind_functions_done(&functions);
	unwind_sections_done(&sections);
	(void)close(memory);
	return r;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

int main(int argc, char **argv)
{
	bool is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	struct fault fault = { 0 };
	int result = EXIT_SUCCESS;

	if (code_instruction_load(&fault) < 0) {
		fprintf(stderr, "inferred_rules: %s\n", fault.text);
		return EXIT_FAILURE;
	}
	printf("%10s %8s %8s %8s %8s %8s %8s %6s  file\n", "code", "same %", "none %", "wrong %",
		"no CFA %", "rbp %", "CPU ms", "MB/s");
	for (int i = is_verbose ? 2 : 1; i < argc; i++) {
		struct comparison comparison = { .path = argv[i], .is_verbose = is_verbose };
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		int r = fd < 0 ? -errno : run(&comparison, fd);

		if (fd >= 0)
			(void)close(fd);
		if (r < 0) {
			fprintf(stderr, "inferred_rules: %s: %s\n", argv[i], strerror(-r));
			result = EXIT_FAILURE;
			continue;
		}
		printf("%10llu %8.3f %8.3f %8.3f %8.3f %8.3f %8.1f %6.1f  %s\n",
			(unsigned long long)comparison.code,
			share(comparison.same, comparison.code),
			share(comparison.unknown, comparison.code),
			share(comparison.other, comparison.code),
			share(comparison.unsupported, comparison.code),
			share(comparison.pointer_other, comparison.code),
			(double)comparison.cpu_ns / 1e6,
			(double)comparison.bytes * 1e3 / (double)(comparison.cpu_ns + 1), argv[i]);
	}
	return result;
}
