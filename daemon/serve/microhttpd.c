/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/microhttpd.h"

#include "base/array.h"
#include "base/shared_library.h"

#include <assert.h>

#define SONAME "libmicrohttpd.so.12"

SHARED_LIBRARY_NOTE(SONAME, "serve", "Serves HTTP; the service needs it to run", "required");

/* Headers of another version would not match the library with this soname. */
_Static_assert(MHD_VERSION >= 0x00097500 && MHD_VERSION < 0x02000000, SONAME " is to be loaded");

static struct microhttpd loaded;

#define FUNCTION(name)                     \
	{                                  \
		"MHD_" #name, &loaded.name \
	}

int microhttpd_load(struct fault *fault)
{
	static const struct shared_library_function functions[] = {
		FUNCTION(add_connection),
		FUNCTION(add_response_header),
		FUNCTION(create_response_from_callback),
		FUNCTION(destroy_response),
		FUNCTION(get_connection_info),
		FUNCTION(get_connection_values),
		FUNCTION(get_daemon_info),
		FUNCTION(get_timeout),
		FUNCTION(lookup_connection_value),
		FUNCTION(queue_response),
		FUNCTION(resume_connection),
		FUNCTION(run),
		FUNCTION(set_connection_option),
		FUNCTION(start_daemon),
		FUNCTION(stop_daemon),
		FUNCTION(suspend_connection),
	};

	_Static_assert(ARRAY_SIZE(functions) * sizeof(functions[0].place) == sizeof(loaded),
		"every function of the table is filled in");
	if (loaded.run)
		return 0;
	return shared_library_load(
		SONAME, "libmicrohttpd12", functions, ARRAY_SIZE(functions), fault);
}

const struct microhttpd *microhttpd(void)
{
	assert(loaded.run);
	return &loaded;
}
