/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps out of HotSpot's generated code, compiled for the host, in a made-up JVM. */
#include "tests/extract/hotspot_memory.h"

#include "base/array.h"
#include "bpf/runtime_hotspot_method.bpf.h"
#include "bpf/runtime_hotspot_stub.bpf.h"
#include "symbol/runtime_code.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct walk walk;
static struct hotspot hotspot;
static struct hotspot_blob blob;
static struct pilotlight_runtime_code record;

enum { CODE_AT = 0x80 }; /* of the instruction, behind the beginning of the code */

static int set_up(void **state)
{
	static const uint8_t call[] = { 0xff, 0xd0 };

	jvm_init();
	walk = (struct walk){ .sp = at(0), .fp = { at(40), SAVED_VALUE, 0 } };
	walk.hotspot.base = JVM_MEMORY;
	walk.ip = code_in(JVM_COMPILED, CODE_AT);
	hotspot = (struct hotspot){ 0 };
	/* The caller: in the compiled method, too. */
	memcpy(jvm + JVM_COMPILED + JVM_CODE + 0xe0 - sizeof(call), call, sizeof(call));
	return 0;
}

static enum hotspot_kind find(void)
{
	return hotspot_find(&walk, &hotspot, &blob, &jvm_runtime, walk.ip - !walk.is_exact);
}

static void code_is_found_by_the_map(void **state)
{
	assert_int_equal(find(), HOTSPOT_METHOD);
	assert_int_equal(blob.begin, JVM_MEMORY + JVM_COMPILED);
	assert_int_equal(blob.frame_bytes, JVM_FRAME_WORDS * 8);
	assert_int_equal(blob.complete, JVM_COMPLETE);
	assert_int_equal(blob.method, JVM_MEMORY + JVM_METHOD);
	walk.ip = code_in(JVM_INTERPRETER, 0);
	walk.is_exact = 1;
	assert_int_equal(find(), HOTSPOT_INTERPRETER);
	assert_int_equal(hotspot.interpreter, walk.ip);
	assert_int_equal(find(), HOTSPOT_INTERPRETER);
	walk.ip = code_in(JVM_STUB, 0);
	assert_int_equal(find(), HOTSPOT_STUB);
}

static void what_is_no_code_is_not_found(void **state)
{
	walk.ip = code_in(JVM_COMPILED, 0); /* the byte before is no code */
	assert_int_equal(find(), HOTSPOT_NONE);
	walk.ip = JVM_MEMORY + JVM_BLOCKS_END + 8; /* free */
	assert_int_equal(find(), HOTSPOT_NONE);
	walk.ip = JVM_MEMORY + JVM_STACK; /* behind the heap */
	assert_int_equal(find(), HOTSPOT_NONE);
	walk.ip = code_in(JVM_COMPILED, CODE_AT);
	jvm[JVM_COMPILED + 8] = 0;
	assert_int_equal(find(), HOTSPOT_NONE);
	jvm[JVM_COMPILED + 8] = 1;
	jvm[JVM_MAP + 2] = 200; /* before the heap */
	assert_int_equal(find(), HOTSPOT_NONE);
	jvm[JVM_MAP + 2] = 2;
	jvm[JVM_MAP] = 1;
	assert_int_equal(find(), HOTSPOT_NONE);
	jvm[JVM_MAP] = 0;
	jvm_put(JVM_COMPILED + 16 + 28, 1U << 31, 4); /* a frame of 16 GiB */
	assert_int_equal(find(), HOTSPOT_NONE);
	(void)set_up(NULL);
	jvm_put(JVM_COMPILED + 16 + 96, 0, 8); /* no name */
	assert_int_equal(find(), HOTSPOT_NONE);
}

/* Heaps that are not there yet are looked for once in a walk. */
static void heaps_may_come_later(void **state)
{
	jvm_put(JVM_HEAPS, 0, 8);
	assert_int_equal(find(), HOTSPOT_NONE);
	jvm_point(JVM_HEAPS, JVM_ARRAY);
	assert_int_equal(find(), HOTSPOT_NONE);
	hotspot.has_looked = 0;
	assert_int_equal(find(), HOTSPOT_METHOD);
	(void)set_up(NULL);
	jvm_put(JVM_HEAP + 256, 40, 4); /* segments of a TiB */
	assert_int_equal(find(), HOTSPOT_NONE);
}

