/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for V8's functions, compiled for the host, in the node of this machine, and in that
 * which the variable TEST_NODE names: with V8's interpreter alone, with its first compiler, and as
 * it is. A program tells the functions that have called each other, and all must be found.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "extract/extraction.h"
#include "extract/runtime_v8.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_v8.h"
#include "symbol/runtime_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t child;
/* In place of the child's memory, if there are any. */
static struct {
	uint8_t *bytes;
	size_t size;
} planted;
enum { PLANTED_AT = 0x10000 };

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_v8.bpf.h"

static int copy_from_child(void *bytes, size_t size, uint64_t address)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	size_t at = (size_t)(address - PLANTED_AT);

	if (planted.bytes) {
		if (at >= planted.size || size > planted.size - at)
			return 0;
		memcpy(bytes, planted.bytes + at, size);
		return 1;
	}
	return copy_from_child(bytes, size, address);
}

enum { FRAMES_MAX = 100, LINE_BYTES = 256, TOLD_MAX = 16 };

static struct pilotlight_runtime_v8 runtime;
static char told[TOLD_MAX][LINE_BYTES];
static size_t told_count;
static char other[LINE_BYTES]; /* the last function that was not the one that was told */
static char last_file[UTF8_CLEAN_BYTES];

static void describe(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct pilotlight_runtime description;
	struct unwind_files opened;

	assert_int_equal(unwind_files_open(&opened, &files), 0);
	assert_int_equal(runtime_v8_read(&opened, &description), 0);
	memcpy(&runtime, &description, sizeof(runtime));
}

static void start(const char *path, const char *option)
{
	char line[LINE_BYTES];
	int from_child[2];
	FILE *output;

	assert_int_equal(pipe(from_child), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)dup2(from_child[1], STDOUT_FILENO);
		(void)execl(path, path, option, "tests/extract/runtime_v8_walk_test.js", NULL);
		_exit(127);
	}
	(void)close(from_child[1]);
	output = fdopen(from_child[0], "re");
	assert_non_null(output);
	told_count = 0;
	while (fgets(line, sizeof(line), output) && strcmp(line, "end\n") != 0) {
		line[strcspn(line, "\n")] = '\0';
		(void)strcpy(told[told_count++], line);
	}
	assert_int_equal(told_count, 10);
	(void)fclose(output);
}

static uint32_t count_lines(const struct runtime_v8 *v8)
{
	static __u64 chunk[V8_CHUNK_WORDS];
	uint32_t line = 1, bytes;

	for (uint32_t at = 0; at < v8->source_bytes; at += V8_CHUNK_BYTES) {
		bytes = v8_copy_chunk(v8, at, chunk);
		assert_true(bytes > 0);
		line += v8_count_lines(chunk, bytes, (int)v8->source_wide);
	}
	return line;
}

/* "NAME LINE" of the function that was found last. */
static void name_function(struct runtime_v8 *v8, char text[LINE_BYTES])
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	uint32_t line;

	assert_true(v8_read_function(v8, &runtime));
	line = v8_find_line(v8, &runtime);
	memset(&record, 0xff, sizeof(record));
	assert_true(v8_copy_texts(v8, &runtime, &record));
	if (line == 0 && v8_find_source(v8, &runtime))
		line = count_lines(v8);
	v8_finish_code(v8, &record, line);
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	(void)snprintf(
		text, LINE_BYTES, "%.200s %" PRIu32, code.name, runtime_code_line(&code, -1));
	if (!planted.bytes && strncmp(code.name, "many", 4) == 0)
		assert_non_null(strstr(code.file, "runtime_v8_walk_test.js"));
	(void)strcpy(last_file, code.file);
}

/* The function of the native frame with this frame pointer: code 0 if there is none. */
static void find_function(struct runtime_v8 *v8, uint64_t fp, struct runtime_step *step)
{
	uint64_t shared = v8_find_shared(v8, &runtime, fp);

	step->code = 0;
	if (shared)
		runtime_v8_prove(v8, &runtime, shared, step);
}

/* Follows the frame pointers from the leaf on. Returns how many of the told functions are there, in
 * their order, from the first one that is. */
