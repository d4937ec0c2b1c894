/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of interpreters' frames, compiled for the host, on the interpreters of this machine. A
 * program of Python tells the frames that it sees, and the walk must find them all, with their
 * names and lines. The variable TEST_PYTHON is a command that runs one more interpreter.
 */
#include "tests/extract/interpreter_child.h"

#include "base/array.h"
#include "bpf/runtime_code.bpf.h"
#include "bpf/runtime_known.bpf.h"
#include "bpf/runtime_tasks.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_python.h"
#include "symbol/runtime_code.h"

#include <glob.h>
#include <stdlib.h>

enum { KNOWN_SHIFT = 9 };

static struct runtime_known known[1 << KNOWN_SHIFT];
static struct runtime_known_way recent[RUNTIME_RECENT];
static struct runtime_span spans[RUNTIME_SPANS];
static size_t known_frames;

static void read_thread(pid_t tid, struct runtime_walk *walk, uint64_t *ret_stack)
{
	struct user_regs_struct registers;

	seize(tid, &registers);
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	*walk = (struct runtime_walk){ .base = base, .thread = registers.fs_base };
	*ret_stack = registers.rsp;
}

/* Checks the frame against a line "frame FIRST-LINE LINE INSTRUCTION NAME FILE". */
static void check_frame(const struct runtime_step *step, const char *line, bool is_leaf)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	char name[NAME_BYTES], file[LINE_BYTES];
	int first_line, place, unit;

	assert_int_equal(sscanf(line, "frame %d %d %d %255s %4095[^\n]", &first_line, &place, &unit,
				 name, file),
		5);
	memset(&record, 0xff, sizeof(record));
	assert_true(runtime_copy_code(&described, step->code, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8, &code), 0);
	assert_string_equal(code.name, name);
	assert_int_equal(code.first_line, first_line);
	if (record.file.flags & PILOTLIGHT_RUNTIME_TEXT_CUT)
		assert_string_equal(
			code.file + strlen("…"), file + strlen(file) - PILOTLIGHT_RUNTIME_TEXT_MAX);
	else
		assert_string_equal(code.file, file);
	if (!is_leaf) {
		assert_int_equal(step->unit, unit);
		assert_int_equal(runtime_code_line(&code, unit), place);
	}
}

/* Most frames are of code that has been seen before, with the same hash. */
static void check_known(const struct runtime_step *step)
{
	static struct pilotlight_runtime_code record;
	struct runtime_known *entry = &known[runtime_known_place((__u64)child, step, KNOWN_SHIFT)];
	__u64 hash;

	assert_true(runtime_copy_code(&described, step->code, &record));
	if (runtime_is_known(entry, (__u64)child, step, &hash)) {
		assert_int_equal(hash, record.hash);
		known_frames++;
	}
	runtime_remember(entry, recent, (__u64)child, step, record.hash);
}

/* Walks the frames of a thread, of which `output` tells. Returns the line behind them. */
static char *check_thread(FILE *output, char line[LINE_BYTES])
{
	struct runtime_walk walk;
	struct runtime_step step;
	enum runtime_end end;
	uint64_t last_mark;
	size_t frames = 0, groups = 0;
	bool is_empty = true;

	read_thread((pid_t)atoi(line + strlen("thread ")), &walk, &last_mark);
	line = fgets(line, LINE_BYTES, output);
	end = runtime_begin(&walk, spans, &described);
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++) {
		end = runtime_next(&walk, spans, &described, &step);
		assert_true(end == RUNTIME_ON || end == RUNTIME_ROOT);
		if (step.code) {
			assert_non_null(line);
			check_frame(&step, line, frames == 0);
			check_known(&step);
			line = fgets(line, LINE_BYTES, output);
			frames++;
		}
		is_empty = is_empty && !step.code;
		if (!step.mark)
			continue;
		/* The calls of the interpreter lie behind each other on the stack. The last group
		 * of 3.15 is empty, and its mark is elsewhere. Those of GROUP_CALL have none. */
		if (is_empty)
			assert_int_equal(end, RUNTIME_ROOT);
		else if (described.group != PILOTLIGHT_RUNTIME_GROUP_CALL)
			assert_true(step.mark > last_mark);
		last_mark = step.mark;
		groups++;
		is_empty = true;
	}
	assert_int_equal(end, RUNTIME_ROOT);
	assert_true(frames >= 25);
	/* The threads' starts, sorted()'s call, and one more to 3.11, which has a call for each
	 * generator. */
	assert_true(groups >= 2);
	return line;
}

