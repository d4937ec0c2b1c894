/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of the sampler's walk by the frame pointer, and out of leaves without a frame, compiled for
 * the host. */
#include "tests/capture/walk_step_fixture.h"

#include <stdbool.h>

/* In the middle of a function without a frame, the call before the return address shows the caller.
 */
static void frameless_leaf_is_found_by_the_call(void **state)
{
	static const struct {
		__u64 code; /* before the return address */
		int is_call;
	} callers[] = {
		{ 0xffffffb0e8909090, 1 }, /* calls 16 bytes before the leaf */
		{ 0x00000000e8909090, 1 }, /* right behind it */
		{ 0x00020000e8909090, 0 }, /* far behind it */
		{ 0xfffeff00e8909090, 0 }, /* far before it */
		{ 0xd7ff909090909090, 1 }, /* call *%rdi */
		{ 0x13ff909090909090, 1 }, /* call *(%rbx) */
		{ 0x14ff909090909090, 0 }, /* needs another byte */
		{ 0x0850ff9090909090, 1 }, /* call *8(%rax) */
		{ 0x082454ff90909090, 1 }, /* call *8(%rsp) */
		{ 0x0000100090ff9090, 1 }, /* call *0x1000(%rax) */
		{ 0x0000100015ff9090, 1 }, /* call *0x1000(%rip) */
		{ 0x9314ff9090909090, 1 }, /* call *(%rbx,%rdx,4) */
		{ 0x9514ff9090909090, 0 }, /* has a displacement */
		{ 0x00001000c514ff90, 1 }, /* call *0x1000(,%rax,8) */
		{ 0x00001000c414ff90, 0 }, /* has none */
		{ 0x000010002494ff41, 1 }, /* call *0x1000(%r12) */
		{ 0x082454ff41909090, 1 }, /* call *8(%r12) */
		{ 0xd3ff419090909090, 1 }, /* call *%r11 */
		{ 0x15ff909090909090, 0 }, /* has a displacement */
		{ 0xe0ff909090909090, 0 }, /* jmp *%rax */
		{ 0x9090909090909090, 0 },
	};

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		struct walk walk = walk_at(4, 8);

		walk.ip = at(32);
		stack[32] = 0x9090909090909090;
		stack[4] = at(40);
		stack[39] = callers[i].code;
		stack[8] = at(20);
		stack[9] = 0x403000;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
		assert_int_equal(walk.ip, callers[i].is_call ? at(40) : 0x403000);
		assert_int_equal(walk.sp, callers[i].is_call ? at(5) : at(10));
		assert_int_equal(fp_of(&walk), callers[i].is_call ? at(8) : at(20));
	}
}

/* The four bytes after the call are how far behind the return address the called function is. */
#define FAR_CALL 0x00020000e8909090

/* Generated code of V8 has a frame but in its first instructions. What earlier calls left on top of
 * its stack is no caller. */
