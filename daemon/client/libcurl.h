/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl, loaded at run time by the commands that ask the service, and by the process that sends
 * batches to receivers (base/shared_library.h). Its 43
 * dependencies take longer to link than a symbol worker works. A table holds its functions, named
 * without curl_.
 */
#pragma once

#include "base/fault.h"

#include <curl/curl.h>

struct libcurl {
	typeof(curl_easy_cleanup) *easy_cleanup;
	typeof(curl_easy_getinfo) *easy_getinfo;
	typeof(curl_easy_header) *easy_header;
	typeof(curl_easy_init) *easy_init;
	typeof(curl_easy_perform) *easy_perform;
	typeof(curl_easy_setopt) *easy_setopt;
	typeof(curl_easy_strerror) *easy_strerror;
	typeof(curl_slist_append) *slist_append;
	typeof(curl_slist_free_all) *slist_free_all;
};

/* Loads the library once. Returns 0, or -ELIBACC or -ELIBBAD with `fault`. One thread. */
int libcurl_load(struct fault *fault);

/* Call it only after libcurl_load() has succeeded. */
const struct libcurl *libcurl(void);
