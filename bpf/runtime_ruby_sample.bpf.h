/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves the generated code of Ruby's YJIT during the walk (runtime_ruby_code.bpf.h). Any memory
 * without a file may have code of others. So the memory is proved first: the thread's control
 * frames say where in it they return to. Compiles for the host, too.
 *
 * The includer defines struct walker, walked_runtime(), walked_thread_pointer(),
 * enter_known_mapping() and remember_runtime().
 */
#pragma once

#include "remembered_walk.bpf.h"
#include "runtime_ruby_code.bpf.h"

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */

/* The innermost control frame of the thread; 0: there is none. */
__noinline __u64 find_ruby_frame(struct walker *walker)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct runtime_walk *state;
	__u64 address, frame;

	if (!runtime)
		return 0;
	state = &walker->runtime.walk;
	state->base = walker->walk.runtime.base;
	state->thread = walked_thread_pointer();
	address = runtime_state(state, runtime);
	return address && runtime_read_word(&frame, address + runtime->state_frame_at) ? frame : 0;
}

/* Is this mapping YJIT's? */
__noinline int is_yjit(struct walker *walker, __u32 mapping)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct walk *walk;
	__u64 frame;

	if (!runtime || runtime->version != PILOTLIGHT_RUNTIME_VERSION ||
		runtime->language != PILOTLIGHT_RUNTIME_RUBY)
		return 0;
	walk = &walker->walk;
	mapping = number_below(WALK_MAPPINGS, mapping);
	if (walk->mappings[mapping].has_file)
		return 0;
	if (walk->yjit_at == walk->starts[mapping])
		return 1;
	frame = find_ruby_frame(walker);
	if (!frame || !ruby_returns_to(runtime, frame, walk->starts[mapping], walk->ends[mapping]))
		return 0;
	walk->yjit_at = walk->starts[mapping];
	return 1;
}

/* As ruby_leave_code(), to the current mapping. */
__noinline int leave_ruby_code(struct walker *walker, __u32 at)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct walk *walk;
	__u32 mapping;

	if (!runtime)
		return 0;
	walk = &walker->walk;
	mapping = number_below(WALK_MAPPINGS, walk->mapping);
	return ruby_leave_code(walk, runtime, walk->starts[mapping], walk->ends[mapping], at);
}

/* Goes from the last frame, in generated code, to Ruby's that called it. Returns 0 if the code is
 * none of YJIT's. */
__noinline int step_ruby_code(struct walker *walker)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct walk *walk;

	if (!runtime)
		return 0;
	walk = &walker->walk;
	if (!is_yjit(walker, walk->mapping) ||
		!enter_known_mapping(walk, walk->runtime.base + runtime->loop_place))
		return 0;
	for (__u32 i = 0; i < RUBY_CODE_WORDS; i++)
		if (leave_ruby_code(walker, i))
			return 1;
	return 0;
}

/* Later walks need to know Ruby before they come to it: the leaf may be in YJIT's code. */
__noinline int remember_ruby(struct walker *walker)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;

	if (runtime && runtime->language == PILOTLIGHT_RUNTIME_RUBY)
		remember_runtime(walker, walker->walk.runtime.base + runtime->loop_place);
	return 0;
}
