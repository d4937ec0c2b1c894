/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs in frames of HotSpot's code is remembered: for how long that holds. */
#include "tests/extract/hotspot_memory.h"

#include "base/array.h"
#include "bpf/runtime_hotspot_seen.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

static struct hotspot_blob blob;

static int set_up(void **state)
{
	(void)state;
	jvm_init();
	return 0;
}

static __u64 identity(void)
{
	__u64 identity = 0;

	assert_true(
		hotspot_read_identity(&blob, &jvm_runtime, JVM_MEMORY + JVM_COMPILED, &identity));
	return identity;
}

/* What HotSpot changes while a method runs does not matter. */
static void compiled_methods_are_told_apart(void **state)
{
	const __u64 first = identity();
	static const struct {
		size_t at;
		bool matters;
	} changes[] = {
		{ JVM_COMPILED, true },	    /* the length of the block */
		{ JVM_COMPILED + 8, true }, /* it is free */
		{ JVM_COMPILED + 16 + 96, true },
		{ JVM_COMPILED + 16 + 152, true }, /* the number */
		{ JVM_COMPILED + 16 + 156, false },
		{ JVM_COMPILED + JVM_CODE, false },
	};
	__u64 other;

	assert_int_equal(identity(), first);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		(void)set_up(NULL);
		jvm[changes[i].at] ^= 0x40;
		if ((identity() != first) != changes[i].matters)
			fail_msg("change %zu", i);
	}
	assert_false(hotspot_read_identity(&blob, &jvm_runtime, 0, &other));
	assert_false(hotspot_read_identity(&blob, &jvm_runtime, 0x1000, &other));
}

static __u64 seal(const struct hotspot_seen *seen, __u64 frame, __u64 epoch, __u64 identity)
{
	const struct hotspot_seen_key key = { frame, epoch };
	__u64 hash = hotspot_begin_methods(seen->count);

	for (__u32 i = 0; i < seen->count; i++)
		hash = hotspot_hash_method(hash,
			seen->methods[i].code | (__u64)seen->methods[i].code_high << 32,
			seen->methods[i].unit);
	return hotspot_seen_seal(&key, seen->block, identity, hash);
}

static void what_was_seen_holds_for_its_code_alone(void **state)
{
	struct hotspot_seen seen = {
		.block = 64, .count = 2, .methods = { { 3, 1, 5 }, { 4, 2, 6 } }
	};
	const __u64 first = seal(&seen, 7, 8, 9);

	assert_int_equal(seal(&seen, 7, 8, 9), first);
	assert_int_not_equal(seal(&seen, 6, 8, 9), first);
	assert_int_not_equal(seal(&seen, 7, 9, 9), first);
	assert_int_not_equal(seal(&seen, 7, 8, 8), first);
	/* Half of it is another's: each word of what is used. */
	for (size_t i = offsetof(struct hotspot_seen, block) / sizeof(__u32);
		i < offsetof(struct hotspot_seen, methods[2]) / sizeof(__u32); i++) {
		uint8_t *word = (uint8_t *)&seen + i * sizeof(__u32);

		*word ^= 1;
		assert_int_not_equal(seal(&seen, 7, 8, 9), first);
		*word ^= 1;
	}
}

static void samples_may_take_longer_for_a_while(void **state)
{
	enum { USUAL = 400, MOST = 1000, OVERTIME = 5000, SAMPLES = 1000 };

	assert_int_equal(hotspot_ns_max(USUAL, MOST, 0, OVERTIME), MOST);
	assert_int_equal(hotspot_ns_max(USUAL, MOST, OVERTIME - 100, OVERTIME), USUAL + 100);
	assert_int_equal(hotspot_ns_max(USUAL, MOST, OVERTIME, OVERTIME), USUAL);
	assert_int_equal(hotspot_ns_max(USUAL, MOST, OVERTIME + 100, OVERTIME), USUAL);
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, USUAL), 50);
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, 900), 550);
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, 351), 1);
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, 350), 0);
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, 1), 0);
	/* The machine did not run for a while. */
	assert_int_equal(hotspot_overtime(50, OVERTIME, USUAL, 1000000), OVERTIME);
	/* After as many short ones. */
	for (unsigned first = 0; first < SAMPLES; first++) {
		__u64 overtime = 0, all = 0;

		for (unsigned i = 0; i < SAMPLES; i++) {
			__u64 taken =
				i < first ? 1 : hotspot_ns_max(USUAL, MOST, overtime, OVERTIME);

			all += taken;
			overtime = hotspot_overtime(overtime, OVERTIME, USUAL, taken);
		}
		assert_true(all <= (SAMPLES - first) * USUAL + first + OVERTIME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(compiled_methods_are_told_apart, set_up),
		cmocka_unit_test(what_was_seen_holds_for_its_code_alone),
		cmocka_unit_test(samples_may_take_longer_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
