/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof.h"
#include "tests/export/pprof_decoder.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <stdio.h>

enum { BUDGET = 64 << 20, OUTPUT_LIMIT = 64 << 20 };

static const struct pprof_options options = { .compression_level = 6 };

static uint32_t string(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_add_string(profile, text, &id), 0);
	return id;
}

static struct profile *new_profile(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(BUDGET, &profile), 0);
	profile->start_ns = 1790000000000000000;
	profile->end_ns = profile->start_ns + 2500000000;
	profile->period_ns = 10101010;
	profile->cpu_count = 4;
	profile->event = string(profile, "cpu-clock");
	return profile;
}

static uint32_t add_binary(struct profile *profile, enum binary_kind kind, const char *path)
{
	struct profile_binary binary = { .kind = kind, .path = string(profile, path) };
	uint32_t id;

	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	return id;
}

static uint32_t add_location(struct profile *profile, uint32_t binary, uint64_t address)
{
	uint32_t id;

	assert_int_equal(profile_add_location(profile, binary, address, &id), 0);
	return id;
}

static uint32_t add_named(struct profile *profile, uint32_t binary, uint64_t address,
	const char *name, const char *file, uint32_t line)
{
	struct profile_frame frame = {
		.function = string(profile, name),
		.file = string(profile, file),
		.line = line,
		.column = line / 2,
	};
	uint32_t id = add_location(profile, binary, address);

	assert_int_equal(profile_name_location(profile, id, &frame, 1), 0);
	return id;
}

/* A stack, root first. */
static uint32_t add_stack(struct profile *profile, const uint32_t *locations, size_t count)
{
	uint32_t node = PROFILE_ROOT;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(profile_add_node(profile, node, locations[i], &node), 0);
	return node;
}

static void add_sample(
	struct profile *profile, uint32_t node, const struct profile_thread *thread, uint64_t count)
{
	struct profile_sample sample = { .count = count, .node = node };

	assert_int_equal(profile_add_thread(profile, thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static void write_to_memory(const struct profile *profile, struct output_memory *memory)
{
	struct output output;

	*memory = (struct output_memory){ .limit_bytes = OUTPUT_LIMIT };
	output_init(&output, output_to_memory, memory);
	assert_int_equal(pprof_write(profile, &options, &output), 0);
	assert_int_equal(output_finish(&output), 0);
}

/* Writes, frees the profile, reads back and checks. */
static void round_trip(struct profile *profile, struct decoded *decoded)
{
	struct output_memory memory;

	write_to_memory(profile, &memory);
	profile_free(profile);
	decode(decoded, memory.bytes, memory.size);
	free(memory.bytes);
}

#define ASSERT_STRING(decoded, id, text) assert_true(decoded_string_is((decoded), (id), (text)))

static void assert_function(
	const struct decoded *decoded, const uint64_t *line, const char *name, const char *file)
{
	const uint64_t *function = decoded->functions[line[1] - 1];

	ASSERT_STRING(decoded, function[2], name);
	ASSERT_STRING(decoded, function[3], name);
	ASSERT_STRING(decoded, function[4], file);
}

/* The text of the "key=" comment, or a failure. */
static void assert_comment(const struct decoded *decoded, const char *text)
{
	for (size_t i = 0; i < decoded->comment_count; i++)
		if (decoded_string_is(decoded, decoded->comments[i], text))
			return;
	fail_msg("no comment says \"%s\"", text);
}

static const struct decoded_location *location_of(
	const struct decoded *decoded, size_t sample, size_t depth)
{
	assert_true(sample < decoded->sample_count);
	assert_true(depth < decoded->samples[sample].location_count);
	return &decoded->locations[decoded->samples[sample].locations[depth] - 1];
}

static const uint64_t *label_of(const struct decoded *decoded, size_t sample, const char *key)
{
	const struct decoded_sample *of = &decoded->samples[sample];

	for (size_t i = 0; i < of->label_count; i++)
		if (decoded_string_is(decoded, of->labels[i][1], key))
			return of->labels[i];
	return NULL;
}

static void says_what_it_is_of(void **state)
{
	struct profile *profile = new_profile();
	struct decoded decoded;

	(void)state;
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 0);
	ASSERT_STRING(&decoded, decoded.sample_types[0][1], "samples");
	ASSERT_STRING(&decoded, decoded.sample_types[0][2], "count");
	ASSERT_STRING(&decoded, decoded.sample_types[1][1], "cpu");
	ASSERT_STRING(&decoded, decoded.sample_types[1][2], "nanoseconds");
	ASSERT_STRING(&decoded, decoded.period_type[1], "cpu");
	ASSERT_STRING(&decoded, decoded.period_type[2], "nanoseconds");
	ASSERT_STRING(&decoded, decoded.own[14], "cpu");
	assert_int_equal(decoded.own[9], 1790000000000000000);
	assert_int_equal(decoded.own[10], 2500000000);
	assert_int_equal(decoded.own[12], 10101010);
	assert_comment(&decoded, "event=cpu-clock");
	assert_comment(&decoded, "rate_hz=99");
	assert_comment(&decoded, "cpus=4");
	assert_comment(&decoded, "fired=0");
	decoded_done(&decoded);
}

static void stacks_keep_their_places(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 4242, .tid = 4243, .comm = string(profile, "xz") };
	uint32_t kernel = add_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]");
	uint32_t program = add_binary(profile, BINARY_EXECUTABLE, "/usr/bin/xz");
	const struct decoded_location *location;
	const uint64_t *mapping, *label;
	struct decoded decoded;
	uint32_t stack[3];

