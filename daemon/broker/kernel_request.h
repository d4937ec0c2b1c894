/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes requests for files of the kernel and folders of cgroups. Each function implements the
 * function of broker.h that is named above it. The request has passed broker_request_check().
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
