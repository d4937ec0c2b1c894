/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repeats steps of the last walk on this CPU. Between two samples a thread's outer frames mostly
 * stay the same. While mappings and tables do not change, a step depends only on the registers and
 * on the words of the stack that it reads. If the registers are those of a remembered frame, and
 * the words have not changed, the caller is the remembered one: no mapping and no rule is looked
 * up.
 */
#pragma once

#include "walk_state.bpf.h"

/* Bounds a number for the verifier: below `count`, a power of two. The asm keeps the compiler,
 * which knows the bound already, from removing the mask. */
static __always_inline __u32 number_below(__u32 count, __u32 number)
{
	number &= count - 1;
	__asm__ volatile("" : "+r"(number));
	return number;
}

/* Indexes of the two rings. */
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
	return &walk->rings[which]
			.remembered[number_below(REMEMBERED_FRAMES, walk->spans[which].first + at)];
}

/* Per step, for the verifier; the next step skips the rest. */
enum { FRAMES_SKIPPED_MAX = 16 };

/* Skips the last walk's frames that lie below this walk on the stack. */
static __always_inline __u32 skip_below(struct walk *walk, __u32 from)
{
	__u32 last = last_walk(walk), at = from;

	for (int i = 0; i < FRAMES_SKIPPED_MAX; i++) {
		if (at >= walk->spans[last].count ||
			remembered_frame(walk, last, at)->sp >= walk->sp)
			break;
		at++;
	}
	return at;
}

/* A leaf and a frame that a signal interrupted know more registers than are remembered. */
static __always_inline int can_be_remembered(const struct walk *walk)
{
	return !walk->is_exact && walk->registers_kind == REGISTERS_NONE &&
	       walk->doubt != WALK_IN_MADE_FRAME;
}

static __always_inline int is_same_saved(
	const struct saved_register *saved, __u64 word, enum saved_kind kind)
{
	return saved->kind == kind && (kind == SAVED_UNKNOWN || saved->word == word);
}

/* Does the walk have the registers of this frame? */
static __always_inline int is_there_again(
	const struct walk *walk, const struct remembered_frame *frame)
{
	return frame->sp == walk->sp && frame->ip == walk->ip &&
	       frame->guess_end == walk->guess_end && frame->is_linked == walk->is_linked &&
	       is_same_saved(&walk->fp, frame->fp, frame->fp_kind) &&
	       is_same_saved(&walk->rbx, frame->rbx, frame->rbx_kind);
}