static FILE *start_interpreter(const char *path, const char *program, int *ret_input)
{
	known_frames = 0;
	return start_child("exec $0 -S -X utf8 $1", path, program, ret_input);
}

static void check_interpreter(const char *path)
{
	_cleanup_close_ int input = -1;
	FILE *output = start_interpreter(path, "tests/extract/runtime_walk_test.py", &input);
	char line[LINE_BYTES];
	size_t threads = 0;

	for (char *next = fgets(line, sizeof(line), output);
		next && strncmp(next, "end", 3) != 0;) {
		assert_int_equal(strncmp(next, "thread ", 7), 0);
		if (threads == 0)
			find_interpreter("python", runtime_python_read);
		threads++;
		next = check_thread(output, line);
	}
	assert_int_equal(threads, 4);
	assert_true(known_frames > 80); /* of some 125 */
	end_child(output);
}

/* Goes to the frame of the running task's outermost coroutine. */
static void find_running_task(struct runtime_tasks *tasks, struct runtime_walk *walk)
{
	enum runtime_end end = runtime_begin(walk, spans, &described);
	struct runtime_step step;

	assert_true(runtime_find_task(tasks, walk, &described));
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX && walk->frame != tasks->frame; i++)
		end = runtime_next(walk, spans, &described, &step);
	assert_int_equal(end, RUNTIME_ON);
	assert_int_equal(runtime_next(walk, spans, &described, &step), RUNTIME_ON);
	assert_true(runtime_is_coroutine(walk, &described));
}

/* Tasks await each other in CPython from 3.14 on. */
static void check_tasks(const char *path)
{
	_cleanup_close_ int input = -1;
	FILE *output = start_interpreter(path, "tests/extract/runtime_tasks_test.py", &input);
	char line[LINE_BYTES];
	struct runtime_tasks tasks;
	struct runtime_walk walk;
	struct runtime_step step;
	size_t frames = 0;
	uint64_t stack;

	assert_non_null(fgets(line, sizeof(line), output));
	assert_int_equal(strncmp(line, "thread ", 7), 0);
	find_interpreter("python", runtime_python_read);
	read_thread((pid_t)atoi(line + strlen("thread ")), &walk, &stack);
	find_running_task(&tasks, &walk);
	while (fgets(line, sizeof(line), output) && strncmp(line, "end", 3) != 0) {
		if (strcmp(line, "task\n") == 0) {
			assert_int_equal(tasks.left, 0);
			assert_true(runtime_find_awaiter(&tasks, &described));
			continue;
		}
		assert_true(tasks.left > 0);
		walk.frame = runtime_take_coroutine(&tasks);
		assert_true(runtime_next(&walk, spans, &described, &step) != RUNTIME_UNREADABLE);
		check_frame(&step, line, false);
		frames++;
	}
	assert_int_equal(tasks.left, 0);
	assert_false(runtime_find_awaiter(&tasks, &described));
	assert_int_equal(frames, 9);
	end_child(output);
}

