/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests for what the kernel tells of itself and of cgroups, executed: each opens what the
 * function of broker.h that is named beside it promises, and returns what that does. The request
 * has passed broker_request_check().
 */
#pragma once

struct broker_roots;
struct pilotlight_broker_request;

/* broker_open_kernel_file() */
int kernel_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_module_note() */
int kernel_request_open_module_note(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);

/* broker_open_cgroup() */
int kernel_request_open_cgroup(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);
