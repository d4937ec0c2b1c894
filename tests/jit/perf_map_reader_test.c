/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/perf_map_reader.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { INDEX_BYTES = 8 << 20, STEPS = 1 << 20 };

/* A map that is written, its reader, and what it has told. */
struct followed {
	int fd; /* the writer's */
	struct perf_map_reader *reader;
	struct code_index *index;
};

static int set_up(void **state)
{
	struct followed *map = calloc(1, sizeof(*map));

	assert_non_null(map);
	map->fd = memfd_create("perf-1.map", MFD_CLOEXEC);
	assert_true(map->fd >= 0);
	assert_int_equal(perf_map_reader_new(fcntl(map->fd, F_DUPFD_CLOEXEC, 3), &map->reader), 0);
	assert_int_equal(code_index_new(INDEX_BYTES, &map->index), 0);
	*state = map;
	return 0;
}

static int tear_down(void **state)
{
	struct followed *map = *state;

	perf_map_reader_free(map->reader);
	code_index_free(map->index);
	assert_int_equal(close(map->fd), 0);
	free(map);
	return 0;
}

/* Behind what is there. */
static void append_bytes(struct followed *map, const char *bytes, size_t size)
{
	assert_true(lseek(map->fd, 0, SEEK_END) >= 0);
	assert_int_equal(write(map->fd, bytes, size), size);
}

static void append(struct followed *map, const char *text)
{
	append_bytes(map, text, strlen(text));
}

static void append_name_of(struct followed *map, const char *start, size_t name_size)
{
	char *name = malloc(name_size);

	assert_non_null(name);
	memset(name, 'n', name_size);
	append(map, start);
	append_bytes(map, name, name_size);
	free(name);
}

static int64_t run(struct followed *map, bool is_final, int64_t steps)
{
	return perf_map_reader_run(map->reader, map->index, is_final, steps);
}

static void run_all(struct followed *map)
{
	assert_true(run(map, false, STEPS) > 0);
}

static struct perf_map_reader_state state_of(const struct followed *map)
{
	struct perf_map_reader_state state;

	perf_map_reader_state(map->reader, &state);
	return state;
}

static void assert_name(const struct followed *map, uint64_t address, const char *name)
{
	struct code_found found;

	assert_true(code_index_find(map->index, address, UINT64_MAX - 1, NULL, &found));
	assert_string_equal(found.name, name);
}

static void assert_nothing(const struct followed *map, uint64_t address)
{
	struct code_found found;

	assert_false(code_index_find(map->index, address, UINT64_MAX - 1, NULL, &found));
}

static void lines_are_read_as_they_appear(void **state)
{
	struct followed *map = *state;

	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 0);
	append(map, "1000 100 first\n2000 10");
	run_all(map);
	assert_name(map, 0x10ff, "first");
	assert_nothing(map, 0x2000);
	assert_int_equal(state_of(map).counters.lines, 1);
	assert_int_equal(state_of(map).file_bytes, 22);
	assert_int_equal(state_of(map).unread_bytes, 7);
	append(map, "0 second\nno line\n\n");
	run_all(map);
	assert_name(map, 0x20ff, "second");
	assert_nothing(map, 0x2100);
	assert_int_equal(state_of(map).counters.lines, 4);
	assert_int_equal(state_of(map).counters.malformed, 2);
	assert_int_equal(state_of(map).counters.bytes, 40);
	assert_int_equal(state_of(map).unread_bytes, 0);
	run_all(map);
	assert_int_equal(state_of(map).counters.lines, 4);
	assert_int_equal(state_of(map).counters.restarts, 0);
}

static int see_line(void *context, const struct perf_map_line *line)
{
	uint64_t *sum = context;

	*sum += line->address;
	return line->address == 0x4000 ? -EPIPE : 0;
}

