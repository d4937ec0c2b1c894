/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int new_table(void **state)
{
	return process_table_new(&process_table_default_limits, (struct process_table **)state);
}

static int free_table(void **state)
{
	process_table_free(*state);
	return 0;
}

static int map(struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t start,
	uint64_t end, uint64_t offset, const char *path)
{
	struct process_mapping_event event = {
		.start = start,
		.end = end,
		.offset = offset,
		.path = path,
		.inode = 7,
	};

	return process_table_map(table, pid, time_ns, &event, NULL);
}

/* The mappings as "start-end+offset path,…" in hex. */
static const char *mappings(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	static char text[1024];
	const struct process_mapping *all = NULL;
	size_t count = process_table_mappings(table, pid, time_ns, &all), used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		struct mapped_file file;

		process_table_file(table, all[i].file, &file);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%llx-%llx+%llx %s,",
			(unsigned long long)all[i].start, (unsigned long long)all[i].end,
			(unsigned long long)all[i].offset, file.path);
		assert_true(used < sizeof(text));
	}
	return text;
}

static bool has_file_at(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip,
	const char *path)
{
	struct process_mapping mapping;
	struct mapped_file file;

	if (!process_table_find(table, pid, time_ns, ip, &mapping))
		return false;
	assert_true(mapping.start <= ip && ip < mapping.end);
	process_table_file(table, mapping.file, &file);
	return strcmp(file.path, path) == 0;
}

static void mappings_are_found(void **state)
{
	struct process_table *table = *state;
	struct process_mapping mapping = { .file = 99 };

	assert_false(process_table_has(table, 1, 5));
	assert_int_equal(map(table, 1, 10, 0x3000, 0x4000, 0x500, "/b"), 0);
	assert_int_equal(map(table, 1, 11, 0x1000, 0x2000, 0, "/a"), 0);
	assert_string_equal(mappings(table, 1, 20), "1000-2000+0 /a,3000-4000+500 /b,");
	assert_false(process_table_find(table, 1, 20, 0xfff, &mapping));
	assert_false(process_table_find(table, 1, 20, 0x2000, &mapping));
	assert_false(process_table_find(table, 1, 20, 0x4000, &mapping));
	assert_false(process_table_find(table, 2, 20, 0x1000, &mapping));
	assert_int_equal(mapping.file, 99);
	assert_true(process_table_find(table, 1, 20, 0x3fff, &mapping));
	assert_int_equal(mapping.offset, 0x500);
	assert_true(has_file_at(table, 1, 20, 0x1000, "/a"));
	/* What was there before anybody looked has been there always. */
	assert_true(has_file_at(table, 1, 0, 0x1000, "/a"));
}

static void later_mappings_replace_what_they_cover(void **state)
{
	static const struct {
		uint64_t start, end;
		const char *result;
	} cases[] = {
		{ 0x1000, 0x5000, "1000-5000+0 /n,9000-a000+0 /z," },
		{ 0x2000, 0x3000,
			"1000-2000+100 /o,2000-3000+0 /n,3000-5000+2100 /o,9000-a000+0 /z," },
		{ 0x1000, 0x2000, "1000-2000+0 /n,2000-5000+1100 /o,9000-a000+0 /z," },
		{ 0x4000, 0x5000, "1000-4000+100 /o,4000-5000+0 /n,9000-a000+0 /z," },
		{ 0x0800, 0x1800, "800-1800+0 /n,1800-5000+900 /o,9000-a000+0 /z," },
		{ 0x4000, 0x9800, "1000-4000+100 /o,4000-9800+0 /n,9800-a000+800 /z," },
		{ 0x0000, 0xf000, "0-f000+0 /n," },
		{ 0x5000, 0x9000, "1000-5000+100 /o,5000-9000+0 /n,9000-a000+0 /z," },
		{ 0xa000, UINT64_MAX,
			"1000-5000+100 /o,9000-a000+0 /z,a000-ffffffffffffffff+0 /n," },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_table *table = *state;
		pid_t pid = (pid_t)i + 1;

		assert_int_equal(map(table, pid, 1, 0x1000, 0x5000, 0x100, "/o"), 0);
		assert_int_equal(map(table, pid, 1, 0x9000, 0xa000, 0, "/z"), 0);
		assert_int_equal(map(table, pid, 2, cases[i].start, cases[i].end, 0, "/n"), 0);
		assert_string_equal(mappings(table, pid, 3), cases[i].result);
		/* Once more changes nothing. */
		assert_int_equal(map(table, pid, 4, cases[i].start, cases[i].end, 0, "/n"), 0);
		assert_string_equal(mappings(table, pid, 3), cases[i].result);
	}
}