static int step(void)
{
	enum hotspot_kind kind = find();

	assert_int_equal(kind, HOTSPOT_METHOD);
	return hotspot_leave(&walk, hotspot_up(&walk, &blob, kind), kind);
}

static void put_frame(unsigned word, __u64 fp)
{
	put_word(word - 1, fp);
	put_word(word, code_in(JVM_COMPILED, 0xe0));
}

/* The word with the method is 24 bytes below the frame pointer. */
static void a_frame_has_its_method_once_it_is_long_enough(void **state)
{
	for (__u64 depth = 0; depth < 48; depth += 8)
		assert_int_equal(hotspot_enters(&jvm_runtime, depth), depth < 24);
}

static void a_compiled_method_is_left_by_its_size(void **state)
{
	put_frame(JVM_FRAME_WORDS - 1, 77);
	assert_int_equal(step(), WALK_ON);
	assert_int_equal(walk.ip, code_in(JVM_COMPILED, 0xe0));
	assert_int_equal(walk.sp, at(JVM_FRAME_WORDS));
	assert_int_equal(walk.fp.word, 77);
	assert_int_equal(walk.words_read, 2);
	assert_false(walk.doubt);
	/* No call is before. */
	(void)set_up(NULL);
	put_word(JVM_FRAME_WORDS - 1, code_in(JVM_COMPILED, 0xd0));
	assert_int_equal(step(), WALK_ON);
	assert_true(walk.doubt);
	/* There is no stack. */
	walk.sp = 0x1000;
	assert_int_equal(step(), PILOTLIGHT_WALK_UNREADABLE);
	jvm_put(JVM_COMPILED + 16 + 28, 0, 4);
	assert_int_equal(step(), PILOTLIGHT_WALK_NO_FUNCTION);
}

/* Such as MethodHandle.invokeBasic(), which jumps to another one. */
static void a_method_without_a_frame_has_its_return_address_on_top(void **state)
{
	for (unsigned words = 0; words < 2; words++) {
		(void)set_up(NULL);
		jvm_put(JVM_COMPILED + 16 + 28, words, 4);
		walk.is_exact = 1;
		put_word(0, code_in(JVM_COMPILED, 0xe0));
		assert_int_equal(step(), WALK_ON);
		assert_int_equal(walk.ip, code_in(JVM_COMPILED, 0xe0));
		assert_int_equal(walk.sp, at(1));
		assert_int_equal(walk.fp.word, at(40));
	}
}

/* Eight words of the continuation's entry, and maybe arguments below. */
static void virtual_threads_lead_to_their_carriers(void **state)
{
	assert_int_equal(find(), HOTSPOT_METHOD); /* the heaps are known now */
	for (unsigned arguments = 0; arguments < HOTSPOT_ENTRY_SEARCH; arguments++) {
		(void)memset(jvm + JVM_STACK, 0, 40 * sizeof(__u64));
		put_word(arguments + 8, 77);
		put_word(arguments + 9, code_in(JVM_COMPILED, 0xe0));
		walk.sp = at(0);
		walk.doubt = 1;
		for (unsigned i = 0; i < arguments; i++)
			assert_int_equal(hotspot_go_to_carrier(&walk, &hotspot, i), HOTSPOT_OTHER);
		assert_int_equal(hotspot_go_to_carrier(&walk, &hotspot, arguments), WALK_ON);
		assert_int_equal(walk.ip, code_in(JVM_COMPILED, 0xe0));
		assert_int_equal(walk.sp, at(arguments + 10));
		assert_int_equal(walk.fp.word, 77);
		assert_false(walk.doubt);
		assert_true(walk.read_more);
	}
	/* Behind no call only the interpreter is believed. */
	put_word(9, code_in(JVM_COMPILED, 0xd0));
	walk.sp = at(0);
	assert_int_equal(hotspot_go_to_carrier(&walk, &hotspot, 0), HOTSPOT_OTHER);
	hotspot.interpreter = code_in(JVM_COMPILED, 0xd0);
	hotspot.interpreter_end = hotspot.interpreter + 1;
	assert_int_equal(hotspot_go_to_carrier(&walk, &hotspot, 0), WALK_ON);
	walk.sp = 0x1000;
	assert_int_equal(hotspot_go_to_carrier(&walk, &hotspot, 0), PILOTLIGHT_WALK_UNREADABLE);
}