static void leaf_of_v8_has_a_frame(void **state)
{
	static const struct {
		int is_jit;
		__u64 function, context;
		unsigned prologue_at; /* in bytes; 0: none */
		int has_frame;
		int is_far; /* what the caller called */
	} leaves[] = {
		{ 1, 0x10001, 0x20001, 0, 1, 0 },
		{ 1, 0x10001, 0x20001, 8, 0, 1 },
		{ 1, 0x10003, 0x20001, 8, 1, 1 },
		{ 0, 0x10001, 0x20001, 0, 0, 0 }, /* functions of V8 in a file may lack one */
		{ 1, 0x10003, 0x20001, 0, 0, 0 },
		{ 1, 0x10001, 0x20000, 0, 0, 0 },
		{ 1, 0x10001, 0x20001, 8, 0, 0 },
		{ 1, 0x10001, 0x20001, 17, 0, 0 },
		{ 1, 0x10001, 0x20001, 8 * PROLOGUE_WORDS_MAX - 1, 0, 0 },
		{ 1, 0x10001, 0x20001, 8 * PROLOGUE_WORDS_MAX, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const __u8 prologue[] = { 0x55, 0x48, 0x89, 0xe5 };
		struct walk walk = walk_at(4, 8);

		walk.ip = at(200);
		walk.is_jit = (__u8)leaves[i].is_jit;
		for (unsigned j = 200; j < 220; j++)
			stack[j] = 0x9090909090909090;
		if (leaves[i].prologue_at)
			memcpy((char *)&stack[200] + leaves[i].prologue_at, prologue,
				sizeof(prologue));
		stack[4] = at(40);
		stack[39] = leaves[i].is_far ? FAR_CALL : INDIRECT_CALL;
		stack[6] = leaves[i].function;
		stack[7] = leaves[i].context;
		stack[8] = at(20);
		stack[9] = 0x403000;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
		assert_int_equal(walk.ip, leaves[i].has_frame ? 0x403000 : at(40));
	}
}

/* The leaf runs the code at byte `place`, beside pointers of V8's at the frame pointer. On top of
 * the stack is a return address behind `call`. */
static void check_v8_leaf(const __u8 *code, size_t size, unsigned place, __u64 call, int has_frame)
{
	struct walk walk = walk_at(4, 8);

	walk.is_jit = 1;
	for (unsigned i = 196; i < 220; i++)
		stack[i] = 0x9090909090909090;
	memcpy((char *)&stack[200] - place, code, size);
	walk.ip = at(200);
	stack[4] = at(40);
	stack[39] = call;
	stack[6] = 0x10001;
	stack[7] = 0x20001;
	stack[8] = at(20);
	stack[9] = 0x403000;
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	assert_int_equal(walk.ip, has_frame ? 0x403000 : at(40));
	assert_int_equal(fp_of(&walk), has_frame ? at(20) : at(8));
}

/* Code of V8's baseline compiler calls what makes its frame, before which it sets two registers. */
static void leaf_of_v8_calls_what_makes_its_frame(void **state)
{
#define XOR_RBX 0x33, 0xdb
#define MOV_RBX 0xbb, 0x58, 0, 0, 0
#define MOV_R12 0x49, 0xbc, 0x31, 0xad, 0, 0x8b, 0xae, 0x08, 0, 0
	static const struct {
		__u8 bytes[24];
		unsigned at;
		int has_frame;
	} leaves[] = {
		{ { XOR_RBX, MOV_R12, 0xe8, 1, 2, 3, 4 }, 0, 0 },
		{ { XOR_RBX, MOV_R12, 0xe8, 1, 2, 3, 4 }, 2, 0 },
		{ { XOR_RBX, MOV_R12, 0xe8, 1, 2, 3, 4 }, 12, 0 },
		{ { XOR_RBX, MOV_R12, 0xe8, 1, 2, 3, 4 }, 17, 1 }, /* has called it */
		{ { MOV_RBX, MOV_R12, 0xe8, 1, 2, 3, 4 }, 0, 0 },
		{ { MOV_RBX, MOV_R12, 0x41, 0xff, 0x95, 1, 2, 3, 4 }, 0, 0 },
		{ { MOV_RBX, MOV_R12, 0x41, 0xff, 0x95, 1, 2, 3, 4 }, 5, 0 },
		{ { MOV_RBX, MOV_R12, 0x41, 0xff, 0x95, 1, 2, 3, 4 }, 15, 0 },
		{ { MOV_RBX, MOV_R12, 0xe9, 1, 2, 3, 4 }, 0, 1 },
		{ { 0x90, 0x90, MOV_R12, 0xe8, 1, 2, 3, 4 }, 0, 1 },
		{ { 0x90, 0x90, MOV_R12, 0xe8, 1, 2, 3, 4 }, 2, 1 },
		{ { XOR_RBX, MOV_R12, 0x41, 0x54 }, 0, 1 }, /* push %r12 */
		{ { XOR_RBX, MOV_R12, 0x41, 0x54 }, 2, 1 },
		{ { XOR_RBX, MOV_R12, 0x41, 0x54 }, 12, 1 },
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		check_v8_leaf(leaves[i].bytes, sizeof(leaves[i].bytes), leaves[i].at, FAR_CALL,
			leaves[i].has_frame);
#undef XOR_RBX
#undef MOV_RBX
#undef MOV_R12
}

/* V8's code drops its frame, compares the number of arguments, jumps and returns. Beside the frame
 * pointer are its caller's pointers to objects. */
static void leaf_of_v8_has_no_frame_behind_its_epilogue(void **state)
{
	static const struct {
		__u8 bytes[17];
		unsigned at;
		int has_frame;
	} leaves[] = {
#define DROPS 0x48, 0x8b, 0xe5, 0x5d
		{ { DROPS, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10 }, 0, 1 },
		{ { DROPS, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10 }, 4, 0 },  /* cmp */
		{ { DROPS, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10 }, 8, 0 },  /* jg */
		{ { DROPS, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10 }, 10, 0 }, /* ret */
		{ { DROPS, 0x49, 0x83, 0xf8, 0x02, 0x0f, 0x8f, 0x03, 0, 0, 0, 0xc2 }, 8, 0 },
		{ { DROPS, 0x49, 0x83, 0xf8, 0x02, 0x0f, 0x8f, 0x03, 0, 0, 0, 0xc2 }, 14, 0 },
		{ { 0x48, 0x8b, 0xe5, 0x90, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x10 }, 8, 1 },
#undef DROPS
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		check_v8_leaf(leaves[i].bytes, sizeof(leaves[i].bytes), leaves[i].at, INDIRECT_CALL,
			leaves[i].has_frame);
}

/* The code to which a direct call leads must jump elsewhere, as in a PLT, or be near and set the
 * frame pointer. */
static void a_guessed_caller_calls_a_function_with_a_frame_or_a_jump(void **state)
{
	static const struct {
		__u64 code;
		int is_jump, sets_frame_pointer;
	} targets[] = {
		{ 0x90900000100025ff, 1, 0 }, /* jmp *0x1000(%rip) */
		{ 0x90909000001000e9, 1, 0 }, /* jmp */
		{ 0x90909090909010eb, 1, 0 }, /* a short one */
		{ 0x900000100025fff2, 1, 0 }, /* bnd jmp *0x1000(%rip) */
		{ 0x100025fffa1e0ff3, 1, 0 }, /* endbr64; jmp *0x1000(%rip) */
		{ 0x0025fff2fa1e0ff3, 1, 0 }, /* endbr64; bnd jmp *0x1000(%rip) */
		{ 0xe5894855fa1e0ff3, 0, 1 }, /* endbr64; push %rbp; mov %rsp, %rbp */
		{ 0x90909090e5894855, 0, 1 },
		{ 0x90909090ec8b4855, 0, 1 }, /* the other encoding */
		{ 0x9090e58948574155, 0, 0 }, /* push %rbp; push %r15; mov %rsp, %rbp */
		{ 0x9090909090909090, 0, 0 },
	};
	static const struct {
		__u64 after_target; /* where the function's code is */
		int is_near;
	} places[] = { { 0, 1 }, { NEAR_BYTES - 1, 1 }, { NEAR_BYTES, 0 }, { -8, 0 } };

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
			struct walk walk = walk_at(4, 8);
			int is_believed = targets[i].is_jump ||
					  (targets[i].sets_frame_pointer && places[j].is_near);

			walk.ip = at(200) + places[j].after_target;
			walk.registers_kind = REGISTERS_NONE; /* no leaf */
			stack[8] = at(20);
			stack[9] = at(40);
			stack[39] = (at(200) - at(40)) << 32 | 0xe8909090;
			stack[200] = targets[i].code;
			assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED),
				is_believed ? WALK_ON : PILOTLIGHT_WALK_NO_CODE);
		}
	}
}

