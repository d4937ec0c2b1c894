/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service manager is told, as sd_notify(3) has it, by the main process of the service
 * alone. Without such a manager, or before service_manager_prepare(), nothing happens; what cannot
 * be told is lost, as there is nobody else to tell.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Loads what it takes, where the environment tells of a manager. Returns 0, or -errno with `fault`:
 * the manager would wait in vain for a service that goes on without.
 */
int service_manager_prepare(struct fault *fault);

/*
 * Prepares, too. Returns how many sockets the manager has handed over (sd_listen_fds(3)), from
 * SERVICE_MANAGER_LISTEN_FD on, and takes what tells of them out of the environment; or -errno with
 * `fault`.
 */
int service_manager_take_sockets(struct fault *fault);
enum { SERVICE_MANAGER_LISTEN_FD = 3 };

void service_manager_ready(void);
void service_manager_reloading(void);
void service_manager_stopping(void);

/* The watchdog is fed. */
void service_manager_progress(void);

/* `text` may be anybody's: what could be taken for another assignment is made unreadable (I8). */
void service_manager_status(const char *text);

/* How long the manager waits for progress; 0: for ever. */
uint64_t service_manager_watchdog_ns(void);

/* Is this variable of the environment, NAME=VALUE, meant for the main process and nobody else? */
bool service_manager_is_own_variable(const char *variable);
