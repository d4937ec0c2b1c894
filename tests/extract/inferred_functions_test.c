/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin, which of them are roots, and which code is left to others. */
#include "extract/unwind_inferred.h"

#include "tests/extract/inferred_rows.h"

static void other_functions_may_follow_a_call_that_does_not_return(void **state)
{
	static const uint8_t code[] = {
		0x53,			/* 0: push %rbx */
		0x48, 0x83, 0xec, 0x20, /* 1: sub $0x20,%rsp */
		0x85, 0xc0,		/* 5: test %eax,%eax */
		0x74, 0x06,		/* 7: je 0xf */
		0x48, 0x83, 0xc4, 0x20, /* 9: add $0x20,%rsp */
		0x5b,			/* d: pop %rbx */
		0xc3,			/* e: ret */
		0xff, 0xd0,		/* f: call *%rax */
		0x53,			/* 11: push %rbx */
		0x5b,			/* 12: pop %rbx */
		0xc3,			/* 13: ret */
	};

	assert_rows(code,
		"0:sp+8 1:sp+16 5:sp+48 d:sp+16 e:sp+8 f:sp+48 11:sp+8 12:sp+16 13:sp+8 14:stop");
}

static void called_functions_are_known_before_code_runs_into_them(void **state)
{
	static const uint8_t code[] = {
		0x53,						/* 0: push %rbx */
		0xe8, 0x10, 0x00, 0x00, 0x00,			/* 1: call 0x16 */
		0x5b,						/* 6: pop %rbx */
		0xc3,						/* 7: ret */
		0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, /* 8: nopl 0x0(%rax,%rax,1) */
		0x48, 0x83, 0xec, 0x28,				/* 10: sub $0x28,%rsp */
		0xff, 0xd0,					/* 14: call *%rax */
		0x53,						/* 16: push %rbx */
		0xff, 0xd1,					/* 17: call *%rcx */
		0x5b,						/* 19: pop %rbx */
		0xc3,						/* 1a: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16 7:sp+8 14:sp+48 16:sp+8 17:sp+16 1a:sp+8 1b:stop");
}

/* Behind a call with padding up to an aligned place. */
static void aligned_loop_is_no_function(void **state)
{
	static const uint8_t code[] = {
		0x53,						      /* 0: push %rbx */
		0x48, 0x83, 0xec, 0x20,				      /* 1: sub $0x20,%rsp */
		0xff, 0xd0,					      /* 5: call *%rax */
		0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, /* 7: nopw 0x0(%rax,%rax,1) */
		0xff, 0xd1,					      /* 10: call *%rcx */
		0x85, 0xc0,					      /* 12: test %eax,%eax */
		0x75, 0xfa,					      /* 14: jne 0x10 */
		0x48, 0x83, 0xc4, 0x20,				      /* 16: add $0x20,%rsp */
		0x5b,						      /* 1a: pop %rbx */
		0xc3,						      /* 1b: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16 5:sp+48 1a:sp+16 1b:sp+8 1c:stop");
}

static void entry_is_a_root(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xed,		      /* 0: xor %ebp,%ebp */
		0x48, 0x89, 0xe7,	      /* 2: mov %rsp,%rdi */
		0x48, 0x83, 0xe4, 0xf0,	      /* 5: and $0xfffffffffffffff0,%rsp */
		0xe8, 0x00, 0x00, 0x00, 0x00, /* 9: call 0xe */
		0x53,			      /* e: push %rbx */
		0xff, 0xd1,		      /* f: call *%rcx */
		0x5b,			      /* 11: pop %rbx */
		0xc3,			      /* 12: ret */
	};

	fixture.entry = 0;
	assert_rows(code, "0:root e:sp+8 f:sp+16 12:sp+8 13:stop");
}

/* The system call ends the program, but nothing says so. Then comes a function. */
static void entry_does_not_go_on_to_functions(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0x05, 0x00, 0x00, 0x00, /* 0: call 0xa */
		0xb0, 0x3c,		      /* 5: mov $0x3c,%al */
		0x0f, 0x05,		      /* 7: syscall */
		0x90,			      /* 9: nop */
		0x53,			      /* a: push %rbx */
		0xe8, 0x02, 0x00, 0x00, 0x00, /* b: call 0x12 */
		0x5b,			      /* 10: pop %rbx */
		0xc3,			      /* 11: ret */
		0x53,			      /* 12: push %rbx */
		0xff, 0xd1,		      /* 13: call *%rcx */
		0x5b,			      /* 15: pop %rbx */
		0xc3,			      /* 16: ret */
	};
	static const uint8_t without_calls[] = {
		0xb0, 0x3c,		      /* 0: mov $0x3c,%al */
		0x0f, 0x05,		      /* 2: syscall */
		0x53,			      /* 4: push %rbx */
		0xff, 0xd1,		      /* 5: call *%rcx */
		0x5b,			      /* 7: pop %rbx */
		0xc3,			      /* 8: ret */
		0x0f, 0x1f, 0x80, 0, 0, 0, 0, /* 9: nopl 0x0(%rax) */
		0x53,			      /* 10: push %rbx */
		0xe8, 0xee, 0xff, 0xff, 0xff, /* 11: call 0x4 */
		0x5b,			      /* 16: pop %rbx */
		0xc3,			      /* 17: ret */
	};

	fixture.entry = 0;
	assert_rows(code, "0:root a:sp+8 b:sp+16 11:sp+8 13:sp+16 16:sp+8 17:stop");
	assert_rows(without_calls, "0:root 4:sp+8 5:sp+16 8:sp+8 11:sp+16 17:sp+8 18:stop");
}

/* musl's __clone(). */
static void thread_begins_with_a_root(void **state)
{
	static const uint8_t code[] = {
		0xb0, 0x38,	  /* 0: mov $0x38,%al */
		0x4d, 0x89, 0xcb, /* 2: mov %r9,%r11 */
		0x0f, 0x05,	  /* 5: syscall */
		0x85, 0xc0,	  /* 7: test %eax,%eax */
		0x75, 0x0d,	  /* 9: jne 0x18 */
		0x31, 0xed,	  /* b: xor %ebp,%ebp */
		0x5f,		  /* d: pop %rdi */
		0x41, 0xff, 0xd1, /* e: call *%r9 */
		0x89, 0xc7,	  /* 11: mov %eax,%edi */
		0xb0, 0x3c,	  /* 13: mov $0x3c,%al */
		0x0f, 0x05,	  /* 15: syscall */
		0xf4,		  /* 17: hlt */
		0xc3,		  /* 18: ret */
	};

	assert_rows(code, "0:sp+8 b:root 18:sp+8 19:stop");
}

static void no_other_zero_is_a_root(void **state)
{
	static const uint8_t code[] = {
		0x55,	    /* 0: push %rbp */
		0x0f, 0x05, /* 1: syscall */
		0x31, 0xed, /* 3: xor %ebp,%ebp */
		0xff, 0xd0, /* 5: call *%rax */
		0x5d,	    /* 7: pop %rbp */
		0xc3,	    /* 8: ret */
	};

	assert_rows(code, "0:sp+8 1:sp+16* 8:sp+8 9:stop");
}

static void symbols_begin_functions(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18, /* 0: sub $0x18,%rsp */
		0x89, 0xc1,		/* 4: mov %eax,%ecx */
		0x89, 0xc0,		/* 6: mov %eax,%eax */
		0x90,			/* 8: nop */
		0x53,			/* 9: push %rbx */
		0xff, 0xd1,		/* a: call *%rcx */
		0x5b,			/* c: pop %rbx */
		0xc3,			/* d: ret */
	};
	const Elf64_Sym symbols[] = {
		{ .st_info = 0 },
		{ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = CODE_VADDR + 9 },
		{ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
			.st_shndx = 1,
			.st_value = CODE_VADDR + 8 },
		{ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_value = CODE_VADDR + 8 },
		{ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, .st_value = 8 },
	};

	unwind_elf_add_part(&fixture.elf, ".symtab", 0, symbols, sizeof(symbols));
	fixture.elf.parts[0].type = SHT_SYMTAB;
	assert_rows(code, "9:sp+8 a:sp+16 d:sp+8 e:stop");
}

