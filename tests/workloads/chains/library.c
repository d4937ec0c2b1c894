/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library whose function FUNCTION has a frame of FRAME_BYTES. */
#include "chains.h"

void FUNCTION(void (*work)(void));
FRAME void FUNCTION(void (*work)(void))
{
	char frame[FRAME_BYTES];

	ON_STACK(frame);
	work();
	AFTER_CALL();
}

/* Short, so that much of the time is spent in the caller's PLT. */
unsigned tiny_of_library(unsigned value);
FRAME unsigned tiny_of_library(unsigned value)
{
	return value + 1;
}
