/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through threads, processes and their names. */
#include "abuse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 10000, THREAD_STACK_BYTES = 16 << 10, CHILDREN_MAX = 200 };

struct crowd_start {
	struct abuse abuse;
	unsigned number;
};

static void *run_member(void *argument)
{
	const struct crowd_start *start = argument;
	const struct timespec pause = { .tv_nsec = 500000000 };
	char name[16];

	(void)snprintf(name, sizeof(name), "crowd-%u", start->number);
	(void)prctl(PR_SET_NAME, name);
	while (abuse_goes_on(&start->abuse)) {
		abuse_work(50);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

void thread_many(struct abuse *abuse)
{
	struct crowd_start *starts = calloc(THREADS, sizeof(*starts));
	pthread_attr_t attributes;
	pthread_t thread;

	if (!starts || pthread_attr_init(&attributes) ||
		pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES) ||
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED))
		abuse_fail("threads");
	for (unsigned i = 0; i < THREADS && abuse_goes_on(abuse); i++) {
		starts[i] = (struct crowd_start){ .abuse = *abuse, .number = i };
		if (pthread_create(&thread, &attributes, run_member, &starts[i]) != 0)
			break;
	}
	while (abuse_goes_on(abuse))
		(void)sleep(1);
}

/* Takes all names in turn, in one process or in a new one for each. */
static void take_names(struct abuse *abuse, const char *const *names, unsigned count, unsigned us)
{
	for (unsigned turn = 0; abuse_goes_on(abuse); turn++) {
		(void)prctl(PR_SET_NAME, names[turn % count]);
		abuse_work(us);
	}
}

void thread_rubbish(struct abuse *abuse)
{
	static const char *const names[] = { "\033[2J\033[H", "\n\r\t\b",
		"\xe2\x80\xae"
		"gnp.evil",
		"\xff\xfe\xfd\xfc", "\xc0\x80", "\xed\xa0\x80", "a;b;c 1", "</text><script>",
		"\"}],[{\"", "%s%n%s%n", "\xf0\x9f\x92\xa9\xf0\x9f\x92", "\x7f\x80\x9f", " ", "",
		"\\u0000", "..\x2f..\x2f" };

	take_names(abuse, names, sizeof(names) / sizeof(names[0]), 2000);
}

void thread_renames(struct abuse *abuse)
{
	char name[16];

	while (abuse_goes_on(abuse)) {
		(void)snprintf(name, sizeof(name), "%x", (unsigned)abuse_draw(abuse, 1UL << 32));
		(void)prctl(PR_SET_NAME, name);
	}
}

void thread_kernel(struct abuse *abuse)
{
	static const char *const names[] = { "[kernel]", "swapper/0", "kworker/0:0", "pilotlightd",
		"[lost]", "[idle]", "systemd", "[unknown]" };

	take_names(abuse, names, sizeof(names) / sizeof(names[0]), 2000);
}

void process_forks(struct abuse *abuse)
{
	unsigned running = 0;

	while (abuse_goes_on(abuse)) {
		pid_t pid = abuse_fork(abuse);

		if (pid == 0) {
			abuse_work(20);
			_exit(0);
		}
		running = abuse_reap(running + (pid > 0), CHILDREN_MAX);
	}
}

/* The child of vfork() may only execute or exit. */
void process_vforks(struct abuse *abuse)
{
	while (abuse_goes_on(abuse)) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
	}
}

/* The new program continues here, without any state. */
void process_execs(struct abuse *abuse)
{
	char end[32];

	if (!abuse_goes_on(abuse))
		_exit(0);
	(void)snprintf(end, sizeof(end), "%.3f", abuse->end);
	(void)execl("/proc/self/exe", "abuse", "--again", end, (char *)NULL);
	abuse_fail("/proc/self/exe");
}