static void a_call_to_where_nothing_can_be_read_is_not_believed(void **state)
{
	struct walk walk = walk_at(4, 8);

	walk.ip = CODE_START;
	stack[8] = at(20);
	stack[9] = at(40);
	stack[39] = 0x7fff0000e8909090;
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), PILOTLIGHT_WALK_NO_CODE);
}

/* Code that keeps no frame pointers has words of all kinds on top of its stack. */
static void a_guessed_leaf_is_short(void **state)
{
	static const struct {
		__u64 after_target;
		int is_usual, is_guessed;
	} leaves[] = { { 0, 1, 1 }, { LEAF_BYTES_MAX - 8, 1, 1 }, { LEAF_BYTES_MAX, 1, 0 },
		{ -8, 1, 0 } };

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		for (int is_guess = 0; is_guess < 2; is_guess++) {
			struct walk walk = walk_at(4, 8);
			int is_leaf = is_guess ? leaves[i].is_guessed : leaves[i].is_usual;

			walk.ip = at(200) + leaves[i].after_target;
			stack[4] = at(40);
			stack[39] = (at(200) - at(40)) << 32 | 0xe8909090;
			stack[8] = at(20);
			stack[9] = 0x402000;
			assert_int_equal(
				step_by_frame_pointer(&walk,
					is_guess ? FRAME_POINTERS_GUESSED : FRAME_POINTERS_USUAL),
				WALK_ON);
			assert_int_equal(walk.ip, is_leaf ? at(40) : 0x402000);
		}
	}
}

