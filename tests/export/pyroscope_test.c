/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads requests back by the wire format alone. */
#include "export/pyroscope.h"

#include "tests/export/pprof_profile.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <stdio.h>

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum { SERIES_MAX = 8, PROFILES_MAX = 8 };

struct profile_bytes {
	struct wire pprof;
	char id[64];
};

struct series {
	char labels[1024]; /* "name=value " each */
	struct profile_bytes profiles[PROFILES_MAX];
	size_t count;
};

struct request {
	char *bytes;
	struct series series[SERIES_MAX];
	size_t count;
};

static void copy_text(char *text, size_t room, struct wire wire)
{
	(void)snprintf(text, room, "%.*s", (int)(wire.end - wire.next), (const char *)wire.next);
}

static void read_label(struct series *series, struct wire wire)
{
	char name[64] = "", value[256] = "";
	struct wire_field field;
	size_t used = strlen(series->labels);

	while (wire_next(&wire, &field))
		copy_text(field.number == 1 ? name : value,
			field.number == 1 ? sizeof(name) : sizeof(value), field.content);
	(void)snprintf(series->labels + used, sizeof(series->labels) - used, "%s=%s ", name, value);
}

static void read_sample(struct series *series, struct wire wire)
{
	struct profile_bytes *profile = &series->profiles[series->count++];
	struct wire_field field;

	assert_true(series->count <= PROFILES_MAX);
	while (wire_next(&wire, &field))
		if (field.number == 1)
			profile->pprof = field.content;
		else
			copy_text(profile->id, sizeof(profile->id), field.content);
}

static void read_request(struct request *request, char *bytes, size_t size)
{
	struct wire wire = { (uint8_t *)bytes, (uint8_t *)bytes + size };
	struct wire_field field, inner;

	*request = (struct request){ .bytes = bytes };
	while (wire_next(&wire, &field)) {
		struct series *series = &request->series[request->count++];

		assert_true(request->count <= SERIES_MAX && field.number == 1);
		while (wire_next(&field.content, &inner))
			if (inner.number == 1)
				read_label(series, inner.content);
			else
				read_sample(series, inner.content);
	}
}

static void write_and_read(const struct profile *profile, struct request *request)
{
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;

	output_init(&output, output_to_memory, &memory);
	assert_int_equal(pyroscope_write(profile, "h\xc3\xb6st",
				 "tier=1,deployment.environment=a b,host_name=x,1st=y", &output),
		0);
	assert_int_equal(output_finish(&output), 0);
	read_request(request, memory.bytes, memory.size);
}

static const struct series *series_of(const struct request *request, const char *service)
{
	char label[128];

	(void)snprintf(label, sizeof(label), " service_name=%s ", service);
	for (size_t i = 0; i < request->count; i++)
		if (strstr(request->series[i].labels, label))
			return &request->series[i];
	fail_msg("no service %s", service);
	return NULL;
}

/* Checks it by the rules of pprof. Returns the sum of its samples, without labels. */
static uint64_t sum_of(const struct profile_bytes *profile)
{
	struct decoded decoded;
	uint64_t sum = 0;

	decode(&decoded, profile->pprof.next, (size_t)(profile->pprof.end - profile->pprof.next));
	for (size_t i = 0; i < decoded.sample_count; i++) {
		assert_int_equal(decoded.samples[i].label_count, 0);
		sum += decoded.samples[i].values[0];
	}
	decoded_done(&decoded);
	return sum;
}

static struct profile *busy_profile(void)
{
	struct profile *profile = new_profile();
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	const char *const cgroups[] = { "/", "/system.slice/nginx.service",
		"/system.slice/docker-" CONTAINER ".scope", "/system.slice/nginx.service/worker" };
	uint32_t locations[2];

	locations[0] = add_named(profile, jit, 0x1100, "main", "main.c", 7);
	locations[1] = add_named(profile, jit, 0x20, "work", "", 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct profile_thread thread = { .tgid = 10 + i,
			.tid = 20 + i,
			.comm = string(profile, "thread"),
			.cgroup = string(profile, cgroups[i]) };

		add_sample(profile, add_stack(profile, locations, 2), &thread, 1U << i);
		add_sample(profile, add_stack(profile, locations, 1), &thread, 16U << i);
	}
	add_sample(profile, PROFILE_ROOT, &(struct profile_thread){ .tid = 1 }, 256);
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 1000;
	return profile;
}

