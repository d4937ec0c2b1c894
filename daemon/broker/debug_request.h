/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes requests for binaries and debug files, by path and by build-id. Each function implements
 * the function of broker.h that is named above it. The request has passed broker_request_check().
 */
#pragma once

struct broker_roots;
struct pilotlight_broker_request;

/* broker_open_path() */
int debug_request_open_path(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_debug_file() */
int debug_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_debug_package() */
int debug_request_open_package(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_debuglink() */
int debug_request_open_link(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_alternate_file() */
int debug_request_open_alternate(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);
