/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "export/otlp.h"
#include "tests/export/otlp_reading.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <stdio.h>

/* Three services, and threads without one; two losses. */
static struct profile *busy_profile(void)
{
	struct profile *profile = new_profile();
	uint32_t kernel = add_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]");
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	struct profile_binary program = { .kind = BINARY_EXECUTABLE,
		.path = string(profile, "/usr/bin/prog"),
		.build_id = { .size = 4, .bytes = { 0xde, 0xad, 0xbe, 0xef } },
		.text_vaddr = 0x1000,
		.text_bytes = 0x2000,
		.text_offset = 0x400 };
	const char *const cgroups[] = { "/", "/system.slice/nginx.service",
		"/system.slice/docker-" CONTAINER ".scope", "/system.slice/nginx.service/worker" };
	uint32_t locations[3], binary;

	assert_int_equal(profile_add_binary(profile, &program, &binary), 0);
	locations[0] = add_named(profile, binary, 0x1100, "main", "main.c", 7);
	locations[1] = add_location(profile, jit, 0x7000);
	locations[2] = add_named(profile, kernel, 0x20, "schedule", "", 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct profile_thread thread = { .tgid = 10 + i,
			.tid = 20 + i,
			.comm = string(profile, "thr\xc3\xa4"
						"d"),
			.exe = string(profile, "/usr/bin/prog"),
			.cgroup = string(profile, cgroups[i]) };

		add_sample(profile, add_stack(profile, locations, 3), &thread, 1U << i);
		add_sample(profile, add_stack(profile, locations, 1), &thread, 16U << i);
	}
	add_sample(profile, PROFILE_ROOT, &(struct profile_thread){ .tid = 1 }, 256);
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 1000;
	return profile;
}

static void all_resources_have_the_attributes(void **state)
{
	struct read read;

	write_and_read(busy_profile(), PPROF_LABELS_SERVICE, "host", &read);
	for (size_t i = 0; i < read.resources.count; i++) {
		assert_string_equal(resource_attribute(&read, i, "host.id"), "0123");
		assert_string_equal(resource_attribute(&read, i, "zone"), "a=b");
		assert_null(resource_attribute(&read, i, "nothing"));
	}
	free(read.bytes);
}

static void each_service_is_a_resource(void **state)
{
	struct read read;
	size_t nginx, none;

	write_and_read(busy_profile(), PPROF_LABELS_SERVICE, "h\xc3\xb6st", &read);
	assert_int_equal(read.resources.count, 3);
	nginx = resource_of(&read, "nginx");
	none = resource_of(&read, "unknown_service");
	assert_int_equal(all_of(profile_of(&read, nginx), 2).count, 2);
	assert_true(has_sample(&read, nginx, "schedule;0x7000;main; 10"));
	assert_true(has_sample(&read, nginx, "main; 160"));
	assert_int_equal(all_of(profile_of(&read, none), 2).count, 4);
	assert_true(has_sample(&read, none, "main; 16"));
	assert_true(has_sample(&read, none, "[unknown]; 256"));
	assert_true(has_sample(&read, none, "[lost: ring full]; 1000"));
	assert_string_equal(resource_attribute(&read, nginx, "host.name"), "h\xc3\xb6st");
	assert_string_equal(resource_attribute(&read, nginx, "os.type"), "linux");
	assert_null(resource_attribute(&read, nginx, "container.id"));
	assert_string_equal(resource_attribute(&read, resource_of(&read, "container-0123456789ab"),
				    "container.id"),
		CONTAINER);
	/* Only what samples have in common. */
	for (size_t i = 0; i < all_of(profile_of(&read, nginx), 2).count; i++)
		assert_int_equal(all_of(all_of(profile_of(&read, nginx), 2).items[i], 2).count, 0);
	free(read.bytes);
}

/* Below their own systemd users make cgroups of any name, such as that of another one's pod. */
#define CLAIMED                                          \
	"/user.slice/user-1000.slice/user@1000.service/" \
	"kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/docker-" CONTAINER ".scope"

static struct profile *claiming_profile(void)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tgid = 1, .tid = 1, .cgroup = string(profile, CLAIMED) };
	uint32_t location =
		add_named(profile, add_binary(profile, BINARY_JIT, ""), 1, "main", "", 0);

	add_sample(profile, add_stack(profile, &location, 1), &thread, 3);
	return profile;
}

static void a_user_cannot_claim_a_container(void **state)
{
	struct read read;

	write_and_read(claiming_profile(), PPROF_LABELS_SERVICE, "host", &read);
	assert_int_equal(read.resources.count, 1);
	assert_string_equal(resource_attribute(&read, 0, "service.name"), "user@1000");
	assert_null(resource_attribute(&read, 0, "container.id"));
	assert_null(resource_attribute(&read, 0, "k8s.pod.uid"));
	free(read.bytes);
}

