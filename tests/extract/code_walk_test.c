/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_walk.h"

#include <string.h>

#include "tests/extract/inferred_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

static struct inferred_fixture fixture;
static struct code_walk walk;
static enum code_verdict verdict;

static int set_up(void **state)
{
	inferred_fixture_init(&fixture);
	return code_instruction_load(NULL);
}

static int tear_down(void **state)
{
	code_walk_done(&walk);
	inferred_fixture_done(&fixture);
	return 0;
}

static void begin(const uint8_t *code, size_t size)
{
	inferred_fixture_put(&fixture, code, size);
	assert_int_equal(unwind_gaps_read(&fixture.gaps, &fixture.functions, &fixture.go,
				 &fixture.stubs, &fixture.files, &fixture.scratch.scratch),
		0);
	assert_int_equal(code_walk_init(&walk, &fixture.gaps, &fixture.scratch.scratch), 0);
}

static int run(uint32_t at, int32_t depth, enum code_claim claim)
{
	struct code_state state = code_state_of_entry();

	state.depth = depth;
	return code_walk_run(&walk, at, &state, claim, &verdict);
}

/* The depth before an instruction; 0: unknown; -1: no walk has come there. */
static int32_t depth_at(uint32_t at)
{
	uint32_t mark = code_walk_marks(&walk)[at];
	const struct code_state *state = code_walk_state(&walk, mark);

	if (state)
		return state->depth;
	return (mark & CODE_MARK_VALUE) == CODE_MARK_UNKNOWN ? 0 : -1;
}

static void only_confirmed_guesses_are_kept(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xe0, /* 1: jmp *%rax */
		0x53,	    /* 3: push %rbx */
		0x5b,	    /* 4: pop %rbx */
		0xc3,	    /* 5: ret */
		0x90,	    /* 6: nop */
		0x90,	    /* 7: nop */
		0x90,	    /* 8: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_GUESS), 0);
	assert_int_equal(verdict, CODE_POSSIBLE);
	assert_int_equal(depth_at(0), -1);
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(verdict, CODE_POSSIBLE);
	assert_int_equal(depth_at(1), 16);
	assert_int_equal(run(3, 8, CODE_GUESS), 0);
	assert_int_equal(verdict, CODE_CONFIRMED);
	assert_int_equal(depth_at(4), 16);
}

static void refuted_walks_leave_no_marks(void **state)
{
	static const uint8_t code[] = {
		0x53, /* 0: push %rbx */
		0x53, /* 1: push %rbx */
		0x5b, /* 2: pop %rbx */
		0xc3, /* 3: ret */
		0x90, /* 4: nop */
		0x90, /* 5: nop */
		0x90, /* 6: nop */
		0x90, /* 7: nop */
	};

	begin(code, sizeof(code));
	for (enum code_claim claim = CODE_LIKELY; claim <= CODE_GUESS; claim++) {
		assert_int_equal(run(0, 8, claim), 0);
		assert_int_equal(verdict, CODE_REFUTED);
		for (uint32_t at = 0; at < sizeof(code); at++)
			assert_int_equal(code_walk_marks(&walk)[at], CODE_MARK_NONE);
	}
	/* Of a certain function the code is known to be unknown. */
	assert_int_equal(run(0, 8, CODE_CERTAIN), 0);
	assert_int_equal(verdict, CODE_REFUTED);
	assert_int_equal(depth_at(0), 0);
	assert_int_equal(depth_at(3), 0);
}

/* It may be a part of the function that was not understood. */
static void guesses_that_lead_to_unknown_code_are_refuted(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0x53,	    /* 1: push %rbx */
		0x5b,	    /* 2: pop %rbx */
		0xc3,	    /* 3: ret */
		0x89, 0xc8, /* 4: mov %ecx,%eax */
		0xeb, 0xf9, /* 6: jmp 0x1 */
		0x90,	    /* 8: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_CERTAIN), 0);
	assert_int_equal(verdict, CODE_REFUTED);
	assert_int_equal(run(4, 8, CODE_LIKELY), 0);
	assert_int_equal(verdict, CODE_REFUTED);
	assert_int_equal(depth_at(4), -1);
}

/* Other code had been followed into the function, behind a call that does not return. */
static void new_starts_forget_what_led_there(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18, /* 0: sub $0x18,%rsp */
		0xff, 0xd0,		/* 4: call *%rax */
		0x53,			/* 6: push %rbx */
		0xff, 0xe0,		/* 7: jmp *%rax */
		0x53,			/* 9: push %rbx */
		0x5b,			/* a: pop %rbx */
		0xc3,			/* b: ret */
		0x90,			/* c: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(depth_at(6), 32);
	assert_int_equal(code_walk_add_start(&walk, 6), 0);
	assert_int_equal(code_walk_add_start(&walk, 6), 0);
	assert_int_equal(walk.calls_kept, 1);
	assert_int_equal(depth_at(6), -1);
	assert_int_equal(run(6, 8, CODE_CERTAIN), 0);
	assert_int_equal(depth_at(6), 8);
	assert_int_equal(depth_at(7), 16);
}

static void number_of_instructions_is_bounded(void **state)
{
	static const uint8_t code[] = {
		0x53, /* 0: push %rbx */
		0x5b, /* 1: pop %rbx */
		0xc3, /* 2: ret */
		0x90, /* 3: nop */
		0x90, /* 4: nop */
		0x90, /* 5: nop */
		0x90, /* 6: nop */
		0x90, /* 7: nop */
	};

	begin(code, sizeof(code));
	walk.instructions_left = 2;
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(verdict, CODE_REFUTED);
	assert_int_equal(walk.instructions_left, 0);
	walk.instructions_left = 3;
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(verdict, CODE_CONFIRMED);
}

