/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_incident.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FORTY "0123456789012345678901234567890123456789"

static void texts_name_what_a_threshold_has_found(void **state)
{
	static const struct {
		const char *cause, *text, *parameter, *value;
	} cases[] = {
		{ "unit-cpu", "nginx.service: 85.0 % of a CPU, usually 0.1 %", "unit",
			"nginx.service" },
		{ "unit-cpu", "a@b.slice: 85.0 % of a CPU, usually 0.1 %", "unit", "a@b.slice" },
		{ "unit-cpu", FORTY ": 85.0 % of a CPU, usually 0.1 %", "container", FORTY },
		{ "unit-cpu", "/lxc/a: b: 85.0 % of a CPU, usually 0.1 %", "cgroup", "/lxc/a: b" },
		{ "throttled", "/a/b: 40.0 % of its periods (threshold 30 %)", "cgroup", "/a/b" },
		/* They were cut. */
		{ "throttled", "/" FORTY FORTY ": 40.0 % of its periods", "cgroup",
			"/" FORTY FORTY "*" },
		{ "unit-cpu", FORTY FORTY FORTY ": 40.0 % of a CPU", "unit",
			FORTY FORTY FORTY "*" },
		{ "unit-cpu", ": 40.0 % of a CPU", NULL, NULL },
		{ "unit-cpu", "", NULL, NULL },
		{ "host-cpu", "95.0 % (threshold 90 %)", NULL, NULL },
		{ "manual", "deploy: 42", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char value[INCIDENT_TEXT_BYTES + 1] = "";
		struct incident incident = { 0 };
		const char *parameter = NULL;
		bool is_whole = false;

		(void)snprintf(incident.cause, sizeof(incident.cause), "%s", cases[i].cause);
		incident_set_text(&incident, cases[i].text);
		assert_int_equal(answer_incident_subject(&incident, &parameter, value, &is_whole),
			cases[i].parameter != NULL);
		if (!cases[i].parameter)
			continue;
		assert_string_equal(parameter, cases[i].parameter);
		assert_string_equal(value, cases[i].value);
		assert_int_equal(is_whole, !strchr(value, '*'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_name_what_a_threshold_has_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