/* "key=value", in the order of the message. */
static const char *attributes_text(const struct read *read, struct wire wire, uint64_t number)
{
	static char text[512];
	uint64_t attributes[ITEMS_MAX];
	size_t count = packed_of(wire, number, attributes), used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		struct wire attribute = element(read, ATTRIBUTE, attributes[i]);
		struct wire value = only(attribute, 2);
		struct items texts = all_of(value, 1);

		used += (size_t)sprintf(
			text + used, "%s=", string_at(read, number_of(attribute, 1)));
		used += texts.count > 0
				? (size_t)sprintf(text + used, "%s ", text_of(texts.items[0]))
				: (size_t)sprintf(text + used, "%llu ",
					  (unsigned long long)number_of(value, 3));
	}
	return text;
}

static void threads_are_attributes_of_samples(void **state)
{
	struct read read;
	struct items samples;

	write_and_read(busy_profile(), PPROF_LABELS_ALL, NULL, &read);
	samples = all_of(profile_of(&read, resource_of(&read, "nginx")), 2);
	assert_int_equal(samples.count, 4);
	assert_string_equal(attributes_text(&read, samples.items[0], 2),
		"thread.name=thr\xc3\xa4"
		"d thread.id=21 process.pid=11 "
		"process.executable.path=/usr/bin/prog ");
	assert_null(resource_attribute(&read, 0, "host.name"));
	free(read.bytes);
}

static void spans_are_links(void **state)
{
	struct profile *profile = new_profile();
	struct profile_thread thread = { .tid = 1 };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	uint64_t values[ITEMS_MAX];
	struct items samples;
	struct read read;

	add_sample(profile, node, &thread, 12);
	add_span(profile, node, &thread, 4, 0x11, 0x22);
	write_and_read(profile, PPROF_LABELS_SERVICE, NULL, &read);
	samples = all_of(profile_of(&read, 0), 2);
	assert_int_equal(samples.count, 2);
	assert_int_equal(read.tables[LINK].count, 2);
	assert_int_equal(*only(element(&read, LINK, 1), 1).next, 0x11);
	assert_int_equal(*only(element(&read, LINK, 1), 2).next, 0x22);
	assert_int_equal(number_of(samples.items[0], 3), 1);
	assert_int_equal(number_of(samples.items[1], 3), 0);
	(void)packed_of(samples.items[0], 4, values);
	assert_int_equal(values[0], 4);
	(void)packed_of(samples.items[1], 4, values);
	assert_int_equal(values[0], 8);
	free(read.bytes);
}

/* Counts with a time are in a profile of their own, whose duration has no gaps left out. */
static void times_have_a_profile_of_their_own(void **state)
{
	struct profile *profile = new_profile();
	const uint64_t start_ns = profile->start_ns;
	struct profile_thread threads[] = { { .tid = 1 }, { .tid = 2 } };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	uint64_t values[ITEMS_MAX], times[ITEMS_MAX];
	struct items profiles, samples;
	struct wire ids[2];
	struct read read;

	profile->covered_ns = 1000000000;
	add_sample(profile, node, &threads[0], 12);
	add_sample(profile, node, &threads[1], 2);
	add_stamp(profile, node, &threads[0], 4, start_ns + 2000000000);
	add_stamp(profile, node, &threads[0], 3, start_ns);
	add_stamp(profile, node, &threads[1], 2, start_ns + 10000000);
	write_and_read(profile, PPROF_LABELS_ALL, NULL, &read);
	assert_int_equal(read.resources.count, 1);
	profiles = profiles_of(&read, 0);
	assert_int_equal(profiles.count, 2);
	assert_int_equal(number_of(profiles.items[0], 4), 2500000000);
	samples = all_of(profiles.items[0], 2);
	assert_int_equal(samples.count, 2);
	assert_int_equal(packed_of(samples.items[0], 4, values), 2);
	assert_int_equal(times_of(samples.items[0], times), 2);
	assert_int_equal(values[0], 3);
	assert_int_equal(times[0], start_ns);
	assert_int_equal(values[1], 4);
	assert_int_equal(times[1], start_ns + 2000000000);
	assert_int_equal(packed_of(samples.items[1], 4, values), 1);
	assert_int_equal(times_of(samples.items[1], times), 1);
	assert_int_equal(values[0], 2);
	assert_int_equal(times[0], start_ns + 10000000);
	assert_int_equal(number_of(profiles.items[1], 4), 1000000000);
	samples = all_of(profiles.items[1], 2);
	assert_int_equal(samples.count, 1);
	assert_int_equal(packed_of(samples.items[0], 4, values), 1);
	assert_int_equal(values[0], 5);
	for (size_t i = 0; i < 2; i++)
		ids[i] = only(profiles.items[i], 7);
	assert_memory_not_equal(ids[0].next, ids[1].next, 16);
	free(read.bytes);
}

