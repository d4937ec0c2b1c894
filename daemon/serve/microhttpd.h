/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GNU libmicrohttpd, loaded at run time by the server process only (base/shared_library.h). It and
 * its nine dependencies take longer to link than the rest of the program. A table holds its
 * functions, named without MHD_.
 */
#pragma once

#include "base/fault.h"

#include <microhttpd.h>

struct microhttpd {
	typeof(MHD_add_connection) *add_connection;
	typeof(MHD_add_response_header) *add_response_header;
	typeof(MHD_create_response_from_callback) *create_response_from_callback;
	typeof(MHD_destroy_response) *destroy_response;
	typeof(MHD_get_connection_info) *get_connection_info;
	typeof(MHD_get_connection_values) *get_connection_values;
	typeof(MHD_get_daemon_info) *get_daemon_info;
	typeof(MHD_get_timeout) *get_timeout;
	typeof(MHD_lookup_connection_value) *lookup_connection_value;
	typeof(MHD_queue_response) *queue_response;
	typeof(MHD_resume_connection) *resume_connection;
	typeof(MHD_run) *run;
	typeof(MHD_set_connection_option) *set_connection_option;
	typeof(MHD_start_daemon) *start_daemon;
	typeof(MHD_stop_daemon) *stop_daemon;
	typeof(MHD_suspend_connection) *suspend_connection;
};

/* Loads the library once. Returns 0, or -ELIBACC or -ELIBBAD with `fault`. One thread. */
int microhttpd_load(struct fault *fault);

/* Call it only after microhttpd_load() has succeeded. */
const struct microhttpd *microhttpd(void);
