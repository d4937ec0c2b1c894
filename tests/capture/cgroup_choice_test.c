/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "capture/cgroup_choice.h"
#include "capture/cgroup_names.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void rules_are_normalized(void **state)
{
	static const struct {
		const char *text;
		enum cgroup_rule_kind kind;
		const char *normal;
	} cases[] = {
		{ "unit:nginx", CGROUP_RULE_UNIT, "nginx.service" },
		{ "unit:nginx.service", CGROUP_RULE_UNIT, "nginx.service" },
		{ "unit:system.slice", CGROUP_RULE_UNIT, "system.slice" },
		{ "unit:a.b", CGROUP_RULE_UNIT, "a.b.service" },
		{ "unit:postgresql@*", CGROUP_RULE_UNIT, "postgresql@*" },
		{ "container:0123456789ab", CGROUP_RULE_CONTAINER, "0123456789ab" },
		{ "container:" ID, CGROUP_RULE_CONTAINER, ID },
		{ "container:web", CGROUP_RULE_CONTAINER, "web" },
		{ "cgroup:/a/b", CGROUP_RULE_PATH, "/a/b" },
		{ "cgroup:/a/b//", CGROUP_RULE_PATH, "/a/b" },
		{ "cgroup:/a/*", CGROUP_RULE_PATH, "/a/*" },
		{ "cgroup:/a/b*", CGROUP_RULE_PATH, "/a/b*" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_choice choice = { .count = 0 };
		struct fault fault = { 0 };

		assert_int_equal(cgroup_choice_add(&choice, cases[i].text, i % 2, &fault), 0);
		assert_int_equal(choice.count, 1);
		assert_int_equal(choice.rules[0].kind, cases[i].kind);
		assert_int_equal(choice.rules[0].is_excluding, i % 2);
		assert_string_equal(choice.rules[0].text, cases[i].normal);
	}
}

static void mistakes_are_told(void **state)
{
	static const char *const texts[] = { "", "nginx", "unit", "unit:", "unit:*", "unit:a/b",
		"unit:a*b", "pod:x", "container:", "container:0123456789a", "container:" ID "0",
		"container:a/b", "container:web*", "cgroup:", "cgroup:a", "cgroup:/", "cgroup://a",
		"cgroup:/a//b", "cgroup:/a/../b", "cgroup:/a*/b", "cgroup:/a**" };
	char text[CGROUP_RULE_BYTES + 16] = "cgroup:";

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct cgroup_choice choice = { .count = 0 };
		struct fault fault = { 0 };

		if (cgroup_choice_add(&choice, texts[i], false, &fault) != -EINVAL)
			fail_msg("'%s' is taken", texts[i]);
		assert_int_equal(choice.count, 0);
		assert_true(strlen(fault.text) > 0);
	}
	for (int i = 0; i <= PILOTLIGHT_CGROUP_DEPTH; i++) {
		struct cgroup_choice choice = { .count = 0 };
		struct fault fault = { 0 };

		strcat(text, "/d");
		assert_int_equal(cgroup_choice_add(&choice, text, false, &fault),
			i < PILOTLIGHT_CGROUP_DEPTH ? 0 : -EINVAL);
	}
	memset(text + 8, 'x', CGROUP_RULE_BYTES);
	text[8 + CGROUP_RULE_BYTES - 1] = '\0';
	assert_int_equal(cgroup_choice_add(&(struct cgroup_choice){ .count = 0 }, text, false,
				 &(struct fault){ 0 }),
		-EINVAL);
}

static void the_number_of_rules_is_bounded(void **state)
{
	struct cgroup_choice choice = { .count = 0 }, other;
	struct fault fault = { 0 };

	assert_false(cgroup_choice_has_inclusion(&choice));
	assert_int_equal(cgroup_choice_add(&choice, "unit:a", true, &fault), 0);
	assert_false(cgroup_choice_has_inclusion(&choice));
	while (choice.count < CGROUP_RULES_MAX) {
		other = choice;
		assert_true(cgroup_choice_equals(&choice, &other));
		assert_int_equal(cgroup_choice_add(&choice, "unit:a", false, &fault), 0);
		assert_false(cgroup_choice_equals(&choice, &other));
	}
	assert_true(cgroup_choice_has_inclusion(&choice));
	assert_int_equal(cgroup_choice_add(&choice, "unit:a", false, &fault), -E2BIG);
	other = choice;
	other.rules[7].is_excluding = true;
	assert_false(cgroup_choice_equals(&choice, &other));
	other = choice;
	other.rules[7].text[0] = 'b';
	assert_false(cgroup_choice_equals(&choice, &other));
}

/* As the sampler goes down a path, without units and containers. */
static uint32_t flags_of_path(const struct cgroup_names *names, const char *path)
{
	uint32_t state = PILOTLIGHT_CGROUP_PATH, flags = 0;
	char part[64];
	int size;

	while (state && sscanf(path, "/%63[^/]%n", part, &size) == 1) {
		const struct pilotlight_cgroup_value *value = cgroup_names_find(names, state, part);

		flags |= value ? value->flags : 0;
		state = value ? value->next_state : PILOTLIGHT_CGROUP_NOWHERE;
		path += size;
	}
	return flags;
}

