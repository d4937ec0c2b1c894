/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More than 64 MiB of code, with functions that call each other across it. */
#include "chains.h"

FRAME static void first_of_all(void)
{
	leaf();
	AFTER_CALL();
}

__asm__(".section .text\n"
	"	.skip 34 << 20, 0x90\n");

FRAME static void in_the_middle(void)
{
	char frame[100];

	ON_STACK(frame);
	first_of_all();
	AFTER_CALL();
}

__asm__(".section .text\n"
	"	.skip 34 << 20, 0x90\n");

FRAME static void huge_text(void)
{
	while (goes_on())
		in_the_middle();
}

const struct chain_case chain_cases[] = {
	{ "huge_text", huge_text },
	{ NULL, NULL },
};