/* A jump is surer than falling out of a call: this one does not return. */
static void jumps_override_what_follows_calls(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x28, /* 0: sub $0x28,%rsp */
		0x85, 0xc0,		/* 4: test %eax,%eax */
		0x74, 0x05,		/* 6: je 0xd */
		0x48, 0x83, 0xc4, 0x28, /* 8: add $0x28,%rsp */
		0xc3,			/* c: ret */
		0xff, 0xd0,		/* d: call *%rax */
		0xff, 0xd1,		/* f: call *%rcx */
		0xff, 0xe2,		/* 11: jmp *%rdx */
		0x85, 0xc0,		/* 13: test %eax,%eax */
		0x74, 0xf8,		/* 15: je 0xf */
		0xc3,			/* 17: ret */
		0x90,			/* 18: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(depth_at(0xf), 48);
	assert_int_equal(run(0x13, 8, CODE_LIKELY), 0);
	assert_int_equal(verdict, CODE_CONFIRMED);
	assert_int_equal(depth_at(0xf), 8);
}

/* Data that look like a jump. */
static void refuted_walks_restore_what_they_overrode(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xd0, /* 1: call *%rax */
		0x89, 0xc8, /* 3: mov %ecx,%eax */
		0x5b,	    /* 5: pop %rbx */
		0xc3,	    /* 6: ret */
		0xeb, 0xfa, /* 7: jmp 0x3 */
		0x90,	    /* 9: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(depth_at(3), 16);
	assert_int_equal(run(7, 8, CODE_GUESS), 0);
	assert_int_equal(verdict, CODE_REFUTED);
	assert_int_equal(depth_at(7), -1);
	assert_int_equal(depth_at(3), 16);
	assert_int_equal(depth_at(5), 16);
	assert_int_equal(code_walk_marks(&walk)[4] & CODE_MARK_VALUE, CODE_MARK_INSIDE);
}

/* The call does not return. Then come data, or another function. */
static void refuted_code_behind_calls_starts_no_functions(void **state)
{
	static const uint8_t code[] = {
		0x53,			      /* 0: push %rbx */
		0xff, 0xd0,		      /* 1: call *%rax */
		0x75, 0x05,		      /* 3: jne 0xa */
		0xe8, 0x03, 0x00, 0x00, 0x00, /* 5: call 0xd */
		0xc3,			      /* a: ret */
		0x89, 0xc8,		      /* b: mov %ecx,%eax */
		0xc3,			      /* d: ret */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_CERTAIN), 0);
	assert_int_equal(depth_at(1), 16);
	assert_int_equal(depth_at(3), -1);
	assert_int_equal(walk.calls_kept, 0);
	assert_int_equal(code_walk_marks(&walk)[0xd], CODE_MARK_NONE);
}

static void endless_overriding_ends(void **state)
{
	static const uint8_t code[] = {
		0xff, 0xd0, /* 0: call *%rax */
		0x53,	    /* 2: push %rbx */
		0x85, 0xc0, /* 3: test %eax,%eax */
		0x75, 0xfb, /* 5: jne 0x2 */
		0xff, 0xe0, /* 7: jmp *%rax */
		0xeb, 0xf7, /* 9: jmp 0x2 */
		0x90,	    /* b: nop */
		0x90,	    /* c: nop */
	};

	begin(code, sizeof(code));
	assert_int_equal(run(0, 8, CODE_LIKELY), 0);
	assert_int_equal(run(9, 8, CODE_LIKELY), 0);
	assert_true(walk.instructions_left > 1 << 15);
}

static void failed_allocations_are_errors(void **state)
{
	static const uint8_t code[] = {
		0x53,			      /* 0: push %rbx */
		0xe8, 0x03, 0x00, 0x00, 0x00, /* 1: call 0x9 */
		0x5b,			      /* 6: pop %rbx */
		0xc3,			      /* 7: ret */
		0x90,			      /* 8: nop */
		0x90,			      /* 9: nop */
	};

	begin(code, sizeof(code));
	assert_true(FAIL_EACH_ALLOCATION(run(0, 8, CODE_LIKELY), -ENOMEM, true, 0) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_confirmed_guesses_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuted_walks_leave_no_marks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			guesses_that_lead_to_unknown_code_are_refuted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			new_starts_forget_what_led_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			number_of_instructions_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			jumps_override_what_follows_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			refuted_walks_restore_what_they_overrode, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			refuted_code_behind_calls_starts_no_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(endless_overriding_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_allocations_are_errors, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
