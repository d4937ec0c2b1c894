/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules within a function, and what fails. */
#include "extract/unwind_inferred.h"

#include "tests/extract/inferred_rows.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

/* The first test: Zydis is not loaded yet. */
static void without_zydis_nothing_is_inferred(void **state)
{
	static const uint8_t code[] = {
		0x90,			      /* 0: nop */
		0x53,			      /* 1: push %rbx */
		0xe8, 0x00, 0x00, 0x00, 0x00, /* 2: call 0x7 */
		0x5b,			      /* 7: pop %rbx */
		0xc3,			      /* 8: ret */
	};

	inferred_fixture_init(&fixture);
	assert_false(code_instruction_is_loaded());
	assert_rows(code, "");
	inferred_fixture_done(&fixture);
}

static void pushes_and_pops_move_the_frame(void **state)
{
	static const uint8_t code[] = {
		0x41, 0x57,		/* 0: push %r15 */
		0x53,			/* 2: push %rbx */
		0x48, 0x83, 0xec, 0x20, /* 3: sub $0x20,%rsp */
		0xff, 0xd0,		/* 7: call *%rax */
		0x89, 0x44, 0x24, 0x08, /* 9: mov %eax,0x8(%rsp) */
		0x48, 0x83, 0xc4, 0x20, /* d: add $0x20,%rsp */
		0x5b,			/* 11: pop %rbx */
		0x41, 0x5f,		/* 12: pop %r15 */
		0xc3,			/* 14: ret */
	};

	assert_rows(code, "0:sp+8 2:sp+16 3:sp+24 7:sp+56 11:sp+24 12:sp+16 14:sp+8 15:stop");
}

static void frame_pointer_holds_where_the_stack_pointer_is_unknown(void **state)
{
	static const uint8_t code[] = {
		0x55,			/* 0: push %rbp */
		0x48, 0x89, 0xe5,	/* 1: mov %rsp,%rbp */
		0x48, 0x83, 0xe4, 0xe0, /* 4: and $0xffffffffffffffe0,%rsp */
		0x48, 0x29, 0xc4,	/* 8: sub %rax,%rsp */
		0xff, 0xd1,		/* b: call *%rcx */
		0x48, 0x8d, 0x65, 0xf8, /* d: lea -0x8(%rbp),%rsp */
		0x48, 0x89, 0xec,	/* 11: mov %rbp,%rsp */
		0x5d,			/* 14: pop %rbp */
		0xc3,			/* 15: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16* 4:bp+16* 15:sp+8 16:stop");
}

static void leave_undoes_the_frame(void **state)
{
	static const uint8_t code[] = {
		0x55,			/* 0: push %rbp */
		0x48, 0x89, 0xe5,	/* 1: mov %rsp,%rbp */
		0x48, 0x83, 0xec, 0x10, /* 4: sub $0x10,%rsp */
		0x85, 0xc0,		/* 8: test %eax,%eax */
		0x74, 0x02,		/* a: je 0xe */
		0xc9,			/* c: leave */
		0xc3,			/* d: ret */
		0xff, 0xd0,		/* e: call *%rax */
		0xc9,			/* 10: leave */
		0xc3,			/* 11: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16* 4:bp+16* d:sp+8 e:bp+16* 11:sp+8 12:stop");
}

static void saved_frame_pointer_is_found(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18,	      /* 0: sub $0x18,%rsp */
		0x48, 0x89, 0x6c, 0x24, 0x10, /* 4: mov %rbp,0x10(%rsp) */
		0x89, 0xfd,		      /* 9: mov %edi,%ebp */
		0xff, 0xd0,		      /* b: call *%rax */
		0x48, 0x8b, 0x6c, 0x24, 0x10, /* d: mov 0x10(%rsp),%rbp */
		0x48, 0x83, 0xc4, 0x18,	      /* 12: add $0x18,%rsp */
		0xc3,			      /* 16: ret */
	};

	assert_rows(code, "0:sp+8 4:sp+32 9:sp+32* 16:sp+8 17:stop");
}

