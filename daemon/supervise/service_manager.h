/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifies the service manager (sd_notify(3)). Only the service's main process may do so. Without a
 * manager, or before service_manager_prepare(), the functions do nothing. They ignore failed
 * notifications, since only the manager could act on them.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Loads libsystemd if the environment names a manager. Returns 0, or -errno with `fault`. The
 * service must then end, since the manager would wait in vain for its notifications.
 */
int service_manager_prepare(struct fault *fault);

/*
 * Takes the sockets that the manager passed (sd_listen_fds(3)) and removes their variables from the
 * environment. Calls service_manager_prepare() first. Returns the number of sockets, which start at
 * SERVICE_MANAGER_LISTEN_FD, or -errno with `fault`.
 */
int service_manager_take_sockets(struct fault *fault);
enum { SERVICE_MANAGER_LISTEN_FD = 3 };

void service_manager_ready(void);
void service_manager_reloading(void);
void service_manager_stopping(void);

/* Feeds the watchdog. */
void service_manager_progress(void);

/* `text` is untrusted: control characters, which could add another assignment, are replaced (I8).
 */
void service_manager_status(const char *text);

/* The manager's watchdog timeout; 0: none. */
uint64_t service_manager_watchdog_ns(void);

/* Is this environment variable, NAME=VALUE, meant for the service's main process alone? */
bool service_manager_is_own_variable(const char *variable);
