/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments and the environment of each kind of child. */
#pragma once

#include "broker/broker.h"

#include <stddef.h>

enum { CHILD_KIND_VARIABLES_MAX = 16 };

/* NULL-terminated; static. */
char *const *child_kind_arguments(enum broker_child kind);

/*
 * The same for a child of a service (child_service.h). Its socket does not come from its parent, so
 * it cannot know its parent by it; its unit ends it.
 */
char *const *child_kind_service_arguments(enum broker_child kind);

/*
 * The variables of this process's environment that a child of that kind gets. Only children that
 * use the network get any: those that configure proxies and TLS. NULL-terminated; the strings are
 * borrowed from the environment.
 */
void child_kind_environment(
	enum broker_child kind, char *ret_variables[CHILD_KIND_VARIABLES_MAX + 1]);
