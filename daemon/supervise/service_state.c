/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/service_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>
#include <systemd/sd-daemon.h>

enum { NSEC_PER_USEC = 1000 };

void service_state_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void service_state_reloading(void)
{
	/* By which the manager tells the answer to its own signal from one to another's. */
	(void)sd_notifyf(
		0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic_ns() / NSEC_PER_USEC);
}

void service_state_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

void service_state_progress(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

void service_state_status(const char *text)
{
	char clean[UTF8_CLEAN_BYTES];

	(void)utf8_clean(clean, text, strlen(text));
	(void)sd_notifyf(0, "STATUS=%s", clean);
}

uint64_t service_state_watchdog_ns(void)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return usec > UINT64_MAX / NSEC_PER_USEC ? UINT64_MAX : usec * NSEC_PER_USEC;
}

bool service_state_is_own_variable(const char *variable)
{
	static const char *const names[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
		"LISTEN_FDS=", "LISTEN_PID=", "LISTEN_FDNAMES=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}
