/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a profile becomes in pprof. */
#include "base/array.h"
#include "tests/export/pprof_profile.h"

static void says_what_it_is_of(void **state)
{
	struct profile *profile = new_profile();
	struct decoded decoded;

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

static void other_sources_have_their_types(void **state)
{
	static const struct {
		const char *event, *type, *unit;
	} cases[] = {
		{ "cycles", "cpu", "nanoseconds" },
		{ "offcpu", "off_cpu", "nanoseconds" },
		{ "runqueue", "run_queue", "nanoseconds" },
		{ "wall", "wall", "nanoseconds" },
		{ "faults", "page_faults", "count" },
		{ "cache-misses", "cache_misses", "count" },
		{ "sched:sched_process_exec", "sched_sched_process_exec", "count" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *profile = new_profile();
		struct decoded decoded;

		profile->event = string(profile, cases[i].event);
		round_trip(profile, &decoded);
		ASSERT_STRING(&decoded, decoded.sample_types[1][1], cases[i].type);
		ASSERT_STRING(&decoded, decoded.sample_types[1][2], cases[i].unit);
		ASSERT_STRING(&decoded, decoded.period_type[1], cases[i].type);
		ASSERT_STRING(&decoded, decoded.period_type[2], cases[i].unit);
		ASSERT_STRING(&decoded, decoded.own[14], cases[i].type);
		assert_int_equal(decoded.own[12], 10101010);
		decoded_done(&decoded);
	}
}

/* Gaps are not of the time that the samples are held against, and no rate is kept silent about. */
static void the_duration_is_what_was_recorded(void **state)
{
	struct profile *profile = new_profile();
	struct decoded decoded;

	profile->covered_ns = 1500000000;
	profile->longest_period_ns = 100000000;
	round_trip(profile, &decoded);
	assert_int_equal(decoded.own[10], 1500000000);
	assert_comment(&decoded, "rate_hz=99");
	assert_comment(&decoded, "lowest_rate_hz=10");
	decoded_done(&decoded);
}

static void stacks_keep_their_places(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = {
		.tgid = 4242, .tid = 4243, .owner = 1001, .comm = string(profile, "xz")
	};
	uint32_t kernel = add_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]");
	uint32_t program = add_binary(profile, BINARY_EXECUTABLE, "/usr/bin/xz");
	const struct decoded_location *location;
	const uint64_t *mapping, *label;
	struct decoded decoded;
	uint32_t stack[3];

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

	assert_int_equal(decoded.samples[0].label_count, 4);
	label = label_of(&decoded, 0, "comm");
	assert_non_null(label);
	ASSERT_STRING(&decoded, label[2], "xz");
	assert_int_equal(label_of(&decoded, 0, "pid")[3], 4242);
	assert_int_equal(label_of(&decoded, 0, "tid")[3], 4243);
	assert_int_equal(label_of(&decoded, 0, "user")[3], 1000);
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

static void assert_label(
	const struct decoded *decoded, size_t sample, const char *key, const char *text)
{
	const uint64_t *label = label_of(decoded, sample, key);

	if (!text) {
		assert_null(label);
		return;
	}
	assert_non_null(label);
	ASSERT_STRING(decoded, label[2], text);
	assert_int_equal(label[3], 0);
}

static void labels_say_whose_a_sample_is(void **state)
{
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *exe, *cgroup, *unit, *container;
		size_t labels;
	} cases[] = {
		{ "/usr/sbin/nginx", "/system.slice/nginx.service", "nginx.service", NULL, 6 },
		{ "/bin/app", "/system.slice/docker-" CONTAINER ".scope",
			"docker-" CONTAINER ".scope", CONTAINER, 7 },
		{ "/bin/app", "/docker/" CONTAINER, NULL, CONTAINER, 6 },
		{ "", "/", NULL, NULL, 4 },
		{ "/bin/sh", "", NULL, NULL, 4 },
		{ "", "", NULL, NULL, 3 },
	};
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	struct decoded decoded;

	/* Twice, since what a cgroup says is remembered. */
	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		uint32_t location = add_location(profile, binary, i);
		struct profile_thread thread = {
			.tgid = 7,
			.tid = 7,
			.comm = string(profile, "a"),
			.exe = string(profile, cases[i / 2].exe),
			.cgroup = string(profile, cases[i / 2].cgroup),
		};

		add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	}
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 2 * ARRAY_SIZE(cases));
	for (size_t i = 0; i < decoded.sample_count; i++) {
		const char *exe = cases[i / 2].exe, *cgroup = cases[i / 2].cgroup;

		assert_label(&decoded, i, "executable", *exe ? exe : NULL);
		assert_label(&decoded, i, "cgroup", *cgroup ? cgroup : NULL);
		assert_label(&decoded, i, "unit", cases[i / 2].unit);
		assert_label(&decoded, i, "container", cases[i / 2].container);
		assert_int_equal(decoded.samples[i].label_count, cases[i / 2].labels);
	}
	decoded_done(&decoded);
}