static void only_the_stub_of_virtual_threads_leads_to_carriers(void **state)
{
	static const struct {
		const char *name;
		bool is_carrier;
	} stubs[] = {
		{ "StubRoutines (continuation stubs)", true },
		{ "StubRoutines (continuationstubs)", true }, /* JDK 25 */
		{ "StubRoutines (compiler stubs)", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++) {
		jvm_put_blob(JVM_STUB, stubs[i].name, 0x40, 0);
		walk.ip = code_in(JVM_STUB, 8);
		assert_int_equal(find(), HOTSPOT_STUB);
		assert_int_equal(hotspot_is_carrier_stub(&walk, &blob), stubs[i].is_carrier);
	}
	blob.name = 0x10; /* not readable */
	assert_false(hotspot_is_carrier_stub(&walk, &blob));
}

/* The instruction, and what was before it. */
static void leaves_are_left_by_their_instructions(void **state)
{
	enum { SUB = 32, WHOLE = JVM_FRAME_WORDS - 1 };
	static const struct {
		unsigned offset; /* in the code */
		uint8_t before[14], after[16];
		unsigned before_bytes, word; /* of the return address */
		bool is_kept;
	} leaves[] = {
		/* Its entry, and behind the stack bang. */
		{ 0, "", "\x89\x84\x24\x00\xc0\xfe\xff", 0, 0, true },
		{ 7, "\x89\x84\x24\x00\xc0\xfe\xff", "\x55\x48\x83\xec\x20", 7, 0, true },
		{ 8, "\x55", "\x48\x83\xec\x20\x90", 1, 1, false },
		{ 11, "\x55\x48\x8b\xec", "\x48\x83\xec\x20\x90", 4, 1, false },
		{ 12, "\x55\x48\x83\xec\x20", "\x41\x81\x7f\x20", 5, WHOLE, false },
		{ 20, "\x55\x48\x81\xec\x20\x00\x00\x00\x66\x66\x66\x66\x66", "\x90", 13, WHOLE,
			false },
		/* Without a push. */
		{ 8, "\x48\x83\xec\x28", "\x48\x89\x6c\x24\x20", 4, WHOLE, true },
		{ 13, "\x48\x83\xec\x28\x48\x89\x6c\x24\x20", "\x90", 9, WHOLE, false },
		/* Of another frame. */
		{ 12, "\x55\x48\x83\xec\x30", "\x90", 5, 0, true },
		/* Its body. */
		{ 64, "\x90", "\x48\x8b\x07", 1, WHOLE, false },
		{ 64, "\x90", "\x5d\x90", 1, WHOLE, false },
		/* Its end. */
		{ 80, "\x90", "\x48\x83\xc4\x20\x5d\xc3", 1, WHOLE, false },
		{ 80, "\x48\x83\xc4\x20", "\x5d\xc3", 4, 1, false },
		{ 80, "\x48\x81\xc4\x20\x00\x00\x00", "\x5d\xc3", 7, 1, false },
		{ 80, "\x5d", "\xc3", 1, 0, true },
		{ 80, "\x5d", "\x49\x3b\xa7\x40\x03\x00\x00\x0f\x87\x01\x02\x03\x04\xc3", 1, 0,
			true },
		{ 80, "\x90", "\x0f\x87\x01\x02\x03\x04\xc3", 1, 0, true },
		{ 80, "\x90", "\x0f\x87\x01\x02\x03\x04\x90", 1, WHOLE, false },
		{ 80, "\x5d", "\x4d\x8b\x97\x40\x03\x00\x00\x41\x85\x02\xc3", 1, 0, true },
		{ 80, "\x5d", "\x41\x85\x02\xc3", 1, 0, true },
		{ 80, "\x5d", "\x85\x05\x01\x02\x03\x04\xc3", 1, 0, true },
		{ 80, "\x90", "\x49\x3b\xa7\x40\x03\x00\x00\x0f\x87\x01\x02\x03\x04\x90", 1, WHOLE,
			false },
		{ 80, "\x5d", "\x49\x3b\x67\x28\x0f\x87\x01\x02\x03\x04\xc3", 1, 0, true },
		{ 80, "\x90", "\x49\x3b\x67\x28\x0f\x87\x01\x02\x03\x04\x90", 1, WHOLE, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		uint8_t *code = jvm + JVM_COMPILED + JVM_CODE + leaves[i].offset;

		(void)set_up(NULL);
		walk.is_exact = 1;
		walk.ip = code_in(JVM_COMPILED, leaves[i].offset);
		memcpy(code - leaves[i].before_bytes, leaves[i].before, leaves[i].before_bytes);
		memcpy(code, leaves[i].after, 14);
		if (leaves[i].word > 0)
			put_frame(leaves[i].word, 77);
		else
			put_word(0, code_in(JVM_COMPILED, 0xe0));
		assert_int_equal(step(), WALK_ON);
		if (walk.ip != code_in(JVM_COMPILED, 0xe0) || walk.sp != at(leaves[i].word + 1) ||
			walk.fp.word != (leaves[i].is_kept ? at(40) : 77))
			fail_msg("leaf %zu", i);
	}
}

static void put_interpreted(unsigned fp, __u64 sender)
{
	put_word(fp - 1, sender);
	put_word(fp, 77);
	put_word(fp + 1, code_in(JVM_COMPILED, 0xe0));
}

static void interpreted_methods_are_left_by_the_frame_pointer(void **state)
{
	__u64 fp;

	put_interpreted(40, at(45));
	assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
	assert_int_equal(fp, at(40));
	assert_int_equal(walk.fp.word, 77);
	assert_int_equal(walk.sp, at(45));
	assert_true(walk.read_more);
	/* An argument was taken off the stack. */
	(void)set_up(NULL);
	put_interpreted(40, at(41));
	assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
	assert_int_equal(fp, at(40));
	assert_int_equal(walk.sp, at(42));
	/* The caller's stack pointer is in the frame, or too far away. */
	for (unsigned i = 0; i < 2; i++) {
		(void)set_up(NULL);
		put_interpreted(40, i ? at(40) : at(40) + HOTSPOT_STACK_MAX + 16);
		assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp),
			PILOTLIGHT_WALK_NO_FUNCTION);
		assert_int_equal(fp, 0);
	}
}