static uint32_t flags_of(const struct cgroup_names *names, uint32_t state, const char *name)
{
	const struct pilotlight_cgroup_value *value = cgroup_names_find(names, state, name);

	return value ? value->flags : 0;
}

static void compile(const char *const *rules, struct cgroup_names *ret_names)
{
	struct cgroup_choice choice = { .count = 0 };
	struct fault fault = { 0 };

	for (; *rules; rules++)
		assert_int_equal(cgroup_choice_add(&choice, *rules + (**rules == '-'),
					 **rules == '-', &fault),
			0);
	assert_int_equal(cgroup_names_compile(&choice, ret_names), 0);
}

#define COMPILE(names, ...) compile((const char *const[]){ __VA_ARGS__, NULL }, names)

enum {
	IN = PILOTLIGHT_CGROUP_INCLUDED,
	OUT = PILOTLIGHT_CGROUP_EXCLUDED,
};

static void paths_share_their_parts(void **state)
{
	struct cgroup_names names;

	COMPILE(&names, "cgroup:/a/b", "-cgroup:/a/b/c", "cgroup:/a/x*", "-cgroup:/a/xyz/d",
		"cgroup:/k/*");
	assert_int_equal(flags_of_path(&names, "/a"), 0);
	assert_int_equal(flags_of_path(&names, "/b"), 0);
	assert_int_equal(flags_of_path(&names, "/a/b"), IN);
	assert_int_equal(flags_of_path(&names, "/a/bb"), 0);
	assert_int_equal(flags_of_path(&names, "/a/b/d/e"), IN);
	assert_int_equal(flags_of_path(&names, "/a/b/c"), IN | OUT);
	assert_int_equal(flags_of_path(&names, "/a/x"), IN);
	assert_int_equal(flags_of_path(&names, "/a/xyz"), IN);
	assert_int_equal(flags_of_path(&names, "/a/xyz/d"), IN | OUT);
	assert_int_equal(flags_of_path(&names, "/k"), 0);
	assert_int_equal(flags_of_path(&names, "/k/anything"), IN);
	cgroup_names_done(&names);
}

static void units_have_exact_names_or_prefixes(void **state)
{
	const uint32_t unit = PILOTLIGHT_CGROUP_UNIT;
	struct cgroup_names names;

	COMPILE(&names, "unit:nginx", "unit:post*", "-unit:postfix");
	assert_int_equal(flags_of(&names, unit, "nginx.service"), IN);
	assert_int_equal(flags_of(&names, unit, "nginx.service2"), 0);
	assert_int_equal(flags_of(&names, unit, "nginx.servic"), 0);
	assert_int_equal(flags_of(&names, unit, "post.service"), IN);
	assert_int_equal(flags_of(&names, unit, "postfix.service"), IN | OUT);
	assert_int_equal(flags_of(&names, unit, "user@1000.service"), PILOTLIGHT_CGROUP_USER);
	assert_int_equal(flags_of(&names, PILOTLIGHT_CGROUP_CONTAINER, "nginx.service"), 0);
	cgroup_names_done(&names);
}

static void containers_have_the_names_of_their_runtimes(void **state)
{
	static const char *const of_id[] = { ID, "docker-" ID ".scope", "libpod-" ID,
		"cri-containerd-" ID ".scope", "crio-" ID ".scope" };
	const uint32_t container = PILOTLIGHT_CGROUP_CONTAINER;
	struct cgroup_names names;

	COMPILE(&names, "container:0123456789abc", "container:web");
	for (size_t i = 0; i < ARRAY_SIZE(of_id); i++)
		assert_int_equal(flags_of(&names, container, of_id[i]), IN);
	assert_int_equal(flags_of(&names, container, "crio-conmon-" ID ".scope"), 0);
	assert_int_equal(flags_of(&names, container, "0123456789ab"), 0);
	assert_int_equal(flags_of(&names, container, "lxc.payload.web"), IN);
	assert_int_equal(flags_of(&names, container, "lxc.payload.web2"), 0);
	assert_int_equal(flags_of(&names, container, "machine-web.scope"), IN);
	assert_int_equal(flags_of(&names, container, "systemd-nspawn@web.service"), IN);
	cgroup_names_done(&names);
}

static int compile_and_free(const struct cgroup_choice *choice)
{
	struct cgroup_names names;
	int r = cgroup_names_compile(choice, &names);

	cgroup_names_done(&names);
	return r;
}

static void memory_may_be_short(void **state)
{
	struct cgroup_choice choice = { .count = 0 };
	struct fault fault = { 0 };

	assert_int_equal(compile_and_free(&choice), 0);
	assert_int_equal(cgroup_choice_add(&choice, "container:" ID, false, &fault), 0);
	assert_int_equal(cgroup_choice_add(&choice, "cgroup:/a/b/c", true, &fault), 0);
	assert_true(FAIL_EACH_ALLOCATION(compile_and_free(&choice), -ENOMEM, true, 0) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_normalized),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(the_number_of_rules_is_bounded),
		cmocka_unit_test(paths_share_their_parts),
		cmocka_unit_test(units_have_exact_names_or_prefixes),
		cmocka_unit_test(containers_have_the_names_of_their_runtimes),
		cmocka_unit_test(memory_may_be_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
