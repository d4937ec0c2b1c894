/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of the last walk on a CPU, by which the next one takes steps again. Outer frames are
 * mostly what they were, and a step depends on nothing but where the walk is and on the words of
 * the stack that it reads, as long as mappings and tables are the same: where both are as they
 * were, so is the caller, and neither mapping nor rule is looked up. Compiles for the host too,
 * where it is tested.
 */
#pragma once

#include "walk_step.bpf.h"

/* A number below `count`, a power of two, for the verifier to see that it is one; the compiler,
 * which knows, must not see what is done. */
static __always_inline __u32 number_below(__u32 count, __u32 number)
{
	number &= count - 1;
	__asm__ volatile("" : "+r"(number));
	return number;
}

/* Which of the two is this walk's, and which the last one's. */
static __always_inline __u32 this_walk(const struct walk *walk)
{
	return number_below(2, walk->turn);
}

static __always_inline __u32 last_walk(const struct walk *walk)
{
	return number_below(2, ~walk->turn);
}

static __always_inline struct remembered_frame *remembered_frame(
	struct walk *walk, __u32 which, __u32 at)
{
	return &walk->remembered[which]
				[number_below(REMEMBERED_FRAMES, walk->spans[which].first + at)];
}

/* At a step; what is left is passed at the next. */
enum { REMEMBERED_FRAMES_PASSED = 16 };

/* The first of the last walk's frames, from that one on, that is not below this one's. */
static __always_inline __u32 pass_below(struct walk *walk, __u32 from)
{
	__u32 last = last_walk(walk), at = from;

	for (int i = 0; i < REMEMBERED_FRAMES_PASSED; i++) {
		if (at >= walk->spans[last].count ||
			remembered_frame(walk, last, at)->sp >= walk->sp)
			break;
		at++;
	}
	return at;
}

/* Of a leaf and of what a signal interrupted more is known than is remembered. */
static __always_inline int can_be_remembered(const struct walk *walk)
{
	return !walk->is_exact && walk->registers_kind == REGISTERS_NONE;
}

static __always_inline int is_same_kept(
	const struct kept_register *kept, __u64 word, enum kept_kind kind)
{
	return kept->kind == kind && (kind == KEPT_NOWHERE || kept->word == word);
}

/* Is the walk where it was before that step? */
static __always_inline int is_there_again(
	const struct walk *walk, const struct remembered_frame *frame)
{
	return frame->sp == walk->sp && frame->ip == walk->ip &&
	       frame->is_guess == walk->is_guess &&
	       is_same_kept(&walk->fp, frame->fp, frame->fp_kind) &&
	       is_same_kept(&walk->rbx, frame->rbx, frame->rbx_kind);
}

/* Are the words that the step from `frame` to `caller` read what they were? */
static __always_inline int reads_the_same(
	const struct remembered_frame *frame, const struct remembered_frame *caller)
{
	__u64 words[2] = { caller->fp, 0 };

	switch (frame->words_read) {
	case 1:
		return can_read_user(&words[1], 1, caller->sp - sizeof(words[1])) &&
		       words[1] == caller->ip;
	case 2:
		return can_read_user(words, 2, caller->sp - sizeof(words)) &&
		       words[0] == caller->fp && words[1] == caller->ip;
	default:
		return 0;
	}
}

static __always_inline void go_to_remembered(
	struct walk *walk, const struct remembered_frame *caller)
{
	walk->ip = caller->ip;
	walk->sp = caller->sp;
	walk->fp.word = caller->fp;
	walk->fp.kind = caller->fp_kind;
	walk->rbx.word = caller->rbx;
	walk->rbx.kind = caller->rbx_kind;
	walk->is_guess = caller->is_guess;
}

/*
 * This walk is in the last one's frame `at`, from which they are likely to be the same: its own
 * frames take the place of those below, and it has the others already. Nothing else is written
 * where two walks differ in their leaves.
 */
static __always_inline void join_last(struct walk *walk, __u32 at)
{
	__u32 own = this_walk(walk), last = last_walk(walk), taken = walk->record.count;
	struct remembered_span *span = &walk->spans[last];

	span->first += at - taken;
	span->count += taken - at;
	if (span->count > REMEMBERED_FRAMES)
		span->count = REMEMBERED_FRAMES;
	for (__u32 i = 0; i < REMEMBERED_FRAMES && i < taken; i++)
		*remembered_frame(walk, last, i) = *remembered_frame(walk, own, i);
	walk->turn++;
	walk->has_joined = 1;
}

