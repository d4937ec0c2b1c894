/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signal handlers on another stack, interrupted work below them, and a handler within a handler. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

APART static void spin(int turns)
{
	for (volatile int i = 0; i < turns; i++)
		;
}

static void inner(int number)
{
	spin(300000 + number);
}

static void outer(int number)
{
	spin(300000 + number);
	raise(SIGUSR1);
}

APART static void below(int depth)
{
	if (depth > 0)
		below(depth - 1);
	spin(10000);
}

int main(void)
{
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	struct sigaction on_timer = { .sa_handler = outer, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigaction on_user = { .sa_handler = inner };
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };

	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &on_timer, NULL);
	sigaction(SIGUSR1, &on_user, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (;;)
		below(10);
}
