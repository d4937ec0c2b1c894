/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for V8's functions, compiled for the host, in the node of this machine, and in that
 * which the variable TEST_NODE names: with V8's interpreter alone, with its first compiler, and as
 * it is. A program tells the functions that have called each other, and all must be found.
 */
#include "tests/extract/v8_memory.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/scratch.h"
#include "extract/extraction.h"
#include "extract/runtime_v8.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_v8.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_inlined.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
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
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES_MAX = 100, LINE_BYTES = 256, TOLD_MAX = 16, SAMPLES_MAX = 20000 };

/* The longest bytecodes that are optimized: as usual, and none. */
static const char optimizes[] = "--max-optimized-bytecode-size=61440";
static const char never_optimizes[] = "--max-optimized-bytecode-size=0";

static struct pilotlight_runtime_v8 runtime;
static char told[TOLD_MAX][LINE_BYTES];
static size_t told_count;
static char other[LINE_BYTES]; /* what was found last, innermost, and was not what was told */
static char last_file[UTF8_CLEAN_BYTES];

static void describe(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	struct pilotlight_runtime description;
	struct unwind_files opened;
	struct scratch scratch;
	uint32_t lacks;

	assert_int_equal(unwind_files_open(&opened, &files), 0);
	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	assert_int_equal(runtime_v8_read(&opened, &scratch, &description, &lacks), 0);
	memcpy(&runtime, &description, sizeof(runtime));
}

static void start(const char *path, const char *option, const char *limit, const char *program)
{
	char line[LINE_BYTES];
	int from_child[2];
	FILE *output;

	assert_int_equal(pipe(from_child), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(from_child[1], STDOUT_FILENO);
		(void)execl(path, path, option, limit, program, NULL);
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
	(void)fclose(output);
}

/* 0: they cannot be read now. */
static uint32_t count_lines(const struct runtime_v8 *v8)
{
	static __u64 chunk[V8_CHUNK_WORDS];
	uint32_t line = 1, bytes;

	for (uint32_t at = 0; at < v8->source_bytes; at += V8_CHUNK_BYTES) {
		bytes = v8_copy_chunk(v8, at, chunk);
		if (bytes == 0)
			return 0;
		line += v8_count_lines(chunk, bytes, (int)v8->source_wide);
	}
	return line;
}

static bool mark_lines(struct runtime_v8 *v8, struct pilotlight_runtime_code *record)
{
	static __u64 chunk[V8_CHUNK_WORDS];
	uint32_t width, place = sizeof(uint64_t), bytes;

	if (!v8_find_own_source(v8, &runtime))
		return true;
	width = v8->source_wide ? 2 : 1;
	for (uint32_t at = 0; at < v8->source_bytes; at += V8_CHUNK_BYTES) {
		bytes = v8_copy_chunk(v8, at, chunk);
		if (bytes == 0)
			return false;
		place = (uint32_t)sizeof(uint64_t) + at / width / 8;
		assert_true(place <= V8_CHUNK_BYTES - V8_CHUNK_WORDS);
		v8_mark_lines(chunk, bytes, (int)v8->source_wide,
			(__u64 *)(void *)(record->table + place));
		record->line_bytes = (uint16_t)(place + (bytes / width + 7) / 8);
	}
	record->line_bytes_all = record->line_bytes;
	return true;
}

/* "NAME LINE" of the function that was found last, at a place in its source. Returns false if it
 * cannot be read now: V8's other threads go on, and move objects. */
static bool name_function(struct runtime_v8 *v8, int32_t place, char text[LINE_BYTES])
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	uint32_t line;

	memset(&record, 0xff, sizeof(record));
	if (!v8_read_function(v8, &runtime))
		return false;
	line = v8_find_line(v8, &runtime);
	if (!v8_copy_texts(v8, &runtime, &record))
		return false;
	if (line == 0 && v8_find_source(v8, &runtime))
		line = count_lines(v8);
	v8_finish_code(v8, &record, line);
	if (!mark_lines(v8, &record))
		return false;
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	(void)snprintf(
		text, LINE_BYTES, "%.200s %" PRIu32, code.name, runtime_code_line(&code, place));
	if (!planted.bytes && strncmp(code.name, "many", 4) == 0 &&
		!strstr(code.file, "runtime_v8_walk_test.js"))
		return false;
	(void)strcpy(last_file, code.file);
	return true;
}

