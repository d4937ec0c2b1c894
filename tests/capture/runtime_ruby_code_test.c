/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps out of the code that Ruby's YJIT generates, compiled for the host. */
#include "tests/capture/made_up_stack.h"

/* Ruby's control frames are on the made-up stack, too. */
static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	return size % sizeof(__u64) == 0 && can_read_own_user(bytes, size / sizeof(__u64), address);
}

#include "bpf/runtime_ruby_code.bpf.h"

/* Words of the stack: where the innermost control frame begins, and the code that tests write
 * themselves. */
enum { FRAMES = 4100, FRAME_WORDS = 8, CODE = 6000, SP = 100, JIT_BYTES = 0x10000 };
#define JIT 0x7fe000000000ULL

static struct pilotlight_runtime runtime;
static struct walk walk;

static void open_walk(void)
{
	memset(stack, 0, sizeof(stack));
	runtime = (struct pilotlight_runtime){
		.frame_bytes = FRAME_WORDS * 8,
		.loop_place = 0x1000,
		.loop_bytes = 0x100,
		.loop_rest_place = 0x2000,
		.loop_rest_bytes = 0x200,
	};
	walk = (struct walk){
		.ip = JIT + 100,
		.sp = at(SP),
		.fp = { at(SP + 200), SAVED_VALUE, 0 },
		.rbx = { 1, SAVED_VALUE, 0 },
		.runtime.base = CODE_START,
		.registers_kind = REGISTERS_PT_REGS,
		.is_exact = 1,
	};
}

/* As the sampler does. */
static int leave_code_to(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < RUBY_CODE_WORDS; i++)
		if (ruby_leave_code(&walk, &runtime, start, end, i))
			return 1;
	return 0;
}

static int leave_code(void)
{
	return leave_code_to(CODE_START, CODE_END);
}

/* Wherever the code is among its pushes, the return address is the first word that can be one. */
static void the_caller_is_the_first_that_called(void **state)
{
	static const unsigned pushed[] = { 0, 1, 3, 5, 11, RUBY_CODE_WORDS - 1 };

	for (size_t i = 0; i < sizeof(pushed) / sizeof(pushed[0]); i++) {
		open_walk();
		for (unsigned word = 0; word < pushed[i]; word++)
			stack[SP + word] = word % 2 ? at(SP + 50) : JIT + word;
		stack[SP + pushed[i]] = CODE_START + 0x5000;
		stack[SP + pushed[i] + 1] = CODE_START + 0x6000;
		assert_true(leave_code());
		assert_int_equal(walk.ip, CODE_START + 0x5000);
		assert_int_equal(walk.sp, at(SP + pushed[i] + 1));
		assert_false(walk.is_exact);
		assert_int_equal(walk.registers_kind, REGISTERS_NONE);
		/* The code keeps the frame pointer, and not rbx. */
		assert_int_equal(walk.fp.kind, SAVED_VALUE);
		assert_int_equal(walk.fp.word, at(SP + 200));
		assert_int_equal(walk.rbx.kind, SAVED_UNKNOWN);
		assert_true(walk.read_more);
	}
}

static void other_words_are_no_callers(void **state)
{
	static const uint64_t words[] = { 0, 1, CODE_START - 8, CODE_END, JIT + 8, ~0ULL };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		open_walk();
		stack[SP + 3] = words[i];
		/* Too far away. */
		stack[SP + RUBY_CODE_WORDS] = CODE_START + 0x5000;
		assert_false(leave_code());
		assert_int_equal(walk.ip, JIT + 100);
		assert_int_equal(walk.sp, at(SP));
		assert_true(walk.is_exact);
		assert_int_equal(walk.rbx.kind, SAVED_VALUE);
	}
	open_walk();
	walk.sp = at(STACK_WORDS - 2);
	assert_false(leave_code());
	walk.sp = 0x1000;
	assert_false(leave_code());
}

