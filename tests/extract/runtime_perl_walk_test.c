/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of Perl's frames, compiled for the host, on the Perl of this machine. A program tells
 * the frames that it sees, and the walk must find them all, with their names and lines. The
 * variable TEST_PERL is a command that runs one more Perl.
 */
#include "tests/extract/interpreter_child.h"

#include "base/array.h"
#include "bpf/runtime_perl_names.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_perl.h"
#include "symbol/runtime_code.h"

#include <stdlib.h>

enum { LOOP_FIRST = 31, LOOP_LAST = 34 }; /* the lines in which the program stays */

static struct runtime_span spans[RUNTIME_SPANS];

/* What the step's frame is called. */
static void copy(struct runtime_walk *walk, struct runtime_code *code)
{
	static struct pilotlight_runtime_code record;

	memset(&record, 0xff, sizeof(record));
	assert_true(perl_copy_place(walk, &record));
	assert_true(perl_copy_names(walk, &described, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8, code), 0);
}

/* Checks the frame against a line "frame LINE NAME FILE", in whose name blanks are tildes. */
static void check_frame(
	const struct runtime_step *step, const struct runtime_code *code, const char *line)
{
	char name[NAME_BYTES], file[LINE_BYTES];
	size_t length = strlen(code->name);
	int place;

	assert_int_equal(sscanf(line, "frame %d %255s %4095[^\n]", &place, name, file), 3);
	for (char *blank = strchr(name, '~'); blank; blank = strchr(blank, '~'))
		*blank = ' ';
	if (strstr(code->name, "…")) {
		length = strlen(code->name) - strlen("…");
		name[length] = '\0';
	}
	assert_int_equal(strlen(name), length);
	assert_memory_equal(code->name, name, length);
	assert_string_equal(code->file, file);
	assert_int_equal(runtime_code_line(code, step->unit), place);
}

/* A frame that cannot be read now must not be left out: then a group might be missing. But the
 * innermost one may just have got its place. */
static void check_hidden(struct runtime_walk walk, uint64_t code, enum runtime_end expected)
{
	enum runtime_end end = perl_begin(&walk, spans, &described, 1);
	struct runtime_step step;

	hidden = code;
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++)
		end = perl_next(&walk, spans, &described, &step);
	hidden = 0;
	assert_int_equal(end, expected);
}

/* Walks all frames that the program has listed in `output`. */
static void check_frames(FILE *output)
{
	static struct runtime_code code;
	struct runtime_walk walk;
	struct runtime_step step;
	struct user_regs_struct registers;
	enum runtime_end end;
	size_t frames = 0, groups = 0, empty = 0, callbacks = 0;
	char line[LINE_BYTES];
	uint64_t first = 0, last = 0;

	find_interpreter("perl", runtime_perl_read);
	seize(child, &registers);
	walk = (struct runtime_walk){ .base = base, .thread = registers.fs_base };
	end = perl_begin(&walk, spans, &described, 1);
	assert_true(walk.running != 0 && walk.running == walk.operation);
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++) {
		end = perl_next(&walk, spans, &described, &step);
		assert_int_not_equal(end, RUNTIME_UNREADABLE);
		groups += step.mark != 0;
		callbacks += step.mark >= PERL_ENDS_CALLBACKS;
		assert_int_not_equal(step.mark, PERL_ENDS_INNERMOST);
		empty += step.mark && !step.code && !last;
		if (!step.code)
			continue;
		if (step.code != PERL_FILE_CODE)
			last = runtime_last_seen(&walk)->address;
		if (frames == 0)
			first = last;
		copy(&walk, &code);
		assert_non_null(fgets(line, sizeof(line), output));
		if (frames++ > 0)
			check_frame(&step, &code, line);
		else
			assert_true(step.unit >= LOOP_FIRST && step.unit <= LOOP_LAST);
	}
	assert_int_equal(end, RUNTIME_ROOT);
	assert_non_null(fgets(line, sizeof(line), output));
	assert_string_equal(line, "end\n");
	assert_true(frames >= 70);
	/* BEGIN, DESTROY, first(), +, the pattern, the signal, sort twice, the tie, the warning,
	 * and the program. */
	assert_int_equal(groups, 11);
	/* first(), the pattern, and sort twice. */
	assert_int_equal(callbacks, 4);
	check_hidden(walk, last, RUNTIME_UNREADABLE);
	check_hidden(walk, first, RUNTIME_ROOT);
}

static void check_program(const char *path)
{
	_cleanup_close_ int input = -1;
	FILE *output =
		start_child("exec $0 tests/extract/runtime_perl_walk_test.pl", path, NULL, &input);
	char byte = (char)fgetc(output);

	assert_int_equal(ungetc(byte, output), 'f');
	check_frames(output);
	end_child(output);
}

static void all_frames_of_a_real_perl_are_found(void **state)
{
	const char *commands[] = { "/usr/bin/perl", getenv("TEST_PERL") };
	size_t checked = 0;
	char test[LINE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(commands) && commands[i]; i++) {
		(void)snprintf(test, sizeof(test),
			"%s -e 'exit !($] >= 5.032 && $] < 5.043)' 2>/dev/null", commands[i]);
		if (system(test) != 0)
			continue;
		check_program(commands[i]);
		checked++;
	}
	if (checked == 0) {
		print_message("needs Perl 5.32 to 5.42\n");
		skip();
	}
}

static void paths_that_have_no_end_are_not_copied(void **state)
{
	static struct pilotlight_runtime_code record;
	static char path[PERL_PATH_MAX + 1];
	const struct {
		size_t length;
		uint16_t copied;
		uint8_t cut;
	} cases[] = {
		{ 0, 0, 0 },
		{ 128, 128, 0 },
		{ 129, 128, PILOTLIGHT_RUNTIME_TEXT_CUT },
		{ PERL_PATH_MAX - 1, 128, PILOTLIGHT_RUNTIME_TEXT_CUT },
		{ PERL_PATH_MAX, 0, 0 },
	};

	child = getpid();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(path, 0, sizeof(path));
		for (size_t at = 0; at < cases[i].length; at++)
			path[at] = (char)('a' + at % 26);
		memset(&record, 0xff, sizeof(record));
		assert_int_equal(perl_copy_path((uintptr_t)path, &record), 1);
		assert_int_equal(record.file.bytes, cases[i].copied);
		assert_int_equal(record.file.flags & PILOTLIGHT_RUNTIME_TEXT_CUT, cases[i].cut);
		assert_memory_equal(record.file.characters,
			path + cases[i].length - cases[i].copied, cases[i].copied);
	}
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_of_a_real_perl_are_found),
		cmocka_unit_test(paths_that_have_no_end_are_not_copied),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}
