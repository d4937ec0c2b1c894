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

static void frames_of_the_interpreter_tell_their_methods(void **state)
{
	struct pilotlight_runtime_hotspot runtime = jvm_runtime;
	__u64 method, bytecode;

	put_word(40 - 3, 55);
	put_word(40 - 8, 66);
	put_word(40 - 1, 88);
	assert_true(hotspot_read_frame(&blob, &runtime, at(40), &method, &bytecode));
	assert_int_equal(method, 55);
	assert_int_equal(bytecode, 66);
	/* In the other order. */
	runtime.frame_method_at = -64;
	runtime.frame_bytecode_at = -8;
	assert_true(hotspot_read_frame(&blob, &runtime, at(40), &method, &bytecode));
	assert_int_equal(method, 66);
	assert_int_equal(bytecode, 88);
	assert_false(hotspot_read_frame(&blob, &runtime, 0x1000, &method, &bytecode));
	/* Farther from each other than there is room for. */
	runtime.frame_method_at = -8 - PILOTLIGHT_HOTSPOT_BLOCK_MAX;
	assert_false(hotspot_read_frame(&blob, &runtime, at(200), &method, &bytecode));
}

/* Returns 0 if it cannot be read, or contradicts itself. */
static __u64 method_identity(void)
{
	__u64 identity = 0;

	return hotspot_read_method_identity(&blob, &jvm_runtime, JVM_MEMORY + JVM_METHOD,
		       JVM_MEMORY + JVM_CLASS, &identity)
		       ? identity
		       : 0;
}

/* Another class may get all the addresses of one that has been unloaded: each word that a proof
 * looks at counts. */
static void interpreted_methods_are_told_apart(void **state)
{
	const __u64 first = method_identity();
	static const struct {
		size_t at;
		enum { SAME, OTHER, NONE } is;
	} changes[] = {
		{ JVM_METHOD + 8, NONE },  /* it leads nowhere */
		{ JVM_CONST + 8, NONE },   /* the pool is not the class's */
		{ JVM_CLASS + 232, NONE }, /* the same: the class was redefined */
		{ JVM_CLASS + 24, OTHER }, /* its name */
		{ JVM_CONST + 34, OTHER }, /* the index of the method's name */
		{ JVM_CONST + 32, OTHER }, /* the length of its bytecode */
		{ JVM_METHOD + 16, SAME }, /* counters and the like */
		{ JVM_CLASS + 24 + 16, SAME },
	};

	assert_int_not_equal(first, 0);
	assert_int_equal(method_identity(), first);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		__u64 now;

		(void)set_up(NULL);
		jvm[changes[i].at + (changes[i].is == NONE ? 5 : 0)] ^= 0x40;
		now = method_identity();
		if (now != (changes[i].is == SAME ? first : now) ||
			(now == 0) != (changes[i].is == NONE) ||
			(changes[i].is == OTHER && now == first))
			fail_msg("change %zu", i);
	}
	/* A method of the same class, with other code. */
	(void)set_up(NULL);
	jvm_point(JVM_METHOD + 8, JVM_INNER_CONST);
	assert_int_not_equal(method_identity(), first);
	assert_int_not_equal(method_identity(), 0);
}

/* The method and the class are where the process says. */
static void methods_that_cannot_be_read_are_unknown(void **state)
{
	struct pilotlight_runtime_hotspot runtime = jvm_runtime;
	__u64 identity;

	assert_false(hotspot_read_method_identity(
		&blob, &runtime, 0, JVM_MEMORY + JVM_CLASS, &identity));
	assert_false(hotspot_read_method_identity(
		&blob, &runtime, 0x1000, JVM_MEMORY + JVM_CLASS, &identity));
	assert_false(hotspot_read_method_identity(
		&blob, &runtime, JVM_MEMORY + JVM_METHOD, 0, &identity));
	assert_false(hotspot_read_method_identity(
		&blob, &runtime, JVM_MEMORY + JVM_METHOD, 0x1000, &identity));
	/* More words than there is room for. */
	runtime.class_pool_at = runtime.class_name_at + PILOTLIGHT_HOTSPOT_BLOCK_MAX - 8;
	jvm_point(JVM_CLASS + runtime.class_pool_at, JVM_POOL);
	assert_false(hotspot_read_method_identity(
		&blob, &runtime, JVM_MEMORY + JVM_METHOD, JVM_MEMORY + JVM_CLASS, &identity));
	/* The pool may be before the name. */
	runtime.class_pool_at = 8;
	jvm_point(JVM_CLASS + 8, JVM_POOL);
	assert_true(hotspot_read_method_identity(
		&blob, &runtime, JVM_MEMORY + JVM_METHOD, JVM_MEMORY + JVM_CLASS, &identity));
}

static void interpreted_frames_are_known_by_method_and_bytecode(void **state)
{
	const __u64 first = hotspot_interpreted_frame(1, 2);

	assert_int_not_equal(hotspot_interpreted_frame(2, 2), first);
	assert_int_not_equal(hotspot_interpreted_frame(1, 3), first);
	assert_int_not_equal(hotspot_interpreted_frame(2, 1), first);
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
		((__u32 *)&seen)[i] ^= 1;
		assert_int_not_equal(seal(&seen, 7, 8, 9), first);
		((__u32 *)&seen)[i] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(compiled_methods_are_told_apart, set_up),
		cmocka_unit_test_setup(frames_of_the_interpreter_tell_their_methods, set_up),
		cmocka_unit_test_setup(interpreted_methods_are_told_apart, set_up),
		cmocka_unit_test_setup(methods_that_cannot_be_read_are_unknown, set_up),
		cmocka_unit_test(interpreted_frames_are_known_by_method_and_bytecode),
		cmocka_unit_test(what_was_seen_holds_for_its_code_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