	(void)state;
	for (uint8_t i = 0; i < BUILD_ID_BYTES; i++)
		profile->binaries.items[program].build_id.bytes[i] = (uint8_t)(0xf0 + i);
	profile->binaries.items[program].build_id.size = BUILD_ID_BYTES;
	profile->binaries.items[program].text_vaddr = 0x401000;
	profile->binaries.items[program].text_bytes = 0x2345;
	profile->binaries.items[program].text_offset = 0x1000;
	stack[0] = add_named(profile, program, 0x401234, "main", "xz.c", 30);
	stack[1] = add_location(profile, program, 0x402000);
	stack[2] = add_named(profile, kernel, 0x99, "do_syscall_64", "", 0);
	add_sample(profile, add_stack(profile, stack, 3), &thread, 7);
	round_trip(profile, &decoded);

	assert_int_equal(decoded.sample_count, 1);
	assert_int_equal(decoded.samples[0].location_count, 3);
	assert_int_equal(decoded.samples[0].values[0], 7);
	assert_int_equal(decoded.samples[0].values[1], 70707070);
	location = location_of(&decoded, 0, 0);
	assert_int_equal(location->address, 0x99);
	assert_function(&decoded, location->lines[0], "do_syscall_64", "");
	mapping = decoded.mappings[location->mapping - 1];
	ASSERT_STRING(&decoded, mapping[5], "[kernel.kallsyms]");
	assert_int_equal(mapping[6], 0);
	assert_int_equal(mapping[7], 1);
	assert_int_equal(location_of(&decoded, 0, 1)->address, 0x402000);
	assert_int_equal(location_of(&decoded, 0, 1)->line_count, 0);
	location = location_of(&decoded, 0, 2);
	assert_function(&decoded, location->lines[0], "main", "xz.c");
	assert_int_equal(location->lines[0][2], 30);
	assert_int_equal(location->lines[0][3], 15);
	mapping = decoded.mappings[location->mapping - 1];
	assert_int_equal(mapping[2], 0x401000);
	assert_int_equal(mapping[3], 0x403345);
	assert_int_equal(mapping[4], 0x1000);
	ASSERT_STRING(&decoded, mapping[5], "/usr/bin/xz");
	ASSERT_STRING(&decoded, mapping[6], "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203");
	assert_int_equal(mapping[7], 0);

	assert_int_equal(decoded.samples[0].label_count, 3);
	label = label_of(&decoded, 0, "comm");
	assert_non_null(label);
	ASSERT_STRING(&decoded, label[2], "xz");
	assert_int_equal(label_of(&decoded, 0, "pid")[3], 4242);
	assert_int_equal(label_of(&decoded, 0, "tid")[3], 4243);
	decoded_done(&decoded);
}

static void inlined_frames_stay_innermost_first(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	uint32_t program = add_binary(profile, BINARY_LIBRARY, "/lib/x.so");
	uint32_t location = add_location(profile, program, 0x10);
	struct profile_frame frames[] = {
		{ .function = string(profile, "inner"), .file = string(profile, "a.h"), .line = 3 },
		{ .function = string(profile, "middle"),
			.file = string(profile, "b.h"),
			.line = 4 },
		{ .function = string(profile, "outer"), .file = string(profile, "c.c"), .line = 5 },
	};
	const struct decoded_location *found;
	struct decoded decoded;

	(void)state;
	assert_int_equal(profile_name_location(profile, location, frames, 3), 0);
	add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	round_trip(profile, &decoded);
	found = location_of(&decoded, 0, 0);
	assert_int_equal(found->line_count, 3);
	assert_function(&decoded, found->lines[0], "inner", "a.h");
	assert_function(&decoded, found->lines[1], "middle", "b.h");
	assert_function(&decoded, found->lines[2], "outer", "c.c");
	assert_int_equal(found->lines[0][2], 3);
	assert_int_equal(found->lines[2][2], 5);
	for (size_t claim = 7; claim <= 10; claim++)
		assert_int_equal(decoded.mappings[0][claim], 1);
	decoded_done(&decoded);
}

