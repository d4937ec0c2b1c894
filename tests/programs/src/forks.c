/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A storm of children that live for some milliseconds: each third executes another program. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

APART static void work(int turns)
{
	for (volatile int i = 0; i < turns * 100000; i++)
		;
}

APART static void child(int turn)
{
	work(10);
	if (turn % 3 == 0)
		execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); done",
			(char *)NULL);
	_exit(0);
}

int main(void)
{
	for (int turn = 0;; turn++) {
		pid_t pid = fork();

		if (pid == 0)
			child(turn);
		work(3);
		waitpid(pid, NULL, 0);
	}
}
