/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/incident_subject.h"

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
		assert_int_equal(incident_subject(&incident, &parameter, value, &is_whole),
			cases[i].parameter != NULL);
		if (!cases[i].parameter)
			continue;
		assert_string_equal(parameter, cases[i].parameter);
		assert_string_equal(value, cases[i].value);
		assert_int_equal(is_whole, !strchr(value, '*'));
	}
}

/* A page hands them back as a user's selection. */
static void values_match_their_name_alone(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "a@b.service: 1.0 % of a CPU", "a@b.service" },
		{ "/a[b]*?c: 1.0 % of a CPU", "/a[[]b][*][?]c" },
		/* They were cut. */
		{ "/*" FORTY FORTY ": 1.0 % of a CPU", "/*" FORTY FORTY "*" },
		{ "1.0 %", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct incident incident = { .cause = "unit-cpu" };
		char value[INCIDENT_SUBJECT_BYTES];
		const char *parameter;

		incident_set_text(&incident, cases[i].text);
		assert_int_equal(incident_subject_value(&incident, &parameter, value),
			cases[i].value != NULL);
		if (cases[i].value)
			assert_string_equal(value, cases[i].value);
	}
}

static void the_longest_value_has_room(void **state)
{
	struct incident incident = { .cause = "unit-cpu" };
	char value[INCIDENT_SUBJECT_BYTES], text[70] = "/";
	const char *parameter;

	memset(text + 1, '*', sizeof(text) - 4);
	(void)strcpy(text + sizeof(text) - 3, ": ");
	incident_set_text(&incident, text);
	assert_true(incident_subject_value(&incident, &parameter, value));
	assert_int_equal(strlen(value), 1 + 3 * (sizeof(text) - 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_name_what_a_threshold_has_found),
		cmocka_unit_test(values_match_their_name_alone),
		cmocka_unit_test(the_longest_value_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
