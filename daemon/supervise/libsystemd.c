/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/libsystemd.h"

#include "base/array.h"
#include "base/shared_library.h"

#define SONAME "libsystemd.so.0"

SHARED_LIBRARY_NOTE(SONAME, "systemd",
	"Tells systemd of the service, takes its sockets, logs to its journal", "recommended");

static struct libsystemd loaded;

#define FUNCTION(name)                    \
	{                                 \
		"sd_" #name, &loaded.name \
	}

int libsystemd_load(struct fault *fault)
{
	static const struct shared_library_function functions[] = {
		FUNCTION(journal_sendv),
		FUNCTION(listen_fds),
		FUNCTION(notify),
		FUNCTION(notifyf),
		FUNCTION(watchdog_enabled),
	};

	_Static_assert(ARRAY_SIZE(functions) * sizeof(functions[0].place) == sizeof(loaded),
		"every function of the table is filled in");
	if (loaded.notify)
		return 0;
	return shared_library_load(SONAME, "libsystemd0", functions, ARRAY_SIZE(functions), fault);
}

const struct libsystemd *libsystemd(void)
{
	return loaded.notify ? &loaded : NULL;
}
