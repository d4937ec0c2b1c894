/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/service_manager.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "supervise/libsystemd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NSEC_PER_USEC = 1000 };

int service_manager_prepare(struct fault *fault)
{
	struct fault missing = { 0 };
	int r;

	if (!getenv("NOTIFY_SOCKET") && !getenv("WATCHDOG_USEC") && !getenv("LISTEN_FDS"))
		return 0;
	r = libsystemd_load(&missing);
	return r < 0 ? fault_set(fault, r, "cannot talk to the service manager: %s", missing.text)
		     : 0;
}

int service_manager_take_sockets(struct fault *fault)
{
	int r = service_manager_prepare(fault);

	_Static_assert((int)SERVICE_MANAGER_LISTEN_FD == SD_LISTEN_FDS_START, "where they begin");
	if (r < 0 || !libsystemd())
		return r;
	r = libsystemd()->listen_fds(1);
	return r < 0 ? fault_set(fault, r, "cannot take the sockets that were handed over: %s",
			       strerror(-r))
		     : r;
}

/* `state`: assignments, one a line. */
static void notify(const char *state)
{
	if (libsystemd())
		(void)libsystemd()->notify(0, state);
}

void service_manager_ready(void)
{
	notify("READY=1");
}

void service_manager_reloading(void)
{
	/* From the time, the manager sees whether this answers its own signal or another one. */
	if (libsystemd())
		(void)libsystemd()->notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
			clock_monotonic_ns() / NSEC_PER_USEC);
}

void service_manager_stopping(void)
{
	notify("STOPPING=1");
}

void service_manager_progress(void)
{
	notify("WATCHDOG=1");
}

void service_manager_status(const char *text)
{
	char clean[UTF8_CLEAN_BYTES];

	(void)utf8_clean(clean, text, strlen(text));
	if (libsystemd())
		(void)libsystemd()->notifyf(0, "STATUS=%s", clean);
}

uint64_t service_manager_watchdog_ns(void)
{
	uint64_t usec;

	if (!libsystemd() || libsystemd()->watchdog_enabled(0, &usec) <= 0)
		return 0;
	return usec > UINT64_MAX / NSEC_PER_USEC ? UINT64_MAX : usec * NSEC_PER_USEC;
}

bool service_manager_is_own_variable(const char *variable)
{
	static const char *const names[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
		"LISTEN_FDS=", "LISTEN_PID=", "LISTEN_FDNAMES=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}