static void a_watcher_sees_each_line_once_without_an_index(void **state)
{
	struct followed *map = *state;
	uint64_t sum = 0;

	perf_map_reader_set_watcher(map->reader, see_line, &sum);
	append(map, "1000 10 a b\nnone\n2000 10 c");
	assert_in_range(perf_map_reader_run(map->reader, NULL, false, STEPS), 1, STEPS);
	assert_int_equal(sum, 0x1000);
	append(map, "ont\n");
	assert_in_range(perf_map_reader_run(map->reader, NULL, false, STEPS), 1, STEPS);
	assert_int_equal(sum, 0x3000);
	assert_int_equal(ftruncate(map->fd, 0), 0);
	append(map, "5000 10 e");
	assert_in_range(perf_map_reader_run(map->reader, NULL, true, STEPS), 1, STEPS);
	assert_int_equal(sum, 0x8000);
	append(map, "\n4000 10 d\n");
	assert_int_equal(perf_map_reader_run(map->reader, NULL, false, STEPS), -EPIPE);
}

static void a_final_line_needs_no_newline(void **state)
{
	struct followed *map = *state;

	append(map, "1000 100 first\n2000 100 sec");
	run_all(map);
	assert_nothing(map, 0x2000);
	assert_true(run(map, true, STEPS) > 0);
	assert_name(map, 0x2000, "sec");
	assert_int_equal(state_of(map).counters.lines, 2);
	assert_int_equal(state_of(map).unread_bytes, 0);
	assert_true(run(map, true, STEPS) > 0);
	assert_int_equal(state_of(map).counters.lines, 2);
}

static void the_last_line_for_an_address_wins(void **state)
{
	struct followed *map = *state;

	append(map, "1000 100 stale\n1000 100 fresh\n1040 20 inside\n");
	run_all(map);
	append(map, "1050 100 latest\n");
	run_all(map);
	assert_name(map, 0x1000, "fresh");
	assert_name(map, 0x1040, "inside");
	assert_name(map, 0x1050, "latest");
	assert_name(map, 0x114f, "latest");
	assert_nothing(map, 0x1150);
}

static void erlang_is_recognized_by_its_names(void **state)
{
	struct followed *map = *state;

	append(map, "1000 100 $none\n0x1000 0x100 $neither\n");
	run_all(map);
	assert_false(state_of(map).is_erlang);
	append(map, "0x2000 100 $lists:map/2\n");
	run_all(map);
	assert_true(state_of(map).is_erlang);
	assert_name(map, 0x1000, "$neither");
	assert_name(map, 0x2000, "lists:map/2");
}

/* As node and PHP do where a later process has the pid. */
static void rewritten_files_are_read_again(void **state)
{
	struct followed *map = *state;

	append(map, "1000 100 first\n2000 100 second\n");
	run_all(map);
	assert_int_equal(ftruncate(map->fd, 0), 0);
	append(map, "1000 100 anew\n");
	run_all(map);
	assert_name(map, 0x1000, "anew");
	assert_nothing(map, 0x2000);
	assert_int_equal(state_of(map).counters.restarts, 1);

	/* It has grown beyond where it was, or to just there. */
	assert_int_equal(ftruncate(map->fd, 0), 0);
	append(map, "3000 100 again\n1000 100 once more\n");
	run_all(map);
	assert_name(map, 0x1000, "once more");
	assert_name(map, 0x3000, "again");
	assert_int_equal(state_of(map).counters.restarts, 2);
	assert_int_equal(ftruncate(map->fd, 0), 0);
	append(map, "3000 100 again!1000 100 once more\n");
	run_all(map);
	assert_name(map, 0x3000, "again!1000 100 once more");
	assert_int_equal(state_of(map).counters.restarts, 3);
	assert_int_equal(ftruncate(map->fd, 0), 0);
	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 4);
	assert_int_equal(state_of(map).file_bytes, 0);
	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 4);
}

/* Runtimes begin their maps with what is built into them, which is the same each time. */
static void rewritten_files_with_the_same_start_are_read_again(void **state)
{
	static const char builtins[] =
		"10000 100 Builtin:TheSameInEachOfThem\n20000 100 Builtin:TheSameToo\n";
	struct followed *map = *state;

	append(map, builtins);
	append(map, "1000 100 first\n2000 100 second\n");
	run_all(map);
	assert_int_equal(ftruncate(map->fd, 0), 0);
	append(map, builtins);
	append(map, "1000 100 other\n3000 100 others_and_longer\n4000 100 last\n");
	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 1);
	assert_int_equal(state_of(map).counters.malformed, 0);
	assert_name(map, 0x1000, "other");
	assert_nothing(map, 0x2000);
	assert_name(map, 0x4000, "last");
}