/* Names, files and lines each are claimed only if none is missing; decode() holds them to it. */
static void mappings_claim_what_all_locations_have(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	const char *const paths[] = { "/all", "/no-file", "/no-line", "/no-name", "/only-a-file" };
	struct decoded decoded;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		uint32_t binary = add_binary(profile, BINARY_LIBRARY, paths[i]);
		uint32_t stack[3];

		stack[0] = add_named(profile, binary, 1, "f", "f.c", 1);
		stack[1] = add_named(
			profile, binary, 2, i == 4 ? "" : "g", i == 1 ? "" : "g.c", i == 2 ? 0 : 2);
		stack[2] = i == 3 ? add_location(profile, binary, 3) : stack[0];
		add_sample(profile, add_stack(profile, stack, 3), &thread, 1);
	}
	round_trip(profile, &decoded);
	for (size_t i = 0; i < 5; i++) {
		const uint64_t *mapping = decoded.mappings[i];

		ASSERT_STRING(&decoded, mapping[5], paths[i]);
		assert_int_equal(mapping[7], i < 3);
		assert_int_equal(mapping[8], i == 0 || i == 2 || i == 4);
		assert_int_equal(mapping[9], i == 0 || i == 1 || i == 4);
		assert_int_equal(mapping[10], 0);
	}
	decoded_done(&decoded);
}

/* decode() fails on a mapping, location or function that no sample uses. */
static void what_no_sample_uses_is_left_out(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	uint32_t unused = add_binary(profile, BINARY_LIBRARY, "/unused");
	uint32_t used = add_binary(profile, BINARY_LIBRARY, "/used");
	uint32_t gone = add_named(profile, unused, 5, "unused_function", "unused.c", 1);
	uint32_t here = add_named(profile, used, 5, "f", "f.c", 1);
	struct decoded decoded;

	(void)state;
	(void)add_named(profile, used, 6, "another_unused_function", "f.c", 1);
	add_sample(profile, add_stack(profile, &gone, 1), &thread, 0);
	add_sample(profile, add_stack(profile, &here, 1), &thread, 1);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 1);
	assert_int_equal(decoded.location_count, 1);
	assert_int_equal(decoded.mapping_count, 1);
	for (size_t i = 0; i < decoded.string_count; i++)
		assert_null(memmem(decoded.strings[i].next,
			(size_t)(decoded.strings[i].end - decoded.strings[i].next), "unused", 6));
	decoded_done(&decoded);
}

static void synthetic_frames_have_no_mapping(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	const struct decoded_location *location;
	struct decoded decoded;
	uint32_t truncated;

	(void)state;
	assert_int_equal(profile_add_synthetic(profile, "[truncated: depth]", &truncated), 0);
	add_sample(profile, add_stack(profile, &truncated, 1), &thread, 2);
	add_sample(profile, PROFILE_ROOT, &thread, 3);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 2);
	assert_int_equal(decoded.mapping_count, 0);
	location = location_of(&decoded, 0, 0);
	assert_int_equal(decoded.samples[0].values[0], 3);
	assert_function(&decoded, location->lines[0], "[unknown]", "");
	location = location_of(&decoded, 1, 0);
	assert_int_equal(location->mapping, 0);
	assert_int_equal(location->address, 0);
	assert_function(&decoded, location->lines[0], "[truncated: depth]", "");
	decoded_done(&decoded);
}

