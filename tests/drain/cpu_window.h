/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drains windows of captures that sample CPU time alone. */
#pragma once

#include "drain/drain.h"

#include <errno.h>

/* As drain_window(). -EPROTO: there are counts of another source. */
static inline int drain_cpu_window(
	struct drain *drain, drain_function function, void *context, struct accounts *ret_accounts)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];
	int r = drain_window(drain, function, context, accounts);

	if (r < 0)
		return r;
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (!accounts_close(&accounts[i]) ||
			(i != PILOTLIGHT_SOURCE_CPU && accounts[i].fired))
			return -EPROTO;
	*ret_accounts = accounts[PILOTLIGHT_SOURCE_CPU];
	return 0;
}
