/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps out of HotSpot's stubs, compiled for the host, in a made-up JVM. */
#include "tests/extract/hotspot_memory.h"

#include "base/array.h"
#include "bpf/runtime_hotspot_stub.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

static struct walk walk;
static struct hotspot hotspot;
static struct hotspot_blob blob;

/* Where the stub is interrupted, and where the caller is behind a call. */
enum { CODE_AT = 0x80, CALLER_AT = 0xe0 };

static __u64 caller(void)
{
	return code_in(JVM_COMPILED, CALLER_AT);
}

/* The call before the caller's instruction leads to `target`. */
static void put_call(__u64 target)
{
	size_t end = JVM_COMPILED + JVM_CODE + CALLER_AT;

	jvm[end - 5] = 0xe8;
	jvm_put(end - 4, target - caller(), 4);
}

static void put_code(size_t place, const char *code, size_t bytes)
{
	memcpy(jvm + JVM_STUB + JVM_CODE + place, code, bytes);
}

static void set_up_stub(const char *name)
{
	jvm_init();
	memset(jvm_pt_regs, 0, sizeof(jvm_pt_regs));
	jvm_put_blob(JVM_STUB, name, 0x40, 0);
	walk = (struct walk){ .sp = at(10), .fp = { at(40), SAVED_VALUE, 0 } };
	walk.hotspot.base = JVM_MEMORY;
	walk.ip = code_in(JVM_STUB, CODE_AT);
	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	hotspot = (struct hotspot){ 0 };
	put_call(code_in(JVM_STUB, 0));
}

static int step(void)
{
	assert_int_equal(
		hotspot_find(&walk, &hotspot, &blob, &jvm_runtime, walk.ip - !walk.is_exact),
		HOTSPOT_STUB);
	assert_int_equal(hotspot_up(&walk, &blob, HOTSPOT_STUB), HOTSPOT_NOWHERE);
	return hotspot_leave_stub(&walk, &blob);
}

/* The code before and at the instruction; where the return address is, and the caller's stack
 * pointer. */
static void adapters_tell_where_the_return_address_is(void **state)
{
	static const struct {
		char before[16], code[16]; /* the first has no zeros but at its end */
		unsigned sender;	   /* in words from the stack pointer on */
		bool is_moving, is_in_r13;
	} adapters[] = {
		/* From compiled code to the interpreter, JDK 17: */
		{ "\x90", "\x45\x8b\x53\x28", 1, false, false },
		{ "\x90", "\x58\x4c\x8b\xec\x48\x83\xec\x20\x48\x89\x04\x24", 1, false, false },
		{ "\x58", "\x4c\x8b\xec\x48\x83\xec\x20\x48\x89\x04\x24", 0, true, false },
		{ "\x58\x4c\x8b\xec", "\x48\x83\xec\x20\x48\x89\x04\x24", 0, true, true },
		{ "\x58\x4c\x8b\xec", "\x48\x81\xec\x20\x01\x00\x00\x48\x89\x04\x24", 0, true,
			true },
		{ "\x58\x4c\x8b\xec\x48\x83\xec\x20", "\x48\x89\x04\x24", 4, true, true },
		{ "\x58\x4c\x8b\xec\x48\x83\xec\x20\x48\x89\x04\x24", "\x48\x89\x74\x24\x08", 4,
			false, true },
		/* JDK 25: */
		{ "\x90", "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x10\x50", 1, false, false },
		{ "\x4c\x8d\x6c\x24\x08", "\x58\x48\x83\xec\x10\x50", 1, false, true },
		{ "\x4c\x8d\x6c\x24\x08\x58", "\x48\x83\xec\x10\x50", 0, true, true },
		{ "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x10", "\x50", 2, true, true },
		{ "\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x10\x50", "\x48\x89\x74\x24\x08", 3, false,
			true },
		/* To compiled code. The caller's stack pointer may be too low. */
		{ "\x90", "\x4c\x8b\xdc\x58\x48\x83\xe4\xf0\x50", 1, false, false },
		{ "\x4c\x8b\xdc\x58", "\x48\x83\xec\x10\x48\x83\xe4\xf0\x50", 0, true, false },
		{ "\x4c\x8b\xdc\x58\x48\x83\xe4\xf0", "\x50\x49\x8b\xc3", 0, true, false },
		{ "\x4c\x8b\xdc\x58\x48\x83\xe4\xf0\x50", "\x49\x8b\xc3", 1, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(adapters); i++) {
		size_t before = strlen(adapters[i].before);

		set_up_stub("I2C/C2I adapters");
		put_code(CODE_AT - before, adapters[i].before, before);
		put_code(CODE_AT, adapters[i].code, 12);
		jvm_pt_regs[PT_REGS_R13] = adapters[i].is_in_r13 ? at(10 + adapters[i].sender) : 5;
		jvm_pt_regs[PT_REGS_RAX] = adapters[i].is_moving ? caller() : 5;
		put_word(10, adapters[i].is_moving ? 5 : caller());
		if (step() != WALK_ON || walk.ip != caller() ||
			walk.sp != at(10 + adapters[i].sender) || walk.fp.word != at(40) ||
			walk.doubt || !walk.read_more)
			fail_msg("adapter %zu", i);
	}
}

static void what_adapters_keep_is_checked(void **state)
{
	const __u64 senders[] = { at(9), at(10) + HOTSPOT_STACK_MAX, at(12) + 4 };

	for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
		set_up_stub("I2C/C2I adapters");
		put_code(CODE_AT - 4, "\x58\x4c\x8b\xec", 4);
		put_word(10, caller());
		jvm_pt_regs[PT_REGS_R13] = senders[i];
		assert_int_equal(step(), PILOTLIGHT_WALK_NO_FUNCTION);
	}
	/* A word that is behind no call, and no stack. */
	set_up_stub("I2C/C2I adapters");
	put_word(10, code_in(JVM_COMPILED, 0xd0));
	assert_int_equal(step(), WALK_ON);
	assert_true(walk.doubt);
	set_up_stub("I2C/C2I adapters");
	walk.sp = 0x1000;
	assert_int_equal(step(), PILOTLIGHT_WALK_UNREADABLE);
	/* The registers are not known. */
	set_up_stub("I2C/C2I adapters");
	put_word(10, caller());
	walk.registers_kind = REGISTERS_GREGS;
	assert_int_equal(step(), HOTSPOT_OTHER);
}

