/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Four coroutines by makecontext() and swapcontext(). */
#include <stdlib.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))

static ucontext_t home, fibers[4];

APART static void spin(int turns)
{
	for (volatile int i = 0; i < turns; i++)
		;
}

static void fiber(int number)
{
	for (;;) {
		spin(20000);
		swapcontext(&fibers[number], &home);
	}
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = malloc(1 << 16);
		fibers[i].uc_stack.ss_size = 1 << 16;
		makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
	}
	for (int turn = 0;; turn++) {
		spin(5000);
		swapcontext(&home, &fibers[turn % 4]);
	}
}