/* A program that frees its code and makes other code, which gets the same addresses. */
static void check_reuse(const char *path)
{
	_cleanup_close_ int input = -1;
	FILE *output = start_interpreter(path, "tests/extract/runtime_reuse_test.py", &input);
	char line[LINE_BYTES];
	size_t codes = 0, addresses = 0;
	uint64_t last = 0, stack;

	while (fgets(line, sizeof(line), output)) {
		struct runtime_walk walk;
		struct runtime_step step;

		if (codes == 0)
			find_interpreter("python", runtime_python_read);
		read_thread(child, &walk, &stack);
		assert_int_equal(runtime_begin(&walk, spans, &described), RUNTIME_ON);
		assert_int_equal(runtime_next(&walk, spans, &described, &step), RUNTIME_ON);
		check_frame(&step, line, true);
		check_known(&step);
		addresses += step.code == last;
		last = step.code;
		codes++;
		assert_int_equal(write(input, "", 1), 1);
	}
	print_message("%s: %zu of %zu objects took an address\n", path, addresses, codes);
	assert_int_equal(codes, 120);
	assert_int_equal(known_frames, 0);
	end_child(output);
}

static void check_all(void (*check)(const char *path))
{
	static const char *const patterns[] = { "/usr/bin/python3.1[0-5]",
		"/root/.pyenv/versions/3.1[0-5]*/bin/python3.1[0-5]",
		"/root/.pyenv/versions/3.[89].*/bin/python3.[89]" };
	const char *more = getenv("TEST_PYTHON");
	glob_t found = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		(void)glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
	if (found.gl_pathc == 0 && !more)
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++)
		check(found.gl_pathv[i]);
	if (more)
		check(more);
	globfree(&found);
}

static void all_frames_of_real_interpreters_are_found(void **state)
{
	check_all(check_interpreter);
}

/* No CPython of Debian 12 or of this machine is new enough. */
static void tasks_that_await_a_task_are_found(void **state)
{
	const char *path = getenv("TEST_PYTHON"), *name = path ? strstr(path, "python3.") : NULL;

	if (!name || strtoul(name + strlen("python3."), NULL, 10) < 14) {
		print_message("TEST_PYTHON names no CPython from 3.14 on\n");
		skip();
	}
	check_tasks(path);
}

/* --- Tasks in made-up memory: a word is a field. --- */

enum { TASK_WORDS = 4, COROUTINE_WORDS = 4, MADE_UP_TASKS = RUNTIME_TASKS_MAX + 2 };

static const struct pilotlight_runtime tasking = {
	.object_type_at = 0,
	.state_task_at = 8,
	.task_awaiter_at = 8,
	.task_several_at = 16,
	.task_coroutine_at = 24,
	.coroutine_state_at = 8,
	.coroutine_waits = 0xff,
	.stack_awaited_below = 8,
	.coroutine_frame_at = 16,
	.frame_stack_at = 8,
};

/* Each task awaits the one before, in two coroutines. */
static struct made_up_tasks {
	uint64_t state[2];
	uint64_t tasks[MADE_UP_TASKS][TASK_WORDS];
	uint64_t coroutines[MADE_UP_TASKS][2][COROUTINE_WORDS];
	uint64_t awaited[MADE_UP_TASKS][2];
} made_up;

static void make_tasks(struct runtime_tasks *tasks)
{
	struct runtime_walk walk = { .state = (uintptr_t)made_up.state };

	child = getpid();
	for (size_t i = 0; i < MADE_UP_TASKS; i++) {
		made_up.tasks[i][0] = 1;
		made_up.tasks[i][1] = (uintptr_t)made_up.tasks[(i + 1) % MADE_UP_TASKS];
		made_up.tasks[i][2] = 0;
		made_up.tasks[i][3] = (uintptr_t)made_up.coroutines[i][0];
		for (size_t j = 0; j < 2; j++) {
			made_up.coroutines[i][j][0] = 2;
			made_up.coroutines[i][j][1] = 0xff;
			made_up.coroutines[i][j][3] = (uintptr_t)(&made_up.awaited[i][j] + 1);
			/* Pointers to objects are tagged. */
			made_up.awaited[i][j] =
				j == 0 ? (uintptr_t)made_up.coroutines[i][1] | 1 : 0;
		}
	}
	made_up.state[1] = (uintptr_t)made_up.tasks[0];
	assert_true(runtime_find_task(tasks, &walk, &tasking));
	assert_int_equal(tasks->frame, (uintptr_t)&made_up.coroutines[0][0][2]);
}