/* The stack holds words that earlier calls left, and others. */
static void a_caller_found_by_guess_must_be_behind_a_call(void **state)
{
	static const struct {
		__u64 before, after;
		int is_behind_call, is_led_here;
	} callers[] = {
		{ INDIRECT_CALL, 0, 1, 1 },
		{ 0x00000000e8909090, 0, 1, 0 }, /* a direct call to elsewhere */
		{ 0xe0ff909090909090, 0, 0, 0 }, /* jmp *%rax */
		{ 0x9090909090909090, 0, 0, 0 },
		{ 0x9090909090909090, CODE_SIGRETURN, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		for (int kind = 0; kind <= FRAME_POINTERS_GUESSED; kind++) {
			int is_guess = kind == FRAME_POINTERS_GUESSED;
			struct walk walk = walk_at(4, 8);

			stack[8] = at(20);
			stack[9] = at(40);
			stack[39] = callers[i].before;
			stack[40] = callers[i].after;
			assert_int_equal(step_by_frame_pointer(&walk, (enum frame_pointers)kind),
				is_guess && !callers[i].is_led_here ? PILOTLIGHT_WALK_NO_CODE
								    : WALK_ON);
			/* Whether the caller's code is believed without a call is known later. */
			assert_int_equal(walk.doubt,
				kind == FRAME_POINTERS_USUAL && !callers[i].is_behind_call);
		}
	}
}

/* The next step says anew whether its caller is doubtful. */
static void doubt_holds_for_one_step(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 16
	};
	struct walk walk = walk_at(4, 8);

	stack[8] = at(20);
	stack[9] = at(40);
	stack[11] = stack[21] = 0x402000;
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	assert_int_equal(walk.doubt, 1);
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	assert_int_equal(walk.doubt, 0);
	walk = walk_at(4, 8);
	stack[8] = at(20);
	stack[9] = at(40);
	stack[11] = 0x402000;
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	assert_int_equal(walk.doubt, 1);
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.doubt, 0);
}

/* A word that is no return address is not taken for one because of the leaf's next instruction. */
static void leaf_needs_a_call_before_its_return_address(void **state)
{
	static const __u64 leaves[] = { 0xe5894855, 0x90e58948, 0x90ec8b48, 0x90909090909090c3 };

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		struct walk walk = walk_at(4, 8);

		walk.ip = at(30);
		stack[30] = leaves[i];
		stack[4] = stack[5] = at(40);
		stack[39] = 0x9090909090909090;
		stack[8] = at(20);
		stack[9] = 0x402000;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), WALK_ON);
		assert_int_equal(walk.ip, 0x402000);
	}
}

/* What is at the address to which a leaf returns counts in the next step, too. */
static void leaf_returns_to_a_made_frame(void **state)
{
	struct walk walk = walk_at(4, 8);

	walk.ip = at(30);
	stack[30] = 0x90909090909090c3;
	stack[4] = at(40);
	stack[39] = CODE_INT3S;
	stack[40] = 0x8b44dc4de0658b4cULL; /* mov -0x20(%rbp), %r12 */
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	assert_int_equal(walk.ip, at(40));
	assert_int_equal(walk.doubt, WALK_IN_MADE_FRAME);
	assert_true(walk.read_more);
}

/* push %rbp; mov %rsp, %rbp; …; pop %rbp; ret */
static void leaf_in_prologue_or_epilogue_is_found_by_its_code(void **state)
{
	static const struct {
		__u64 code;
		unsigned return_address_at;
	} leaves[] = {
		{ 0xe5894855, 4 },	   /* push %rbp */
		{ 0x90e58948, 5 },	   /* mov %rsp, %rbp */
		{ 0x90ec8b48, 5 },	   /* the other encoding */
		{ 0x90909090909090c3, 4 }, /* ret */
		{ 0x9090909090909090, 9 }, /* within */
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		struct walk walk = walk_at(4, 8);

		walk.ip = at(30);
		stack[30] = leaves[i].code;
		stack[8] = at(20);
		stack[4] = stack[5] = stack[9] = 1; /* no return address */
		stack[leaves[i].return_address_at] = 0x403000;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), WALK_ON);
		assert_int_equal(walk.ip, 0x403000);
		assert_int_equal(walk.sp, at(leaves[i].return_address_at + 1));
		assert_int_equal(fp_of(&walk), leaves[i].return_address_at == 9 ? at(20) : at(8));
		/* Not at a return address, which is behind the prologue. */
		walk = walk_at(4, 8);
		walk.is_exact = 0;
		walk.registers_kind = REGISTERS_NONE;
		walk.ip = at(30);
		stack[30] = leaves[i].code;
		stack[9] = 0x404000;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), WALK_ON);
		assert_int_equal(walk.ip, 0x404000);
	}
}

