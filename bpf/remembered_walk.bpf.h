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

/* A frame's number for the verifier to see that it is one; the compiler, which knows, must not see
 * what is done. */
static __always_inline __u32 frame_number(__u32 at)
{
	at &= REMEMBERED_FRAMES - 1;
	__asm__ volatile("" : "+r"(at));
	return at;
}

/* At a step; what is left is passed at the next. */
enum { REMEMBERED_FRAMES_PASSED = 16 };

/* The first of the last walk's frames, from that one on, that is not below this one's. */
static __always_inline __u32 pass_below(
	const struct remembered_walk *last, const struct walk *walk, __u32 from)
{
	__u32 at = from;

	for (int i = 0; i < REMEMBERED_FRAMES_PASSED; i++) {
		if (at >= last->count || last->frames[frame_number(at)].sp >= walk->sp)
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

/* The walk that is being taken, and the one before. */
static __always_inline struct remembered_walk *this_walk(struct walk *walk)
{
	return &walk->remembered[walk->turn & 1];
}

static __always_inline struct remembered_walk *last_walk(struct walk *walk)
{
	return &walk->remembered[~walk->turn & 1];
}

/* Takes a frame down and goes to its caller, as the last walk did; 0: it did not, or there is no
 * telling. */
static __always_inline int step_again(struct walk *walk)
{
	const struct remembered_walk *last = last_walk(walk);
	const struct remembered_frame *frame, *caller;
	__u32 at, taken = walk->record.count;

	if (!can_be_remembered(walk) || taken >= PILOTLIGHT_WALK_DEPTH)
		return 0;
	at = pass_below(last, walk, walk->last_at);
	walk->last_at = at;
	if (at + 1 >= last->count || at >= REMEMBERED_FRAMES - 1)
		return 0;
	frame = &last->frames[frame_number(at)];
	caller = &last->frames[frame_number(at + 1)];
	if (!is_there_again(walk, frame) || !reads_the_same(frame, caller))
		return 0;
	walk->frames[taken & 255] = frame->frame;
	if (taken < REMEMBERED_FRAMES)
		this_walk(walk)->frames[frame_number(taken)] = *frame;
	walk->record.count++;
	walk->has_jit |= frame->is_jit;
	walk->last_at = at + 1;
	go_to_remembered(walk, caller);
	return 1;
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
	frame = &this_walk(walk)->frames[frame_number(at)];
	frame->ip = walk->ip;
	frame->sp = walk->sp;
	frame->fp = walk->fp.word;
	frame->fp_kind = walk->fp.kind;
	frame->rbx = walk->rbx.word;
	frame->rbx_kind = walk->rbx.kind;
	frame->is_guess = walk->is_guess;
}

/* And behind it: what it took down, if anything, and whether it can be taken again. */
static __always_inline void remember_end(struct walk *walk, __u32 at)
{
	struct remembered_frame *frame;

	if (at >= REMEMBERED_FRAMES || walk->record.count == at)
		return;
	frame = &this_walk(walk)->frames[frame_number(at)];
	frame->frame = walk->frames[frame_number(at)];
	frame->is_jit = walk->is_jit;
	frame->words_read = walk->read_more ? 0 : walk->words_read;
}

static __always_inline void forget_walks(struct walk *walk)
{
	walk->remembered[0].count = walk->remembered[1].count = 0;
}

/* The walk is at its end, and the next one's last. */
static __always_inline void remember_walk(struct walk *walk)
{
	__u32 count = walk->record.count;

	this_walk(walk)->count = count < REMEMBERED_FRAMES ? count : REMEMBERED_FRAMES;
	walk->turn++;
	walk->last_at = 0;
}