/* As compilers begin loops: the body is only reached from behind. */
static void loop_may_begin_at_its_end(void **state)
{
	static const uint8_t code[] = {
		0x55,	    /* 0: push %rbp */
		0x53,	    /* 1: push %rbx */
		0x89, 0xfb, /* 2: mov %edi,%ebx */
		0xeb, 0x04, /* 4: jmp 0xa */
		0x89, 0xdd, /* 6: mov %ebx,%ebp */
		0xff, 0xd0, /* 8: call *%rax */
		0xff, 0xcb, /* a: dec %ebx */
		0x75, 0xf8, /* c: jne 0x6 */
		0x5b,	    /* e: pop %rbx */
		0x5d,	    /* f: pop %rbp */
		0xc3,	    /* 10: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16* 2:sp+24* f:sp+16* 10:sp+8 11:stop");
}

static void two_stacks_at_one_place_refute_the_function(void **state)
{
	static const uint8_t code[] = {
		0x53,						      /* 0: push %rbx */
		0x50,						      /* 1: push %rax */
		0xff, 0xc8,					      /* 2: dec %eax */
		0x75, 0xfb,					      /* 4: jne 0x1 */
		0xc3,						      /* 6: ret */
		0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, /* 7: nopw 0x0(%rax,%rax,1) */
		0x53,						      /* 10: push %rbx */
		0xff, 0xd0,					      /* 11: call *%rax */
		0x5b,						      /* 13: pop %rbx */
		0xc3,						      /* 14: ret */
	};

	assert_rows(code, "10:sp+8 11:sp+16 14:sp+8 15:stop");
}

static void impossible_functions_have_no_rules(void **state)
{
	static const uint8_t code[] = {
		0x58,	    /* 0: pop %rax */
		0x53,	    /* 1: push %rbx */
		0xff, 0xd1, /* 2: call *%rcx */
		0x5b,	    /* 4: pop %rbx */
		0xff, 0xe0, /* 5: jmp *%rax */
	};

	assert_rows(code, "");
}

/* As V8's code that returns from a frame of another function. Its stack is not that at its start.
 */
static void code_that_drops_its_callers_frame_has_no_rules(void **state)
{
	static const uint8_t code[] = {
		0x4c, 0x8b, 0x45, 0xf0,				/* 0: mov -0x10(%rbp),%r8 */
		0x7d, 0x05,					/* 4: jge 0xb */
		0x53,						/* 6: push %rbx */
		0xff, 0xd0,					/* 7: call *%rax */
		0x90,						/* 9: nop */
		0x5b,						/* a: pop %rbx */
		0x48, 0x89, 0xec,				/* b: mov %rbp,%rsp */
		0x5d,						/* e: pop %rbp */
		0x41, 0x58,					/* f: pop %r8 */
		0x48, 0x8d, 0x24, 0xdc,				/* 11: lea (%rsp,%rbx,8),%rsp */
		0x41, 0x50,					/* 15: push %r8 */
		0xc3,						/* 17: ret */
		0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, /* 18: nopl 0x0(%rax,%rax,1) */
		0x53,						/* 20: push %rbx */
		0xff, 0xd0,					/* 21: call *%rax */
		0x5b,						/* 23: pop %rbx */
		0xc3,						/* 24: ret */
	};

	assert_rows(code, "20:sp+8 21:sp+16 24:sp+8 25:stop");
}

static void stack_pointer_from_elsewhere_is_unknown(void **state)
{
	static const uint8_t code[] = {
		0x53,		  /* 0: push %rbx */
		0x48, 0x89, 0xfc, /* 1: mov %rdi,%rsp */
		0x90,		  /* 4: nop */
		0x90,		  /* 5: nop */
		0x48, 0x94,	  /* 6: xchg %rax,%rsp */
		0xff, 0xe1,	  /* 8: jmp *%rcx */
	};

	assert_rows(code, "0:sp+8 1:sp+16 4:stop");
}

