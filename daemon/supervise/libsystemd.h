/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libsystemd, loaded at run time (base/shared_library.h) by processes that talk to a service
 * manager or a journal: the broker and the engine. Its functions are members of a table, named
 * without their sd_ prefix.
 */
#pragma once

#include "base/fault.h"

/* Omits CODE_FILE and the like: MESSAGE_ID identifies a message. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

struct libsystemd {
	typeof(sd_journal_sendv) *journal_sendv;
	typeof(sd_listen_fds) *listen_fds;
	typeof(sd_notify) *notify;
	typeof(sd_notifyf) *notifyf;
	typeof(sd_watchdog_enabled) *watchdog_enabled;
};

/* Loads it once. Returns 0, or -ELIBACC or -ELIBBAD with `fault`. Not thread-safe. */
int libsystemd_load(struct fault *fault);

/* NULL if it is not loaded. */
const struct libsystemd *libsystemd(void);