/* Direct calls count in the loop alone, which may call a function that jumps to the code. */
static void direct_calls_are_the_loops(void **state)
{
	static const struct {
		uint64_t code; /* before the return address */
		int64_t loop, rest;
		int is_caller;
	} calls[] = {
		{ 0xd0ff909090909090, 0, 0, 1 }, /* call *%rax */
		{ 0x00001000e8909090, 0, 0, 0 }, /* call */
		{ 0x00001000e8909090, -1, 0, 1 },
		{ 0x00001000e8909090, 0, -1, 1 },
		{ 0x00001000e8909090, -0x100, 0, 1 }, /* right behind it */
		{ 0x00001000e8909090, -0x101, 0, 0 },
		{ 0x00001000e8909090, 0, -0x200, 1 },
		{ 0x00001000e8909090, 0, -0x201, 0 },
		{ 0x00001000e9909090, -1, 0, 0 }, /* jmp */
		{ 0x9090909090909090, -1, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		open_walk();
		/* The code is on the made-up stack, too. */
		walk.runtime.base = 0;
		runtime.loop_place = (int64_t)at(CODE) + calls[i].loop;
		runtime.loop_rest_place = (int64_t)at(CODE) + calls[i].rest;
		stack[CODE - 1] = calls[i].code;
		stack[SP + 3] = at(CODE);
		assert_int_equal(leave_code_to(at(CODE), at(CODE + 1)), calls[i].is_caller);
	}
	/* What is before it cannot be read. */
	open_walk();
	stack[SP + 3] = STACK_START;
	assert_false(leave_code_to(STACK_START, at(1)));
}

/* With --yjit-perf the caller's frame pointer is right below the return address. */
static void a_frame_pointer_leads_to_the_callers(void **state)
{
	__u64 fp;

	open_walk();
	walk.fp.word = at(SP + 4);
	stack[SP + 4] = at(SP + 300);
	stack[SP + 5] = CODE_START + 0x5000;
	assert_true(leave_code());
	assert_true(read_saved(&walk, &walk.fp, &fp));
	assert_int_equal(fp, at(SP + 300));
	/* Below the stack pointer there is none: the code has returned from it. */
	open_walk();
	walk.fp.word = at(SP - 1);
	stack[SP] = CODE_START + 0x5000;
	assert_true(leave_code());
	assert_int_equal(walk.fp.kind, SAVED_VALUE);
	assert_int_equal(walk.fp.word, at(SP - 1));
	open_walk();
	walk.fp.kind = SAVED_UNKNOWN;
	stack[SP + 3] = CODE_START + 0x5000;
	assert_true(leave_code());
	assert_int_equal(walk.fp.kind, SAVED_UNKNOWN);
}

static int returns_to_jit(void)
{
	return ruby_returns_to(&runtime, at(FRAMES), JIT, JIT + JIT_BYTES);
}

/* Sets where a frame returns to. */
static void return_to(unsigned frame, uint64_t address)
{
	stack[FRAMES + FRAME_WORDS * frame + FRAME_WORDS - 1] = address;
}

static void frames_prove_whose_code_it_is(void **state)
{
	open_walk();
	assert_false(returns_to_jit());
	return_to(0, JIT);
	assert_true(returns_to_jit());
	return_to(0, JIT - 1);
	assert_false(returns_to_jit());
	return_to(RUBY_CODE_FRAMES - 1, JIT + JIT_BYTES - 1);
	assert_true(returns_to_jit());
	return_to(RUBY_CODE_FRAMES - 1, JIT + JIT_BYTES);
	assert_false(returns_to_jit());
	return_to(RUBY_CODE_FRAMES, JIT);
	assert_false(returns_to_jit());
	/* Another word of a frame says nothing. */
	stack[FRAMES + FRAME_WORDS - 2] = JIT;
	assert_false(returns_to_jit());
}

static void frames_that_cannot_be_read_prove_nothing(void **state)
{
	open_walk();
	assert_false(ruby_returns_to(&runtime, at(STACK_WORDS - 12), JIT, JIT + JIT_BYTES));
	assert_false(ruby_returns_to(&runtime, 0x1000, JIT, JIT + JIT_BYTES));
	assert_false(ruby_returns_to(&runtime, ~0ULL - 63, JIT, JIT + JIT_BYTES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_caller_is_the_first_that_called),
		cmocka_unit_test(other_words_are_no_callers),
		cmocka_unit_test(direct_calls_are_the_loops),
		cmocka_unit_test(a_frame_pointer_leads_to_the_callers),
		cmocka_unit_test(frames_prove_whose_code_it_is),
		cmocka_unit_test(frames_that_cannot_be_read_prove_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