/* The function of the native frame with this frame pointer: code 0 if there is none. */
static void find_function(struct runtime_v8 *v8, uint64_t fp, struct runtime_step *step)
{
	__u64 shared = find_shared(v8, &runtime, fp);

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
		if (step.code && name_function(v8, -1, text)) {
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

	start(path, option, optimizes, "tests/extract/runtime_v8_walk_test.js");
	assert_int_equal(told_count, 10);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	/* The leaf may be where it keeps no frame pointer. */
	for (size_t i = 0; i < SAMPLES_MAX && found < told_count; i++) {
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

/* Appends the functions of the code that was read, as they call each other at an instruction:
 * "leaf 5;mid 9". Returns false if they cannot be read now. */
static bool name_code(struct runtime_v8 *v8, int32_t unit, char text[LINE_BYTES])
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	__u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX];
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	struct runtime_step step;
	size_t count;

	for (size_t i = 0; i < PILOTLIGHT_V8_FUNCTIONS_MAX; i++)
		functions[i] = i;
	memset(&record, 0xff, sizeof(record));
	if (!(v8->pcs ? v8_copy_baseline(v8, &runtime, functions[0], &record)
		      : v8_copy_inlined(v8, &runtime, functions, &record)))
		return false;
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	assert_int_equal(code.lines, PILOTLIGHT_RUNTIME_INLINED);
	count = runtime_inlined_find(code.table, code.table_bytes, unit, frames);
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(text);
		char one[LINE_BYTES];

		runtime_v8_prove(v8, &runtime,
			v8_inlined_shared(v8, &runtime, (uint32_t)frames[i].code), &step);
		if (!step.code || !name_function(v8, frames[i].unit, one))
			return false;
		(void)snprintf(
			text + length, LINE_BYTES - length, "%s%s", length > 0 ? ";" : "", one);
	}
	return count > 0;
}

/* The functions of optimized code. Returns false if they cannot be read now, or are too many. */
static bool name_functions(struct runtime_v8 *v8, int32_t unit, char text[LINE_BYTES])
{
	text[0] = '\0';
	return v8_read_deopt(v8, &runtime) && name_code(v8, unit, text);
}

/* The functions of the innermost native frame that runs optimized code. */
static bool name_innermost(struct runtime_v8 *v8, uint64_t fp, uint64_t ip, char text[LINE_BYTES])
{
	runtime_v8_begin(v8);
	for (size_t i = 0; i < FRAMES_MAX; i++) {
		struct runtime_step step;

		v8->outer = find_shared(v8, &runtime, fp);
		if (v8->outer && is_optimized(v8, &runtime, ip - (i > 0), &step))
			return name_functions(v8, step.unit, text);
		if (!can_copy_user(&ip, sizeof(ip), fp + sizeof(fp)) ||
			!can_copy_user(&fp, sizeof(fp), fp))
			break;
	}
	return false;
}

/* The functions whose code is not optimized, innermost first. The leaf's instruction may be in V8's
 * own functions. */
static bool name_unoptimized(struct runtime_v8 *v8, uint64_t fp, uint64_t ip, char text[LINE_BYTES])
{
	text[0] = '\0';
	runtime_v8_begin(v8);
	for (size_t i = 0; i < FRAMES_MAX; i++) {
		struct runtime_step step, code;

		find_function(v8, fp, &step);
		v8->outer = step.code;
		if (step.code)
			(void)is_optimized(v8, &runtime, ip - (i > 0), &code);
		if (step.code && v8_has_table(v8, &step) && v8_read_bytecodes(v8, &runtime) &&
			!name_code(v8, v8->table_unit, text))
			return false;
		if (!can_copy_user(&ip, sizeof(ip), fp + sizeof(fp)) ||
			!can_copy_user(&fp, sizeof(fp), fp))
			break;
	}
	return text[0] != '\0';
}

typedef bool name_fn(struct runtime_v8 *v8, uint64_t fp, uint64_t ip, char text[LINE_BYTES]);

