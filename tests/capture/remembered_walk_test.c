/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that a walk repeats from the last one, compiled for the host, on a made-up stack. The truth
 * is the same walk by rules. */
enum { FRAME_WORDS = 4, LEAF_SP = 8 };
#include "tests/capture/made_up_stack.h"

#include "bpf/remembered_walk.bpf.h"
#include "bpf/walk_step.bpf.h"

#define CODE 0x401000ULL
#define SEED 77

static unsigned rule_steps; /* steps by a rule */
static int last_end;

/* The rule follows from the low bits of the address. */
static struct pilotlight_unwind_rule rule_of(__u64 ip)
{
	struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.offset = 8 * FRAME_WORDS,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.frame_pointer_offset = -16,
	};

	switch (ip & 0xf) {
	case 1: /* its frame begins at the frame pointer, which is next to the return address */
		rule.base = DWARF_RBP;
		rule.offset = 16;
		break;
	case 2: /* the CFA is in memory */
		rule.kind = PILOTLIGHT_UNWIND_CFA_AT;
		rule.offset = 8;
		break;
	case 6:
		rule.base = DWARF_RBX;
		rule.offset = 0;
		break;
	case 3:
		rule.kind = PILOTLIGHT_UNWIND_ROOT;
		break;
	case 4:
		rule.frame_pointer = PILOTLIGHT_UNWIND_FP_SAME;
		break;
	default:
		break;
	}
	return rule;
}

static int step_by_its_rule(struct walk *walk)
{
	struct pilotlight_unwind_rule rule = rule_of(walk->ip);

	rule_steps++;
	walk->is_jit = (walk->ip & 0xf) == 5;
	walk->has_jit |= walk->is_jit ? WALK_HAS_JIT | WALK_GUESSES_JIT : 0;
	walk->is_untabled = (walk->ip & 0xf) == 8;
	walk->has_untabled |= walk->is_untabled;
	walk->frames[walk->record.count++] = walk->ip;
	/* Code without rules. */
	if ((walk->ip & 0xf) == 7)
		return step_by_frame_pointer(walk, FRAME_POINTERS_USUAL);
	return step_by_rule(walk, &rule, 1);
}

/* As in the sampler's step_out(). */
static int step(struct walk *walk)
{
	int end = step_from_memory(walk);
	__u32 count = walk->record.count;

	if (end != STEP_IS_NEW)
		return end;
	remember_begin(walk, count);
	end = step_by_its_rule(walk);
	remember_end(walk, count, end);
	return end;
}

static void begin_walk(struct walk *walk, unsigned sp)
{
	walk->ip = CODE;
	walk->sp = at(sp);
	walk->fp = (struct saved_register){ at(sp + 1), SAVED_VALUE, 0 };
	walk->rbx = (struct saved_register){ 0, SAVED_VALUE, 0 };
	walk->is_exact = 1;
	walk->guess_end = walk->is_linked = 0;
	walk->registers_kind = REGISTERS_PT_REGS;
	walk->has_jit = walk->has_untabled = 0;
	walk->record.count = 0;
	walk->record.hash = SEED;
	rule_steps = 0;
}

static int finish_walk(struct walk *walk)
{
	int end = WALK_ON;

	while (end == WALK_ON && walk->record.count < PILOTLIGHT_WALK_DEPTH)
		end = step(walk);
	remember_walk(walk);
	/* What the frames of an interpreter may leave there. */
	memset(walked_spans(walk), 0xff, RUNTIME_SPANS * sizeof(struct runtime_span));
	last_end = end;
	return end;
}

static int walk_stack(struct walk *walk, unsigned sp)
{
	begin_walk(walk, sp);
	return finish_walk(walk);
}

/* Compares with a walk by rules alone. */
static void check_frames(const struct walk *walk, unsigned sp)
{
	unsigned steps = rule_steps;
	static struct walk truth;
	int end = WALK_ON;
	__u64 hash = SEED;

	truth = (struct walk){ 0 };
	begin_walk(&truth, sp);
	while (truth.record.count < PILOTLIGHT_WALK_DEPTH && end == WALK_ON)
		end = step_by_its_rule(&truth);
	assert_int_equal(last_end, end);
	assert_int_equal(walk->record.count, truth.record.count);
	assert_memory_equal(walk->frames, truth.frames, truth.record.count * sizeof(__u64));
	assert_int_equal(walk->has_jit, truth.has_jit);
	assert_int_equal(walk->has_untabled, truth.has_untabled);
	for (__u32 i = 0; i < truth.record.count; i++)
		hash = hash_next(hash, truth.frames[i]);
	assert_int_equal(walk->record.hash, hash);
	rule_steps = steps;
}

