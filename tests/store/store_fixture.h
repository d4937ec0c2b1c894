/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of its own, and small profiles whose truth is known. */
#pragma once

#include "base/clock.h"
#include "store/day_file.h"
#include "store/store.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* 2026-09-04 00:00 UTC. */
#define FIXTURE_DAY    20700U
#define FIXTURE_DAY_NS (FIXTURE_DAY * DAY_NS)
#define FIXTURE_PERIOD (NSEC_PER_SEC / 100ULL)
#define SECONDS(s)     ((s) * (uint64_t)NSEC_PER_SEC)

static inline void fixture_folder(char folder[64])
{
	(void)snprintf(folder, 64, "/tmp/store_test_XXXXXX");
	assert_non_null(mkdtemp(folder));
}

static inline void fixture_remove(const char *folder)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

/* One sample of a thread: a stack of main in a program, work in a library, and a kernel frame. */
struct fixture_sample {
	uint32_t pid;
	uint64_t address; /* of the leaf in the library */
	uint64_t count;
	const char *comm;
	bool in_kernel;
	uint32_t owner; /* as profile_thread.owner */
	const char *claims;
};

static inline uint32_t fixture_binary(
	struct profile *profile, enum binary_kind kind, const char *path, uint8_t build_id)
{
	struct profile_binary binary = { .kind = kind, .build_id = { .size = build_id ? 20 : 0 } };
	uint32_t id;

	memset(binary.build_id.bytes, build_id, sizeof(binary.build_id.bytes));
	assert_int_equal(profile_add_string(profile, path, &binary.path), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	return id;
}

/* The library has no build-id: it is found by what its file is. */
static inline struct symbol_identity fixture_symbols(void)
{
	struct symbol_identity symbols = { .kind = PILOTLIGHT_SYMBOL_HTLHASH, .id.size = 16 };

	memset(symbols.id.bytes, 0xdd, symbols.id.size);
	return symbols;
}

static inline int fixture_thread(
	struct profile *profile, const struct fixture_sample *from, uint32_t *ret_thread)
{
	struct profile_thread thread = {
		.process_start_ns = SECONDS(1) * from->pid,
		.tgid = from->pid,
		.tid = from->pid + 1,
		.owner = from->owner,
	};
	char text[64];
	int r = profile_add_string(profile, from->comm, &thread.comm);

	(void)snprintf(text, sizeof(text), "/usr/bin/%s", from->comm);
	if (r == 0)
		r = profile_add_string(profile, text, &thread.exe);
	(void)snprintf(text, sizeof(text), "/system.slice/%s.service", from->comm);
	if (r == 0)
		r = profile_add_string(profile, text, &thread.cgroup);
	if (r == 0 && from->claims)
		r = profile_add_string(profile, from->claims, &thread.claims);
	return r < 0 ? r : profile_add_thread(profile, &thread, ret_thread);
}

static inline void fixture_add(struct profile *profile, const struct fixture_sample *from)
{
	struct profile_sample sample = { .count = from->count };
	struct profile_frame frame = { .line = 7 };
	uint32_t location;

	assert_int_equal(fixture_thread(profile, from, &sample.thread), 0);
	assert_int_equal(profile_add_location(profile, 0, 0x1000, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_location(profile, 1, from->address, &location), 0);
	assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	if (from->in_kernel) {
		assert_int_equal(profile_add_location(profile, 2, 0x2000, &location), 0);
		assert_int_equal(profile_add_string(profile, "do_work", &frame.function), 0);
		assert_int_equal(profile_add_string(profile, "work.c", &frame.file), 0);
		if (profile->locations.items[location].frame_count == 0)
			assert_int_equal(profile_name_location(profile, location, &frame, 1), 0);
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	}
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired += sample.count + 1;
	profile->accounts.stored[PILOTLIGHT_PATH_MAP] += sample.count;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] += 1;
}

static inline struct profile *fixture_profile(
	uint64_t start_ns, const struct fixture_sample *samples, size_t count)
{
	struct profile *profile;

	assert_int_equal(profile_new(8 << 20, &profile), 0);
	profile->start_ns = start_ns;
	profile->end_ns = start_ns + SECONDS(10);
	profile->period_ns = FIXTURE_PERIOD;
	profile->cpu_count = 4;
	assert_int_equal(profile_add_string(profile, "cpu-clock", &profile->event), 0);
	assert_int_equal(fixture_binary(profile, BINARY_EXECUTABLE, "/usr/bin/prog", 0xaa), 0);
	assert_int_equal(fixture_binary(profile, BINARY_LIBRARY, "/usr/lib/libwork.so", 0), 1);
	profile->binaries.items[1].symbols = fixture_symbols();
	assert_int_equal(fixture_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]", 0xcc), 2);
	for (size_t i = 0; i < count; i++)
		fixture_add(profile, &samples[i]);
	return profile;
}

static inline struct store *fixture_open(const char *folder)
{
	struct fault fault = { 0 };
	struct store *store = NULL;

	if (store_open(folder, &store_default_limits, &store, &fault) < 0)
		fail_msg("%s", fault.text);
	return store;
}

/* A window of the boot that began the day before the fixture's. */
static inline int fixture_append(
	struct store *store, const struct profile *profile, struct fault *fault)
{
	struct store_window window = {
		.boot_id = "a boot of a test",
		.monotonic_ns = profile->start_ns - FIXTURE_DAY_NS + DAY_NS,
	};

