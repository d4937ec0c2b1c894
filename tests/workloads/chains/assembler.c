/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the functions of by_hand.S. */
#include "chains.h"

void kept_on_stack(unsigned long turns, void (*work)(void));
void without_rules(unsigned long turns);

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

const struct chain_case chain_cases[] = {
	{ "expressions", expressions },
	{ "lone", lone },
	{ NULL, NULL },
};