static void truncated_files_are_read_again(void **state)
{
	struct followed *map = *state;
	off_t size;

	append_name_of(map, "1000 100 ", 100);
	append(map, "\n");
	size = lseek(map->fd, 0, SEEK_END);
	append(map, "2000 100 second\n");
	run_all(map);
	assert_int_equal(ftruncate(map->fd, size), 0);
	append(map, "2000 100 other\n");
	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 1);
	assert_name(map, 0x2000, "other");
}

/* Its beginning is learnt as it grows. */
static void a_file_that_grows_byte_by_byte_is_not_rewritten(void **state)
{
	static const char text[] = "1000 100 a name that is quite long\n"
				   "2000 100 a name that is even longer than the other\n"
				   "3000 100 the last of them\n";
	struct followed *map = *state;

	for (size_t i = 0; i < strlen(text); i++) {
		append_bytes(map, text + i, 1);
		run_all(map);
	}
	assert_int_equal(state_of(map).counters.restarts, 0);
	assert_int_equal(state_of(map).counters.lines, 3);
	assert_name(map, 0x3000, "the last of them");
	assert_int_equal(pwrite(map->fd, "2", 1, 0), 1);
	run_all(map);
	assert_int_equal(state_of(map).counters.restarts, 1);
}

static void a_run_keeps_to_its_steps(void **state)
{
	struct followed *map = *state;
	char line[64];

	for (int i = 0; i < 100; i++) {
		(void)snprintf(line, sizeof(line), "%x 10 name %d\n", 0x1000 + i * 0x10, i);
		append(map, line);
	}
	assert_int_equal(run(map, false, 0), 0);
	assert_int_equal(run(map, false, -5), 0);
	assert_int_equal(state_of(map).counters.lines, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		assert_int_equal(run(map, false, 1), 0);
		assert_int_equal(state_of(map).counters.lines, i);
	}
	assert_int_equal(run(map, false, 1), 1);
	assert_name(map, 0x1000 + 99 * 0x10, "name 99");
	append(map, "9000 10 a\n9010 10 b\n");
	assert_int_equal(run(map, false, 10), 8);
}

static void lines_may_cross_blocks(void **state)
{
	struct followed *map = *state;
	char line[256], name[128];

	for (int i = 0; i < 10000; i++) {
		(void)snprintf(
			line, sizeof(line), "%x 10 %0*d\n", 0x1000 + i * 0x10, 1 + i % 97, i % 7);
		append(map, line);
	}
	run_all(map);
	assert_int_equal(state_of(map).counters.lines, 10000);
	assert_int_equal(state_of(map).counters.malformed, 0);
	assert_int_equal(code_index_count(map->index), 10000);
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "%0*d", 1 + i % 97, i % 7);
		assert_name(map, 0x1000 + (uint64_t)i * 0x10, name);
	}
}

/* Whatever the index then does to their names, it sees no end that is beyond the bound. */
static void long_lines_keep_their_start(void **state)
{
	static const char start[] = "1000 10 ", ending[] = "the end";
	const size_t fitting = PERF_MAP_LINE_BYTES_MAX - strlen(start) - strlen(ending);
	const size_t sizes[] = { fitting, fitting + 1, 2 * PERF_MAP_LINE_BYTES_MAX, 64 << 10,
		1 << 20 };
	struct followed *map = *state;
	struct code_found found;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		append_name_of(map, start, sizes[i]);
		append(map, ending);
		append(map, "\n2000 10 behind\n");
		run_all(map);
		assert_true(code_index_find(map->index, 0x1000, 1, NULL, &found));
		assert_memory_equal(found.name, "nnnnnnnnnnnnnnnn", 16);
		assert_int_equal(!!strstr(found.name, ending), sizes[i] == fitting);
		assert_name(map, 0x2000, "behind");
		assert_int_equal(state_of(map).counters.lines, 2 * (i + 1));
		assert_int_equal(state_of(map).counters.malformed, 0);
		assert_int_equal(state_of(map).unread_bytes, 0);
	}
}