/* jmp *%rdx, behind a call that does not return. */
static void a_function_may_only_jump(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x18,					    /* 0: sub $0x18,%rsp */
		0x85, 0xc0,						    /* 4: test %eax,%eax */
		0x74, 0x05,						    /* 6: je 0xd */
		0x48, 0x83, 0xc4, 0x18,					    /* 8: add $0x18,%rsp */
		0xc3,							    /* c: ret */
		0xff, 0xd0,						    /* d: call *%rax */
		0x90,							    /* f: nop */
		0xff, 0xe2,						    /* 10: jmp *%rdx */
		0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, /* 12: nopw */
	};

	assert_rows(code, "0:sp+8 4:sp+32 c:sp+8 d:sp+32 10:sp+8 1c:stop");
}

/* Of a function that could not be understood, no part is taken for a function. */
static void no_function_begins_within_another(void **state)
{
	static const uint8_t code[] = {
		0x5b,	    /* 0: pop %rbx */
		0xc3,	    /* 1: ret */
		0x53,	    /* 2: push %rbx */
		0xff, 0xd1, /* 3: call *%rcx */
		0x5b,	    /* 5: pop %rbx */
		0xc3,	    /* 6: ret */
		0x90,	    /* 7: nop */
	};
	Elf64_Sym symbols[] = {
		{ .st_info = 0 },
		{ .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = CODE_VADDR,
			.st_size = 2 },
	};

	unwind_elf_add_part(&fixture.elf, ".symtab", 0, symbols, sizeof(symbols));
	fixture.elf.parts[0].type = SHT_SYMTAB;
	assert_rows(code, "2:sp+8 3:sp+16 6:sp+8 8:stop");
	symbols[1].st_size = 7;
	assert_rows(code, "");
	symbols[1].st_size = UINT64_MAX;
	assert_rows(code, "");
}