/* `depth` frames of FRAME_WORDS; the callers' kinds of code are those of `kinds`, in turn. */
static void make_stack(unsigned depth, const char *kinds)
{
	unsigned sp = LEAF_SP;

	memset(stack, 0, sizeof(stack));
	for (unsigned i = 0; i < depth; i++) {
		__u64 kind = i + 1 == depth ? 3 : (__u64)(kinds[i % strlen(kinds)] - '0');

		stack[sp + FRAME_WORDS - 1] = CODE + 0x100 * (i + 1) + kind;
		stack[sp + FRAME_WORDS - 2] = at(sp + 2 * FRAME_WORDS - 2);
		sp += FRAME_WORDS;
	}
}

static void repeated_walk_looks_up_only_its_leaf(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(10, "0");
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(rule_steps, 11);
	check_frames(&walk, LEAF_SP);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(rule_steps, 1);
		check_frames(&walk, LEAF_SP);
	}
}

static void deeper_and_shallower_leaves_reuse_the_same_callers(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(60, "04");
	for (unsigned turn = 0; turn < 100; turn++) {
		unsigned sp = LEAF_SP + FRAME_WORDS * (turn * 7 % 41);

		assert_int_equal(walk_stack(&walk, sp), PILOTLIGHT_WALK_ROOT);
		check_frames(&walk, sp);
		if (turn > 0 && turn % 2 == 0) {
			assert_int_equal(walk_stack(&walk, sp), PILOTLIGHT_WALK_ROOT);
			assert_int_equal(rule_steps, 1);
		}
	}
}

/* All registers are compared. */
static void other_registers_are_not_the_same_frame(void **state)
{
	const struct remembered_frame frame = {
		.ip = CODE,
		.sp = at(8),
		.fp = at(20),
		.rbx = 7,
		.fp_kind = SAVED_AT_ADDRESS,
		.rbx_kind = SAVED_VALUE,
	};
	const struct walk same = {
		.ip = CODE,
		.sp = at(8),
		.fp = { at(20), SAVED_AT_ADDRESS, 0 },
		.rbx = { 7, SAVED_VALUE, 0 },
	};
	static struct walk other;

	assert_true(is_there_again(&same, &frame));
#define OTHER(field)                                          \
	do {                                                  \
		other = same;                                 \
		other.field++;                                \
		assert_false(is_there_again(&other, &frame)); \
	} while (0)
	OTHER(ip);
	OTHER(sp);
	OTHER(fp.word);
	OTHER(fp.kind);
	OTHER(rbx.word);
	OTHER(rbx.kind);
	OTHER(guess_end);
	OTHER(is_linked);
#undef OTHER
}

/* Leaves of all depths in turn, with more and fewer frames than are remembered, and changes of the
 * stack in between: overwritten frames are never reused. */
static void walks_of_all_depths_follow_each_other(void **state)
{
	static const unsigned depths[] = { 5, 40, 63, 64, 65, 66, 90, 127, 130 };
	static struct walk walk;
	unsigned seed = 1, all_steps = 0, all_frames = 0;

	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		unsigned depth = depths[i];

		walk = (struct walk){ 0 };
		make_stack(depth, "0140");
		for (unsigned turn = 0; turn < 2000; turn++) {
			unsigned sp, word;

			seed = seed * 1103515245 + 12345;
			sp = LEAF_SP + FRAME_WORDS * ((seed >> 16) % depth);
			word = LEAF_SP + FRAME_WORDS * ((seed >> 8) % depth) + FRAME_WORDS - 1;
			/* Sometimes, other code of the same kind; but not for the root. */
			if (turn % 3 == 0 && (stack[word] & 0xf) != 3)
				stack[word] ^= 0x40000;
			assert_int_equal(walk_stack(&walk, sp), PILOTLIGHT_WALK_ROOT);
			check_frames(&walk, sp);
			all_steps += rule_steps;
			all_frames += walk.record.count;
		}
	}
	assert_true(all_steps < all_frames / 4 * 3);
}

/* An end that depends on a word of the stack is not remembered: the word may change. */
static void end_read_from_the_stack_is_looked_up(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(10, "0");
	stack[LEAF_SP + 6 * FRAME_WORDS - 1] = 0; /* no caller */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(walk.record.count, 6);
		check_frames(&walk, LEAF_SP);
	}
	assert_int_equal(rule_steps, 2);
	stack[LEAF_SP + 6 * FRAME_WORDS - 1] = CODE + 0x600;
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk.record.count, 11);
	check_frames(&walk, LEAF_SP);
}

