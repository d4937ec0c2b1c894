/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the frames of an interpreter to a stack that has been walked. The native walk notes the
 * interpreter that it goes through (walk.runtime); the interpreter's description says where its
 * frames are. Each group of frames gets the native frame that runs it: the one on whose part of the
 * stack the group's mark lies.
 *
 * The process may write anything into its memory. So steps, time, copies and bytes are bounded, and
 * a frame without a copy has code 0.
 *
 * The includer defines send(), the map `ring` and ring_bytes.
 */
#pragma once

#include "runtime_copy.bpf.h"
#include "runtime_perl_place.bpf.h"
#include "runtime_tasks.bpf.h"

enum {
	RUNTIME_FULL =
		RUNTIME_UNREADABLE + 1, /* beyond enum runtime_end: no room or time for more */
	RUNTIME_NATIVE,			/* and: the frames are the native ones */
	/* The frames beyond those that are kept only lead to the end of their group. */
	RUNTIME_STEPS_MAX = 1200,
	RUNTIME_TIMED_STEPS = 64, /* between two looks at the clock; a power of two */
	/* Frames that a call of step_ruby() takes; a power of two. Each costs the verifier 5,000
	 * instructions. */
	RUBY_STEPS = 4,
};

/* For each CPU as many as of struct runtime_copier: a CPU's part of the walkers' map has no room
 * for them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct runtime_tasks);
} runtime_tasks SEC(".maps");

enum runtime_tasks_step {
	RUNTIME_TASKS_UNKNOWN, /* no coroutine has been met yet */
	RUNTIME_TASKS_RUNNING, /* the frame of the running task's is looked for */
	RUNTIME_TASKS_DONE,
	RUNTIME_TASKS_AWAITING, /* frames of tasks come */
};

/* What follows a record, in words, without the frames of the kernel. */
static __always_inline __u32 walk_words(const struct pilotlight_ring_walk *record)
{
	return (record->count & PILOTLIGHT_WALK_DEPTH) +
	       (record->runtime_count & PILOTLIGHT_RUNTIME_FRAMES_MAX) * RUNTIME_FRAME_WORDS +
	       (record->has_context) * CONTEXT_WORDS;
}

static __always_inline void begin_state(struct walker *walker)
{
	walker->runtime.begin_ns = walk_clock_ns();
	walker->runtime.owner = runtime_owner(walker);
	walker->runtime.copies = walker->runtime.is_spent = 0;
}

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */
__noinline int begin_runtime(struct walker *walker)
{
	const struct pilotlight_runtime *runtime;
	struct runtime_state *state;

	if (!walker)
		return RUNTIME_NO_STATE;
	state = &walker->runtime;
	runtime = walked_runtime(walker);
	if (!runtime || runtime->version != PILOTLIGHT_RUNTIME_VERSION)
		return RUNTIME_NO_STATE;
	begin_state(walker);
	state->place = state->has_open = state->is_full = state->steps = 0;
	state->groups = state->has_counted = state->step.flags = 0;
	if (runtime->language == PILOTLIGHT_RUNTIME_V8)
		return RUNTIME_NATIVE;
	state->has_calls = runtime->group >= PILOTLIGHT_RUNTIME_GROUP_CALL;
	state->language = runtime->language;
	state->walk.base = walker->walk.runtime.base;
	state->walk.thread = walked_thread_pointer();
	state->walk.stack_pointer = walker->walk.leaf_sp;
	switch (runtime->language) {
	case PILOTLIGHT_RUNTIME_RUBY:
		return ruby_begin(&state->walk, walked_spans(&walker->walk), runtime);
	case PILOTLIGHT_RUNTIME_PHP:
		if (!can_read_own_r15_r14(state->walk.registers))
			return RUNTIME_NO_STATE;
		return php_begin(&state->walk, walked_spans(&walker->walk), runtime);
	case PILOTLIGHT_RUNTIME_PERL:
		return perl_begin(&state->walk, walked_spans(&walker->walk), runtime,
			runtime_has_main(&walker->walk, runtime));
	default:
		return runtime_begin(&state->walk, walked_spans(&walker->walk), runtime);
	}
}

static __always_inline void append_runtime_frame(struct walker *walker, __u32 entry)
{
	struct walk *walk = &walker->walk;
	__u64 *words, code = identify_seen(walker, entry);
	__u32 unit = (__u32)walker->runtime.step.unit;

	words = runtime_words(walk, walk->record.runtime_count);
	words[0] = code;
	words[1] = unit | (__u64)PILOTLIGHT_RUNTIME_PLACE_UNKNOWN << RUNTIME_PLACE_SHIFT |
		   (__u64)walker->runtime.step.flags << RUNTIME_FLAGS_SHIFT;
	walk->record.runtime_count++;
	walk->record.hash = hash_next(hash_next(walk->record.hash, code), words[1]);
	walker->runtime.has_open = 1;
}