static size_t count_found(struct runtime_v8 *v8, uint64_t fp)
{
	struct runtime_step step;
	char text[LINE_BYTES];
	size_t found = 0;

	for (size_t i = 0; i < FRAMES_MAX && found < told_count; i++) {
		find_function(v8, fp, &step);
		if (step.code) {
			name_function(v8, text);
			if (strcmp(text, told[found]) == 0)
				found++;
			else
				(void)strcpy(other, text);
			if (found > 0 && strcmp(text, told[found - 1]) != 0)
				break;
		}
		if (!can_copy_user(&fp, sizeof(fp), fp))
			break;
	}
	return found;
}

static void check(const char *path, const char *option)
{
	struct user_regs_struct registers;
	struct runtime_v8 v8;
	size_t found = 0;
	int status;

	start(path, option);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	/* The leaf may be where it keeps no frame pointer. */
	for (size_t i = 0; i < 1000 && found < told_count; i++) {
		assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, __WALL), child);
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &registers), 0);
		runtime_v8_begin(&v8);
		found = count_found(&v8, registers.rbp);
		assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
		(void)usleep(1000);
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (found < told_count)
		fail_msg("%s %s: %s instead of %s", path, option, other, told[found]);
}

static void all_functions_are_found(void **state)
{
	const char *const paths[] = { "/usr/bin/node", getenv("TEST_NODE") };
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!paths[i] || access(paths[i], X_OK) < 0)
			continue;
		found++;
		describe(paths[i]);
		check(paths[i], "--no-opt");
		check(paths[i], "--always-sparkplug");
		check(paths[i], "--no-turbo-inlining");
	}
	if (found == 0)
		skip();
}

/* No function is found while the first word of an object is 0: the one to which the word at `place`
 * points. */
static void check_cleared(uint64_t fp, uint64_t place)
{
	uint64_t object, word, zero = 0;
	struct runtime_step step;
	struct runtime_v8 v8;
	uint8_t *first;

	memcpy(&object, planted.bytes + (place - PLANTED_AT), sizeof(object));
	first = planted.bytes + (object - PILOTLIGHT_V8_OBJECT - PLANTED_AT);
	memcpy(&word, first, sizeof(word));
	memcpy(first, &zero, sizeof(zero));
	runtime_v8_begin(&v8);
	find_function(&v8, fp, &step);
	assert_int_equal(step.code, 0);
	memcpy(first, &word, sizeof(word));
}

/* Objects at chosen places, of all kinds of strings; see the fuzz target. */
static void check_planted(const char *name, const char *expected, const char *file)
{
	static uint8_t bytes[4096];
	struct runtime_v8 v8;
	struct runtime_step step;
	char path[LINE_BYTES], text[LINE_BYTES];
	_cleanup_close_ int fd = -1;
	uint64_t fp, function;
	ssize_t size;

	(void)snprintf(path, sizeof(path), "tests/data/fuzz/runtime_v8_walk/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, bytes, sizeof(bytes));
	assert_true(size > (ssize_t)(sizeof(runtime) + sizeof(fp)));
	memcpy(&runtime, bytes, sizeof(runtime));
	memcpy(&fp, bytes + sizeof(runtime), sizeof(fp));
	planted.bytes = bytes + sizeof(runtime) + sizeof(fp);
	planted.size = (size_t)size - sizeof(runtime) - sizeof(fp);
	runtime_v8_begin(&v8);
	find_function(&v8, fp, &step);
	assert_int_not_equal(step.code, 0);
	name_function(&v8, text);
	assert_string_equal(text, expected);
	assert_string_equal(last_file, file);
	/* Nothing is proved at another place. */
	find_function(&v8, fp + 8, &step);
	assert_int_equal(step.code, 0);
	/* Nor if an object was cleared: the function, or what its closures share. */
	function = fp + (uint64_t)(int64_t)runtime.frame_function_at;
	check_cleared(fp, function);
	memcpy(&function, planted.bytes + (function - PLANTED_AT), sizeof(function));
	check_cleared(fp, function - PILOTLIGHT_V8_OBJECT + runtime.function_shared_at);
	planted.bytes = NULL;
}

static void all_kinds_of_strings_are_read(void **state)
{
	check_planted("counted", "pin 3", "…app.js");
	check_planted("line-ends", "spin 3", "…app.js");
	check_planted("builtin", "pin 0", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_strings_are_read),
		cmocka_unit_test(all_functions_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