	return store_append(store, &window, profile, fault);
}

/* A window with one sample of so many counts. */
static inline int fixture_append_one(
	struct store *store, uint64_t start_ns, uint32_t pid, uint64_t count)
{
	struct fixture_sample sample = {
		.pid = pid, .address = 0x3000, .count = count, .comm = "one"
	};
	struct profile *profile = fixture_profile(start_ns, &sample, 1);
	struct fault fault = { 0 };
	int r = fixture_append(store, profile, &fault);

	profile_free(profile);
	return r;
}

static inline struct profile *fixture_read(
	const char *folder, const struct store_selection *selection, struct store_found *ret_found)
{
	struct store_selection all = { .end_ns = UINT64_MAX };
	struct profile *profile = NULL;
	struct fault fault = { 0 };

	if (store_reader_read(folder, selection ? selection : &all, 64 << 20, &profile, ret_found,
		    &fault) < 0)
		fail_msg("%s", fault.text);
	return profile;
}

static inline void fixture_expect_windows(
	const char *folder, uint64_t windows, uint64_t days_damaged)
{
	struct store_found found;

	profile_free(fixture_read(folder, NULL, &found));
	assert_int_equal(found.windows, windows);
	assert_int_equal(found.days_damaged, days_damaged);
}

static inline uint64_t fixture_total(const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->samples.count; i++)
		sum += profile->samples.items[i].count;
	return sum;
}

/* The samples of an owner. */
static inline uint64_t fixture_owned(const struct profile *profile, uint32_t owner)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];

		if (profile->threads.items[sample->thread].owner == owner)
			sum += sample->count;
	}
	return sum;
}

/* "comm;binary+address or function;... count", sorted by the caller where order matters. */
static inline void fixture_describe(
	const struct profile *profile, size_t number, char *text, size_t room)
{
	const struct profile_sample *sample = &profile->samples.items[number];
	const struct profile_thread *thread = &profile->threads.items[sample->thread];
	uint32_t path[16];
	size_t depth = 0, used;

	for (uint32_t node = sample->node; node != PROFILE_ROOT && depth < 16;
		node = profile->nodes.items[node].parent)
		path[depth++] = profile->nodes.items[node].location;
	used = (size_t)snprintf(text, room, "%s/%s",
		string_pool_get(&profile->strings, thread->cgroup),
		string_pool_get(&profile->strings, thread->comm));
	while (depth-- > 0) {
		const struct profile_location *location = &profile->locations.items[path[depth]];
		const struct profile_binary *binary = &profile->binaries.items[location->binary];
		const struct profile_frame *frame = &profile->frames.items[location->first_frame];

		if (location->frame_count > 0)
			used += (size_t)snprintf(text + used, room - used, ";%s@%s:%u",
				string_pool_get(&profile->strings, frame->function),
				string_pool_get(&profile->strings, frame->file), frame->line);
		else
			used += (size_t)snprintf(text + used, room - used, ";%s+%llx",
				string_pool_get(&profile->strings, binary->path),
				(unsigned long long)location->address);
	}
	(void)snprintf(text + used, room - used, " %llu", (unsigned long long)sample->count);
}