/* A global function, for the verifier. */
__noinline __u32 find_place(struct walker *walker, __u64 mark)
{
	return walker ? runtime_find_place(&walker->walk, &walker->runtime.place, mark)
		      : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN;
}

static __always_inline __u32 search_place(struct walker *walker, __u64 mark)
{
	__u32 place = RUNTIME_PLACE_ON;

	for (__u32 i = 0; i < WALK_DEPTHS / RUNTIME_PLACES && place == RUNTIME_PLACE_ON; i++)
		place = find_place(walker, mark);
	return place == RUNTIME_PLACE_ON ? PILOTLIGHT_RUNTIME_PLACE_UNKNOWN : place;
}

static __always_inline void note_group_end(struct walker *walker, int has_frames)
{
	struct runtime_state *state = &walker->runtime;
	__u32 group;

	/* The native frames of those that follow are not on this stack. */
	if (state->language == PILOTLIGHT_RUNTIME_PHP && state->walk.has_left)
		return;
	/* Those without frames are more than there is room for. */
	if (state->groups > PILOTLIGHT_RUNTIME_FRAMES_MAX)
		state->is_full = 1;
	group = number_below(PILOTLIGHT_RUNTIME_FRAMES_MAX + 1, state->groups++);
	if (state->language == PILOTLIGHT_RUNTIME_PERL && state->step.mark >= PERL_ENDS_CALLBACKS) {
		state->walk.calls_back |= group == 0 && state->step.mark == PERL_ENDS_INNERMOST;
		state->walk.callback_at = (__u16)group;
		state->walk.callbacks++;
	}
	state->ends[group] = has_frames ? (__u8)(walker->walk.record.runtime_count - 1)
					: PILOTLIGHT_RUNTIME_FRAMES_MAX;
}

static __always_inline void mark_group_end(struct walker *walker, __u64 place)
{
	struct walk *walk = &walker->walk;
	__u64 *words = runtime_words(walk, walk->record.runtime_count - 1);

	walker->runtime.has_open = 0;
	words[1] = (__u32)words[1] | place << RUNTIME_PLACE_SHIFT |
		   (__u64)PILOTLIGHT_RUNTIME_GROUP_END << RUNTIME_FLAGS_SHIFT;
	walk->record.hash = hash_next(walk->record.hash, words[1]);
}

/* Ends a group without a mark. Its frames may have no code, and then there are none. */
static __always_inline void end_called_group(struct walker *walker)
{
	if (walker->runtime.has_open) {
		note_group_end(walker, 1);
		mark_group_end(walker, PILOTLIGHT_RUNTIME_PLACE_UNKNOWN);
	} else if (walker->runtime.language == PILOTLIGHT_RUNTIME_PERL) {
		note_group_end(walker, 0);
	}
}

/* Ends a group of CPython, which may have one. */
static __always_inline void end_runtime_group(struct walker *walker)
{
	if (walker->runtime.has_calls)
		end_called_group(walker);
	else if (walker->runtime.has_open)
		mark_group_end(walker, search_place(walker, walker->runtime.step.mark));
}

static __always_inline int is_in_tasks(const struct runtime_state *state)
{
	return state->walk.tasks == RUNTIME_TASKS_AWAITING;
}

/* A coroutine has been met: if it is the running task's outermost one, those that await the task
 * come next. */
__noinline int meet_coroutine(struct walker *walker, __u32 entry)
{
	struct runtime_tasks *tasks = bpf_map_lookup_elem(&runtime_tasks, &entry);
	const struct pilotlight_runtime *runtime;
	struct runtime_walk *walk;

	if (!walker || !tasks)
		return 0;
	walk = &walker->runtime.walk;
	runtime = walked_runtime(walker);
	if (!runtime)
		return 0;
	if (walk->tasks == RUNTIME_TASKS_UNKNOWN)
		walk->tasks = runtime_find_task(tasks, walk, runtime) ? RUNTIME_TASKS_RUNNING
								      : RUNTIME_TASKS_DONE;
	if (walk->tasks != RUNTIME_TASKS_RUNNING || tasks->frame != walk->read || !walk->frame)
		return 0;
	tasks->resume = walk->frame;
	walk->tasks = RUNTIME_TASKS_AWAITING;
	return 1;
}