/* A JIT that adds to its memory and changes its protection bit by bit has one mapping. */
static void anonymous_memory_is_merged(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 1, 0x2000, 0x3000, 0x2000, "//anon"), 0);
	assert_int_equal(map(table, 1, 1, 0x3000, 0x4000, 0, ""), 0);
	assert_int_equal(map(table, 1, 1, 0x1000, 0x2000, 0x1000, "[anon:jit]"), 0);
	assert_string_equal(mappings(table, 1, 1), "1000-4000+1000 //anon,");
	assert_int_equal(map(table, 1, 1, 0x1800, 0x2800, 0x1800, "//anon"), 0);
	assert_string_equal(mappings(table, 1, 1), "1000-4000+1000 //anon,");
	assert_int_equal(map(table, 1, 1, 0x3800, 0x4800, 0, "/a"), 0);
	assert_int_equal(map(table, 1, 1, 0x4800, 0x5000, 0, "//anon"), 0);
	assert_string_equal(
		mappings(table, 1, 1), "1000-3800+1000 //anon,3800-4800+0 /a,4800-5000+0 //anon,");
	assert_int_equal(map(table, 1, 1, 0x3000, 0x4900, 0, "//anon"), 0);
	assert_string_equal(mappings(table, 1, 1), "1000-5000+1000 //anon,");
	/* Files are not: the kernel's names for mappings are their bounds. */
	assert_int_equal(map(table, 2, 1, 0x1000, 0x2000, 0, "/a"), 0);
	assert_int_equal(map(table, 2, 1, 0x2000, 0x3000, 0x1000, "/a"), 0);
	assert_string_equal(mappings(table, 2, 1), "1000-2000+0 /a,2000-3000+1000 /a,");
}

static void fork_copies_and_parts(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, 0, "/a"), 0);
	assert_int_equal(process_table_fork(table, 2, 1, 20), 0);
	assert_int_equal(process_table_fork(table, 3, 2, 25), 0);
	assert_int_equal(map(table, 2, 30, 0x5000, 0x6000, 0, "/child"), 0);
	assert_int_equal(map(table, 1, 40, 0x1000, 0x1800, 0, "/parent"), 0);
	assert_string_equal(mappings(table, 1, 50), "1000-1800+0 /parent,1800-2000+800 /a,");
	assert_string_equal(mappings(table, 2, 50), "1000-2000+0 /a,5000-6000+0 /child,");
	assert_string_equal(mappings(table, 3, 50), "1000-2000+0 /a,");
	assert_int_equal(process_table_parent(table, 2, 50), 1);
	assert_int_equal(process_table_parent(table, 3, 50), 2);
	assert_int_equal(process_table_parent(table, 1, 50), 0);
	assert_int_equal(process_table_parent(table, 9, 50), 0);
	assert_false(process_table_has(table, 2, 19));
	assert_true(process_table_has(table, 2, 20));
	/* A thread. */
	assert_int_equal(process_table_fork(table, 1, 1, 60), 0);
	assert_string_equal(mappings(table, 1, 70), "1000-1800+0 /parent,1800-2000+800 /a,");
	/* Of a parent that nobody knows. */
	assert_int_equal(process_table_fork(table, 5, 4, 60), 0);
	assert_true(process_table_has(table, 5, 60));
	assert_false(process_table_has(table, 4, 60));
	assert_string_equal(mappings(table, 5, 60), "");
}

static void exec_begins_an_image_and_keeps_the_old(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, 0, "/parent"), 0);
	assert_int_equal(process_table_fork(table, 2, 1, 20), 0);
	assert_int_equal(process_table_exec(table, 2, 30), 0);
	assert_int_equal(map(table, 2, 31, 0x1000, 0x3000, 0, "/child"), 0);
	assert_int_equal(process_table_exec(table, 2, 40), 0);
	assert_true(has_file_at(table, 2, 20, 0x1000, "/parent"));
	assert_true(has_file_at(table, 2, 29, 0x1000, "/parent"));
	assert_true(has_file_at(table, 2, 30, 0x1000, "/child"));
	assert_true(has_file_at(table, 2, 39, 0x2fff, "/child"));
	assert_string_equal(mappings(table, 2, 40), "");
	assert_int_equal(process_table_parent(table, 2, 40), 1);
	assert_true(has_file_at(table, 1, 50, 0x1000, "/parent"));
	/* What is known only from now on has no earlier image. */
	assert_int_equal(process_table_exec(table, 7, 50), 0);
	assert_false(process_table_has(table, 7, 49));
	assert_true(process_table_has(table, 7, 50));
}