/* Is there exactly one sample that reads so? */
static inline void fixture_expect(const struct profile *profile, const char *expected)
{
	size_t found = 0;
	char text[512];

	for (size_t i = 0; i < profile->samples.count; i++) {
		fixture_describe(profile, i, text, sizeof(text));
		found += strcmp(text, expected) == 0;
	}
	if (found == 1)
		return;
	for (size_t i = 0; i < profile->samples.count; i++) {
		fixture_describe(profile, i, text, sizeof(text));
		print_error("%s\n", text);
	}
	fail_msg("not there: %s", expected);
}

/* Has each binary what it was given, and the library alone anything? */
static inline void fixture_expect_symbols(const struct profile *profile)
{
	struct symbol_identity expected = fixture_symbols();
	size_t found = 0;

	for (size_t i = 0; i < profile->binaries.count; i++) {
		const struct profile_binary *binary = &profile->binaries.items[i];

		if (strcmp(string_pool_get(&profile->strings, binary->path),
			    "/usr/lib/libwork.so") == 0) {
			assert_true(symbol_identity_equal(&binary->symbols, &expected));
			found++;
		} else {
			assert_int_equal(binary->symbols.id.size, 0);
		}
	}
	assert_int_equal(found, 1);
}

static inline void fixture_path(char path[DAY_PATH_BYTES], const char *folder)
{
	assert_int_equal(day_file_path(path, folder, FIXTURE_DAY), 0);
}

static inline int fixture_first_column(void *context, int columns, char **values, char **names)
{
	*(int64_t *)context = values[0] ? strtoll(values[0], NULL, 10) : 0;
	return 0;
}

/* Runs SQL on a day. Returns the first column of the last row; 0: there is none. */
static inline int64_t fixture_sql(const char *path, const char *sql)
{
	sqlite3 *connection;
	int64_t number = 0;

	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(connection, sql, fixture_first_column, &number, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(connection), SQLITE_OK);
	return number;
}

/* Makes the last window a further row of the one before, as if both were too large for one row. */
#define FIXTURE_SUPPLEMENT                                                   \
	"UPDATE windows SET is_supplement = 1, accounts = x'01' WHERE id = " \
	"(SELECT max(id) FROM windows WHERE level = 0)"

static inline struct store_summary fixture_summary(const char *folder)
{
	struct store_summary summary;
	struct fault fault = { 0 };

	assert_int_equal(store_reader_summary(folder, &summary, &fault), 0);
	return summary;
}

static inline void fixture_write_one(const char *folder, uint64_t start_ns)
{
	struct store *store = fixture_open(folder);

	assert_int_equal(fixture_append_one(store, start_ns, 1, 1), 0);
	store_close(store);
}

/* To its end, a step a call. Returns 0 or -errno. */
static inline int fixture_maintain(struct store *store, uint64_t now_ns, struct fault *fault)
{
	int r;

	do
		r = store_maintain(store, now_ns, 0, fault);
	while (r == 1);
	return r;
}

static inline void maintain(struct store *store, uint64_t now_ns)
{
	struct fault fault = { 0 };

	if (fixture_maintain(store, now_ns, &fault) < 0)
		fail_msg("%s", fault.text);
}