static void a_chain_of_tasks_is_bounded(void **state)
{
	struct runtime_tasks tasks;

	make_tasks(&tasks);
	for (size_t i = 1; i <= RUNTIME_TASKS_MAX; i++) {
		assert_true(runtime_find_awaiter(&tasks, &tasking));
		assert_int_equal(tasks.left, 2);
		assert_int_equal(
			runtime_take_coroutine(&tasks), (uintptr_t)&made_up.coroutines[i][1][2]);
		assert_int_equal(
			runtime_take_coroutine(&tasks), (uintptr_t)&made_up.coroutines[i][0][2]);
	}
	assert_false(runtime_find_awaiter(&tasks, &tasking));

	/* A coroutine that awaits itself. */
	make_tasks(&tasks);
	made_up.awaited[1][1] = (uintptr_t)made_up.coroutines[1][1];
	assert_false(runtime_find_awaiter(&tasks, &tasking));
}

static void what_is_no_task_that_awaits_is_not_found(void **state)
{
	struct runtime_walk walk = { .state = (uintptr_t)made_up.state };
	struct runtime_tasks tasks;

	make_tasks(&tasks);
	made_up.tasks[0][2] = 1; /* several */
	assert_false(runtime_find_awaiter(&tasks, &tasking));
	make_tasks(&tasks);
	made_up.tasks[0][1] = 0; /* none */
	assert_false(runtime_find_awaiter(&tasks, &tasking));
	make_tasks(&tasks);
	made_up.tasks[1][0] = 3; /* of another type */
	assert_false(runtime_find_awaiter(&tasks, &tasking));
	make_tasks(&tasks);
	made_up.coroutines[1][0][0] = 3; /* its coroutine is */
	assert_false(runtime_find_awaiter(&tasks, &tasking));
	make_tasks(&tasks);
	made_up.coroutines[1][0][1] = 0; /* it runs */
	assert_false(runtime_find_awaiter(&tasks, &tasking));
	make_tasks(&tasks);
	made_up.coroutines[1][1][0] = 3; /* it awaits something else */
	assert_true(runtime_find_awaiter(&tasks, &tasking));
	assert_int_equal(tasks.left, 1);

	made_up.state[1] = 0;
	assert_false(runtime_find_task(&tasks, &walk, &tasking));
	made_up.state[1] = (uintptr_t)made_up.tasks[0];
	made_up.tasks[0][3] = 0;
	assert_false(runtime_find_task(&tasks, &walk, &tasking));
}

static void code_that_takes_the_place_of_other_code_is_not_known(void **state)
{
	check_all(check_reuse);
}

/* CPython 3.14 without the global lock; no build of it is at hand. */
static const struct pilotlight_runtime copying = {
	.instruction = PILOTLIGHT_RUNTIME_POINTER,
	.lines = PILOTLIGHT_RUNTIME_LOCATIONS,
	.unit_bytes = 2,
	.group = PILOTLIGHT_RUNTIME_GROUP_FRAME,
	.group_least = 3,
	.frame_bytes = 79,
	.frame_previous_at = 8,
	.frame_instruction_at = 56,
	.frame_group_at = 78,
	.frame_copy_at = 72,
	.object_type_at = 24,
	.code_file_at = 128,
	.code_name_at = 144,
	.code_first_line_at = 84,
	.code_lines_at = 152,
	.code_units_at = 232,
	.code_copies_at = 224,
	.string_length_at = 32,
	.string_state_at = 48,
	.string_state_shift = 6,
	.string_ascii_at = 56,
	.string_other_at = 72,
	.bytes_size_at = 32,
	.bytes_data_at = 48,
};