/* A caller that a guess found may keep no frame pointer itself. */
static void frame_pointers_lead_to_the_root_unless_guessed(void **state)
{
	for (int kind = 0; kind <= FRAME_POINTERS_GUESSED; kind++) {
		const int end = kind == FRAME_POINTERS_GUESSED ? PILOTLIGHT_WALK_NO_FUNCTION
							       : PILOTLIGHT_WALK_ROOT;
		struct walk walk = walk_at(4, 8);

		stack[8] = at(20);
		stack[9] = 0x402000;
		stack[20] = 0;
		stack[21] = 0x403000;
		assert_int_equal(step_by_frame_pointer(&walk, kind), WALK_ON);
		assert_int_equal(walk.ip, 0x402000);
		assert_int_equal(walk.sp, at(10));
		stack[21] = 0;
		assert_int_equal(step_by_frame_pointer(&walk, kind), end);
		stack[21] = 0x403000;
		assert_int_equal(step_by_frame_pointer(&walk, kind), WALK_ON);
		assert_int_equal(walk.ip, 0x403000);
		assert_int_equal(step_by_frame_pointer(&walk, kind), end);
	}
}

static void only_kept_frame_pointers_lead_to_another_stack(void **state)
{
	struct walk walk = walk_at(30, 8);

	stack[9] = 0x402000;
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), PILOTLIGHT_WALK_LOOPED);
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_KEPT), WALK_ON);
	walk.fp.word = 8;
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_KEPT), PILOTLIGHT_WALK_UNREADABLE);
}

static void where_a_guess_leads_nowhere_it_is_the_reason(void **state)
{
	const int guess = PILOTLIGHT_WALK_NO_FRAME_POINTER;

	for (int end = WALK_ON; end < PILOTLIGHT_WALK_ENDS; end++) {
		bool is_misled = end == PILOTLIGHT_WALK_NO_CODE || end == PILOTLIGHT_WALK_LOOPED ||
				 end == PILOTLIGHT_WALK_UNREADABLE;

		assert_int_equal(end_behind_guess(guess, end), is_misled ? guess : end);
		assert_int_equal(end_behind_guess(0, end), end);
	}
}

/* Code that keeps no frame pointers has any number in the register, also 0 or a pointer to zeros.
 */
static void a_frame_pointer_of_zero_is_no_root_by_itself(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 16
	};
	struct walk walk = walk_at(4, 8);

	walk.fp.word = 0;
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), PILOTLIGHT_WALK_NO_FUNCTION);
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_KEPT), PILOTLIGHT_WALK_ROOT);
	walk = walk_at(4, 8);
	stack[8] = stack[9] = 0;
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), PILOTLIGHT_WALK_NO_FUNCTION);
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_KEPT), PILOTLIGHT_WALK_ROOT);

	/* Behind a function that kept it, but not behind one more that a rule stepped out of. */
	walk = walk_at(4, 8);
	stack[9] = 0x402000;
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
	stack[11] = 0x403000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(fp_of(&walk), 0);
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), PILOTLIGHT_WALK_NO_FUNCTION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_in_prologue_or_epilogue_is_found_by_its_code),
		cmocka_unit_test(leaf_needs_a_call_before_its_return_address),
		cmocka_unit_test(leaf_returns_to_a_made_frame),
		cmocka_unit_test(a_caller_found_by_guess_must_be_behind_a_call),
		cmocka_unit_test(doubt_holds_for_one_step),
		cmocka_unit_test(a_guessed_caller_calls_a_function_with_a_frame_or_a_jump),
		cmocka_unit_test(a_call_to_where_nothing_can_be_read_is_not_believed),
		cmocka_unit_test(a_guessed_leaf_is_short),
		cmocka_unit_test(frameless_leaf_is_found_by_the_call),
		cmocka_unit_test(leaf_of_v8_has_a_frame),
		cmocka_unit_test(leaf_of_v8_calls_what_makes_its_frame),
		cmocka_unit_test(leaf_of_v8_has_no_frame_behind_its_epilogue),
		cmocka_unit_test(frame_pointers_lead_to_the_root_unless_guessed),
		cmocka_unit_test(only_kept_frame_pointers_lead_to_another_stack),
		cmocka_unit_test(where_a_guess_leads_nowhere_it_is_the_reason),
		cmocka_unit_test(a_frame_pointer_of_zero_is_no_root_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