static void cases_of_a_switch_have_the_stack_of_its_jump(void **state)
{
	static const uint8_t code[] = {
		0x53,					  /* 0: push %rbx */
		0x48, 0x83, 0xec, 0x10,			  /* 1: sub $0x10,%rsp */
		0xff, 0x24, 0xc5, 0x00, 0x10, 0x00, 0x00, /* 5: jmp *0x1000(,%rax,8) */
		0xb8, 0x01, 0x00, 0x00, 0x00,		  /* c: mov $0x1,%eax */
		0x48, 0x83, 0xc4, 0x10,			  /* 11: add $0x10,%rsp */
		0x5b,					  /* 15: pop %rbx */
		0xc3,					  /* 16: ret */
		0xb8, 0x02, 0x00, 0x00, 0x00,		  /* 17: mov $0x2,%eax */
		0xeb, 0xf3,				  /* 1c: jmp 0x11 */
		0x66, 0x90,				  /* 1e: xchg %ax,%ax */
		0x55,					  /* 20: push %rbp */
		0x5d,					  /* 21: pop %rbp */
		0xc3,					  /* 22: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16 5:sp+32 15:sp+16 16:sp+8 17:sp+32 20:sp+8 21:sp+16* "
			  "22:sp+8 23:stop");
}

static void invalid_code_is_unknown(void **state)
{
	static const uint8_t code[] = {
		0x53, /* 0: push %rbx */
		0x06, /* 1: (bad) */
		0x0e, /* 2: (bad) */
		0x90, /* 3: nop */
		0x90, /* 4: nop */
		0x90, /* 5: nop */
		0x90, /* 6: nop */
		0x90, /* 7: nop */
		0x90, /* 8: nop */
		0xc3, /* 9: ret */
	};

	assert_rows(code, "");
}

/* A frame that grows in each round would have no end. */
static void endless_growth_ends(void **state)
{
	static const uint8_t code[] = {
		0xff, 0xd0, /* 0: call *%rax */
		0x53,	    /* 2: push %rbx */
		0xeb, 0xfd, /* 3: jmp 0x2 */
		0x90,	    /* 5: nop */
		0x90,	    /* 6: nop */
		0x90,	    /* 7: nop */
	};

	assert_rows(code, "0:sp+8 2:stop");
}

static void failed_allocations_are_errors(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xd1, /* 1: call *%rcx */
		0x5b,	    /* 3: pop %rbx */
		0xc3,	    /* 4: ret */
		0x90,	    /* 5: nop */
		0x90,	    /* 6: nop */
		0x90,	    /* 7: nop */
	};

	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_true(FAIL_EACH_ALLOCATION(inferred_fixture_infer(&fixture), -ENOMEM, true, 0) >= 2);
}

static void full_scratch_is_an_error(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xd1, /* 1: call *%rcx */
		0x5b,	    /* 3: pop %rbx */
		0xc3,	    /* 4: ret */
		0x90,	    /* 5: nop */
		0x90,	    /* 6: nop */
		0x90,	    /* 7: nop */
	};
	struct scratch *scratch = &fixture.scratch.scratch;
	uint64_t needed;

	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_int_equal(inferred_fixture_infer(&fixture), 0);
	needed = scratch->used_bytes;
	for (uint64_t limit = 0; limit < needed; limit += 4096) {
		scratch->limit_bytes = limit;
		assert_int_equal(inferred_fixture_infer(&fixture), -EFBIG);
	}
}

static void read_errors_are_returned(void **state)
{
	static const uint8_t code[64] = { 0x53 };

	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_int_equal(ftruncate(fixture.fd, CODE_OFFSET + 8), 0);
	assert_true(inferred_fixture_infer(&fixture) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_zydis_nothing_is_inferred),
		cmocka_unit_test_setup_teardown(pushes_and_pops_move_the_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			frame_pointer_holds_where_the_stack_pointer_is_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leave_undoes_the_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(saved_frame_pointer_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(loop_may_begin_at_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			two_stacks_at_one_place_refute_the_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			impossible_functions_have_no_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_that_drops_its_callers_frame_has_no_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			stack_pointer_from_elsewhere_is_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			cases_of_a_switch_have_the_stack_of_its_jump, set_up, tear_down),
		cmocka_unit_test_setup_teardown(invalid_code_is_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(endless_growth_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_allocations_are_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_scratch_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(read_errors_are_returned, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
