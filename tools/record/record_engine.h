/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of `pilotlight record`, in a process of its own without privileges: has what the front
 * captures, turns it into a profile, writes that to the descriptor that the front hands it, and
 * says on standard error how far it is and what it has seen. It does what the front says
 * (record_message.h), which is at the other end of RECORD_BROKER_FD, RECORD_CAPTURE_FD and
 * RECORD_MESSAGE_FD.
 */
#pragma once

#include <stdbool.h>

struct record_options;

struct record_engine_options {
	const struct record_options *options; /* borrowed */
	bool shows_progress;
};

/* Returns an exit status: what went wrong is told already. `options` is one of the above. */
int record_engine_run(const void *options);
