/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "symbolize/symbolizer.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Waits until only fetches are pending. */
static inline void wait_for_workers(struct symbolizer *symbolizer)
{
	struct pollfd event = { .fd = symbolizer_poll_fd(symbolizer), .events = POLLIN };
	struct symbolizer_counters counters;

	symbolizer_hurry(symbolizer);
	for (;;) {
		symbolizer_counters(symbolizer, &counters);
		if (counters.pending == 0)
			break;
		assert_int_equal(poll(&event, 1, 60 * 1000), 1);
		assert_int_equal(symbolizer_run(symbolizer), 0);
	}
}
