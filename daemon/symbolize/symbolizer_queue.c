/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next task is the oldest one of the user on whose files workers spent the least CPU time
 * lately. A user whose time is used up waits until some of it has leaked.
 *
 * One hostile file can keep a worker busy for minutes. So one more worker than usual may start, for
 * a user who has none, once all others have run for `overtake_ns`.
 */
#include "symbolize/symbolizer_state.h"

#include "base/clock.h"

enum { RUNNING_MAX = 8 }; /* of which the users are known */

struct running {
	uint64_t users[RUNNING_MAX];
	size_t count;
};

bool symbolizer_has_room(struct symbolizer *symbolizer, uint64_t user)
{
	if (user_share_has_room(&symbolizer->unfinished, user, 1))
		return true;
	user_excess_add(&symbolizer->excess, user, USER_SYMBOLS, 1);
	return false;
}

static bool has_worker(const struct task *task)
{
	return task->stage == TASK_WORKING || task->stage == TASK_ALONE ||
	       task->stage == TASK_FETCHED;
}

/* False: no more worker may start. */
static bool find_running(
	const struct symbolizer *symbolizer, uint64_t now_ns, struct running *running)
{
	size_t pending = worker_pool_pending(symbolizer->pool);

	running->count = 0;
	if (pending < symbolizer->workers_max)
		return true;
	if (pending > symbolizer->workers_max)
		return false;
	for (size_t i = 0; i < symbolizer->tasks.count; i++) {
		const struct task *task = &symbolizer->tasks.items[i];

		if (!has_worker(task))
			continue;
		if (now_ns - task->started_ns < symbolizer->overtake_ns ||
			running->count == RUNNING_MAX)
			return false;
		running->users[running->count++] = task->binary.user;
	}
	return true;
}

static bool is_running(const struct running *running, uint64_t user)
{
	for (size_t i = 0; i < running->count; i++)
		if (running->users[i] == user)
			return true;
	return false;
}

static bool is_late(struct symbolizer *symbolizer, struct task *task, uint64_t now_ns)
{
	if (symbolizer->ignores_time ||
		!user_time_is_over(&symbolizer->worker_time, task->binary.user, now_ns))
		return false;
	if (!task->is_late)
		user_excess_add(&symbolizer->excess, task->binary.user, USER_SYMBOLS, 1);
	task->is_late = true;
	return true;
}

/* A task that was found so far, and how much its user has spent. */
struct candidate {
	uint32_t id;
	uint64_t level_ns, number;
};

static void consider(struct candidate *best, const struct task *task, uint32_t id,
	const struct user_time *time, uint64_t now_ns)
{
	uint64_t level_ns = user_time_level(time, task->binary.user, now_ns);

	if (best->id != TASK_NONE &&
		(level_ns > best->level_ns ||
			(level_ns == best->level_ns && task->number > best->number)))
		return;
	*best = (struct candidate){ .id = id, .level_ns = level_ns, .number = task->number };
}

uint32_t symbolizer_next_waiting(struct symbolizer *symbolizer)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct candidate best = { .id = TASK_NONE };
	struct running running;

	if (!find_running(symbolizer, now_ns, &running))
		return TASK_NONE;
	for (uint32_t id = 0; id < symbolizer->tasks.count; id++) {
		struct task *task = &symbolizer->tasks.items[id];

		if (task->stage == TASK_WAITING && !is_running(&running, task->binary.user) &&
			!is_late(symbolizer, task, now_ns))
			consider(&best, task, id, &symbolizer->worker_time, now_ns);
	}
	return best.id;
}

uint32_t symbolizer_next_fetch(const struct symbolizer *symbolizer)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct candidate best = { .id = TASK_NONE };

	for (uint32_t id = 0; id < symbolizer->tasks.count; id++)
		if (symbolizer->tasks.items[id].stage == TASK_LOCAL_DONE)
			consider(&best, &symbolizer->tasks.items[id], id, &symbolizer->fetch_time,
				now_ns);
	return best.id;
}
