/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Until when somebody wants the history to be sealed, and what was done about it. Times are of
 * CLOCK_REALTIME, which may be set back: what is of a time to come then is forgotten, and nobody
 * waits until that has come again. Of one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
struct sealing {
	uint64_t wanted_ns;   /* until then */
	uint64_t asked_ns;    /* until then windows have been ended */
	uint64_t answered_ns; /* the end of the latest that was written, or is not to be had */
};

/* Until `until_ns`, but not beyond now: nobody can be served there, and others are not to wait. */
void sealing_want(struct sealing *sealing, uint64_t until_ns, uint64_t now_ns);

/* Is a window to be ended for it? */
bool sealing_is_due(const struct sealing *sealing);
/* The open window is about to be ended. */
void sealing_ask(struct sealing *sealing, uint64_t now_ns);

/* Does somebody wait for a window that was ended, or is to be? */
bool sealing_is_awaited(const struct sealing *sealing);
/* The window that ended then is written, or is not to be had. */
void sealing_answer(struct sealing *sealing, uint64_t end_ns);