/* It is not read again and again while it grows. */
static void an_endless_line_is_read_once(void **state)
{
	struct followed *map = *state;
	uint64_t read_bytes = 0;

	append_name_of(map, "1000 10 ", PERF_MAP_LINE_BYTES_MAX - 8);
	run_all(map);
	assert_nothing(map, 0x1000);
	assert_int_equal(state_of(map).unread_bytes, PERF_MAP_LINE_BYTES_MAX);
	for (int i = 0; i < 100; i++) {
		append_name_of(map, "", 1000);
		run_all(map);
		assert_int_equal(state_of(map).unread_bytes, 0);
		assert_true(state_of(map).counters.bytes > read_bytes);
		read_bytes = state_of(map).counters.bytes;
	}
	assert_int_equal(state_of(map).counters.lines, 1);
	append(map, "\n2000 10 behind\n");
	run_all(map);
	assert_int_equal(state_of(map).counters.lines, 2);
	assert_name(map, 0x2000, "behind");
}

static void a_huge_line_keeps_to_the_steps(void **state)
{
	struct followed *map = *state;
	uint64_t bytes = 8 << 20;

	append_name_of(map, "", bytes);
	for (uint64_t i = 1; i <= 10; i++) {
		assert_int_equal(run(map, true, 100), 0);
		assert_in_range(
			state_of(map).counters.bytes, i * 50 * 4096, i * (100 * 4096 + (64 << 10)));
	}
	assert_int_equal(state_of(map).counters.lines, 1);
	assert_int_equal(state_of(map).counters.malformed, 1);
	assert_int_equal(state_of(map).file_bytes, bytes);
	assert_int_equal(state_of(map).unread_bytes, bytes - state_of(map).counters.bytes);
	assert_int_equal(code_index_count(map->index), 0);
}

static void lines_that_the_index_refuses_are_skipped(void **state)
{
	struct followed *map = *state;

	code_index_free(map->index);
	assert_int_equal(code_index_new(0, &map->index), 0);
	append(map, "1000 10 a\n2000 10 b\n");
	assert_true(run(map, false, STEPS) > 0);
	assert_int_equal(state_of(map).counters.lines, 2);
	assert_int_equal(state_of(map).unread_bytes, 0);
}

static void unreadable_files_count_as_ended(void **state)
{
	struct followed *map = *state;
	struct perf_map_reader *reader;
	char path[64];
	int fd;

	append(map, "1000 10 a\n");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", map->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(perf_map_reader_new(fd, &reader), 0);
	assert_int_equal(perf_map_reader_run(reader, map->index, true, 100), 100);
	assert_int_equal(perf_map_reader_run(reader, map->index, true, 100), 100);
	perf_map_reader_free(reader);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(perf_map_reader_new(-1, &reader), 0);
	assert_int_equal(perf_map_reader_run(reader, map->index, true, 100), 100);
	assert_true(perf_map_reader_bytes(reader) > 0);
	perf_map_reader_free(reader);
	perf_map_reader_free(NULL);
	assert_int_equal(code_index_count(map->index), 0);
}

static void names_stay_while_a_file_cannot_be_read(void **state)
{
	struct followed *map = *state;
	_cleanup_(perf_map_reader_freep) struct perf_map_reader *reader = NULL;
	_cleanup_close_ int blind_fd = -1;
	char path[64];
	int fd = fcntl(map->fd, F_DUPFD_CLOEXEC, 3);

	append(map, "1000 10 a\n");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", map->fd);
	blind_fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(perf_map_reader_new(fd, &reader), 0);
	assert_true(perf_map_reader_run(reader, map->index, false, STEPS) > 0);
	append(map, "2000 10 b\n");
	assert_int_equal(dup3(blind_fd, fd, O_CLOEXEC), fd);
	assert_true(perf_map_reader_run(reader, map->index, false, STEPS) > 0);
	assert_name(map, 0x1000, "a");
}

