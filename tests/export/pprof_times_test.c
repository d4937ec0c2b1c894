/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "export/pprof.h"
#include "tests/export/pprof_profile.h"

/* A part of a sample's counts for each time, and what is left without one. */
static void times_are_labels(void **state)
{
	static const uint64_t counts[] = { 3, 4, 5 };
	struct profile *profile = new_profile();
	const uint64_t start_ns = profile->start_ns;
	struct profile_thread thread = { .tgid = 7, .tid = 7, .comm = string(profile, "a") };
	uint32_t binary = add_binary(profile, BINARY_LIBRARY, "/l");
	uint32_t location = add_location(profile, binary, 1);
	uint32_t node = add_stack(profile, &location, 1);
	struct decoded decoded;

	add_sample(profile, node, &thread, 12);
	add_stamp(profile, node, &thread, 4, start_ns + 20000000);
	add_stamp(profile, node, &thread, 3, start_ns);
	round_trip(profile, &decoded);
	assert_int_equal(decoded.sample_count, ARRAY_SIZE(counts));
	for (size_t i = 0; i < decoded.sample_count; i++) {
		const uint64_t *label = label_of(&decoded, i, "timestamp_ns");

		assert_int_equal(decoded.samples[i].values[0], counts[i]);
		assert_int_equal(decoded.samples[i].values[1], counts[i] * 10101010);
		ASSERT_STRING(&decoded, label_of(&decoded, i, "comm")[2], "a");
		assert_true((label != NULL) == (i < 2));
		if (!label)
			continue;
		assert_int_equal(label[3], start_ns + i * 20000000);
		ASSERT_STRING(&decoded, label[4], "nanoseconds");
	}
	decoded_done(&decoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