/* A part of a sample's counts for each span, and what is left without one. */
static void spans_are_labels(void **state)
{
	static const struct {
		uint64_t count;
		const char *trace, *span;
	} expected[] = {
		{ 3, "11111111111111111111111111111111", "2222222222222222" },
		{ 4, "11111111111111111111111111111111", "3333333333333333" },
		{ 5, NULL, NULL },
	};
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 7, .tid = 7, .comm = string(profile, "a") };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	struct decoded decoded;

	add_sample(profile, node, &thread, 12);
	add_span(profile, node, &thread, 4, 0x11, 0x33);
	add_span(profile, node, &thread, 3, 0x11, 0x22);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < decoded.sample_count; i++) {
		assert_int_equal(decoded.samples[i].values[0], expected[i].count);
		assert_label(&decoded, i, "trace_id", expected[i].trace);
		assert_label(&decoded, i, "span_id", expected[i].span);
	}
	decoded_done(&decoded);
}

/* Threads that were made one have neither number, and are told apart by what is left. */
static void merged_threads_have_no_numbers(void **state)
{
	static const char *const exes[] = { "/bin/a", "/bin/a", "/bin/b" };
	static const char *const cgroups[] = { "/x", "/y", "/x" };
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	struct decoded decoded;

	for (size_t i = 0; i < ARRAY_SIZE(exes); i++) {
		struct profile_thread thread = {
			.comm = string(profile, "a"),
			.exe = string(profile, exes[i]),
			.cgroup = string(profile, cgroups[i]),
		};

		add_sample(profile, node, &thread, i + 1);
	}
	/* The kernel's own: a process without a thread's number is one all the same. */
	add_sample(profile, node, &(struct profile_thread){ .tid = 2, .owner = 1 }, 10);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(decoded.samples[i].values[0], i + 1);
		assert_null(label_of(&decoded, i, "pid"));
		assert_null(label_of(&decoded, i, "tid"));
		assert_null(label_of(&decoded, i, "user"));
		assert_label(&decoded, i, "executable", exes[i]);
		assert_label(&decoded, i, "cgroup", cgroups[i]);
	}
	assert_int_equal(label_of(&decoded, 3, "pid")[3], 0);
	assert_int_equal(label_of(&decoded, 3, "tid")[3], 2);
	assert_int_equal(label_of(&decoded, 3, "user")[3], 0);
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

#define POD "/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice"
static const struct service {
	const char *cgroup, *unit, *container, *pod;
} services[] = {
	{ "/system.slice/nginx.service", "nginx.service", NULL, NULL },
	{ "/docker/" CONTAINER, NULL, CONTAINER, NULL },
	{ POD "/cri-containerd-" CONTAINER ".scope", "cri-containerd-" CONTAINER ".scope",
		CONTAINER, "01234567-89ab-cdef-0123-456789abcdef" },
	{ "/", NULL, NULL, NULL },
};

/* One sample has this count, and its labels are those of the service and no others. */
static void assert_service(
	const struct decoded *decoded, const struct service *service, uint64_t count)
{
	const char *const texts[] = { service->unit, service->container, service->pod };
	size_t labels = 0, j = 0;

	while (j < decoded->sample_count && decoded->samples[j].values[0] != count)
		j++;
	assert_true(j < decoded->sample_count);
	assert_label(decoded, j, "unit", texts[0]);
	assert_label(decoded, j, "container", texts[1]);
	assert_label(decoded, j, "pod", texts[2]);
	for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
		labels += texts[k] != NULL;
	assert_int_equal(decoded->samples[j].label_count, labels);
}

