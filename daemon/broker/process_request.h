/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes requests for files of processes. Each function implements the function of broker.h that
 * is named above it. The request has passed broker_request_check().
 */
#pragma once

#include <stdint.h>

struct broker_roots;
struct pilotlight_broker_request;

/* broker_open_maps() */
int process_request_open_maps(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_process_file() */
int process_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_mapping() */
int process_request_open_mapping(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_marker() */
int process_request_open_marker(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_perf_map() */
int process_request_open_perf_map(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_executable() */
int process_request_open_executable(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_copy_process_context() */
int process_request_copy_context(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* The user of the process that the request names; REQUEST_RATE_NOBODY: it names none, or it is
 * gone. */
uint64_t process_request_user(
	const struct broker_roots *roots, const struct pilotlight_broker_request *request);