static void the_ended_stay_until_they_retire(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, 0, "/a"), 0);
	assert_int_equal(process_table_exec(table, 1, 20), 0);
	assert_int_equal(map(table, 1, 21, 0x1000, 0x2000, 0, "/b"), 0);
	process_table_exit(table, 1, 30);
	assert_true(has_file_at(table, 1, 15, 0x1000, "/a"));
	assert_true(has_file_at(table, 1, 99, 0x1000, "/b"));
	process_table_retire(table, 20);
	assert_true(has_file_at(table, 1, 15, 0x1000, "/a"));
	process_table_retire(table, 21);
	assert_false(process_table_has(table, 1, 15));
	assert_true(has_file_at(table, 1, 99, 0x1000, "/b"));
	process_table_retire(table, 30);
	assert_true(process_table_has(table, 1, 30));
	process_table_retire(table, 31);
	assert_false(process_table_has(table, 1, 30));
	process_table_exit(table, 1, 40);
	process_table_retire(table, UINT64_MAX);
	/* A live one does not retire. */
	assert_int_equal(map(table, 2, 10, 0x1000, 0x2000, 0, "/a"), 0);
	process_table_retire(table, UINT64_MAX);
	assert_true(process_table_has(table, 2, 10));
}

static void a_pid_is_used_again(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 9, 1, 0x7000, 0x8000, 0, "/shell"), 0);
	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, 0, "/a"), 0);
	process_table_exit(table, 1, 30);
	assert_int_equal(process_table_fork(table, 1, 9, 50), 0);
	assert_true(has_file_at(table, 1, 40, 0x1000, "/a"));
	assert_true(has_file_at(table, 1, 50, 0x7000, "/shell"));
	assert_false(has_file_at(table, 1, 50, 0x1000, "/a"));
	assert_int_equal(process_table_parent(table, 1, 50), 9);
	/* Its end was lost. */
	assert_int_equal(process_table_fork(table, 1, 9, 60), 0);
	process_table_retire(table, 55);
	assert_true(process_table_has(table, 1, 55));
	process_table_retire(table, 61);
	assert_false(process_table_has(table, 1, 55));
	assert_true(process_table_has(table, 1, 60));
}

/* The first thread has ended; the process has not. */
static void a_process_that_maps_lives(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, 0, "/a"), 0);
	process_table_exit(table, 1, 30);
	assert_int_equal(map(table, 1, 40, 0x3000, 0x4000, 0, "/b"), 0);
	process_table_retire(table, 1000);
	assert_string_equal(mappings(table, 1, 50), "1000-2000+0 /a,3000-4000+0 /b,");
	process_table_exit(table, 1, 60);
	/* A mapping that is reported late does not revive it; a later end counts. */
	assert_int_equal(map(table, 1, 59, 0x5000, 0x6000, 0, "/c"), 0);
	process_table_exit(table, 1, 70);
	process_table_exit(table, 1, 65);
	process_table_retire(table, 70);
	assert_true(has_file_at(table, 1, 60, 0x5000, "/c"));
	process_table_retire(table, 71);
	assert_false(process_table_has(table, 1, 60));
}

