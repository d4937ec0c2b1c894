/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of Ruby's frames, compiled for the host, on the Ruby of this machine. A program tells
 * the frames that it sees, and the walk must find them all, with their names and lines. The
 * variable TEST_RUBY is a command that runs one more Ruby.
 */
#include "tests/extract/interpreter_child.h"

#include "bpf/runtime_known.bpf.h"
#include "bpf/runtime_ruby.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_ruby.h"
#include "symbol/runtime_code.h"

#include <stdlib.h>

static struct runtime_span spans[RUNTIME_SPANS];

/* Stops the thread. */
static void begin(pid_t tid, struct runtime_walk *walk)
{
	struct user_regs_struct registers;

	seize(tid, &registers);
	*walk = (struct runtime_walk){
		.base = base,
		.thread = registers.fs_base,
		.stack_pointer = registers.rsp,
	};
}

/* What the step's sequence is called. */
static void copy(struct runtime_walk *walk, struct runtime_code *code)
{
	static struct pilotlight_runtime_code record;

	memset(&record, 0xff, sizeof(record));
	assert_true(ruby_copy_code(walk, &described, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8, code), 0);
}

/* Checks the frame against a line "frame LINE NAME FILE", in whose name blanks are tildes. Of a
 * function of C there is only the name. */
static void check_frame(
	const struct runtime_step *step, const struct runtime_code *code, char *line)
{
	char name[NAME_BYTES], file[LINE_BYTES];
	int place;

	assert_int_equal(sscanf(line, "frame %d %255s %4095[^\n]", &place, name, file), 3);
	for (char *blank = strchr(name, '~'); blank; blank = strchr(blank, '~'))
		*blank = ' ';
	assert_string_equal(code->name, name);
	if (place == 0) {
		assert_string_equal(code->file, "");
		return;
	}
	assert_string_equal(code->file, file);
	assert_int_equal(runtime_code_line(code, step->unit), place);
}

/* A frame that cannot be read now must not be left out: then a group might be missing. */
static void check_hidden(struct runtime_walk walk, uint64_t sequence)
{
	enum runtime_end end = ruby_begin(&walk, spans, &described);
	struct runtime_step step;

	hidden = sequence;
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++)
		end = ruby_next(&walk, spans, &described, &step);
	hidden = 0;
	assert_int_equal(end, RUNTIME_UNREADABLE);
}

/* Walks the frames of a thread, of which `output` tells. Returns the line behind them. Since it
 * told them, it has called more from report(). */
static char *check_thread(FILE *output, char line[LINE_BYTES])
{
	pid_t tid = (pid_t)atoi(line + strlen("thread "));
	static struct runtime_code code;
	struct runtime_walk walk;
	struct runtime_step step;
	enum runtime_end end;
	size_t frames = 0, groups = 0;
	uint64_t last = 0;

	begin(tid, &walk);
	line = fgets(line, LINE_BYTES, output);
	assert_non_null(line);
	assert_non_null(strstr(line, " report "));
	end = ruby_begin(&walk, spans, &described);
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++) {
		end = ruby_next(&walk, spans, &described, &step);
		groups += step.mark != 0;
		if (!step.code)
			continue;
		last = step.code;
		copy(&walk, &code);
		if (frames == 0 && strcmp(code.name, "report") != 0)
			continue;
		if (frames++ > 0)
			check_frame(&step, &code, line);
		line = fgets(line, LINE_BYTES, output);
		assert_non_null(line);
	}
	check_hidden(walk, last);
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	assert_int_equal(end, RUNTIME_ROOT);
	assert_true(frames >= 32);
	assert_true(groups >= 3);
	return line;
}

static void check_program(const char *path, const char *argument)
{
	_cleanup_close_ int input = -1;
	FILE *output =
		start_child("exec $0 --disable-gems -Ku tests/extract/runtime_ruby_walk_test.rb $1",
			path, argument, &input);
	char line[LINE_BYTES];
	size_t threads = 0;

	for (char *next = fgets(line, sizeof(line), output); next && strncmp(next, "end", 3) != 0;
		threads++) {
		assert_int_equal(strncmp(next, "thread ", 7), 0);
		if (threads == 0)
			find_interpreter("ruby", runtime_ruby_read);
		next = check_thread(output, line);
	}
	assert_int_equal(threads, described.release >> 24 < 3 ? 1 : 3);
	end_child(output);
}

static void check_all(const char *argument)
{
	const char *more = getenv("TEST_RUBY");
	bool has_own = system("/usr/bin/ruby --disable-gems -e 'exit "
			      "/^(2\\.7|3\\.[0-4])\\./.match?(RUBY_VERSION)' 2>/dev/null") == 0;

	if (!has_own && !more) {
		print_message("needs Ruby 2.7 to 3.4\n");
		skip();
	}
	if (has_own)
		check_program("/usr/bin/ruby", argument);
	if (more)
		check_program(more, argument);
}

static void all_frames_of_a_real_ruby_are_found(void **state)
{
	check_all("");
}

static void so_are_those_of_a_fiber(void **state)
{
	check_all("fiber");
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_of_a_real_ruby_are_found),
		cmocka_unit_test(so_are_those_of_a_fiber),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}