static void stubs_of_tables_have_no_frame(void **state)
{
	set_up_stub("vtable chunks");
	put_word(10, caller());
	assert_int_equal(step(), WALK_ON);
	assert_int_equal(walk.ip, caller());
	assert_int_equal(walk.sp, at(11));
	assert_int_equal(walk.fp.word, at(40));
	assert_int_equal(walk.words_read, 1);
	set_up_stub("vtable chunks");
	walk.sp = 0x1000;
	assert_int_equal(step(), PILOTLIGHT_WALK_UNREADABLE);
}

/* The caller takes as many arguments off the stack. */
static void other_stubs_return_behind_a_call_of_them(void **state)
{
	static const struct {
		char code[8];
		unsigned arguments;
	} callers[] = { { "\x85\xc0", 0 }, { "\x5e\x5e\x85\xf6", 2 }, { "\x41\x5a\x58\x85\xc0", 2 },
		{ "\x58\x41\x59\x59", 2 }, { "\x5e\x85\xf6", 1 }, { "\x5d\xc3", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		set_up_stub("slow_subtype_check Runtime1 stub");
		jvm_put(JVM_STUB + 16 + 28, i % 2 ? UINT32_MAX : 0, 4); /* no size of a frame */
		memcpy(jvm + JVM_COMPILED + JVM_CODE + CALLER_AT, callers[i].code, 4);
		put_word(12, code_in(JVM_COMPILED, 0xd0)); /* behind no call */
		put_word(14, caller());
		assert_int_equal(step(), WALK_ON);
		assert_int_equal(walk.ip, caller());
		if (walk.sp != at(15 + callers[i].arguments) || walk.fp.word != at(40))
			fail_msg("caller %zu", i);
		assert_true(walk.read_more);
	}
	/* It has set the frame pointer. */
	set_up_stub("a stub");
	walk.fp.word = at(13);
	put_word(13, 77);
	put_word(14, caller());
	assert_int_equal(step(), WALK_ON);
	assert_int_equal(walk.fp.word, 77);
}

static void words_that_other_calls_left_do_not_lead_out_of_stubs(void **state)
{
	/* Of another stub, too far away, and where there is no stack. Many stubs are in one blob.
	 */
	set_up_stub("StubRoutines (2)");
	put_word(10, caller());
	assert_int_equal(step(), HOTSPOT_OTHER);
	set_up_stub("a stub");
	put_call(code_in(JVM_STUB, 8));
	put_word(10, caller());
	assert_int_equal(step(), HOTSPOT_OTHER);
	set_up_stub("a stub");
	put_word(10 + HOTSPOT_STUB_WORDS, caller());
	assert_int_equal(step(), HOTSPOT_OTHER);
	set_up_stub("a stub");
	walk.sp = 0x1000;
	assert_int_equal(step(), HOTSPOT_OTHER);
	assert_int_equal(walk.fp.word, at(40));
}

static void methods_that_are_entered_have_called_a_stub(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		set_up_stub("StubRoutines (1)");
		walk.is_exact = 0;
		walk.registers_kind = REGISTERS_NONE;
		walk.fp.word = i == 1 ? at(9) : i == 2 ? 0x1000 : at(20);
		put_word(20, 77);
		put_word(21, i == 3 ? 5 : ~0ULL);
		put_word(22, caller());
		if (i == 1) {
			put_word(9, 77);
			put_word(10, ~0ULL);
			put_word(11, caller());
		}
		if (i > 0) {
			assert_int_equal(step(), HOTSPOT_OTHER);
			continue;
		}
		assert_int_equal(step(), WALK_ON);
		assert_int_equal(walk.ip, caller());
		assert_int_equal(walk.sp, at(23));
		assert_int_equal(walk.fp.word, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adapters_tell_where_the_return_address_is),
		cmocka_unit_test(what_adapters_keep_is_checked),
		cmocka_unit_test(stubs_of_tables_have_no_frame),
		cmocka_unit_test(other_stubs_return_behind_a_call_of_them),
		cmocka_unit_test(words_that_other_calls_left_do_not_lead_out_of_stubs),
		cmocka_unit_test(methods_that_are_entered_have_called_a_stub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