/* A program of a unit, and one of which nothing else tells the service. */
static struct profile *profile_with_claims(void)
{
	struct profile *profile = new_profile();
	struct profile_thread threads[] = {
		{ .tid = 1,
			.cgroup = string(profile, "/system.slice/nginx.service"),
			.claims = string(profile, "bank,vault") },
		{ .tid = 2,
			.cgroup = string(profile, "/"),
			.claims = string(profile, "checkout,shop,production") },
	};
	uint32_t location = add_location(profile, add_binary(profile, BINARY_LIBRARY, "/l"), 1);
	uint32_t node = add_stack(profile, &location, 1);

	for (size_t i = 0; i < 2; i++)
		add_sample(profile, node, &threads[i], 1);
	return profile;
}

static void claims_never_win(void **state)
{
	struct read read;
	uint64_t nginx, checkout;

	write_and_read(profile_with_claims(), PPROF_LABELS_ALL, NULL, &read);
	assert_int_equal(read.resources.count, 2);
	nginx = resource_of(&read, "nginx");
	assert_null(resource_attribute(&read, nginx, "service.namespace"));
	assert_string_equal(attributes_text(&read, all_of(profile_of(&read, nginx), 2).items[0], 2),
		"thread.id=1 claimed.service.name=bank claimed.service.namespace=vault ");
	checkout = resource_of(&read, "checkout");
	assert_string_equal(resource_attribute(&read, checkout, "service.namespace"), "shop");
	assert_string_equal(
		resource_attribute(&read, checkout, "deployment.environment.name"), "production");
	assert_string_equal(
		attributes_text(&read, all_of(profile_of(&read, checkout), 2).items[0], 2),
		"thread.id=2 claimed.service.name=checkout claimed.service.namespace=shop "
		"claimed.deployment.environment.name=production ");
	free(read.bytes);
}

static void code_keeps_its_place(void **state)
{
	struct read read;
	bool has_native = false, has_kernel = false;

	write_and_read(busy_profile(), PPROF_LABELS_SERVICE, NULL, &read);
	assert_int_equal(read.tables[MAPPING].count, 4);
	for (size_t i = 1; i < read.tables[LOCATION].count; i++) {
		struct wire location = element(&read, LOCATION, i), mapping;
		const char *attributes = attributes_text(&read, location, 4);

		has_kernel |= strcmp(attributes, "profile.frame.type=kernel ") == 0;
		if (strcmp(attributes, "profile.frame.type=native ") != 0)
			continue;
		has_native = true;
		assert_int_equal(number_of(location, 2), 0x1100);
		assert_int_equal(number_of(only(location, 3), 2), 7);
		mapping = element(&read, MAPPING, number_of(location, 1));
		assert_int_equal(number_of(mapping, 1), 0x1000);
		assert_int_equal(number_of(mapping, 2), 0x3000);
		assert_int_equal(number_of(mapping, 3), 0x400);
		assert_string_equal(string_at(&read, number_of(mapping, 4)), "/usr/bin/prog");
		assert_string_equal(attributes_text(&read, mapping, 5),
			"process.executable.build_id.gnu=deadbeef ");
	}
	assert_true(has_native && has_kernel);
	free(read.bytes);
}

static void interpreted_code_names_its_runtime(void **state)
{
	struct profile *profile = new_profile();
	uint32_t binary = add_binary(profile, BINARY_PYTHON, "/usr/bin/python3");
	uint32_t location = add_named(profile, binary, 0x1100, "main", "main.py", 7);
	struct profile_thread thread = { .tgid = 10, .tid = 10 };
	struct read read;
	size_t count = 0;

	add_sample(profile, add_stack(profile, &location, 1), &thread, 1);
	write_and_read(profile, PPROF_LABELS_SERVICE, NULL, &read);
	for (size_t i = 1; i < read.tables[LOCATION].count; i++)
		count += strcmp(attributes_text(&read, element(&read, LOCATION, i), 4),
				 "profile.frame.type=cpython ") == 0;
	assert_int_equal(count, 1);
	free(read.bytes);
}