/* Does the step from `frame` to `caller` still read the same words? */
static __always_inline int reads_the_same(
	const struct remembered_frame *frame, const struct remembered_frame *caller)
{
	__u64 words[2] = { caller->fp, 0 };

	switch (frame->words_read) {
	case 1:
		return can_read_own_user(&words[1], 1, caller->sp - sizeof(words[1])) &&
		       words[1] == caller->ip;
	case 2:
		return can_read_own_user(words, 2, caller->sp - sizeof(words)) &&
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
	walk->guess_end = caller->guess_end;
	walk->is_linked = caller->is_linked;
	walk->doubt = WALK_IS_SURE; /* the last walk has been there */
}

/*
 * This walk has come to frame `at` of the last one, so the rest is likely the same. It takes over
 * the last walk's ring: its own frames replace those below `at`, and the others are there already.
 * So two walks that differ only in their leaves write only these.
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
	walk->follows_last = 1;
}

/* In place of WALK_ON or a walk's end: the step is not remembered. */
enum { STEP_IS_NEW = -2 };

/* Per step, since the verifier follows each. */
enum { FRAMES_FOLLOWED_MAX = 8 };

/*
 * Appends remembered frames, beginning with `frame`, whose registers the walk has, for as long as
 * their steps read the same words. Returns WALK_ON; PILOTLIGHT_WALK_ROOT after the root; or
 * STEP_IS_NEW if the next step must be looked up.
 */
static __always_inline int follow_last(struct walk *walk, const struct remembered_frame *frame)
{
	__u32 own = this_walk(walk), count = walk->spans[own].count, taken = walk->record.count;
	__u64 hash = walk->record.hash;
	int end = WALK_ON;

	for (int i = 0; i < FRAMES_FOLLOWED_MAX && end == WALK_ON; i++) {
		const struct remembered_frame *caller = remembered_frame(walk, own, taken + 1);

		if (frame->is_root) {
			end = PILOTLIGHT_WALK_ROOT;
		} else if (taken + 1 >= count || !reads_the_same(frame, caller)) {
			end = STEP_IS_NEW;
			break;
		}
		walk->depths[number_below(WALK_DEPTHS, taken)] = (__u32)(frame->sp - walk->leaf_sp);
		walk->frames[number_below(PILOTLIGHT_WALK_DEPTH + 1, taken++)] = frame->frame;
		hash = hash_next(hash, frame->frame);
		/* No other step out of generated code can be repeated. */
		walk->has_jit |= frame->is_jit ? WALK_HAS_JIT | WALK_GUESSES_JIT : 0;
		walk->has_untabled |= frame->is_untabled;
		frame = caller;
	}
	walk->record.count = taken;
	walk->record.hash = hash;
	if (end != PILOTLIGHT_WALK_ROOT)
		go_to_remembered(walk, frame);
	return end;
}

/* Appends the frames that the last walk had, too, from the walk's present one on. Returns what
 * follow_last() does. */
static __always_inline int step_from_memory(struct walk *walk)
{
	__u32 which, at, taken = walk->record.count;
	const struct remembered_frame *frame;

	if (!can_be_remembered(walk) || taken >= REMEMBERED_FRAMES - 1)
		return STEP_IS_NEW;
	if (walk->follows_last) {
		which = this_walk(walk);
		at = taken;
	} else {
		which = last_walk(walk);
		walk->last_at = at = skip_below(walk, walk->last_at);
	}
	frame = remembered_frame(walk, which, at);
	if (at >= walk->spans[which].count || !is_there_again(walk, frame))
		return STEP_IS_NEW;
	if (!walk->follows_last)
		join_last(walk, at);
	return follow_last(walk, frame);
}

/* Before a step that is looked up: notes the registers of frame `at`. Frames beyond
 * REMEMBERED_FRAMES are not remembered. */
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
	frame->guess_end = walk->guess_end;
	frame->is_linked = walk->is_linked;
}

/* After it: notes the frame, if the step appended one, and whether the step can be repeated. `end`
 * is what the step returned. Adds the frame to the walk's hash. */
static __always_inline void remember_end(struct walk *walk, __u32 at, int end)
{
	struct remembered_frame *frame;

	if (walk->record.count == at)
		return;
	walk->record.hash = hash_next(
		walk->record.hash, walk->frames[number_below(PILOTLIGHT_WALK_DEPTH + 1, at)]);
	if (at >= REMEMBERED_FRAMES)
		return;
	frame = remembered_frame(walk, this_walk(walk), at);
	frame->frame = walk->frames[number_below(REMEMBERED_FRAMES, at)];
	frame->is_jit = walk->is_jit;
	frame->is_untabled = walk->is_untabled;
	frame->words_read = walk->read_more ? 0 : walk->words_read;
	frame->is_root = end == PILOTLIGHT_WALK_ROOT && !walk->read_more && walk->words_read == 0;
}

static __always_inline void forget_walks(struct walk *walk)
{
	walk->spans[0].count = walk->spans[1].count = 0;
}

/* The walk has ended, and becomes the last one. */
static __always_inline void remember_walk(struct walk *walk)
{
	__u32 count = walk->record.count;

	walk->spans[this_walk(walk)].count = count < REMEMBERED_FRAMES ? count : REMEMBERED_FRAMES;
	walk->turn++;
	walk->last_at = 0;
	walk->follows_last = 0;
}

/* Call it behind remember_walk(): the ring that the next walk fills has nothing until then. */
static __always_inline struct runtime_span *walked_spans(struct walk *walk)
{
	return walk->rings[this_walk(walk)].runtime_spans;
}
