/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the tasks of asyncio that await the one that a thread of CPython runs. An event loop runs
 * them all, so the thread's frames end at the outermost coroutine of that task. CPython keeps for
 * each task which one awaits it. Such a task stands still, as the loop that would run it is in this
 * thread. Its coroutines lead from the outermost to the innermost.
 *
 * The proof of a running task is that the frame of its outermost coroutine is one of the thread's.
 * Those that await it must have its type, and its coroutine's. Compiles for the host, too.
 */
#pragma once

#include "runtime_walk.bpf.h"

enum {
	RUNTIME_OWNER_COROUTINE = 1, /* FRAME_OWNED_BY_GENERATOR, in the byte of GROUP_FRAME */
	RUNTIME_TASKS_MAX = 8,
	RUNTIME_COROUTINES_MAX = 32, /* of a task */
};

struct runtime_tasks {
	__u64 task; /* the next one awaits it */
	__u64 type, coroutine_type;
	__u64 frame;  /* of the running task's outermost coroutine */
	__u64 resume; /* the thread's frame behind it */
	__u32 found;
	__u32 left; /* of frames; the last one comes first */
	__u64 frames[RUNTIME_COROUTINES_MAX];
};

/* Is the frame that was read last that of a coroutine, of a version that tells of tasks? */
static __always_inline int runtime_is_coroutine(
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	return runtime->state_task_at && walk->group_byte == RUNTIME_OWNER_COROUTINE;
}

static __always_inline int runtime_read_coroutine(
	const struct pilotlight_runtime *runtime, __u64 task, __u64 *coroutine)
{
	return runtime_read_word(coroutine, task + runtime->task_coroutine_at) && *coroutine;
}

/* Finds the task that the thread runs. Returns 0 if there is none. */
static __always_inline int runtime_find_task(struct runtime_tasks *tasks,
	const struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	__u64 coroutine;

	if (!runtime_read_word(&tasks->task, walk->state + runtime->state_task_at) ||
		!runtime_read_word(
			&tasks->type, tasks->task ? tasks->task + runtime->object_type_at : 0) ||
		!runtime_read_coroutine(runtime, tasks->task, &coroutine) ||
		!runtime_read_word(&tasks->coroutine_type, coroutine + runtime->object_type_at))
		return 0;
	tasks->frame = coroutine + runtime->coroutine_frame_at;
	tasks->found = tasks->left = 0;
	return 1;
}

/* Goes from a coroutine that waits to what it awaits. Returns 0 if it is no such coroutine. */
static __always_inline int runtime_next_coroutine(
	struct runtime_tasks *tasks, const struct pilotlight_runtime *runtime, __u64 *coroutine)
{
	__u64 type, top, frame = *coroutine + runtime->coroutine_frame_at;
	__u8 state;

	if (!runtime_read_word(&type, *coroutine ? *coroutine + runtime->object_type_at : 0) ||
		type != tasks->coroutine_type ||
		!can_copy_user(&state, sizeof(state), *coroutine + runtime->coroutine_state_at) ||
		state != runtime->coroutine_waits ||
		!runtime_read_word(&top, frame + runtime->frame_stack_at) ||
		!runtime_read_word(coroutine, top - runtime->stack_awaited_below))
		return 0;
	*coroutine = runtime_pointer(*coroutine);
	tasks->frames[tasks->left++ & (RUNTIME_COROUTINES_MAX - 1)] = frame;
	return 1;
}

/* Finds the frames of the task that awaits the last one. Returns 0 if there is none, or several. */
static __always_inline int runtime_find_awaiter(
	struct runtime_tasks *tasks, const struct pilotlight_runtime *runtime)
{
	__u64 type, coroutine;
	__u8 are_several;

	tasks->left = 0;
	if (tasks->found++ >= RUNTIME_TASKS_MAX ||
		!can_copy_user(&are_several, sizeof(are_several),
			tasks->task + runtime->task_several_at) ||
		are_several ||
		!runtime_read_word(&tasks->task, tasks->task + runtime->task_awaiter_at) ||
		!runtime_read_word(
			&type, tasks->task ? tasks->task + runtime->object_type_at : 0) ||
		type != tasks->type || !runtime_read_coroutine(runtime, tasks->task, &coroutine))
		return 0;
	for (__u32 i = 0; i < RUNTIME_COROUTINES_MAX; i++)
		if (!runtime_next_coroutine(tasks, runtime, &coroutine))
			return tasks->left > 0;
	return 0;
}

/* The next of the frames that are left. */
static __always_inline __u64 runtime_take_coroutine(struct runtime_tasks *tasks)
{
	__u32 at = --tasks->left & (RUNTIME_COROUTINES_MAX - 1);

	__asm__ volatile("" : "+r"(at));
	return tasks->frames[at & (RUNTIME_COROUTINES_MAX - 1)];
}