/* Nothing confirms that it is a function, and functions are aligned. */
static void behind_unknown_code_only_aligned_places_begin_functions(void **state)
{
	static const uint8_t jump_and_call[] = {
		0xff, 0xe0, /* jmp *%rax */
		0xff, 0xd0, /* call *%rax */
		0xf4,	    /* hlt */
	};
	uint8_t code[24];

	memset(code, 0x06, sizeof(code)); /* invalid */
	memcpy(code + 15, jump_and_call, sizeof(jump_and_call));
	assert_rows(code, "");
	memset(code, 0x06, sizeof(code));
	memcpy(code + 14, jump_and_call, sizeof(jump_and_call));
	assert_rows(code, "10:sp+8 13:stop");
}

static void described_code_has_no_inferred_rules(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xd1, /* 1: call *%rcx */
		0x5b,	    /* 3: pop %rbx */
		0xc3,	    /* 4: ret */
		0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00,
		0x00,	    /* 5: data16 cs nopw 0x0(%rax,%rax,1) */
		0x53,	    /* 10: push %rbx */
		0xff, 0xd1, /* 11: call *%rcx */
		0x5b,	    /* 13: pop %rbx */
		0xc3,	    /* 14: ret */
		0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00,
		0x00,	    /* 15: data16 cs nopw 0x0(%rax,%rax,1) */
		0x53,	    /* 20: push %rbx */
		0xff, 0xd1, /* 21: call *%rcx */
		0x5b,	    /* 23: pop %rbx */
		0xc3,	    /* 24: ret */
		0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00,
		0x00, /* 25: data16 cs nopw 0x0(%rax,%rax,1) */
	};
	struct unwind_function described = { .start = CODE_OFFSET + 0x10,
		.end = CODE_OFFSET + 0x15 };

	fixture.functions.functions =
		(struct scratch_array){ .items = &described, .count = 1, .capacity = 1 };
	fixture.stubs.count = 1;
	fixture.stubs.stubs[0] =
		(struct unwind_stub){ .start = CODE_OFFSET, .end = CODE_OFFSET + 0x10 };
	assert_rows(code, "20:sp+8 21:sp+16 24:sp+8 30:stop");
}

static void code_of_go_has_no_inferred_rules(void **state)
{
	static const uint8_t code[] = {
		0x53,	    /* 0: push %rbx */
		0xff, 0xd1, /* 1: call *%rcx */
		0x5b,	    /* 3: pop %rbx */
		0xc3,	    /* 4: ret */
		0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00,
		0x00,	    /* 5: data16 cs nopw 0x0(%rax,%rax,1) */
		0x53,	    /* 10: push %rbx */
		0xff, 0xd1, /* 11: call *%rcx */
		0x5b,	    /* 13: pop %rbx */
		0xc3,	    /* 14: ret */
		0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00,
		0x00, /* 15: data16 cs nopw 0x0(%rax,%rax,1) */
	};
	struct unwind_go_row rows[] = {
		{ .offset = CODE_OFFSET, .kind = UNWIND_GO_PLAIN },
		{ .offset = CODE_OFFSET + 0x10, .kind = UNWIND_GO_NOTHING },
	};

	fixture.go.rows = (struct scratch_array){ .items = rows, .count = 2, .capacity = 2 };
	assert_rows(code, "10:sp+8 11:sp+16 14:sp+8 20:stop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			other_functions_may_follow_a_call_that_does_not_return, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			called_functions_are_known_before_code_runs_into_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(aligned_loop_is_no_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(entry_is_a_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			entry_does_not_go_on_to_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(thread_begins_with_a_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_other_zero_is_a_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(symbols_begin_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_function_may_only_jump, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			no_function_begins_within_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			behind_unknown_code_only_aligned_places_begin_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			described_code_has_no_inferred_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_of_go_has_no_inferred_rules, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
