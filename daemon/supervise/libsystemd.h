/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libsystemd, loaded where there is a service manager or a journal to talk to
 * (base/shared_library.h): of the service's processes these are the broker and the engine. Its
 * functions are the members of a table, without sd_ before their names.
 */
#pragma once

#include "base/fault.h"

/* Where a message comes from is not of interest: it says what it is. */
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

/* Does nothing where it is loaded. Returns 0, or -ELIBACC or -ELIBBAD with `fault`. One thread. */
int libsystemd_load(struct fault *fault);

/* NULL: it is not loaded. */
const struct libsystemd *libsystemd(void);