static void files_are_interned_by_identity(void **state)
{
	static const uint8_t padded[BUILD_ID_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct process_mapping_event event = { .start = 0x1000, .end = 0x2000, .path = "/a" };
	struct process_table *table = *state;
	struct mapped_file file;
	uint32_t by_inode, by_other_inode, by_device, by_id, by_padded_id, found = 99;

	event.inode = 7;
	assert_int_equal(process_table_map(table, 1, 1, &event, &by_inode), 0);
	event.inode = 8;
	assert_int_equal(process_table_map(table, 1, 1, &event, &by_other_inode), 0);
	event.device_minor = 1;
	assert_int_equal(process_table_map(table, 1, 1, &event, &by_device), 0);
	assert_int_equal(build_id_set(&event.build_id, padded, 8), 0);
	assert_int_equal(process_table_map(table, 1, 1, &event, &by_id), 0);
	build_id_set_padded(&event.build_id, padded);
	event.inode = 0;
	assert_int_equal(process_table_map(table, 2, 1, &event, &by_padded_id), 0);
	assert_int_equal(by_id, by_padded_id);
	assert_true(
		by_inode != by_other_inode && by_other_inode != by_device && by_device != by_id);
	assert_true(process_table_find_build_id(table, &event.build_id, &found));
	assert_int_equal(found, by_id);
	process_table_file(table, by_other_inode, &file);
	assert_int_equal(file.inode, 8);
	assert_int_equal(file.build_id.size, 0);
	assert_true(file.is_regular);
	event = (struct process_mapping_event){
		.start = 1, .end = 2, .path = "/a (deleted)", .inode = 7
	};
	assert_int_equal(process_table_map(table, 2, 1, &event, &found), 0);
	assert_int_equal(found, by_inode);
}

static void build_ids_may_come_later(void **state)
{
	struct process_mapping_event event = {
		.start = 0x1000, .end = 0x2000, .path = "/a", .inode = 7
	};
	struct process_table *table = *state;
	struct build_id id = { .size = 0 }, other;
	struct mapped_file file;
	uint32_t first, again, found = 99;

	assert_int_equal(process_table_map(table, 1, 1, &event, &first), 0);
	assert_false(process_table_find_build_id(table, &id, &found));
	process_table_set_build_id(table, first, &id);
	assert_int_equal(build_id_set(&id, "12345678901234567890", 20), 0);
	assert_int_equal(build_id_set(&other, "x", 1), 0);
	assert_false(process_table_find_build_id(table, &id, &found));
	process_table_set_build_id(table, first, &id);
	process_table_set_build_id(table, first, &other);
	assert_true(process_table_find_build_id(table, &id, &found));
	assert_int_equal(found, first);
	assert_false(process_table_find_build_id(table, &other, &found));
	process_table_file(table, first, &file);
	assert_true(build_id_equal(&file.build_id, &id));
	/* It is still the same file. */
	assert_int_equal(process_table_map(table, 2, 1, &event, &again), 0);
	assert_int_equal(again, first);
}

static void made_up_paths_are_not_regular(void **state)
{
	static const struct {
		const char *path;
		bool is_regular;
	} cases[] = {
		{ "/usr/bin/a", true },
		{ "/memfd:code (deleted)", true },
		{ "//anon", false },
		{ "[vdso]", false },
		{ "[anon:x]", false },
		{ "", false },
		{ "/dev/zero (deleted)", false },
		{ "/SYSV00000000 (deleted)", false },
		{ "/anon_hugepage (deleted)", false },
		{ "anon_inode:[x]", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_mapping_event event = {
			.start = 1, .end = 2, .path = cases[i].path
		};
		struct mapped_file file;
		uint32_t id;

		assert_int_equal(process_table_map(*state, 1, 1, &event, &id), 0);
		process_table_file(*state, id, &file);
		assert_int_equal(file.is_regular, cases[i].is_regular);
	}
}

static void nonsense_is_refused(void **state)
{
	struct process_table *table = *state;
	char path[PATH_MAX + 1] = "/";

	assert_int_equal(map(table, 1, 1, 5, 5, 0, "/a"), -EINVAL);
	assert_int_equal(map(table, 1, 1, 6, 5, 0, "/a"), -EINVAL);
	assert_int_equal(map(table, 0, 1, 5, 6, 0, "/a"), -EINVAL);
	assert_int_equal(process_table_fork(table, -1, 1, 1), -EINVAL);
	assert_int_equal(process_table_exec(table, 0, 1), -EINVAL);
	process_table_exit(table, -1, 1);
	assert_false(process_table_has(table, 1, 1));
	memset(path + 1, 'x', PATH_MAX - 2);
	assert_int_equal(map(table, 1, 1, 5, 6, 0, path), 0);
	path[PATH_MAX - 1] = 'x';
	assert_int_equal(map(table, 1, 1, 5, 6, 0, path), -E2BIG);
	/* Rather no name than the one that was there before. */
	assert_string_equal(mappings(table, 1, 1), "");
}

static void the_oldest_ended_image_makes_room(void **state)
{
	const struct process_table_limits limits = { 3, 10, 10, 1000, 0 };
	struct process_table_counters counters;
	struct process_table *table;

	assert_int_equal(process_table_new(&limits, &table), 0);
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_int_equal(process_table_exec(table, pid, 10), 0);
	assert_int_equal(process_table_fork(table, 4, 1, 20), -E2BIG);
	assert_int_equal(map(table, 4, 20, 1, 2, 0, "/a"), -E2BIG);
	assert_false(process_table_has(table, 4, 20));
	process_table_exit(table, 2, 25);
	process_table_exit(table, 1, 26);
	assert_int_equal(process_table_fork(table, 4, 1, 30), 0);
	assert_true(process_table_has(table, 1, 30));
	assert_false(process_table_has(table, 2, 30));
	assert_int_equal(process_table_fork(table, 5, 1, 31), 0);
	assert_false(process_table_has(table, 1, 30));
	/* All live: an image gives way to the one that follows it. */
	assert_int_equal(map(table, 4, 32, 1, 2, 0, "/a"), 0);
	assert_int_equal(process_table_exec(table, 4, 33), 0);
	assert_false(process_table_has(table, 4, 32));
	assert_true(process_table_has(table, 4, 33));
	process_table_counters(table, &counters);
	assert_int_equal(counters.images_evicted, 3);
	assert_int_equal(counters.images_refused, 2);
	process_table_free(table);
}

static void a_process_that_only_executes_pushes_out_its_own(void **state)
{
	struct process_table *table = *state;
	struct process_table_counters counters;

	assert_int_equal(map(table, 1, 1, 1, 2, 0, "/a"), 0);
	process_table_exit(table, 1, 2);
	for (uint64_t time_ns = 1; time_ns <= 1000; time_ns++) {
		assert_int_equal(process_table_exec(table, 2, 10 * time_ns), 0);
		assert_int_equal(map(table, 2, 10 * time_ns, 1, 2, time_ns, "/b"), 0);
	}
	assert_true(process_table_has(table, 1, 1));
	assert_false(process_table_has(table, 2, 7449));
	for (uint64_t time_ns = 745; time_ns <= 1000; time_ns++) {
		struct process_mapping mapping;

		assert_true(process_table_find(table, 2, 10 * time_ns + 9, 1, &mapping));
		assert_int_equal(mapping.offset, time_ns);
	}
	process_table_counters(table, &counters);
	assert_int_equal(counters.images_evicted, 744);
}

static void the_bounds_on_mappings_hold(void **state)
{
	const struct process_table_limits limits = { 100, 4, 16, 60, 8 };
	struct process_table_counters counters;
	struct process_table *table;

	assert_int_equal(process_table_new(&limits, &table), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(map(table, 1, 1, 0x1000 * i, 0x1000 * i + 0xf00, 0, "/a"), 0);
	assert_int_equal(map(table, 1, 1, 0x8000, 0x9000, 0, "/a"), -E2BIG);
	/* A split needs room for three: the upper part goes, and what is refused leaves a hole. */
	assert_int_equal(map(table, 1, 1, 0x100, 0x200, 0, "/b"), -E2BIG);
	assert_string_equal(
		mappings(table, 1, 1), "0-100+0 /a,1000-1f00+0 /a,2000-2f00+0 /a,3000-3f00+0 /a,");
	/* A quarter of the paths' bytes is 15, of which 9 are for the three others. */
	assert_int_equal(map(table, 1, 1, 0, 0x100, 0, "/cdefg"), -E2BIG);
	assert_string_equal(mappings(table, 1, 1), "1000-1f00+0 /a,2000-2f00+0 /a,3000-3f00+0 /a,");
	assert_int_equal(map(table, 1, 1, 0, 0x100, 0, "/cdef"), 0);
	assert_int_equal(map(table, 1, 1, 0, 0x100, 0, "/d"), 0);
	/* All room is taken until an image has ended. */
	assert_int_equal(map(table, 2, 1, 0, 0x100, 0, "/a"), -E2BIG);
	process_table_exit(table, 1, 10);
	assert_int_equal(map(table, 2, 20, 0, 0x100, 0, "/a"), 0);
	assert_false(process_table_has(table, 1, 1));
	process_table_counters(table, &counters);
	assert_int_equal(counters.images_evicted, 1);
	assert_int_equal(counters.mappings_refused, 4);
	assert_int_equal(counters.files_refused, 0);
	process_table_free(table);
}

/* Where there is room for what is left of a shared set, but not for all that it was. */
static void a_shared_set_shrinks_in_little_room(void **state)
{
	const struct process_table_limits limits = { 10, 10, 40, 60, 10 };
	struct process_table *table;
	char path[64] = "/";

	memset(path + 1, 'b', sizeof(path) - 2);
	assert_int_equal(process_table_new(&limits, &table), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(map(table, 1, 1, 0x1000 * i, 0x1000 * i + 0xf00, 0, "/a"), 0);
	assert_int_equal(process_table_fork(table, 2, 1, 2), 0);
	assert_int_equal(map(table, 2, 3, 0, 0x3000, 0, path), -E2BIG);
	assert_false(has_file_at(table, 2, 3, 0, "/a"));
	assert_int_equal(map(table, 2, 3, 0, 0x8000, 0, path), -E2BIG);
	assert_string_equal(mappings(table, 2, 3), "");
	assert_string_equal(
		mappings(table, 1, 3), "0-f00+0 /a,1000-1f00+0 /a,2000-2f00+0 /a,3000-3f00+0 /a,");
	process_table_free(table);
}

/* Shells that start commands, for a simulated hour: memory does not grow. */
static void churn_is_flat(void **state)
{
	struct process_table *table = *state;
	size_t bytes = 0;

	assert_int_equal(map(table, 1, 1, 0x1000, 0x2000, 0, "/sh"), 0);
	for (uint64_t i = 0; i < 36000; i++) {
		pid_t pid = 2 + (pid_t)(i % 500);

		assert_int_equal(process_table_fork(table, pid, 1, 100 * i), 0);
		assert_int_equal(process_table_exec(table, pid, 100 * i + 10), 0);
		for (uint64_t j = 0; j < 10; j++)
			assert_int_equal(map(table, pid, 100 * i + 11, 0x1000 * j,
						 0x1000 * j + 0x800, 0, j % 2 ? "/a" : "/b"),
				0);
		process_table_exit(table, pid, 100 * i + 50);
		if (i > 100)
			process_table_retire(table, 100 * (i - 100));
		if (i == 1000)
			bytes = process_table_bytes(table);
	}
	assert_true(bytes > 0);
	assert_int_equal(process_table_bytes(table), bytes);
}

/* One of each fact; returns the first error. */
static int tell_all(struct process_table *table)
{
	int r = map(table, 1, 1, 0x1000, 0x2000, 0, "/a");

	if (r == 0)
		r = process_table_fork(table, 2, 1, 2);
	if (r == 0)
		r = map(table, 2, 3, 0x3000, 0x4000, 0, "/b");
	for (uint64_t i = 0; r == 0 && i < 20; i++)
		r = map(table, 2, 3, 0x10000 + 0x2000 * i, 0x11000 + 0x2000 * i, 0, "/b");
	if (r == 0)
		r = process_table_exec(table, 2, 4);
	return r;
}

static void failing_allocations_leave_the_table_whole(void **state)
{
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct process_table *table = NULL;
		bool failed;

		fail_allocation(n);
		r = process_table_new(&process_table_default_limits, &table);
		if (r == 0)
			r = tell_all(table);
		failed = allocation_failed();
		if (failed)
			assert_int_equal(r, -ENOMEM);
		if (table)
			assert_int_equal(tell_all(table), 0);
		process_table_free(table);
		if (!failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_true(n >= 8);
	process_table_free(NULL);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, new_table, free_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(mappings_are_found),
		WITH_TABLE(later_mappings_replace_what_they_cover),
		WITH_TABLE(anonymous_memory_is_merged),
		WITH_TABLE(fork_copies_and_parts),
		WITH_TABLE(exec_begins_an_image_and_keeps_the_old),
		WITH_TABLE(the_ended_stay_until_they_retire),
		WITH_TABLE(a_pid_is_used_again),
		WITH_TABLE(a_process_that_maps_lives),
		WITH_TABLE(files_are_interned_by_identity),
		WITH_TABLE(build_ids_may_come_later),
		WITH_TABLE(made_up_paths_are_not_regular),
		WITH_TABLE(nonsense_is_refused),
		cmocka_unit_test(the_oldest_ended_image_makes_room),
		WITH_TABLE(a_process_that_only_executes_pushes_out_its_own),
		cmocka_unit_test(the_bounds_on_mappings_hold),
		cmocka_unit_test(a_shared_set_shrinks_in_little_room),
		WITH_TABLE(churn_is_flat),
		cmocka_unit_test(failing_allocations_leave_the_table_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
