/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks SIGINT (Ctrl-C), SIGTERM and SIGHUP, and makes a descriptor readable instead. Ending
 * restores the caller's mask. One thread.
 */
#pragma once

#include "base/fault.h"

#include <signal.h>
#include <stdbool.h>

struct stop_signals {
	sigset_t original; /* our caller's mask */
	sigset_t stops;
	int fd; /* readable when one has come; -1: not initialized */
};

/* Blocks them. Returns 0 or -errno with `fault`. */
int stop_signals_init(struct stop_signals *signals, struct fault *fault);

/* Has one come since the last call? Waits 100 ms for another that comes at once: both count as one.
 */
bool stop_signals_take(struct stop_signals *signals);

void stop_signals_release(struct stop_signals *signals);
void stop_signals_hold(struct stop_signals *signals);

void stop_signals_done(struct stop_signals *signals);
