// SPDX-License-Identifier: GPL-2.0-or-later
// Exceptions through 20 frames, each of which has something to clean up.
#include "chains.h"

struct cleaned {
	~cleaned()
	{
		AFTER_CALL();
	}
};

FRAME static void thrower()
{
	leaf();
	throw 1;
}

FRAME static void through(unsigned depth)
{
	cleaned here;

	ON_STACK(here);
	if (depth > 1)
		through(depth - 1);
	else
		thrower();
	AFTER_CALL();
}

FRAME static void just_throw(unsigned depth)
{
	cleaned here;

	ON_STACK(here);
	if (depth == 0)
		throw 1;
	just_throw(depth - 1);
	AFTER_CALL();
}

FRAME static void exceptions()
{
	while (goes_on()) {
		try {
			through(20);
		} catch (int) {
		}
		for (int i = 0; i < 20; i++) {
			try {
				just_throw(19);
			} catch (int) {
			}
		}
	}
}

extern "C" const struct chain_case chain_cases[] = {
	{ "exceptions", exceptions },
	{ nullptr, nullptr },
};
