/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the code that Ruby's YJIT generates. It has no unwind rules, and keeps frame pointers only
 * with --yjit-perf. Ruby calls it, from the loop or from what the loop calls. The code pushes three
 * registers, and before some calls a few words more, but leaves no room on the stack: so the first
 * word there that is behind a call of Ruby is where the code returns to. The methods that it runs
 * have no native frames of their own.
 *
 * The memory belongs to the process, and may say anything. Compiles for the host, too.
 *
 * The includer defines can_copy_user(), and what walk_state.bpf.h wants.
 */
#pragma once

#include "runtime_walk.bpf.h"
#include "walk_step.bpf.h"

enum {
	RUBY_CODE_FRAMES = 8, /* control frames that are looked at */
	/* Words that the code may have on the stack: the three registers, the frame pointer twice,
	 * and what it saves around a call. */
	RUBY_CODE_WORDS = 16,
};

/*
 * Does one of the innermost control frames, from `frame` on, return to code between these
 * addresses? From Ruby 3.1 on, the last word of a frame that YJIT runs says where. Nothing else
 * writes addresses of code there: up to 3.0 that word is of the VM stack.
 */
static __always_inline int ruby_returns_to(
	const struct pilotlight_runtime *runtime, __u64 frame, __u64 start, __u64 end)
{
	__u64 address;

	for (__u32 i = 0; i < RUBY_CODE_FRAMES; i++) {
		frame += runtime->frame_bytes;
		if (!runtime_read_word(&address, frame - sizeof(address)))
			return 0;
		if (address >= start && address < end)
			return 1;
	}
	return 0;
}

static __always_inline int ruby_is_within(
	__u64 base, __s64 place, __u32 bytes, __u64 return_address)
{
	return return_address - (base + place) - 1 < bytes;
}

/*
 * Is this address, in Ruby's own code, where generated code returns to? Calls of that are indirect.
 * The loop may also call a function that jumps to it.
 */
static __always_inline int ruby_is_behind_call(
	const struct pilotlight_runtime *runtime, __u64 base, __u64 address)
{
	__u64 code;

	if (!can_read_own_user(&code, 1, address - sizeof(code)))
		return 0;
	if (ends_with_indirect_call(code))
		return 1;
	return code_byte(code, 5) == CODE_CALL &&
	       (ruby_is_within(base, runtime->loop_place, runtime->loop_bytes, address) ||
		       ruby_is_within(
			       base, runtime->loop_rest_place, runtime->loop_rest_bytes, address));
}

/* Goes from YJIT's code to Ruby's that called it, which is mapped between these addresses, if the
 * return address is word `at` on the stack. Returns 0 if it is not. */
static __always_inline int ruby_leave_code(struct walk *walk,
	const struct pilotlight_runtime *runtime, __u64 start, __u64 end, __u32 at)
{
	__u64 place = walk->sp + at * sizeof(place), address;

	if (!can_read_own_user(&address, 1, place) || address < start || address >= end ||
		!ruby_is_behind_call(runtime, walk->runtime.base, address))
		return 0;
	/* With --yjit-perf the code has pushed the caller's frame pointer first. */
	if (walk->fp.kind == SAVED_VALUE && walk->fp.word == place - sizeof(address) &&
		walk->fp.word >= walk->sp)
		set_saved_at(&walk->fp, walk->fp.word);
	walk->rbx.kind = SAVED_UNKNOWN; /* the code does not preserve it */
	walk->read_more = 1;
	(void)go_to_caller(walk, address, place + sizeof(address));
	return 1;
}