static void losses_are_drawn_and_the_accounts_close(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	bool ring_full_seen = false;
	struct decoded decoded;
	uint64_t sum = 0;

	(void)state;
	profile->accounts.fired = 1000;
	profile->accounts.stored[PILOTLIGHT_PATH_MAP] = 90;
	profile->accounts.stored[PILOTLIGHT_PATH_RING] = 10;
	profile->accounts.dropped[PILOTLIGHT_DROP_IDLE] = 800;
	profile->accounts.dropped[PILOTLIGHT_DROP_FILTERED] = 50;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 30;
	profile->accounts.dropped[PILOTLIGHT_DROP_PROFILE_FULL] = 20;
	add_sample(profile, add_stack(profile, &location, 1), &thread, 100);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 3);
	for (size_t i = 0; i < decoded.sample_count; i++) {
		const struct decoded_location *found = location_of(&decoded, i, 0);

		sum += decoded.samples[i].values[0];
		if (found->line_count == 0)
			continue;
		assert_int_equal(decoded.samples[i].label_count, 0);
		if (!decoded_string_is(&decoded, decoded.functions[found->lines[0][1] - 1][2],
			    "[lost: ring full]"))
			continue;
		assert_int_equal(decoded.samples[i].values[0], 30);
		assert_int_equal(decoded.samples[i].values[1], 30 * UINT64_C(10101010));
		ring_full_seen = true;
	}
	assert_true(ring_full_seen);
	assert_int_equal(sum, 150);
	assert_comment(&decoded, "fired=1000");
	assert_comment(&decoded, "stored=100");
	assert_comment(&decoded, "dropped idle=800");
	assert_comment(&decoded, "dropped filtered=50");
	assert_comment(&decoded, "dropped ring full=30");
	assert_comment(&decoded, "dropped malformed=0");
	assert_comment(&decoded, "dropped profile full=20");
	decoded_done(&decoded);
}

static void equal_labels_and_stacks_are_one_sample(void **state)
{
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t locations[] = { add_location(profile, binary, 1),
		add_location(profile, binary, 2) };
	uint32_t comms[] = { string(profile, "a"), string(profile, "b") };
	struct decoded decoded;
	uint64_t sum = 0;

	(void)state;
	/* Four kinds by stack and comm, each in three processes that differ in their start only. */
	for (uint64_t start = 0; start < 3; start++)
		for (uint32_t i = 0; i < 4; i++) {
			struct profile_thread thread = {
				.process_start_ns = start,
				.tgid = 1,
				.tid = 1,
				.comm = comms[i / 2],
			};

			add_sample(profile, add_stack(profile, &locations[i % 2], 1), &thread,
				100 * start + i);
		}
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 4);
	for (size_t i = 0; i < 4; i++)
		sum += decoded.samples[i].values[0];
	assert_int_equal(sum, 4 * 300 + 3 * 6);
	decoded_done(&decoded);
}

static void values_do_not_wrap(void **state)
{
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, UINT64_MAX);
	struct decoded decoded;

	(void)state;
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

	(void)state;
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

	(void)state;
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

static void same_profile_gives_same_bytes(void **state)
{
	struct profile *profiles[] = { new_large_profile(), new_large_profile() };
	struct output_memory memory[2];

	(void)state;
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

	(void)bytes;
	(void)size;
	if (*calls_left == 0)
		return -EPIPE;
	(*calls_left)--;
	return 0;
}

static void errors_of_the_output_are_returned(void **state)
{
	struct profile *profile = new_large_profile();
	size_t calls, early = 0;

	(void)state;
	for (calls = 0;; calls++) {
		size_t calls_left = calls;
		struct output output;
		int r, finished;

		output_init(&output, refuse, &calls_left);
		r = pprof_write(profile, &options, &output);
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
	size_t n;
	int r;

	(void)state;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 1;
	for (uint32_t i = 0; i < 200; i++) {
		struct profile_thread thread = { .tgid = i, .tid = i };
		uint32_t location;
		char name[300];

		(void)snprintf(name, sizeof(name), "%u%0200u", i, i);
		location = add_named(profile, binary, i, name, "file.c", 1);
		thread.comm = string(profile, name);
		add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	}
	for (n = 0;; n++) {
		output_init(&output, output_to_memory, &memory);
		fail_allocation(n);
		r = pprof_write(profile, &options, &output);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 20);
	free(memory.bytes);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_it_is_of),
		cmocka_unit_test(stacks_keep_their_places),
		cmocka_unit_test(inlined_frames_stay_innermost_first),
		cmocka_unit_test(mappings_claim_what_all_locations_have),
		cmocka_unit_test(what_no_sample_uses_is_left_out),
		cmocka_unit_test(synthetic_frames_have_no_mapping),
		cmocka_unit_test(losses_are_drawn_and_the_accounts_close),
		cmocka_unit_test(equal_labels_and_stacks_are_one_sample),
		cmocka_unit_test(values_do_not_wrap),
		cmocka_unit_test(hostile_names_become_text),
		cmocka_unit_test(many_samples_pass),
		cmocka_unit_test(same_profile_gives_same_bytes),
		cmocka_unit_test(errors_of_the_output_are_returned),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
