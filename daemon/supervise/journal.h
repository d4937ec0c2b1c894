/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends log messages with their fields to systemd's journal, if standard error is the journal. The
 * fields are MESSAGE, PRIORITY, MESSAGE_ID, PILOTLIGHT_ROLE, and the event's own, each prefixed
 * with PILOTLIGHT_.
 */
#pragma once

#include <stdbool.h>

/* Values of MESSAGE_ID; see systemd.journal-fields(7). */
#define JOURNAL_ENGINE_STARTED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e01"
#define JOURNAL_ENGINE_ENDED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e02"
#define JOURNAL_RATE_CHANGED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e03"
#define JOURNAL_HISTORY_FAILED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e04"
#define JOURNAL_HISTORY_RECOVERED "7f3a1c5e92d04b8ab6e1d0c94f5a2e05"
#define JOURNAL_ANSWERED	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e06"
#define JOURNAL_INCIDENT	  "7f3a1c5e92d04b8ab6e1d0c94f5a2e07"

/*
 * Sends later messages to the journal; does nothing if standard error is not the journal. Without
 * libsystemd it logs a warning, and messages stay plain lines. `role` is borrowed for the life of
 * the process. The first message opens the socket, so log one before a sandbox forbids sockets.
 */
void journal_begin(const char *role);

/* Is standard error the stream that JOURNAL_STREAM (systemd.exec(5)) names? */
bool journal_has_stream(void);