static void check_inlined(const char *path, const char *option, name_fn name)
{
	struct user_regs_struct registers;
	struct runtime_v8 v8;
	bool is_found[TOLD_MAX] = { false };
	size_t missing;
	int status;

	start(path, option, name == name_unoptimized ? never_optimizes : optimizes,
		"tests/extract/runtime_v8_inlined_test.js");
	assert_true(told_count > 0);
	missing = told_count;
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	for (size_t i = 0; i < SAMPLES_MAX && missing > 0; i++) {
		char text[LINE_BYTES];

		assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, __WALL), child);
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &registers), 0);
		if (name(&v8, registers.rbp, registers.rip, text)) {
			(void)strcpy(other, text);
			for (size_t j = 0; j < told_count; j++)
				if (!is_found[j] && fnmatch(told[j], text, 0) == 0) {
					is_found[j] = true;
					missing--;
				}
		}
		assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
		(void)usleep(1000);
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	for (size_t j = 0; j < told_count; j++)
		if (!is_found[j])
			fail_msg("%s %s: %s instead of %s", path, option, other, told[j]);
}

static void functions_in_optimized_code_are_found(void **state)
{
	const char *const paths[] = { "/usr/bin/node", getenv("TEST_NODE") };
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!paths[i] || access(paths[i], X_OK) < 0)
			continue;
		describe(paths[i]);
		if (runtime.code.type == 0)
			continue;
		found++;
		check_inlined(paths[i], "--always-sparkplug", name_innermost);
		check_inlined(paths[i], "--no-sparkplug", name_innermost);
		assert_true(runtime.bytecodes_type > 0);
		check_inlined(paths[i], "--jitless", name_unoptimized);
		check_inlined(paths[i], "--always-sparkplug", name_unoptimized);
	}
	if (found == 0)
		skip();
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
	const size_t described_bytes = sizeof(struct pilotlight_runtime);
	struct runtime_v8 v8;
	struct runtime_step step;
	char path[LINE_BYTES], text[LINE_BYTES];
	_cleanup_close_ int fd = -1;
	uint64_t fp, function;
	ssize_t size;

	(void)snprintf(path, sizeof(path), "tests/data/fuzz/runtime_v8_walk/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, bytes, sizeof(bytes));
	assert_true(size > (ssize_t)(described_bytes + sizeof(fp)));
	memcpy(&runtime, bytes, sizeof(runtime));
	memcpy(&fp, bytes + described_bytes, sizeof(fp));
	planted.bytes = bytes + described_bytes + sizeof(fp);
	planted.size = (size_t)size - described_bytes - sizeof(fp);
	runtime_v8_begin(&v8);
	find_function(&v8, fp, &step);
	assert_int_not_equal(step.code, 0);
	assert_true(name_function(&v8, -1, text));
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

/* Line ends are marked up to the bound, in characters of one byte and of two. */
static void line_ends_of_a_long_function_are_marked(void **state)
{
	enum { STRING = 64, CHARACTERS = 20000, MARKED = PILOTLIGHT_V8_MARKS_MAX * 8 };
	static uint64_t words[8192];
	static struct pilotlight_runtime_code record;
	uint8_t *bytes = (uint8_t *)words;

	for (uint32_t width = 1; width <= 2; width++) {
		struct runtime_v8 v8 = { .source = PLANTED_AT + STRING + PILOTLIGHT_V8_OBJECT,
			.end = CHARACTERS };

		runtime = (struct pilotlight_runtime_v8){
			.map_type_at = 8, .string_length_at = 12, .string_characters_at = 16
		};
		memset(words, 0, sizeof(words));
		words[STRING / 8] = PLANTED_AT + PILOTLIGHT_V8_OBJECT;
		bytes[8] = width == 1 ? PILOTLIGHT_V8_STRING_NARROW : 0;
		words[STRING / 8 + 1] = (uint64_t)CHARACTERS << 32;
		bytes[STRING + 16] = bytes[STRING + 16 + (MARKED - 1) * width] =
			bytes[STRING + 16 + MARKED * width] = '\n';
		planted.bytes = bytes;
		planted.size = sizeof(words);
		memset(&record, 0xff, sizeof(record));
		assert_true(mark_lines(&v8, &record));
		planted.bytes = NULL;
		assert_int_equal(record.line_bytes, sizeof(struct pilotlight_v8_lines));
		assert_int_equal(record.table[8], 1);
		assert_int_equal(record.table[9], 0);
		assert_int_equal(record.table[record.line_bytes - 1], 0x80);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_strings_are_read),
		cmocka_unit_test(line_ends_of_a_long_function_are_marked),
		cmocka_unit_test(all_functions_are_found),
		cmocka_unit_test(functions_in_optimized_code_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
