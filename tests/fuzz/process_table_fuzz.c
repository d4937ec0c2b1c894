/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts in any order for a table so small that it reaches every bound. */
#include "process/process_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	OPERATION_BYTES = 8,
	OPERATION_COUNT = 9,
	MAPPINGS_MAX = 5, /* a quarter of the files is less than the bound on mappings */
	OPERATIONS_MAX = 4096,
	ADDRESS_SCALE = 16,
};

/* {kind, pid, parent or file, time, start, length, offset, build-id} */
static int map(
	struct process_table *table, const uint8_t *operation, uint64_t time_ns, uint32_t *ret_file)
{
	static const char *const paths[] = { "/a", "/b (deleted)", "", "//anon", "[anon:x]",
		"[vdso]", "/" };
	struct process_mapping_event event = {
		.start = operation[4] * ADDRESS_SCALE,
		.end = (operation[4] + operation[5]) * ADDRESS_SCALE,
		.offset = operation[6],
		.path = paths[operation[2] % (sizeof(paths) / sizeof(paths[0]))],
		.inode = operation[2] / 16,
	};

	if (operation[7] & 1)
		(void)build_id_set(&event.build_id, &operation[7], 1);
	return process_table_map(table, operation[1] % 16, time_ns, &event, ret_file);
}

static void check_image(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip)
{
	const struct process_mapping *all = NULL;
	size_t count = process_table_mappings(table, pid, time_ns, &all);
	struct process_mapping found;
	struct mapped_file file;
	bool holds_ip = false;

	for (size_t i = 0; i < count; i++) {
		assert(all[i].start < all[i].end);
		assert(i == 0 || all[i - 1].end <= all[i].start);
		holds_ip |= all[i].start <= ip && ip < all[i].end;
		process_table_file(table, all[i].file, &file);
		assert(strlen(file.path) > 0);
		assert(file.identity > 0);
	}
	assert(process_table_find(table, pid, time_ns, ip, &found) == holds_ip);
	if (process_table_executable(table, pid, time_ns, &file))
		assert(file.identity > 0 && file.path[0] == '/');
	assert(count == 0 || process_table_has(table, pid, time_ns));
	assert(count <= MAPPINGS_MAX);
}

static void check_map(struct process_table *table, const uint8_t *operation, uint64_t time_ns)
{
	uint64_t start = operation[4] * ADDRESS_SCALE;
	struct process_mapping found;
	struct build_id id;
	uint32_t file, other;
	int r = map(table, operation, time_ns, &file);

	if (r == 0) {
		assert(process_table_find(table, operation[1] % 16, UINT64_MAX, start, &found));
		assert(found.file == file);
		(void)build_id_set(&id, &operation[6], 1);
		process_table_set_build_id(table, file, &id);
		(void)process_table_find_build_id(table, &id, &other);
	} else if (operation[1] % 16 > 0 && operation[5] > 0) {
		assert(!process_table_find(table, operation[1] % 16, UINT64_MAX, start, &found));
	}
}

/* The state of a process's newest image. */
struct snapshot {
	uint64_t version;
	size_t count;
	struct process_mapping mappings[MAPPINGS_MAX];
	uint64_t identities[MAPPINGS_MAX];
};

static void take_snapshot(
	const struct process_table *table, pid_t pid, struct snapshot *ret_snapshot)
{
	const struct process_mapping *all = NULL;
	struct snapshot snapshot = { 0 };
	struct mapped_file file;

	snapshot.version = process_table_version(table, pid, UINT64_MAX);
	snapshot.count = process_table_mappings(table, pid, UINT64_MAX, &all);
	assert(snapshot.count <= MAPPINGS_MAX);
	for (size_t i = 0; i < snapshot.count; i++) {
		process_table_file(table, all[i].file, &file);
		snapshot.mappings[i] = all[i];
		snapshot.identities[i] = file.identity;
	}
	*ret_snapshot = snapshot;
}

static bool is_same(const struct snapshot *a, const struct snapshot *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->mappings[i].start != b->mappings[i].start ||
			a->mappings[i].end != b->mappings[i].end ||
			a->mappings[i].offset != b->mappings[i].offset ||
			a->mappings[i].file != b->mappings[i].file ||
			a->identities[i] != b->identities[i])
			return false;
	return true;
}

/* Each version has one state; a mapping may change it. */
static void check_version(
	const struct snapshot *before, const struct snapshot *after, bool is_mapped)
{
	if (before->version == 0)
		return;
	if (before->version == after->version)
		assert(is_same(before, after));
	else if (is_mapped)
		assert(!is_same(before, after));
}

static void set_executable(struct process_table *table, const uint8_t *operation, uint64_t time_ns)
{
	const struct process_mapping_event event = {
		.path = operation[2] & 1 ? "/a" : "/c",
		.inode = operation[6],
	};
	struct mapped_file file;

	if (process_table_set_executable(table, operation[1] % 16, time_ns, &event) == 0 &&
		process_table_executable(table, operation[1] % 16, time_ns, &file))
		assert(file.identity > 0 && strlen(file.path) > 0);
}

static void run(struct process_table *table, const uint8_t *operation, uint64_t time_ns)
{
	pid_t pid = operation[1] % 16;

	switch (operation[0] % OPERATION_COUNT) {
	case 0:
	case 1:
		check_map(table, operation, time_ns);
		break;
	case 2:
		(void)process_table_fork(table, pid, operation[2] % 16, time_ns);
		break;
	case 3:
		(void)process_table_exec(table, pid, time_ns);
		break;
	case 4:
		process_table_exit(table, pid, time_ns);
		break;
	case 5:
		process_table_retire(table, time_ns / 2);
		break;
	case 6:
		process_table_gone(table, pid, time_ns);
		break;
	case 7:
		process_table_set_threads(table, pid, time_ns, operation[2]);
		process_table_set_user(table, pid, time_ns, operation[6] % 4);
		break;
	default:
		set_executable(table, operation, time_ns);
		break;
	}
	check_image(table, pid, time_ns, operation[4] * ADDRESS_SCALE);
	check_image(table, pid, operation[6] * 256U, operation[5] * ADDRESS_SCALE);
	(void)process_table_parent(table, pid, time_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct process_table_limits limits = {
		.images = 12,
		.mappings_per_image = 6,
		.files = 20,
		.path_bytes = 100,
		.mappings = 40,
	};
	struct process_table_counters counters;
	struct process_table *table;
	size_t count = size / OPERATION_BYTES;

	if (process_table_new(&limits, &table) < 0)
		return 0;
	for (size_t i = 0; i < count && i < OPERATIONS_MAX; i++) {
		const uint8_t *operation = bytes + i * OPERATION_BYTES;
		struct snapshot before, after;
		pid_t pid = (operation[1] ^ (operation[7] & 2)) % 16;

		take_snapshot(table, pid, &before);
		/* Time advances, but some facts arrive late. */
		run(table, operation, 256 * i + 512 - 2 * operation[3]);
		take_snapshot(table, pid, &after);
		check_version(&before, &after,
			operation[0] % OPERATION_COUNT < 2 && pid == operation[1] % 16);
		assert(process_table_bytes(table) < 64 * 1024);
	}
	process_table_counters(table, &counters);
	process_table_free(table);
	return 0;
}