static __s32 unit_of(uint64_t frame[10], uint32_t copy, const void *instruction)
{
	struct runtime_walk walk = { .frame = (uintptr_t)frame };
	struct runtime_step step;

	frame[7] = (uintptr_t)instruction;
	memcpy(&frame[9], &copy, sizeof(copy));
	runtime_forget(&walk, spans);
	walk.code_bytes = runtime_code_bytes(&copying);
	assert_int_equal(runtime_next(&walk, spans, &copying, &step), RUNTIME_ROOT);
	assert_true(step.code != 0);
	return step.unit;
}

static void instructions_of_a_thread_s_own_copy_are_found(void **state)
{
	static struct pilotlight_runtime_code record;
	/* Its length, hash, state and characters; its first byte says that it is interned. */
	uint64_t name[8] = { 0, 0, 0, 0, 4, RUNTIME_NO_HASH, 1 | (1 | 1 << 3 | 1 << 4) << 8 };
	uint64_t lines[8] = { 0 }, code[40] = { 0 }, frame[10] = { (uintptr_t)code | 1 };
	char copy[20];
	uint64_t copies[3] = { 2, (uintptr_t)&code[29], (uintptr_t)copy };

	memcpy(&name[7], "spin", 4);
	code[128 / 8] = code[144 / 8] = (uintptr_t)name;
	code[152 / 8] = (uintptr_t)lines;
	code[224 / 8] = (uintptr_t)copies;
	child = getpid();
	assert_int_equal(unit_of(frame, 0, (char *)&code[29] + 6), 3);
	assert_int_equal(unit_of(frame, 1, copy + 8), 4);
	assert_int_equal(unit_of(frame, 2, copy + 8), RUNTIME_UNIT_UNKNOWN);
	code[224 / 8] = 0;
	assert_int_equal(unit_of(frame, 1, copy + 8), RUNTIME_UNIT_UNKNOWN);

	assert_true(runtime_copy_code(&copying, (uintptr_t)code, &record));
	assert_int_equal(record.name.width, 1);
	assert_int_equal(record.name.bytes, 4);
	assert_memory_equal(record.name.characters, "spin", 4);
}

static uint64_t check_of(const struct pilotlight_runtime *runtime, const uint64_t code[40])
{
	struct runtime_walk walk = { .code_bytes = 232 };
	struct runtime_step step;

	assert_true(runtime_read_code(&walk, runtime, (uintptr_t)code, &step));
	return step.check;
}

/* Only the number tells it from the code before. Without one, the name's contents do. */
static void a_code_object_is_known_by_its_number(void **state)
{
	struct pilotlight_runtime numbered = copying;
	uint64_t name[8] = { 0, 0, 0, 0, 4, 1 }, code[40] = { 0 }, first, unnumbered;

	numbered.code_version_at = 108;
	code[128 / 8] = code[144 / 8] = (uintptr_t)name;
	child = getpid();
	code[108 / 8] = 1ULL << 32;
	first = check_of(&numbered, code);
	name[5]++;
	assert_int_equal(check_of(&numbered, code), first);
	code[108 / 8] = 2ULL << 32;
	assert_int_not_equal(check_of(&numbered, code), first);

	code[108 / 8] = 0;
	unnumbered = check_of(&numbered, code);
	name[5]++;
	assert_int_not_equal(check_of(&numbered, code), unnumbered);
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_of_real_interpreters_are_found),
		cmocka_unit_test(tasks_that_await_a_task_are_found),
		cmocka_unit_test(a_chain_of_tasks_is_bounded),
		cmocka_unit_test(what_is_no_task_that_awaits_is_not_found),
		cmocka_unit_test(code_that_takes_the_place_of_other_code_is_not_known),
		cmocka_unit_test(instructions_of_a_thread_s_own_copy_are_found),
		cmocka_unit_test(a_code_object_is_known_by_its_number),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}
