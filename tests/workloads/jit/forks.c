/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modes of processes that write to an inherited file. */
#include "trial.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMON, BEFORE, OWN, LATER, FUNCTIONS };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		(void)fprintf(stderr, "a child failed\n");
		exit(1);
	}
}

static void run_first(struct trial *trial, const struct function *functions, unsigned count)
{
	while (trial_goes_on(trial))
		for (unsigned i = 0; i < count; i++)
			trial_run(trial, &functions[i], i + 1);
}

/* --- private memory ----------------------------------------------------------------------
 */

/* Code that differs from the parent's at the same addresses. */
static void run_grandchild(struct trial *trial, struct function *functions)
{
	trial_inherit(trial, "jit_grandchild");
	truth_add(&trial->truth, trial_name(trial, "child_own", 0), 0);
	truth_add(&trial->truth, trial_name(trial, "parent_own", 0), 0);
	trial_load(trial, OWN, trial_name(trial, "grandchild_own", 0), &functions[OWN]);
	run_first(trial, functions, LATER);
	trial_end(trial);
	_exit(0);
}

static void run_private_child(struct trial *trial, struct function *functions)
{
	pid_t pid;

	trial_inherit(trial, "jit_child");
	truth_add(&trial->truth, trial_name(trial, "parent_own", 0), 0);
	truth_add(&trial->truth, trial_name(trial, "parent_later", 0), 0);
	truth_add(&trial->truth, trial_name(trial, "grandchild_own", 0), 0);
	trial_load(trial, OWN, trial_name(trial, "child_own", 0), &functions[OWN]);
	trial_run(trial, &functions[OWN], 1);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0)
		run_grandchild(trial, functions);
	/* The parent wrote the code at BEFORE and has replaced its own copy by now. */
	run_first(trial, functions, LATER);
	wait_for(pid);
	trial_end(trial);
	_exit(0);
}

void run_fork_private(struct trial *trial)
{
	struct function functions[FUNCTIONS];
	pid_t pid;

	trial_load(trial, COMMON, trial_name(trial, "common", 0), &functions[COMMON]);
	trial_load(trial, BEFORE, trial_name(trial, "before", 0), &functions[BEFORE]);
	trial_run(trial, &functions[COMMON], 1);
	trial_run(trial, &functions[BEFORE], 1);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0)
		run_private_child(trial, functions);
	truth_add(&trial->truth, trial_name(trial, "child_own", 0), 0);
	truth_add(&trial->truth, trial_name(trial, "grandchild_own", 0), 0);
	trial_load(trial, BEFORE, trial_name(trial, "parent_later", 0), &functions[BEFORE]);
	trial_load(trial, OWN, trial_name(trial, "parent_own", 0), &functions[OWN]);
	run_first(trial, functions, LATER);
	wait_for(pid);
	trial_end(trial);
}

/* --- shared memory -------------------------------------------------------------------
 */

static pthread_barrier_t *make_barrier(void)
{
	pthread_barrier_t *barrier = mmap(
		NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attributes;

	if (barrier == MAP_FAILED)
		fail("mmap");
	(void)pthread_barrierattr_init(&attributes);
	(void)pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	(void)pthread_barrier_init(barrier, &attributes, 2);
	return barrier;
}

/* One process writes code at a place, and then both run it. */
static void share_code(struct trial *trial, pthread_barrier_t *barrier, bool makes_it,
	unsigned place, const char *name)
{
	struct function function;
	uint64_t end_ns = trial->end_ns;

	if (makes_it) {
		trial_load(trial, place, name, &function);
	} else {
		function = (struct function){
			.name = name,
			.code = trial->memory.run + (size_t)place * PLACE_BYTES,
		};
	}
	(void)pthread_barrier_wait(barrier);
	trial->end_ns = monotonic_ns() + (uint64_t)(trial->seconds * 1e9 / 3);
	while (trial_goes_on(trial))
		trial_run(trial, &function, 1);
	trial->end_ns = end_ns;
	(void)pthread_barrier_wait(barrier);
}

void run_fork_shared(struct trial *trial)
{
	pthread_barrier_t *barrier = make_barrier();
	const char *by_parent = trial_name(trial, "by_parent", 0);
	const char *by_child = trial_name(trial, "by_child", 0);
	const char *in_its_place = trial_name(trial, "in_its_place", 0);
	pid_t pid = fork();
	bool is_child = pid == 0;

	if (pid < 0)
		fail("fork");
	if (is_child)
		trial_inherit(trial, "jit_child");
	share_code(trial, barrier, !is_child, 0, by_parent);
	share_code(trial, barrier, is_child, 1, by_child);
	share_code(trial, barrier, is_child, 0, in_its_place);
	if (!is_child)
		wait_for(pid);
	trial_end(trial);
	if (is_child)
		_exit(0);
}