/* A collector makes a series of each distinct set: hundreds of processes give one a service. */
static void scraped_labels_are_those_of_services(void **state)
{
	enum { PROCESSES = 400, SERVICES = ARRAY_SIZE(services) };
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	uint64_t counts[SERVICES] = { 0 };
	struct output_memory memory;
	struct decoded decoded;

	for (uint32_t i = 0; i < PROCESSES; i++) {
		char text[64];
		struct profile_thread thread = {
			.tgid = 1000 + i,
			.tid = 2000 + i,
			.cgroup = string(profile, services[i % SERVICES].cgroup),
		};

		(void)snprintf(text, sizeof(text), "worker/%u", i);
		thread.comm = string(profile, text);
		(void)snprintf(text, sizeof(text), "/opt/%u/bin/worker", i);
		thread.exe = string(profile, text);
		add_sample(profile, node, &thread, i);
		counts[i % SERVICES] += i;
	}
	write_with(profile, PPROF_LABELS_SERVICE, &memory);
	profile_free(profile);
	decode(&decoded, memory.bytes, memory.size);
	free(memory.bytes);
	assert_int_equal(decoded.sample_count, SERVICES);
	for (size_t i = 0; i < SERVICES; i++)
		assert_service(&decoded, &services[i], counts[i]);
	decoded_done(&decoded);
}

/* Each comm is one location, the outermost of its stacks, also of a sample without a stack. */
static void comms_can_be_roots(void **state)
{
	static const char *const comms[] = { "a", "b", "a", "" };
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_named(profile, binary, 1, "_start", "", 0);
	uint32_t node = add_stack(profile, &location, 1);
	struct output_memory memory;
	struct decoded decoded;

	for (uint32_t i = 0; i < ARRAY_SIZE(comms); i++) {
		struct profile_thread thread = {
			.tgid = 4 - i, .tid = 4 - i, .comm = string(profile, comms[i])
		};

		add_sample(profile, i == 3 ? PROFILE_ROOT : node, &thread, 1 + i);
	}
	write_with(profile, PPROF_LABELS_ROOTS, &memory);
	profile_free(profile);
	decode(&decoded, memory.bytes, memory.size);
	free(memory.bytes);
	assert_int_equal(decoded.sample_count, 4);
	/* "_start", the three comms, and the frame of no stack. */
	assert_int_equal(decoded.location_count, 5);
	for (size_t i = 0; i < 4; i++) {
		const struct decoded_location *root = location_of(&decoded, i, 1);

		assert_int_equal(decoded.samples[i].location_count, 2);
		assert_int_equal(root->mapping, 0);
		assert_non_null(label_of(&decoded, i, "pid"));
		assert_function(&decoded, root->lines[0],
			i == 0 ? "[unknown]"
			: decoded_string_is(&decoded, label_of(&decoded, i, "comm")[2], "b") ? "b"
											     : "a",
			"");
	}
	decoded_done(&decoded);
}

/* A function that is named by its place has a name, but a receiver may find a better one. */
static void places_are_functions_without_a_claim(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .comm = string(profile, "a") };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/usr/lib/liblzma.so.5");
	uint32_t location =
		add_named(profile, binary, 0x1240, "[liblzma.so.5 function at +0x1234]", "", 0);
	struct decoded decoded;

	add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	round_trip(profile, &decoded);
	assert_function(&decoded, location_of(&decoded, 0, 0)->lines[0],
		"[liblzma.so.5 function at +0x1234]", "");
	assert_int_equal(decoded.mappings[0][7], 0);
	decoded_done(&decoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_it_is_of),
		cmocka_unit_test(other_sources_have_their_types),
		cmocka_unit_test(the_duration_is_what_was_recorded),
		cmocka_unit_test(stacks_keep_their_places),
		cmocka_unit_test(inlined_frames_stay_innermost_first),
		cmocka_unit_test(mappings_claim_what_all_locations_have),
		cmocka_unit_test(what_no_sample_uses_is_left_out),
		cmocka_unit_test(synthetic_frames_have_no_mapping),
		cmocka_unit_test(losses_are_drawn_and_the_accounts_close),
		cmocka_unit_test(labels_say_whose_a_sample_is),
		cmocka_unit_test(spans_are_labels),
		cmocka_unit_test(merged_threads_have_no_numbers),
		cmocka_unit_test(equal_labels_and_stacks_are_one_sample),
		cmocka_unit_test(scraped_labels_are_those_of_services),
		cmocka_unit_test(comms_can_be_roots),
		cmocka_unit_test(places_are_functions_without_a_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
