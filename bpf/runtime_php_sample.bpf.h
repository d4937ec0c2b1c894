/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the generated code of PHP's JIT, which has neither unwind rules nor frame pointers. It runs
 * in the native frame of the loop, which jumps to it: only a few words below, if any. So the step
 * goes to the loop, as if it had called the code, and the loop's rule leads to the caller. The
 * proof is the return address: it must be behind a call of the loop. Such calls are indirect, as is
 * that of PCRE's generated code, which may be in the same file. But PHP's code is in memory that
 * processes share, so its mapping has a file, and PCRE's has none.
 */
#pragma once

#include "runtime_hotspot_sample.bpf.h"

/* Words that the code may have on the stack: PHP 8.3's reserves two, and a stub of it is called. */
enum { PHP_CODE_WORDS = 6 };

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */

/* Makes the mapping of `address` the current one, if the walk knows it: the BPF stack has no room
 * to look for another. */
__noinline int enter_known_mapping(struct walk *walk, __u64 address)
{
	if (!walk)
		return 0;
	for (__u32 i = 0; i < WALK_MAPPINGS; i++)
		if (address >= walk->starts[i] && address < walk->ends[i]) {
			walk->mapping = i;
			return 1;
		}
	return 0;
}

/* Is this address, in the current mapping, behind a call of the loop? Such calls are in its file,
 * and have its address or use the variable zend_execute_ex. */
__noinline int is_behind_loop_call(struct walker *walker, __u64 address)
{
	const struct pilotlight_runtime *runtime;
	struct walk *walk;
	__u64 loop, code;
	__u32 mapping;

	if (!walker)
		return 0;
	walk = &walker->walk;
	runtime = walked_runtime(walker);
	mapping = number_below(WALK_MAPPINGS, walk->mapping);
	if (!runtime || address < walk->starts[mapping] || address >= walk->ends[mapping])
		return 0;
	loop = walk->runtime.base + runtime->loop_place;
	if (address - loop <= runtime->loop_bytes ||
		!can_read_own_user(&code, 1, address - sizeof(code)))
		return 0;
	return ends_with_indirect_call(code) ||
	       (code_byte(code, 5) == CODE_CALL &&
		       address + (__u64)(__s64)(__s32)(code >> 32) == loop);
}

/* The rule of the loop, below the code that it jumped to. */
static __always_inline const struct pilotlight_unwind_rule *find_loop_rule(
	struct walker *walker, __u64 loop)
{
	struct walk *walk = &walker->walk;
	const struct walked_mapping *mapping;

	if (!enter_known_mapping(walk, loop))
		return 0;
	mapping = &walk->mappings[number_below(WALK_MAPPINGS, walk->mapping)];
	if (!mapping->is_known_file || !(mapping->file.flags & PILOTLIGHT_FILE_HAS_TABLE))
		return 0;
	return find_rule(walker, &mapping->file, loop - mapping->start + mapping->offset);
}

/* Goes from the last frame, in generated code, to the loop of PHP. Returns 0 if the code is none of
 * PHP's. */
__noinline int step_php_code(struct walker *walker)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	const struct pilotlight_unwind_rule *rule;
	__u64 loop, place, address;
	__u32 words = PHP_CODE_WORDS;
	struct walk *walk;

	if (!runtime || runtime->version != PILOTLIGHT_RUNTIME_VERSION ||
		runtime->language != PILOTLIGHT_RUNTIME_PHP)
		return 0;
	walk = &walker->walk;
	if (!walk->mappings[number_below(WALK_MAPPINGS, walk->mapping)].has_file)
		return 0;
	loop = walk->runtime.base + runtime_resume_place(runtime);
	rule = find_loop_rule(walker, loop);
	if (!rule || rule->kind != PILOTLIGHT_UNWIND_CFA)
		return 0;
	place = walk->sp;
	if (rule->base == DWARF_RBP && read_saved(walk, &walk->fp, &place))
		words = 0;
	else if (rule->base != DWARF_RSP)
		return 0;
	place += (__s64)rule->offset - sizeof(address);
	for (__u32 i = 0; i <= PHP_CODE_WORDS && i <= words; i++) {
		if (!can_read_own_user(&address, 1, place + i * sizeof(address)))
			return 0;
		if (!is_behind_loop_call(walker, address))
			continue;
		walk->rbx.kind = SAVED_UNKNOWN; /* the code does not preserve it */
		walk->read_more = 1;
		(void)go_to_caller(walk, loop, walk->sp + i * sizeof(address));
		walk->is_exact = 1; /* runtime_is_resumed() */
		return 1;
	}
	return 0;
}

/* Generated code is all that walks on this CPU have met in this process. Is its program a runtime,
 * or did others meet one? */
__noinline int know_program(struct walker *walker)
{
	const struct mm_struct *mm;
	struct walk *walk;

	if (!walker)
		return PILOTLIGHT_WALK_NO_CODE;
	walk = &walker->walk;
	walk->has_asked_again = 1;
	mm = (const struct mm_struct *)walker->mm;
	if (enter_mapping(walker, BPF_CORE_READ(mm, start_code)))
		note_runtime(walk, &walk->mappings[number_below(WALK_MAPPINGS, walk->mapping)]);
	if (walk->runtime.number == RUNTIME_NONE)
		know_runtime(walker);
	return WALK_ON;
}

/*
 * PHP has one state for all threads, unless it was built for them, and so has Perl. The thread that
 * runs it is in the loop, or in generated code, such as PCRE's, whose walk may end there; all
 * others have no frames. Generated code of other threads is not PHP's, which runs in the first one.
 */
__noinline int runs_loop(struct walker *walker)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;

	if (!runtime)
		return 0;
	/* Later walks need to know it before they come to it. */
	if (runtime->language == PILOTLIGHT_RUNTIME_PHP && walker->walk.has_jit)
		remember_runtime(walker, walker->walk.runtime.base + runtime->loop_place);
	if (runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL)
		return 1;
	count_calls(walker);
	return walker->walk.calls.count > 0 || (walker->walk.has_jit && is_first_thread_walked());
}