/* Goes to the next frame of the tasks that await, and tells its flags; or back to the thread's. */
__noinline int enter_task(struct walker *walker, __u32 entry)
{
	struct runtime_tasks *tasks = bpf_map_lookup_elem(&runtime_tasks, &entry);
	const struct pilotlight_runtime *runtime;
	struct runtime_walk *walk;
	int flags = 0;

	if (!walker || !tasks)
		return 0;
	walk = &walker->runtime.walk;
	runtime = walked_runtime(walker);
	if (!runtime)
		return 0;
	if (tasks->left == 0) {
		flags = PILOTLIGHT_RUNTIME_AWAITS;
		if (!runtime_find_awaiter(tasks, runtime)) {
			walk->frame = tasks->resume;
			walk->tasks = RUNTIME_TASKS_DONE;
			return 0;
		}
	}
	walk->frame = runtime_take_coroutine(tasks);
	return flags;
}

/* Has the walk taken too long? A step that is slow looks at the clock itself. */
static __always_inline int is_out_of_time(struct runtime_state *state, int is_slow)
{
	return (!(++state->steps & (RUNTIME_TIMED_STEPS - 1)) || is_slow) &&
	       walk_clock_ns() - state->begin_ns > RUNTIME_NS_MAX;
}

static __always_inline void add_step(struct walker *walker, __u32 entry)
{
	if (walker->walk.record.runtime_count < PILOTLIGHT_RUNTIME_FRAMES_MAX)
		append_runtime_frame(walker, entry);
	else
		walker->runtime.is_full = 1;
}

/* Appends the frame of a step, if it has one, and ends its group. */
static __always_inline int take_step(struct walker *walker, __u32 entry, int end)
{
	if (end == RUNTIME_UNREADABLE)
		return end;
	if (walker->runtime.step.code)
		add_step(walker, entry);
	if (!walker->runtime.step.mark)
		return end;
	end_called_group(walker);
	return walker->runtime.is_full ? RUNTIME_FULL : end;
}

/* A function for each language: a further call costs as much as ten words of code. Each takes one
 * frame, that of Ruby RUBY_STEPS. They return RUNTIME_ON, or why the walk ends. */
__noinline int step_ruby(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct runtime_state *state;
	int end;

	if (!runtime)
		return RUNTIME_UNREADABLE;
	state = &walker->runtime;
	state->steps += RUBY_STEPS - 1;
	if (is_out_of_time(state, 0))
		return RUNTIME_FULL;
	end = RUNTIME_ON;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < RUBY_STEPS && end == RUNTIME_ON; i++) {
		end = ruby_next(&state->walk, walked_spans(&walker->walk), runtime, &state->step);
		end = take_step(walker, entry, end);
	}
	return end;
}

__noinline int step_php(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct runtime_state *state;
	int end;

	if (!runtime)
		return RUNTIME_UNREADABLE;
	state = &walker->runtime;
	/* A step along generators that delegate reads up to 32 of them. */
	if (is_out_of_time(state, state->walk.limit != 0))
		return RUNTIME_FULL;
	end = php_next(&state->walk, walked_spans(&walker->walk), runtime, &state->step);
	return take_step(walker, entry, end);
}

__noinline int step_perl(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct runtime_state *state;
	int end;

	if (!runtime)
		return RUNTIME_UNREADABLE;
	state = &walker->runtime;
	if (is_out_of_time(state, 0))
		return RUNTIME_FULL;
	end = perl_next(&state->walk, walked_spans(&walker->walk), runtime, &state->step);
	return take_step(walker, entry, end);
}

__noinline int step_python(struct walker *walker, __u32 entry)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;
	struct runtime_state *state;
	int end, is_of_task;

	if (!runtime)
		return RUNTIME_UNREADABLE;
	state = &walker->runtime;
	if (is_out_of_time(state, 0))
		return RUNTIME_FULL;
	state->step.flags = is_in_tasks(state) ? enter_task(walker, entry) : 0;
	state->walk.read = state->walk.frame;
	end = runtime_next(&state->walk, walked_spans(&walker->walk), runtime, &state->step);
	is_of_task = is_in_tasks(state);
	if (is_of_task) {
		/* It has no frame before it, and leads to no other group. */
		if (end == RUNTIME_UNREADABLE)
			state->step.code = 0;
		state->step.mark = 0;
		end = RUNTIME_ON;
	}
	if (end == RUNTIME_UNREADABLE)
		return end;
	if (state->step.code || is_of_task)
		add_step(walker, entry);
	if (state->walk.tasks < RUNTIME_TASKS_DONE && runtime_is_coroutine(&state->walk, runtime))
		meet_coroutine(walker, entry);
	if (!state->step.mark)
		return end;
	end_runtime_group(walker);
	return state->is_full ? RUNTIME_FULL : end;
}

