/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/parca.h"

#include "tests/export/parca_reading.h"
#include "tests/export/pprof_profile.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>

enum { MADE_S = 0x1000, MADE_LATER_S = 0x2000 };

static struct cached_symbol_source *symbols;
static struct output_memory memory;
static struct parca_read batch;

static int set_up(void **state)
{
	return cached_symbol_source_new(NULL, &symbols);
}

static int tear_down(void **state)
{
	cached_symbol_source_free(symbols);
	free(batch.request);
	free(memory.bytes);
	memory = (struct output_memory){ 0 };
	batch = (struct parca_read){ 0 };
	return 0;
}

/* A symbol file of the build-id ID, 01, 00, … */
static void keep_symbols(uint8_t id, uint64_t made_s)
{
	static struct symbol_file_fixture fixture;
	struct symbol_file *file = NULL;
	int fd;

	fixture = (struct symbol_file_fixture){ .identity = { id, 1 } };
	symbol_file_fixture_fill(&fixture);
	fixture.created_s = made_s;
	symbol_file_fixture_build(&fixture);
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	(void)close(fd);
	assert_int_equal(cached_symbol_source_keep(symbols, file), 0);
}

static uint32_t add_library(struct profile *profile, uint8_t id, uint8_t identity_kind)
{
	struct profile_binary binary = {
		.kind = BINARY_LIBRARY,
		.path = string(profile, "/lib/a.so"),
		.build_id = { .bytes = { id, 1 }, .size = 20 },
		.text_vaddr = SYMBOL_FILE_FIXTURE_BASE,
		.text_bytes = 0x1000,
		.text_offset = 0x1000,
	};
	uint32_t number;

	if (identity_kind) {
		binary.symbols.kind = identity_kind;
		binary.symbols.id = (struct build_id){ .bytes = { id, 2 }, .size = 20 };
	}
	assert_int_equal(profile_add_binary(profile, &binary, &number), 0);
	return number;
}

static void add_service(struct profile *profile, const char *cgroup, uint32_t location)
{
	const struct profile_thread thread = {
		.tgid = 1, .tid = 2, .cgroup = string(profile, cgroup)
	};

	add_sample(profile, add_stack(profile, &location, 1), &thread, 3);
}

static int write_once(const struct profile *profile, const char *late_names)
{
	const struct parca_options options = {
		.host = "h\xc3\xb6st",
		.attributes = "tier=\"a\",k8s.x=b,node=x",
		.symbols = symbols,
		.late_names = late_names,
	};
	static struct output output;
	int r, error;

	free(memory.bytes);
	memory = (struct output_memory){ .limit_bytes = OUTPUT_LIMIT };
	output_init(&output, output_to_memory, &memory);
	r = parca_write(profile, &options, &output);
	error = output_finish(&output);
	return r < 0 ? r : error;
}

static void write_and_read(const struct profile *profile, const char *late_names)
{
	assert_int_equal(write_once(profile, late_names), 0);
	free(batch.request);
	parca_read(&batch, memory.bytes, memory.size);
}

/* Checks it by the rules of pprof. */
static void add_sum(void *sum, const char *base64, size_t size)
{
	struct decoded decoded;
	size_t bytes;
	uint8_t *profile = base64_read(base64, size, &bytes);

	decode(&decoded, (const char *)profile, bytes);
	for (size_t i = 0; i < decoded.sample_count; i++)
		*(uint64_t *)sum += decoded.samples[i].values[0];
	decoded_done(&decoded);
	free(profile);
}

static void each_service_is_a_series(void **state)
{
	struct profile *profile = new_profile();
	const uint32_t jit = add_binary(profile, BINARY_JIT, "");
	uint64_t sum = 0;

	add_service(profile, "/system.slice/nginx.service",
		add_named(profile, jit, 1, "main", "main.c", 7));
	add_service(profile, "/system.slice/b.service", add_named(profile, jit, 2, "b", "", 0));
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 100;
	write_and_read(profile, NULL);
	assert_int_equal(batch.count, 0);
	assert_int_equal(parca_read_request(batch.request, add_sum, &sum), 3);
	assert_int_equal(sum, 3 + 3 + 100);
	assert_int_equal(strncmp(batch.request, "{\"normalized\":true,\"series\":[{", 30), 0);
	assert_non_null(strstr(batch.request,
		"{\"labels\":{\"labels\":["
		"{\"name\":\"__name__\",\"value\":\"process_cpu\"},"
		"{\"name\":\"service_name\",\"value\":\"nginx\"},"
		"{\"name\":\"node\",\"value\":\"h\xc3\xb6st\"},"
		"{\"name\":\"tier\",\"value\":\"\\\"a\\\"\"},"
		"{\"name\":\"k8s_x\",\"value\":\"b\"}]},\"samples\":[{\"rawProfile\":\"H4sI"));
	profile_free(profile);
}

