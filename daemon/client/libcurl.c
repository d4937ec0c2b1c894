/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/libcurl.h"

#include "base/array.h"
#include "base/shared_library.h"

#include <assert.h>

/* Debian's build with GnuTLS. All builds have the same interface. */
#define SONAME "libcurl-gnutls.so.4"

SHARED_LIBRARY_NOTE(
	SONAME, "client", "Asks the service; commands for its history need it", "required");

static struct libcurl loaded;

#define FUNCTION(name)                      \
	{                                   \
		"curl_" #name, &loaded.name \
	}

int libcurl_load(struct fault *fault)
{
	static const struct shared_library_function functions[] = {
		FUNCTION(easy_cleanup),
		FUNCTION(easy_getinfo),
		FUNCTION(easy_header),
		FUNCTION(easy_init),
		FUNCTION(easy_perform),
		FUNCTION(easy_setopt),
		FUNCTION(easy_strerror),
		FUNCTION(slist_append),
		FUNCTION(slist_free_all),
	};

	_Static_assert(ARRAY_SIZE(functions) * sizeof(functions[0].place) == sizeof(loaded),
		"every function of the table is filled in");
	if (loaded.easy_init)
		return 0;
	return shared_library_load(
		SONAME, "libcurl3-gnutls", functions, ARRAY_SIZE(functions), fault);
}

const struct libcurl *libcurl(void)
{
	assert(loaded.easy_init);
	return &loaded;
}