/* At a method's entry the frame pointer is the caller's. */
static void entries_of_the_interpreter_have_no_frame(void **state)
{
	__u64 fp;

	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	walk.fp.word = 5;
	put_word(0, code_in(JVM_COMPILED, 0xe0));
	jvm_pt_regs[PT_REGS_R13] = at(3);
	assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
	assert_int_equal(walk.ip, code_in(JVM_COMPILED, 0xe0));
	assert_int_equal(walk.sp, at(3));
	assert_int_equal(walk.fp.word, 5);
	assert_int_equal(fp, 0);
	/* An argument was taken off the stack. */
	(void)set_up(NULL);
	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	put_word(0, code_in(JVM_COMPILED, 0xe0));
	jvm_pt_regs[PT_REGS_R13] = at(0);
	assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
	assert_int_equal(walk.sp, at(1));
	(void)set_up(NULL);
	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	walk.fp.word = at(0); /* r13 is not pushed yet */
	put_interpreted(0, at(2));
	assert_int_equal(hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp),
		PILOTLIGHT_WALK_NO_FUNCTION);
}

/* The frame pointer is that of an interpreted caller. */
static void a_method_that_is_called_is_not_its_caller(void **state)
{
	static const struct {
		unsigned r13, back; /* of the stack, and bytes before it */
		bool is_called;
	} calls[] = {
		{ 1, 0, true },
		{ 8, 0, true },
		{ 20, 0, true },
		/* Above the frame pointer, where the return address is, in the middle of a word. */
		{ 21, 0, false },
		{ 0, 0, false },
		{ 8, 4, false },
	};
	__u64 fp;

	hotspot.interpreter = code_in(JVM_INTERPRETER, 0);
	hotspot.interpreter_end = hotspot.interpreter + 0x80;
	for (size_t i = 0; i <= ARRAY_SIZE(calls); i++) {
		bool is_other = i == ARRAY_SIZE(calls); /* the word is no return address */
		unsigned call = is_other ? 0 : i;
		bool is_called = !is_other && calls[i].is_called;

		walk = (struct walk){ .sp = at(0), .fp = { at(20), SAVED_VALUE, 0 } };
		walk.is_exact = 1;
		walk.registers_kind = REGISTERS_PT_REGS;
		put_interpreted(20, at(24));
		put_word(
			0, is_other ? code_in(JVM_COMPILED, 0xe0) : code_in(JVM_INTERPRETER, 0x40));
		jvm_pt_regs[PT_REGS_R13] = at(calls[call].r13) - calls[call].back;
		assert_int_equal(
			hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
		if (fp != (is_called ? 0 : at(20)) ||
			walk.sp != (is_called ? at(calls[call].r13) : at(24)) ||
			walk.fp.word != (is_called ? at(20) : 77))
			fail_msg("call %zu", i);
	}
}

/* The frame has the caller's stack pointer, and then r13 gets another value. */
static void frames_of_the_interpreter_can_be_left_before_they_are_whole(void **state)
{
	__u64 fp;

	for (unsigned pushed = 1; pushed < 9; pushed++) {
		(void)set_up(NULL);
		walk.is_exact = 1;
		walk.registers_kind = REGISTERS_PT_REGS;
		walk.sp = at(20 - pushed);
		walk.fp.word = at(20);
		jvm_pt_regs[PT_REGS_R13] = 77;
		put_interpreted(20, at(24));
		assert_int_equal(
			hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp), WALK_ON);
		assert_int_equal(walk.ip, code_in(JVM_COMPILED, 0xe0));
		assert_int_equal(walk.sp, at(24));
		assert_int_equal(walk.fp.word, 77);
		assert_int_equal(fp, at(20));
	}
}

