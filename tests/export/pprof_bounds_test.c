/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is too great, too much, hostile or fails. */
#include "tests/export/pprof_profile.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <stdio.h>

static void values_do_not_wrap(void **state)
{
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, UINT64_MAX);
	struct decoded decoded;

	profile->start_ns = UINT64_MAX;
	profile->end_ns = 5;
	profile->binaries.items[binary].text_vaddr = UINT64_MAX - 1;
	profile->binaries.items[binary].text_bytes = 100;
	for (uint64_t start = 0; start < 2; start++) {
		struct profile_thread thread = {
			.process_start_ns = start,
			.tgid = UINT32_MAX,
			.tid = UINT32_MAX,
		};

		add_sample(profile, add_stack(profile, &location, 1), &thread, UINT64_MAX - 1);
	}
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 1);
	assert_int_equal(decoded.samples[0].values[0], INT64_MAX);
	assert_int_equal(decoded.samples[0].values[1], INT64_MAX);
	assert_int_equal(decoded.own[9], INT64_MAX);
	assert_int_equal(decoded.own[10], 0);
	assert_int_equal(decoded.mappings[0][3], UINT64_MAX);
	assert_int_equal(decoded.locations[0].address, UINT64_MAX);
	assert_int_equal(label_of(&decoded, 0, "pid")[3], UINT32_MAX);
	decoded_done(&decoded);
}

/* decode() fails on text that is not UTF-8 and on a comm that would pass for a number. */
static void hostile_names_become_text(void **state)
{
	static char long_name[100000];
	const char *const names[] = { "\xff\xfe", "a\nb\x1b[31m", "\xc3", "", "comm", "samples",
		"\xf0\x9f\x94\xa5", long_name };
	struct profile *profile = new_profile();
	struct decoded decoded;

	memset(long_name, 0xe2, sizeof(long_name) - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile_thread thread = {
			.tgid = 1,
			.tid = 1,
			.comm = string(profile, names[i]),
		};
		uint32_t binary =
			add_binary(profile, i % 2 ? BINARY_JIT : BINARY_LIBRARY, names[i]);
		uint32_t location = add_named(profile, binary, i, names[i], names[i], 1);

		add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	}
	profile->event = string(profile, long_name);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, sizeof(names) / sizeof(names[0]));
	assert_null(label_of(&decoded, 3, "comm"));
	ASSERT_STRING(&decoded, decoded.mappings[3][5], "[jit]");
	ASSERT_STRING(&decoded, label_of(&decoded, 0, "comm")[2], "\xef\xbf\xbd\xef\xbf\xbd");
	decoded_done(&decoded);
}

/* Enough of everything that buffers fill, tables grow and lengths take several bytes. */
static struct profile *new_large_profile(void)
{
	struct profile *profile = new_profile();
	uint32_t x = 1;

	for (uint32_t i = 0; i < 300; i++) {
		struct profile_binary binary = { .kind = BINARY_LIBRARY };
		char name[64];
		uint32_t id;

		(void)snprintf(name, sizeof(name), "/usr/lib/lib%u.so", i);
		binary.path = string(profile, name);
		(void)build_id_set(&binary.build_id, &i, sizeof(i));
		assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
		for (uint32_t j = 0; j < 20; j++) {
			(void)snprintf(name, sizeof(name), "function_%u_%u", i, j);
			(void)add_named(profile, id, j * 16, name, "file.c", j + 1);
		}
	}
	for (uint32_t i = 0; i < 10000; i++) {
		struct profile_thread thread = { .tgid = i % 50, .tid = i % 100 };
		uint32_t stack[200], depth = 1 + i % 200;

		for (uint32_t j = 0; j + 1 < depth; j++) {
			x = x * 1664525 + 1013904223;
			stack[j] = (j < 100 ? j : x >> 8) % (300 * 20);
		}
		stack[depth - 1] = i % (300 * 20);
		add_sample(profile, add_stack(profile, stack, depth), &thread, 1 + i % 7);
	}
	return profile;
}

