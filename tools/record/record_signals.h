/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ctrl-C and its like (SIGINT, SIGTERM, SIGHUP), which end a recording, not the program, while they
 * are held; once they are released they do what they did to our caller. One thread.
 */
#pragma once

#include "base/fault.h"

#include <signal.h>
#include <stdbool.h>

struct record_signals {
	sigset_t original; /* the mask that our caller gave us */
	sigset_t stops;
	int fd; /* readable when one has come; -1: not initialized */
};

/* Holds them. Returns 0 or -errno with `fault`. */
int record_signals_init(struct record_signals *signals, struct fault *fault);

/* Has any come since it was last asked? */
bool record_signals_take(struct record_signals *signals);

void record_signals_release(struct record_signals *signals);
void record_signals_hold(struct record_signals *signals);

void record_signals_done(struct record_signals *signals);