static void nothing_is_an_empty_request(void **state)
{
	struct profile *profile = new_profile();

	write_and_read(profile, NULL);
	assert_string_equal(batch.request, "{\"normalized\":true,\"series\":[]}");
	profile_free(profile);
}

/* Those without names, if names can come for them. */
static void unnamed_binaries_are_told(void **state)
{
	struct profile *profile = new_profile();
	const uint32_t jit = add_binary(profile, BINARY_JIT, "");

	keep_symbols(2, MADE_S);
	add_service(profile, "/", add_location(profile, add_library(profile, 1, 0), 0x401000));
	add_service(profile, "/", add_location(profile, add_library(profile, 2, 0), 0x401000));
	(void)add_location(profile, add_library(profile, 2, 0), 0x401001);
	(void)add_named(profile, add_library(profile, 3, 0), 0x401000, "named", "", 0);
	(void)add_location(profile, add_library(profile, 4, PILOTLIGHT_SYMBOL_OWNED), 0x401000);
	(void)add_location(profile, jit, 0x1000);
	write_and_read(profile, NULL);
	assert_int_equal(batch.count, 2);
	assert_true(batch.binaries[0].build_id[0] == 1 && batch.binaries[0].symbols_s == 0);
	assert_true(batch.binaries[1].build_id[0] == 2 && batch.binaries[1].symbols_s == MADE_S);
	for (size_t i = 0; i < 2; i++)
		assert_true(batch.binaries[i].build_id_bytes == 20 &&
			    batch.binaries[i].elf_bytes == 0 && !batch.binaries[i].is_named);
	profile_free(profile);
}

#define ID_1 "0101000000000000000000000000000000000000"
#define ID_2 "0201000000000000000000000000000000000000"
#define ID_3 "0301000000000000000000000000000000000000"

/* Of three that are asked for, one has no symbols yet, and one the same as before. */
static void late_names_are_files(void **state)
{
	struct profile *profile = new_profile();

	keep_symbols(2, MADE_S);
	keep_symbols(3, MADE_LATER_S);
	add_service(profile, "/", add_location(profile, add_library(profile, 2, 0), 0x401000));
	(void)add_location(profile, add_library(profile, 3, 0), 0x401080);
	write_and_read(profile, ID_1 ":0," ID_2 ":1000," ID_3 ":1000");
	assert_int_equal(batch.count, 2);
	assert_true(batch.binaries[0].build_id[0] == 3 && batch.binaries[0].is_named &&
		    batch.binaries[0].symbols_s == MADE_LATER_S);
	assert_true(batch.binaries[0].elf_bytes > sizeof(Elf64_Ehdr));
	assert_memory_equal(batch.files, ELFMAG, SELFMAG);
	assert_true(batch.binaries[1].build_id[0] == 2 && !batch.binaries[1].is_named);
	/* Both are the first's. */
	write_and_read(profile, ID_3 ":0," ID_2 ":0");
	assert_int_equal(batch.count, 2);
	assert_memory_equal(batch.files + batch.binaries[0].elf_bytes, ELFMAG, SELFMAG);
	profile_free(profile);
}

static void malformed_lists_are_refused(void **state)
{
	static const char *const lists[] = { "x:1", "01", ":1", ID_1 "00:1", ID_1, ",", "01:1,,",
		"01,02:1" };
	struct profile *profile = new_profile();

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(write_once(profile, lists[i]), -EINVAL);
	profile_free(profile);
}

static int write_again(const struct profile *profile)
{
	return write_once(profile, ID_2 ":0");
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = new_profile();

	keep_symbols(2, MADE_S);
	add_service(profile, "/", add_location(profile, add_library(profile, 1, 0), 0x401000));
	assert_true(FAIL_EACH_ALLOCATION(write_again(profile), -ENOMEM, true, 0) >= 15);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_service_is_a_series, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_an_empty_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unnamed_binaries_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_names_are_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(malformed_lists_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
