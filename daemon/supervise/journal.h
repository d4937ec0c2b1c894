/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to systemd's journal with their fields, in the place of standard error, where that is
 * the journal: MESSAGE, PRIORITY, MESSAGE_ID, PILOTLIGHT_ROLE, and those of the event, each with
 * PILOTLIGHT_ before its name.
 */
#pragma once

#include <stdbool.h>

/* The kinds of messages; systemd.journal-fields(7), MESSAGE_ID. */
#define JOURNAL_ENGINE_STARTED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e01"
#define JOURNAL_ENGINE_ENDED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e02"
#define JOURNAL_RATE_CHANGED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e03"
#define JOURNAL_HISTORY_FAILED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e04"
#define JOURNAL_HISTORY_RECOVERED "7f3a1c5e92d04b8ab6e1d0c94f5a2e05"
#define JOURNAL_ANSWERED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e06"

/*
 * `role` is borrowed for good. Does nothing where standard error is not the journal; where
 * libsystemd is not to be had says so, and messages stay lines. The socket is opened by the first
 * message, so one must come before the process gives up making sockets.
 */
void journal_begin(const char *role);

/* Is standard error the stream that JOURNAL_STREAM (systemd.exec(5)) tells of? */
bool journal_has_stream(void);