/* In place of a walk's end or WALK_ON: it is not a step that is known. */
enum { STEP_IS_NEW = -2 };

/* So many at a step; the verifier follows each. */
enum { REMEMBERED_FRAMES_FOLLOWED = 8 };

/*
 * Takes frames down from one of its own on that it is in again, as long as their steps read the
 * same: it is in the next one again then, which is not looked at. Returns WALK_ON, or that the last
 * of them is the root, or that the next step is not known.
 */
static __always_inline int follow_last(struct walk *walk, const struct remembered_frame *frame)
{
	__u32 own = this_walk(walk), count = walk->spans[own].count, taken = walk->record.count;
	__u64 hash = walk->record.hash;
	int end = WALK_ON;

	for (int i = 0; i < REMEMBERED_FRAMES_FOLLOWED && end == WALK_ON; i++) {
		const struct remembered_frame *caller = remembered_frame(walk, own, taken + 1);

		if (frame->is_root) {
			end = PILOTLIGHT_WALK_ROOT;
		} else if (taken + 1 >= count || !reads_the_same(frame, caller)) {
			end = STEP_IS_NEW;
			break;
		}
		walk->frames[number_below(256, taken++)] = frame->frame;
		hash = hash_next(hash, frame->frame);
		walk->has_jit |= frame->is_jit;
		frame = caller;
	}
	walk->record.count = taken;
	walk->record.hash = hash;
	if (end != PILOTLIGHT_WALK_ROOT)
		go_to_remembered(walk, frame);
	return end;
}

/* Takes down frames that the last walk has, too, if it has the next one. Returns what
 * follow_last() does. */
static __always_inline int step_again(struct walk *walk)
{
	__u32 which, at, taken = walk->record.count;
	const struct remembered_frame *frame;

	if (!can_be_remembered(walk) || taken >= REMEMBERED_FRAMES - 1)
		return STEP_IS_NEW;
	if (walk->has_joined) {
		which = this_walk(walk);
		at = taken;
	} else {
		which = last_walk(walk);
		walk->last_at = at = pass_below(walk, walk->last_at);
	}
	frame = remembered_frame(walk, which, at);
	if (at >= walk->spans[which].count || !is_there_again(walk, frame))
		return STEP_IS_NEW;
	if (!walk->has_joined)
		join_last(walk, at);
	return follow_last(walk, frame);
}

/* Before the step of frame `at`, which is not taken again: where it begins. What is too deep is not
 * remembered. */
static __always_inline void remember_begin(struct walk *walk, __u32 at)
{
	struct remembered_frame *frame;

	walk->words_read = 0;
	walk->read_more = !can_be_remembered(walk);
	if (at >= REMEMBERED_FRAMES)
		return;
	frame = remembered_frame(walk, this_walk(walk), at);
	frame->ip = walk->ip;
	frame->sp = walk->sp;
	frame->fp = walk->fp.word;
	frame->fp_kind = walk->fp.kind;
	frame->rbx = walk->rbx.word;
	frame->rbx_kind = walk->rbx.kind;
	frame->is_guess = walk->is_guess;
}

/* And behind it: what it took down, if anything, and whether it can be taken again. `end`: its
 * end, or WALK_ON. Here the frame becomes part of the walk's hash. */
static __always_inline void remember_end(struct walk *walk, __u32 at, int end)
{
	struct remembered_frame *frame;

	if (walk->record.count == at)
		return;
	walk->record.hash = hash_next(walk->record.hash, walk->frames[number_below(256, at)]);
	if (at >= REMEMBERED_FRAMES)
		return;
	frame = remembered_frame(walk, this_walk(walk), at);
	frame->frame = walk->frames[number_below(REMEMBERED_FRAMES, at)];
	frame->is_jit = walk->is_jit;
	frame->words_read = walk->read_more ? 0 : walk->words_read;
	frame->is_root = end == PILOTLIGHT_WALK_ROOT && !walk->read_more && walk->words_read == 0;
}

static __always_inline void forget_walks(struct walk *walk)
{
	walk->spans[0].count = walk->spans[1].count = 0;
}

/* The walk is at its end, and the next one's last. */
static __always_inline void remember_walk(struct walk *walk)
{
	__u32 count = walk->record.count;

	walk->spans[this_walk(walk)].count = count < REMEMBERED_FRAMES ? count : REMEMBERED_FRAMES;
	walk->turn++;
	walk->last_at = 0;
	walk->has_joined = 0;
}