/* If memory is short, the next run reads the same line again. */
static void failing_allocations_lose_nothing(void **state)
{
	struct followed *map = *state;
	size_t n, failures = 0;

	append(map, "1000 10 a\n2000 10 b\n3000 10 c\n");
	for (n = 0;; n++) {
		struct perf_map_reader *reader = NULL;
		struct code_index *index = NULL;
		struct perf_map_reader_state told;
		int fd = fcntl(map->fd, F_DUPFD_CLOEXEC, 3);
		bool has_failed;
		int64_t r;

		assert_int_equal(code_index_new(INDEX_BYTES, &index), 0);
		fail_allocation(n);
		r = perf_map_reader_new(fd, &reader);
		if (r == 0)
			r = perf_map_reader_run(reader, index, false, STEPS);
		has_failed = allocation_failed();
		if (has_failed) {
			assert_int_equal(r, -ENOMEM);
			failures++;
		}
		if (!reader)
			assert_int_equal(fcntl(fd, F_GETFD), -1);
		else {
			assert_true(perf_map_reader_run(reader, index, false, STEPS) > 0);
			perf_map_reader_state(reader, &told);
			assert_int_equal(told.counters.lines, 3);
			assert_int_equal(told.counters.malformed, 0);
			assert_int_equal(told.counters.bytes, 30);
			assert_int_equal(code_index_count(index), 3);
		}
		perf_map_reader_free(reader);
		code_index_free(index);
		if (!has_failed)
			break;
	}
	assert_true(failures >= 2);
}

/* A hole at the end is not read. What is written over it later is. */
static void a_sparse_file_ends_at_its_hole(void **state)
{
	static const off_t sizes[] = { 100, 1 << 20, (off_t)1 << 40 };
	struct followed *map = *state;

	append(map, "1000 10 first\n2000 10 cut");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(ftruncate(map->fd, sizes[i]), 0);
		assert_true(run(map, false, STEPS) >= STEPS - 2);
		assert_int_equal(state_of(map).counters.lines, 1);
	}
	assert_name(map, 0x1000, "first");
	assert_nothing(map, 0x2000);
	assert_int_equal(pwrite(map->fd, " off\n3000 10 third\n", 19, 25), 19);
	run_all(map);
	assert_name(map, 0x2000, "cut off");
	assert_name(map, 0x3000, "third");
	/* The end of the writer makes no line of the rest. */
	assert_true(run(map, true, STEPS) >= STEPS - 2);
	assert_int_equal(state_of(map).counters.lines, 3);
}

/* A runtime goes on at its old offset when its file was truncated. */
static void lines_after_a_hole_are_read(void **state)
{
	static const off_t places[] = { 40, 5000, (off_t)1 << 40 };
	struct followed *map = *state;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		append(map, "1000 10 first\n");
		run_all(map);
		assert_name(map, 0x1000, "first");
		assert_int_equal(ftruncate(map->fd, 0), 0);
		assert_int_equal(pwrite(map->fd, "2000 10 second\n", 15, places[i]), 15);
		run_all(map);
		assert_nothing(map, 0x1000);
		assert_name(map, 0x2000, "second");
		assert_int_equal(ftruncate(map->fd, 0), 0);
		run_all(map);
	}
}

#define FOLLOWED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLLOWED(a_sparse_file_ends_at_its_hole),
		FOLLOWED(lines_after_a_hole_are_read),
		FOLLOWED(lines_are_read_as_they_appear),
		FOLLOWED(a_watcher_sees_each_line_once_without_an_index),
		FOLLOWED(a_final_line_needs_no_newline),
		FOLLOWED(the_last_line_for_an_address_wins),
		FOLLOWED(erlang_is_recognized_by_its_names),
		FOLLOWED(rewritten_files_are_read_again),
		FOLLOWED(rewritten_files_with_the_same_start_are_read_again),
		FOLLOWED(truncated_files_are_read_again),
		FOLLOWED(a_file_that_grows_byte_by_byte_is_not_rewritten),
		FOLLOWED(a_run_keeps_to_its_steps),
		FOLLOWED(lines_may_cross_blocks),
		FOLLOWED(long_lines_keep_their_start),
		FOLLOWED(an_endless_line_is_read_once),
		FOLLOWED(a_huge_line_keeps_to_the_steps),
		FOLLOWED(lines_that_the_index_refuses_are_skipped),
		FOLLOWED(unreadable_files_count_as_ended),
		FOLLOWED(names_stay_while_a_file_cannot_be_read),
		FOLLOWED(failing_allocations_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
