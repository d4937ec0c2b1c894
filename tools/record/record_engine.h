/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of `pilotlight record`, in a process of its own without privileges. It turns what the
 * front captures into a profile, writes that to a descriptor that the front passes, and prints
 * progress and a summary on standard error. It follows the front's messages (record_message.h); the
 * front is at the other end of RECORD_BROKER_FD, RECORD_CAPTURE_FD and RECORD_MESSAGE_FD.
 */
#pragma once

#include <stdbool.h>

struct record_options;

struct record_engine_options {
	const struct record_options *options; /* borrowed */
	bool shows_progress;
};

/* Returns an exit status; failures are reported already. `options` is one of the above. */
int record_engine_run(const void *options);