static void a_stub_has_the_name_of_its_blob(void **state)
{
	struct runtime_code code;

	walk.ip = code_in(JVM_STUB, 8);
	assert_int_equal(find(), HOTSPOT_STUB);
	assert_int_equal(blob.name, JVM_MEMORY + JVM_NAMES + 0x40);
	memset(&record, 0xa5, sizeof(record));
	assert_true(hotspot_copy_stub(&blob, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code), 0);
	assert_string_equal(code.name, "StubRoutines (1)");
	assert_string_equal(code.file, "");
	assert_int_equal(runtime_code_line(&code, -1), 0);
	/* Without a name, or where nothing can be read, it is none. */
	jvm[JVM_NAMES + 0x40] = 0;
	assert_false(hotspot_copy_stub(&blob, &record));
	blob.name = 0x10;
	assert_false(hotspot_copy_stub(&blob, &record));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(code_is_found_by_the_map, set_up),
		cmocka_unit_test_setup(what_is_no_code_is_not_found, set_up),
		cmocka_unit_test_setup(heaps_may_come_later, set_up),
		cmocka_unit_test_setup(a_frame_has_its_method_once_it_is_long_enough, set_up),
		cmocka_unit_test_setup(a_compiled_method_is_left_by_its_size, set_up),
		cmocka_unit_test_setup(
			a_method_without_a_frame_has_its_return_address_on_top, set_up),
		cmocka_unit_test_setup(virtual_threads_lead_to_their_carriers, set_up),
		cmocka_unit_test_setup(only_the_stub_of_virtual_threads_leads_to_carriers, set_up),
		cmocka_unit_test_setup(leaves_are_left_by_their_instructions, set_up),
		cmocka_unit_test_setup(interpreted_methods_are_left_by_the_frame_pointer, set_up),
		cmocka_unit_test_setup(entries_of_the_interpreter_have_no_frame, set_up),
		cmocka_unit_test_setup(a_method_that_is_called_is_not_its_caller, set_up),
		cmocka_unit_test_setup(
			frames_of_the_interpreter_can_be_left_before_they_are_whole, set_up),
		cmocka_unit_test_setup(a_stub_has_the_name_of_its_blob, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