static void the_source_decides_the_types(void **state)
{
	static const struct {
		const char *event, *type, *unit, *period_type, *period_unit;
		uint64_t period, value;
	} cases[] = {
		{ "cycles", "samples", "count", "cpu", "nanoseconds", 10101010, 16 },
		{ "offcpu", "off_cpu", "nanoseconds", "", "", 0, 16 * 10101010ULL },
		{ "wall", "wall", "nanoseconds", "", "", 0, 16 * 10101010ULL },
		{ "sched:sched_process_exec", "sched_sched_process_exec", "count", "", "", 0,
			16 * 10101010ULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *profile = busy_profile();
		struct wire one, types[2];
		struct read read;
		char text[64];

		profile->event = string(profile, cases[i].event);
		write_and_read(profile, PPROF_LABELS_SERVICE, NULL, &read);
		one = profile_of(&read, 0);
		types[0] = only(one, 1);
		types[1] = only(one, 5);
		assert_string_equal(string_at(&read, number_of(types[0], 1)), cases[i].type);
		assert_string_equal(string_at(&read, number_of(types[0], 2)), cases[i].unit);
		assert_string_equal(string_at(&read, number_of(types[1], 1)), cases[i].period_type);
		assert_string_equal(string_at(&read, number_of(types[1], 2)), cases[i].period_unit);
		assert_int_equal(number_of(one, 6), cases[i].period);
		assert_int_equal(number_of(one, 3), 1790000000000000000);
		assert_int_equal(number_of(one, 4), 2500000000);
		(void)snprintf(
			text, sizeof(text), "main; %llu", (unsigned long long)cases[i].value);
		assert_true(has_sample(&read, resource_of(&read, "unknown_service"), text));
		free(read.bytes);
	}
}

/* 16 bytes of the id, of a profile that begins later by so much. */
static void read_id(uint64_t later_ns, const char *host, const char *service, uint8_t id[16])
{
	struct profile *profile = busy_profile();
	struct read read;

	profile->start_ns += later_ns;
	write_and_read(profile, PPROF_LABELS_SERVICE, host, &read);
	memcpy(id, only(profile_of(&read, resource_of(&read, service)), 7).next, 16);
	free(read.bytes);
}

static void an_id_says_what_a_profile_is_of(void **state)
{
	uint8_t first[16], second[16];

	read_id(0, "a", "nginx", first);
	read_id(0, "a", "nginx", second);
	assert_memory_equal(first, second, 16);
	read_id(1, "a", "nginx", second);
	assert_memory_not_equal(first, second, 16);
	read_id(0, "b", "nginx", second);
	assert_memory_not_equal(first, second, 16);
	read_id(0, "a", "unknown_service", second);
	assert_memory_not_equal(first, second, 16);
}

static void a_profile_without_samples_has_no_resource(void **state)
{
	struct read read;

	write_and_read(new_profile(), PPROF_LABELS_ALL, "host", &read);
	assert_int_equal(read.resources.count, 0);
	free(read.bytes);
}

static void counts_do_not_overflow(void **state)
{
	struct profile *profile = new_profile();
	struct read read;

	profile->event = string(profile, "offcpu");
	profile->period_ns = UINT64_MAX;
	add_sample(profile, PROFILE_ROOT, &(struct profile_thread){ .tid = 1 }, UINT64_MAX);
	add_sample(profile, PROFILE_ROOT, &(struct profile_thread){ .tid = 2 }, UINT64_MAX);
	write_and_read(profile, PPROF_LABELS_SERVICE, NULL, &read);
	assert_string_equal(sample_text(&read, 0, 0), "[unknown]; 9223372036854775807");
	free(read.bytes);
}

static int write_once(const struct profile *profile, enum pprof_labels labels)
{
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;
	int r;

	output_init(&output, output_to_memory, &memory);
	r = otlp_write(profile, labels, "host", NULL, &output);
	free(memory.bytes);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = busy_profile();

	assert_true(FAIL_EACH_ALLOCATION(write_once(profile, PPROF_LABELS_ALL), -ENOMEM, true, 0) >=
		    15);
	assert_true(FAIL_EACH_ALLOCATION(
			    write_once(profile, PPROF_LABELS_SERVICE), -ENOMEM, true, 0) >= 15);
	profile_free(profile);
}

static int refuse(void *context, const void *bytes, size_t size)
{
	return -EPIPE;
}

static void errors_of_the_output_are_returned(void **state)
{
	struct profile *profile = busy_profile();
	struct output output;

	output_init(&output, refuse, NULL);
	/* The output buffers this much. */
	assert_int_equal(otlp_write(profile, PPROF_LABELS_ALL, NULL, NULL, &output), 0);
	assert_int_equal(output_finish(&output), -EPIPE);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_service_is_a_resource),
		cmocka_unit_test(all_resources_have_the_attributes),
		cmocka_unit_test(a_user_cannot_claim_a_container),
		cmocka_unit_test(threads_are_attributes_of_samples),
		cmocka_unit_test(spans_are_links),
		cmocka_unit_test(times_have_a_profile_of_their_own),
		cmocka_unit_test(claims_never_win),
		cmocka_unit_test(code_keeps_its_place),
		cmocka_unit_test(interpreted_code_names_its_runtime),
		cmocka_unit_test(the_source_decides_the_types),
		cmocka_unit_test(an_id_says_what_a_profile_is_of),
		cmocka_unit_test(a_profile_without_samples_has_no_resource),
		cmocka_unit_test(counts_do_not_overflow),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(errors_of_the_output_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