static void many_samples_pass(void **state)
{
	struct profile *profile = new_large_profile();
	uint64_t wanted = 0, sum = 0;
	struct decoded decoded;

	for (size_t i = 0; i < profile->samples.count; i++)
		wanted += profile->samples.items[i].count;
	round_trip(profile, &decoded);
	for (size_t i = 0; i < decoded.sample_count; i++)
		sum += decoded.samples[i].values[0];
	assert_int_equal(sum, wanted);
	assert_true(decoded.sample_count > 1000);
	assert_int_equal(decoded.mapping_count, 300);
	decoded_done(&decoded);
}

/* Their ids are texts of which the profile has none. */
static void many_spans_pass(void **state)
{
	struct profile *profile = new_profile();
	uint32_t location = add_location(profile, add_binary(profile, BINARY_LIBRARY, "/l"), 1);
	uint32_t node = add_stack(profile, &location, 1);
	const struct profile_thread thread = { .tgid = 1, .tid = 1 };
	struct decoded decoded;

	add_sample(profile, node, &thread, 65000);
	for (int i = 0; i < 5000; i++) {
		struct profile_sample sample = { .count = 1, .node = node };
		struct pilotlight_thread_context ids = { .trace_id = { 1 } };

		memcpy(ids.trace_id + 1, &i, sizeof(i));
		memcpy(ids.span_id, &(int){ i + 1 }, sizeof(i));
		profile->keeps_spans = true;
		profile_note_span(profile, &sample, &ids);
	}
	assert_int_equal(profile->spans.count, 5000);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 5001);
	decoded_done(&decoded);
}

static void same_profile_gives_same_bytes(void **state)
{
	struct profile *profiles[] = { new_large_profile(), new_large_profile() };
	struct output_memory memory[2];

	for (size_t i = 0; i < 2; i++) {
		write_to_memory(profiles[i], &memory[i]);
		profile_free(profiles[i]);
	}
	assert_int_equal(memory[0].size, memory[1].size);
	assert_memory_equal(memory[0].bytes, memory[1].bytes, memory[0].size);
	free(memory[0].bytes);
	free(memory[1].bytes);
}

static int refuse(void *context, const void *bytes, size_t size)
{
	size_t *calls_left = context;

	if (*calls_left == 0)
		return -EPIPE;
	(*calls_left)--;
	return 0;
}

static void errors_of_the_output_are_returned(void **state)
{
	struct profile *profile = new_large_profile();
	size_t calls, early = 0;

	for (calls = 0;; calls++) {
		size_t calls_left = calls;
		struct output output;
		int r, finished;

		output_init(&output, refuse, &calls_left);
		r = pprof_write(profile, PPROF_LABELS_ALL, &output);
		finished = output_finish(&output);
		if (finished == 0)
			break;
		assert_int_equal(finished, -EPIPE);
		/* What is in the buffer still is refused at the end only. */
		assert_true(r == 0 || r == -EPIPE);
		early += r == -EPIPE;
	}
	assert_true(early >= 2);
	profile_free(profile);
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;

	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 1;
	for (uint32_t i = 0; i < 200; i++) {
		struct profile_thread thread = { .tgid = i, .tid = i };
		uint32_t location;
		char name[300];

		(void)snprintf(name, sizeof(name), "%u%0200u", i, i);
		location = add_named(profile, binary, i, name, "file.c", 1);
		thread.comm = string(profile, name);
		(void)snprintf(name, sizeof(name), "/docker/%064x/%u%0150u.service", i, i, i);
		thread.exe = thread.cgroup = string(profile, name);
		add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	}
	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, output_to_memory, &memory),
						 pprof_write(profile, PPROF_LABELS_ALL, &output)),
			    -ENOMEM, true, 0) >= 20);
	free(memory.bytes);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_do_not_wrap),
		cmocka_unit_test(hostile_names_become_text),
		cmocka_unit_test(many_samples_pass),
		cmocka_unit_test(many_spans_pass),
		cmocka_unit_test(same_profile_gives_same_bytes),
		cmocka_unit_test(errors_of_the_output_are_returned),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