static __always_inline int take_steps(struct walker *walker, __u32 entry,
	int (*step)(struct walker *walker, __u32 entry), __u32 calls)
{
	int end = RUNTIME_ON;

	for (__u32 i = 0; i < calls && end == RUNTIME_ON; i++)
		end = step(walker, entry);
	return end;
}

/* A loop for each language: the verifier, which follows each round, has less to do. */
static __always_inline int walk_runtime(struct walker *walker, __u32 entry)
{
	switch (walker->runtime.language) {
	case PILOTLIGHT_RUNTIME_RUBY:
		return take_steps(walker, entry, step_ruby, RUNTIME_STEPS_MAX / RUBY_STEPS);
	case PILOTLIGHT_RUNTIME_PHP:
		return take_steps(walker, entry, step_php, RUNTIME_STEPS_MAX);
	case PILOTLIGHT_RUNTIME_PERL:
		return take_steps(walker, entry, step_perl, RUNTIME_STEPS_MAX);
	default:
		return take_steps(walker, entry, step_python, RUNTIME_STEPS_MAX);
	}
}

/* If native frame `at` is a call of the loop, its group gets it. Or of FINISH what it has called
 * for the rest of the loop, or the generated code that runs in it; of CATCH the innermost call that
 * goes on with it. */
__noinline int place_call(struct walker *walker, __u32 at)
{
	const struct pilotlight_runtime *runtime;
	struct runtime_state *state;
	struct walk *walk;
	__u64 *words, callers;
	__u32 group, inner;

	if (!walker)
		return 0;
	state = &walker->runtime;
	walk = &walker->walk;
	runtime = walked_runtime(walker);
	inner = at = number_below(WALK_DEPTHS, at);
	if (!runtime)
		return 0;
	if (state->language == PILOTLIGHT_RUNTIME_RUBY && runtime_is_generated(walk->frames[at]))
		state->inner = at + 1;
	if (!runtime_is_call(walk, runtime, walk->frames[at]))
		return 0;
	if (runtime_goes_on(walk, runtime, at)) {
		if (!state->inner)
			state->inner = at + 1;
		return 0;
	}
	if (state->inner)
		inner = state->inner - 1;
	state->inner = 0;
	group = state->placed - state->place;
	/* Of Perl, another group than the innermost may have no call. */
	if (state->language == PILOTLIGHT_RUNTIME_PERL && state->place == (__u32)-1 &&
		state->placed < state->walk.callback_at)
		group--;
	state->placed++;
	if (group >= state->groups)
		return 0;
	group = number_below(PILOTLIGHT_RUNTIME_FRAMES_MAX + 1, group);
	if (state->ends[group] == PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return 0;
	words = runtime_words(walk, state->ends[group]);
	if (runtime->group == PILOTLIGHT_RUNTIME_GROUP_FINISH && at > 0 && inner == at &&
		runtime_is_rest(walk, runtime, walk->frames[number_below(WALK_DEPTHS, at - 1)]))
		inner--;
	/* The generated code runs the group, and the loop is what it was jumped to from. */
	if (runtime->group == PILOTLIGHT_RUNTIME_GROUP_TOP && at > 0 &&
		runtime_is_resumed(walk, runtime, walk->frames[at]))
		inner--;
	callers = at - inner;
	words[1] &= ~((__u64)PILOTLIGHT_RUNTIME_PLACE_UNKNOWN << RUNTIME_PLACE_SHIFT);
	words[1] |= (__u64)inner << RUNTIME_PLACE_SHIFT |
		    callers << (RUNTIME_FLAGS_SHIFT + PILOTLIGHT_RUNTIME_CALLERS_SHIFT);
	return 1;
}

/* A global function, for the verifier. */
__noinline int count_some_calls(struct walker *walker, __u32 first)
{
	const struct pilotlight_runtime *runtime = walker ? walked_runtime(walker) : 0;

	if (runtime)
		runtime_count_calls(&walker->walk, runtime, first);
	return 0;
}

/* Counts the native frames that run the loop, once a walk. */
static __always_inline void count_calls(struct walker *walker)
{
	if (walker->runtime.has_counted)
		return;
	walker->runtime.has_counted = 1;
	walker->walk.calls.count = walker->walk.calls.inner = 0;
	for (__u32 i = 0; i < WALK_DEPTHS && i < walker->walk.record.count; i += RUNTIME_PLACES)
		count_some_calls(walker, i);
}

/* Looks at RUNTIME_PLACES native frames. */
__noinline int place_some_calls(struct walker *walker, __u32 first)
{
	__u32 frames;

	if (!walker)
		return 0;
	first = number_below(WALK_DEPTHS, first);
	frames = walker->walk.calls.frames[first / RUNTIME_PLACES];
	for (__u32 i = 0; i < RUNTIME_PLACES; i++)
		if (frames >> i & 1)
			place_call(walker, first + i);
	return 0;
}

/* Without marks: gives each group the native frame that is as far from the outermost. */
__noinline int place_calls(struct walker *walker)
{
	const struct pilotlight_runtime *runtime;
	struct runtime_state *state;
	struct walk *walk;

	if (!walker)
		return 0;
	state = &walker->runtime;
	walk = &walker->walk;
	runtime = walked_runtime(walker);
	if (!runtime)
		return 0;
	count_calls(walker);
	state->place = runtime_first_call(walk, runtime, walk->calls.count, state->groups);
	if (state->place == PILOTLIGHT_RUNTIME_PLACE_UNKNOWN)
		return 0;
	if (state->language == PILOTLIGHT_RUNTIME_PERL &&
		!perl_is_certain(walk, &state->walk, state->place, walk->calls.inner - 1))
		return 0;
	state->placed = state->inner = 0;
	for (__u32 i = 0; i < WALK_DEPTHS && i < walk->record.count; i += RUNTIME_PLACES)
		place_some_calls(walker, i);
	return 1;
}

#include "runtime_v8_sample.bpf.h"

#include "runtime_hotspot_add.bpf.h"

#include "runtime_php_sample.bpf.h"

#include "runtime_ruby_sample.bpf.h"

/* Ruby's functions of C that no group has called, as where a fiber begins, have native frames
 * alone. */
__noinline int leave_out_functions(struct walker *walker)
{
	struct runtime_state *state;
	__u32 count;

	if (!walker)
		return 0;
	state = &walker->runtime;
	count = 0;
	if (state->groups)
		count = state->ends[number_below(
				PILOTLIGHT_RUNTIME_FRAMES_MAX + 1, state->groups - 1)] +
			1;
	if (!state->has_open || walker->walk.record.runtime_count != count + state->walk.functions)
		return 0;
	walker->walk.record.runtime_count = (__u16)count;
	state->has_open = 0;
	return 0;
}

/* `entry`: of the CPU's maps. */
static __always_inline void add_runtime_frames(struct walker *walker, __u32 entry)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	int end;

	if (!wants_runtimes)
		return;
	if (walker->walk.hotspot.number != RUNTIME_NONE && add_methods(walker, entry))
		return;
	if (walker->walk.runtime.number >= PILOTLIGHT_RUNTIMES_MAX)
		return;
	end = begin_runtime(walker);
	if (end == RUNTIME_NO_STATE)
		return;
	if (end == RUNTIME_NATIVE) {
		(void)add_v8_frames(walker, entry);
		return;
	}
	if (walker->runtime.language == PILOTLIGHT_RUNTIME_RUBY)
		remember_ruby(walker);
	if ((walker->runtime.language == PILOTLIGHT_RUNTIME_PHP ||
		    walker->runtime.language == PILOTLIGHT_RUNTIME_PERL) &&
		!runs_loop(walker))
		return;
	if (end == RUNTIME_ON)
		end = walk_runtime(walker, entry);
	if (end == RUNTIME_ROOT && walker->runtime.language == PILOTLIGHT_RUNTIME_RUBY)
		leave_out_functions(walker);
	/* The outermost frame ends a group, unless the thread is just linking its frames anew. */
	if (end == RUNTIME_ROOT && walker->runtime.has_open)
		end = RUNTIME_UNREADABLE;
	/* Both stacks are whole, and their hash covers what the places follow from. */
	if (walker->runtime.has_calls && end == RUNTIME_ROOT && !walker->runtime.is_full &&
		record->end == PILOTLIGHT_WALK_ROOT)
		place_calls(walker);
	record->runtime_file = walker->walk.runtime.file_id;
	record->runtime_language = walker->runtime.language;
	if (end == RUNTIME_ROOT && !walker->runtime.is_full)
		record->runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	else if (end == RUNTIME_UNREADABLE)
		record->runtime_end = PILOTLIGHT_RUNTIME_UNREADABLE;
	else
		record->runtime_end = PILOTLIGHT_RUNTIME_DEEP;
	record->hash = hash_next(record->hash, record->runtime_end);
}