static void end_by_a_frame_pointer_is_looked_up(void **state)
{
	const unsigned saved = LEAF_SP + 4 * FRAME_WORDS - 2; /* frame 4's */
	static struct walk walk;
	__u64 fp;

	walk = (struct walk){ 0 };
	make_stack(10, "00770");
	fp = stack[saved];
	stack[saved] = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(walk.record.count, 5);
	}
	assert_int_equal(rule_steps, 2);
	stack[saved] = fp;
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk.record.count, 11);
	check_frames(&walk, LEAF_SP);
}

static void end_by_a_return_address_of_zero_is_looked_up(void **state)
{
	const unsigned returns =
		LEAF_SP + 5 * FRAME_WORDS - 1; /* frame 4's, by the frame pointer */
	static struct walk walk;
	__u64 ip;

	walk = (struct walk){ 0 };
	make_stack(10, "00770");
	ip = stack[returns];
	stack[returns] = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(walk.record.count, 5);
	}
	stack[returns] = ip;
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk.record.count, 11);
	check_frames(&walk, LEAF_SP);
}

static void joining_the_last_walk_keeps_all_its_frames(void **state)
{
	static struct walk walk;

	for (__u32 at = 1; at < 12; at++) {
		walk = (struct walk){ .turn = 1, .record.count = 6 };
		walk.spans[0] = (struct remembered_span){ 60, 62 };
		for (__u32 i = 0; i < 62; i++)
			remembered_frame(&walk, 0, i)->sp = 100 + i;
		for (__u32 i = 0; i < 6; i++)
			remembered_frame(&walk, 1, i)->sp = i;
		join_last(&walk, at);
		assert_int_equal(this_walk(&walk), 0);
		assert_int_equal(walk.spans[0].count, at < 4 ? 64 : 62 + 6 - at);
		for (__u32 i = 0; i < walk.spans[0].count; i++)
			assert_int_equal(
				remembered_frame(&walk, 0, i)->sp, i < 6 ? i : 100 + at + i - 6);
	}
}

/* Frames from before forget_walks() are not reused. */
static void frames_behind_the_end_are_not_reused(void **state)
{
	const unsigned address = LEAF_SP + 6 * FRAME_WORDS - 1;
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(10, "0");
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk_stack(&walk, LEAF_SP + 1024), PILOTLIGHT_WALK_ROOT);
	forget_walks(&walk);
	stack[address] = 0;
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk.record.count, 6);
	stack[address] = CODE + 0x600;
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(rule_steps, 1 + 6);
	check_frames(&walk, LEAF_SP);
}

/* Changes each return address and frame pointer in turn. */
static void changed_words_are_noticed(void **state)
{
	static const char *const kinds[] = { "01", "1", "014" };
	static struct walk walk;

	for (unsigned i = 0; i < 3 * 12 * FRAME_WORDS; i++) {
		unsigned changed = LEAF_SP + i / 3;

		walk = (struct walk){ 0 };
		make_stack(12, kinds[i % 3]);
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		if (stack[changed] == 0)
			continue;
		/* Code of the same kind elsewhere, or another frame's pointer. */
		stack[changed] += stack[changed] < STACK_START ? 0x40000 : 8 * FRAME_WORDS;
		(void)walk_stack(&walk, LEAF_SP);
		check_frames(&walk, LEAF_SP);
	}
}

/* The return addresses are the same, but another frame pointer passes through unchanged. */
static void changed_frame_pointer_leads_elsewhere(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(10, "4441000000");
	for (unsigned i = 4; i < 7; i++) {
		begin_walk(&walk, LEAF_SP);
		walk.ip = CODE + 4;
		walk.fp.word = at(LEAF_SP + i * FRAME_WORDS + 2);
		assert_int_equal(finish_walk(&walk), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(walk.frames[4], CODE + 0x401);
		assert_int_equal(walk.frames[5] >> 8, (CODE >> 8) + i + 1);
	}
	/* And so does rbx. */
	make_stack(10, "4446000000");
	for (unsigned i = 4; i < 7; i++) {
		begin_walk(&walk, LEAF_SP);
		walk.ip = CODE + 4;
		walk.rbx.word = at(LEAF_SP + (i + 1) * FRAME_WORDS);
		assert_int_equal(finish_walk(&walk), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(walk.frames[4], CODE + 0x406);
		assert_int_equal(walk.frames[5] >> 8, (CODE >> 8) + i + 1);
	}
}

/* Words that are not right below the caller's stack pointer are not compared. */
static void steps_that_read_more_are_looked_up(void **state)
{
	static struct walk walk;
	unsigned sp = LEAF_SP;

	walk = (struct walk){ 0 };
	make_stack(6, "02");
	for (unsigned i = 0; i < 6; i++, sp += FRAME_WORDS)
		stack[sp + 1] = at(sp + FRAME_WORDS); /* the CFA, where the rule has it */
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	check_frames(&walk, LEAF_SP);
	/* One frame's CFA changes. */
	stack[LEAF_SP + 2 * FRAME_WORDS + 1] = at(LEAF_SP + 5 * FRAME_WORDS);
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	check_frames(&walk, LEAF_SP);
	assert_int_equal(walk.record.count, 5);
}

static void remembered_jit_frame_is_still_jit(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(6, "00500");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		check_frames(&walk, LEAF_SP);
		assert_int_equal(walk.has_jit, WALK_HAS_JIT | WALK_GUESSES_JIT);
	}
	assert_int_equal(rule_steps, 1);
}

static void remembered_frame_still_lacks_a_table(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(6, "00800");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		check_frames(&walk, LEAF_SP);
		assert_int_equal(walk.has_untabled, 1);
	}
	assert_int_equal(rule_steps, 1);
}

