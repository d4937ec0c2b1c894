/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the functions of by_hand.S. */
#include "chains.h"

void kept_on_stack(unsigned long turns, void (*work)(void));
void without_rules(unsigned long turns);
void enter_fiber(void *stack_end, void (*function)(void));
void leave_fiber(void);

enum { TURNS = 100000 };

FRAME static void below_assembler(void)
{
	leaf();
	AFTER_CALL();
}

FRAME static void expressions(void)
{
	while (goes_on()) {
		/* The unwinder must find the caller's frame by a frame pointer that assembler code
		 * saved. */
		char late[goes_on() ? 64 : 32];

		__asm__ volatile("" : : "r"(late) : "memory");
		kept_on_stack(TURNS, below_assembler);
	}
}

FRAME static void lone(void)
{
	while (goes_on())
		without_rules(TURNS);
}

FRAME static void fiber_body(void)
{
	while (goes_on()) {
		leaf();
		AFTER_CALL();
	}
	leave_fiber();
}

FRAME static void fiber(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	enter_fiber(stack + sizeof(stack), fiber_body);
	AFTER_CALL();
}

const struct chain_case chain_cases[] = {
	{ "expressions", expressions },
	{ "lone", lone },
	{ "fiber", fiber },
	{ NULL, NULL },
};
