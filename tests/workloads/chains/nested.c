/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few plain functions, for programs that are linked in unusual ways. */
#include "chains.h"

FRAME static void nested_3(void)
{
	leaf();
	AFTER_CALL();
}

FRAME static void nested_2(void)
{
	char frame[200];

	ON_STACK(frame);
	nested_3();
	AFTER_CALL();
}

FRAME static void nested_1(void)
{
	nested_2();
	AFTER_CALL();
}

FRAME static void nested(void)
{
	while (goes_on())
		nested_1();
}

const struct chain_case chain_cases[] = {
	{ "nested", nested },
	{ NULL, NULL },
};