static void deep_stacks_are_partly_remembered(void **state)
{
	static struct walk walk;

	walk = (struct walk){ 0 };
	make_stack(200, "0");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		check_frames(&walk, LEAF_SP);
	}
	assert_int_equal(rule_steps, 201 - (REMEMBERED_FRAMES - 2)); /* the leaf, the last one */
	/* Without a root, up to the greatest depth. */
	make_stack(PILOTLIGHT_WALK_DEPTH + 1, "0");
	assert_int_equal(walk_stack(&walk, LEAF_SP), WALK_ON);
	assert_int_equal(walk.record.count, PILOTLIGHT_WALK_DEPTH);
	assert_int_equal(walk_stack(&walk, LEAF_SP), WALK_ON);
	check_frames(&walk, LEAF_SP);
}

static void forgotten_walks_are_looked_up(void **state)
{
	static struct walk walk;

	make_stack(10, "0");
	for (__u32 turn = 0; turn < 2; turn++) {
		walk = (struct walk){ .turn = turn };
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		forget_walks(&walk);
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(rule_steps, 11);
		assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
		assert_int_equal(rule_steps, 1);
	}
}

/* A leaf may have the registers of a former caller. But it knows more registers, and its address is
 * exact. */
static void leaves_are_not_mistaken_for_callers(void **state)
{
	static struct walk walk;
	struct remembered_frame caller;

	walk = (struct walk){ 0 };
	make_stack(10, "0");
	assert_int_equal(walk_stack(&walk, LEAF_SP), PILOTLIGHT_WALK_ROOT);
	begin_walk(&walk, LEAF_SP + FRAME_WORDS);
	caller = *remembered_frame(&walk, last_walk(&walk), 1);
	walk.ip = caller.ip;
	walk.fp.word = caller.fp;
	walk.fp.kind = caller.fp_kind;
	assert_true(is_there_again(&walk, &caller));
	assert_int_equal(finish_walk(&walk), PILOTLIGHT_WALK_ROOT);
	assert_int_equal(walk.frames[0], CODE + 0x100);
	assert_int_equal(rule_steps, 1);
	assert_int_equal(remembered_frame(&walk, last_walk(&walk), 0)->words_read, 0);
}

/* A remembered frame does not tell that V8 made it. */
static void made_frame_is_not_remembered(void **state)
{
	struct walk walk = { .registers_kind = REGISTERS_NONE };

	assert_true(can_be_remembered(&walk));
	walk.doubt = WALK_IS_DOUBTFUL;
	assert_true(can_be_remembered(&walk));
	walk.doubt = WALK_IN_MADE_FRAME;
	assert_false(can_be_remembered(&walk));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_walk_looks_up_only_its_leaf),
		cmocka_unit_test(deeper_and_shallower_leaves_reuse_the_same_callers),
		cmocka_unit_test(other_registers_are_not_the_same_frame),
		cmocka_unit_test(walks_of_all_depths_follow_each_other),
		cmocka_unit_test(end_read_from_the_stack_is_looked_up),
		cmocka_unit_test(end_by_a_frame_pointer_is_looked_up),
		cmocka_unit_test(end_by_a_return_address_of_zero_is_looked_up),
		cmocka_unit_test(joining_the_last_walk_keeps_all_its_frames),
		cmocka_unit_test(frames_behind_the_end_are_not_reused),
		cmocka_unit_test(changed_words_are_noticed),
		cmocka_unit_test(changed_frame_pointer_leads_elsewhere),
		cmocka_unit_test(steps_that_read_more_are_looked_up),
		cmocka_unit_test(remembered_jit_frame_is_still_jit),
		cmocka_unit_test(remembered_frame_still_lacks_a_table),
		cmocka_unit_test(deep_stacks_are_partly_remembered),
		cmocka_unit_test(forgotten_walks_are_looked_up),
		cmocka_unit_test(leaves_are_not_mistaken_for_callers),
		cmocka_unit_test(made_frame_is_not_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
