/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this program is started with to be a child of a kind. */
#pragma once

#include "broker/broker.h"

#include <stddef.h>

enum { CHILD_KIND_VARIABLES_MAX = 16 };

/* Ends with NULL; static. */
char *const *child_kind_arguments(enum broker_child kind);

/*
 * Those variables of this process's environment that a child of that kind may have, which is no
 * more than it needs: what libraries go by to reach the network, for the one that does. Ends with
 * NULL; the strings are the environment's, borrowed.
 */
void child_kind_environment(
	enum broker_child kind, char *ret_variables[CHILD_KIND_VARIABLES_MAX + 1]);
