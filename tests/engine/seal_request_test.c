/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/seal_request.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NOW = 1000, STEPS_MAX = 8 };

/* One call, and what is true after it. */
enum call { STOP, ADD, END, CLOSE };
struct step {
	enum call call;
	uint64_t time_ns, now_ns; /* `now_ns` of ADD alone */
	bool is_due, is_pending;
};

static const struct {
	const char *name;
	struct step steps[STEPS_MAX];
} cases[] = {
	{ "history up to a sealed time is there already",
		{ { END, NOW, 0, false, false }, { CLOSE, NOW, 0, false, false },
			{ ADD, NOW, NOW + 5, false, false },
			{ ADD, NOW + 5, NOW + 5, true, true } } },
	{ "a window ends once, and is waited for",
		{ { ADD, NOW, NOW, true, true }, { END, NOW + 1, 0, false, true },
			{ CLOSE, NOW - 1, 0, false, true }, { CLOSE, NOW + 2, 0, false, false },
			{ CLOSE, NOW - 1, 0, false, false } } },
	{ "no client waits for the future",
		{ { ADD, UINT64_MAX, NOW, true, true }, { END, NOW, 0, false, true },
			{ CLOSE, NOW, 0, false, false } } },
	{ "the clock is set back between two requests",
		{ { ADD, NOW, NOW, true, true }, { END, NOW, 0, false, true },
			{ CLOSE, NOW, 0, false, false }, { ADD, 400, 400, true, true },
			{ END, 401, 0, false, true }, { CLOSE, 402, 0, false, false } } },
	{ "the clock is set back after a request: its window ends by the old time",
		{ { ADD, NOW, NOW, true, true }, { END, 400, 0, false, true },
			{ CLOSE, NOW + 1, 0, false, false }, { ADD, 410, 410, true, true },
			{ END, 410, 0, false, true }, { CLOSE, 411, 0, false, false } } },
};

static void requests_are_due_and_pending_as_listed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seal_request request = { 0 };

		assert_false(seal_request_is_due(&request));
		assert_false(seal_request_is_pending(&request));
		for (const struct step *step = cases[i].steps; step->call != STOP; step++) {
			if (step->call == ADD)
				seal_request_add(&request, step->time_ns, step->now_ns);
			else if (step->call == END)
				seal_request_end_window(&request, step->time_ns);
			else
				seal_request_close_window(&request, step->time_ns);
			if (seal_request_is_due(&request) != step->is_due ||
				seal_request_is_pending(&request) != step->is_pending)
				fail_msg("%s: step %zd", cases[i].name, step - cases[i].steps);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_due_and_pending_as_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