static void each_service_is_a_series(void **state)
{
	struct profile *profile = busy_profile();
	const struct series *nginx, *container;
	struct request request;

	write_and_read(profile, &request);
	assert_int_equal(request.count, 3);
	assert_int_equal(
		sum_of(&series_of(&request, "unknown_service")->profiles[0]), 1 + 16 + 256 + 1000);
	nginx = series_of(&request, "nginx");
	assert_string_equal(nginx->labels,
		"__name__=process_cpu service_name=nginx host_name=h\xc3\xb6st tier=1 "
		"deployment_environment=a b _st=y ");
	assert_int_equal(nginx->count, 1);
	assert_int_equal(sum_of(&nginx->profiles[0]), 2 + 32 + 8 + 128);
	container = series_of(&request, "container-0123456789ab");
	assert_non_null(strstr(container->labels, " container_id=" CONTAINER " "));
	assert_int_equal(sum_of(&container->profiles[0]), 4 + 64);
	free(request.bytes);
	profile_free(profile);
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
	struct profile *profile = claiming_profile();
	struct request request;

	write_and_read(profile, &request);
	assert_int_equal(request.count, 1);
	assert_int_equal(sum_of(&series_of(&request, "user@1000")->profiles[0]), 3);
	assert_null(strstr(request.series[0].labels, "container_id="));
	assert_null(strstr(request.series[0].labels, "k8s_pod_uid="));
	free(request.bytes);
	profile_free(profile);
}

static void an_id_is_a_uuid_of_the_profile(void **state)
{
	struct profile *profile = busy_profile();
	struct request first, second;
	const char *id;

	write_and_read(profile, &first);
	write_and_read(profile, &second);
	id = series_of(&first, "nginx")->profiles[0].id;
	assert_int_equal(strlen(id), 36);
	assert_true(id[8] == '-' && id[13] == '-' && id[14] == '8' && id[18] == '-' &&
		    strchr("89ab", id[19]) && id[23] == '-');
	assert_string_equal(id, series_of(&second, "nginx")->profiles[0].id);
	assert_string_not_equal(id, series_of(&first, "unknown_service")->profiles[0].id);
	free(second.bytes);
	profile->start_ns++;
	write_and_read(profile, &second);
	assert_string_not_equal(id, series_of(&second, "nginx")->profiles[0].id);
	free(first.bytes);
	free(second.bytes);
	profile_free(profile);
}

static void the_source_is_the_name(void **state)
{
	struct profile *profile = busy_profile();
	struct request request;

	profile->event = string(profile, "offcpu");
	write_and_read(profile, &request);
	assert_non_null(strstr(request.series[0].labels, "__name__=off_cpu "));
	free(request.bytes);
	profile->event = string(profile, "sched:x-y");
	write_and_read(profile, &request);
	assert_non_null(strstr(request.series[0].labels, "__name__=sched_x_y "));
	free(request.bytes);
	profile_free(profile);
}

/* 16,000 samples are what a receiver takes in one profile. */
static void large_series_are_several_profiles(void **state)
{
	enum { COUNT = 40000 };
	struct profile *profile = new_profile();
	uint32_t jit = add_binary(profile, BINARY_JIT, ""), node;
	struct profile_thread thread = { .cgroup = string(profile, "/system.slice/a.service") };
	struct request request;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t location = add_location(profile, jit, 0x1000 + i);

		node = add_stack(profile, &location, 1);
		add_sample(profile, node, &thread, 1);
	}
	write_and_read(profile, &request);
	assert_int_equal(request.count, 1);
	assert_int_equal(request.series[0].count, 4);
	for (size_t i = 0; i < 4; i++)
		sum += sum_of(&request.series[0].profiles[i]);
	assert_int_equal(sum, COUNT);
	assert_string_not_equal(request.series[0].profiles[0].id, request.series[0].profiles[1].id);
	free(request.bytes);
	profile_free(profile);
}

static void nothing_is_an_empty_request(void **state)
{
	struct profile *profile = new_profile();
	struct request request;

	write_and_read(profile, &request);
	assert_int_equal(request.count, 0);
	free(request.bytes);
	/* Losses alone are a series. */
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 7;
	write_and_read(profile, &request);
	assert_int_equal(request.count, 1);
	assert_int_equal(sum_of(&request.series[0].profiles[0]), 7);
	free(request.bytes);
	profile_free(profile);
}

static int write_once(const struct profile *profile)
{
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;
	int r;

	output_init(&output, output_to_memory, &memory);
	r = pyroscope_write(profile, NULL, NULL, &output);
	free(memory.bytes);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = busy_profile();

	assert_true(FAIL_EACH_ALLOCATION(write_once(profile), -ENOMEM, true, 0) >= 15);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_service_is_a_series),
		cmocka_unit_test(a_user_cannot_claim_a_container),
		cmocka_unit_test(an_id_is_a_uuid_of_the_profile),
		cmocka_unit_test(the_source_is_the_name),
		cmocka_unit_test(large_series_are_several_profiles),
		cmocka_unit_test(nothing_is_an_empty_request),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
