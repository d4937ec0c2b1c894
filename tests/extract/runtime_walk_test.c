/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of interpreters' frames, compiled for the host, on the interpreters of this machine. A
 * program of Python tells the frames that it sees, and the walk must find them all, with their
 * names and lines. The variable TEST_PYTHON is a command that runs one more interpreter.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/runtime_python.h"
#include "extract/unwind_files.h"
#include "symbol/runtime_code.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t child;

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_code.bpf.h"
#include "bpf/runtime_known.bpf.h"

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

enum { FRAMES_MAX = 200, NAME_BYTES = 256, LINE_BYTES = 4096 };

static struct pilotlight_runtime runtime;
static __u64 base;
static struct runtime_known known[RUNTIME_KNOWN];
static size_t known_frames;

static int describe(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	int r;

	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : runtime_python_read(&opened, &scratch, &runtime);
}

/* Finds the interpreter among the files that the child has mapped. */
static bool find_interpreter(void)
{
	char path[64], line[LINE_BYTES], file[LINE_BYTES];
	uint64_t start, offset;
	char flags[8];
	bool is_found = false;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", child);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (!is_found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%*x %7s %" SCNx64 " %*s %*d %4095s", &start, flags,
			    &offset, file) != 4 ||
			flags[2] != 'x' || !strstr(file, "python"))
			continue;
		is_found = describe(file) == 0;
		base = start - offset;
	}
	(void)fclose(maps);
	return is_found;
}

static void read_thread(pid_t tid, struct runtime_walk *walk, uint64_t *ret_stack)
{
	struct user_regs_struct registers;
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &registers), 0);
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
	assert_true(runtime_copy_code(&runtime, step->code, &record));
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
	struct runtime_known *entry = &known[runtime_known_place((__u64)child, step)];
	__u64 hash;

	assert_true(runtime_copy_code(&runtime, step->code, &record));
	if (runtime_is_known(entry, (__u64)child, step, &hash)) {
		assert_int_equal(hash, record.hash);
		known_frames++;
	}
	runtime_remember(entry, (__u64)child, step, record.hash);
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
	end = runtime_begin(&walk, &runtime);
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++) {
		end = runtime_next(&walk, &runtime, &step);
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
		else if (runtime.group != PILOTLIGHT_RUNTIME_GROUP_CALL)
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

/* `input` ends the program, and `output` is what it tells. */
static void start_interpreter(const char *path, const char *program, int *input, FILE **output)
{
	int to_child[2], from_child[2];

	known_frames = 0;
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(from_child), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(to_child[0], STDIN_FILENO);
		(void)dup2(from_child[1], STDOUT_FILENO);
		(void)close(to_child[1]);
		(void)execl("/bin/sh", "sh", "-c", "exec $0 -S -X utf8 $1", path, program, NULL);
		_exit(127);
	}
	(void)close(to_child[0]);
	(void)close(from_child[1]);
	*input = to_child[1];
	*output = fdopen(from_child[0], "re");
	assert_non_null(*output);
}

static void check_interpreter(const char *path)
{
	_cleanup_close_ int input = -1;
	char line[LINE_BYTES];
	size_t threads = 0;
	FILE *output;
	int status;

	start_interpreter(path, "tests/extract/runtime_walk_test.py", &input, &output);
	for (char *next = fgets(line, sizeof(line), output);
		next && strncmp(next, "end", 3) != 0;) {
		assert_int_equal(strncmp(next, "thread ", 7), 0);
		if (threads == 0)
			assert_true(find_interpreter());
		threads++;
		next = check_thread(output, line);
	}
	assert_int_equal(threads, 4);
	assert_true(known_frames > 80); /* of some 125 */
	(void)close(TAKE_FD(input));
	(void)fclose(output);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* A program that frees its code and makes other code, which gets the same addresses. */
static void check_reuse(const char *path)
{
	_cleanup_close_ int input = -1;
	char line[LINE_BYTES];
	size_t codes = 0, addresses = 0;
	uint64_t last = 0, stack;
	FILE *output;
	int status;

	start_interpreter(path, "tests/extract/runtime_reuse_test.py", &input, &output);
	while (fgets(line, sizeof(line), output)) {
		struct runtime_walk walk;
		struct runtime_step step;

		if (codes == 0)
			assert_true(find_interpreter());
		read_thread(child, &walk, &stack);
		assert_int_equal(runtime_begin(&walk, &runtime), RUNTIME_ON);
		assert_int_equal(runtime_next(&walk, &runtime, &step), RUNTIME_ON);
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
	(void)fclose(output);
	assert_int_equal(waitpid(child, &status, 0), child);
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

static void code_that_takes_the_place_of_other_code_is_not_known(void **state)
{
	check_all(check_reuse);
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_of_real_interpreters_are_found),
		cmocka_unit_test(code_that_takes_the_place_of_other_code_is_not_known),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}
