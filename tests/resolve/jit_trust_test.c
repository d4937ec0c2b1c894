/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/jit_trust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct jit_trust trust;
static const struct pilotlight_process mono = { .start_ns = 1, .tgid = 10 };
static const struct pilotlight_process node = { .start_ns = 2, .tgid = 11 };

static int set_up(void **state)
{
	trust = (struct jit_trust){ 0 };
	return 0;
}

static void a_program_with_many_broken_walks_is_not_believed(void **state)
{
	assert_true(jit_trust_add(&trust, &mono, 1, false));
	for (int i = 0; i < 20; i++)
		(void)jit_trust_add(&trust, &mono, 10, true);
	assert_false(jit_trust_add(&trust, &mono, 1, false));
}

static void a_few_broken_walks_cost_no_trust(void **state)
{
	for (int i = 0; i < 100; i++)
		assert_true(jit_trust_add(&trust, &node, 9, false));
	for (int i = 0; i < 100; i++)
		assert_true(jit_trust_add(&trust, &node, 1, true));
	assert_true(jit_trust_add(&trust, &node, 1, false));
}

static void little_is_no_proof(void **state)
{
	for (int i = 0; i < 15; i++)
		assert_true(jit_trust_add(&trust, &mono, 1, true));
	assert_false(jit_trust_add(&trust, &mono, 1, true));
}

/* Whoever takes the place of another begins with trust, and so does the next program image. */
static void trust_is_a_programs_own(void **state)
{
	struct pilotlight_process other = mono;

	(void)jit_trust_add(&trust, &mono, 100, true);
	assert_false(jit_trust_add(&trust, &mono, 1, false));
	other.exec_id++;
	assert_true(jit_trust_add(&trust, &other, 1, false));
	for (uint32_t pid = 1; pid < 100000; pid++) {
		other.tgid = pid;
		assert_true(jit_trust_add(&trust, &other, 1, false));
	}
	assert_true(jit_trust_add(&trust, &mono, 1, false));
}

/* As when a warm-up ends. */
static void a_program_that_changes_is_believed_again(void **state)
{
	(void)jit_trust_add(&trust, &mono, UINT64_MAX, true);
	assert_false(jit_trust_add(&trust, &mono, 1, false));
	for (int i = 0; i < 3; i++)
		(void)jit_trust_add(&trust, &mono, UINT64_MAX, false);
	assert_true(jit_trust_add(&trust, &mono, 1, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_program_with_many_broken_walks_is_not_believed, set_up),
		cmocka_unit_test_setup(a_few_broken_walks_cost_no_trust, set_up),
		cmocka_unit_test_setup(little_is_no_proof, set_up),
		cmocka_unit_test_setup(trust_is_a_programs_own, set_up),
		cmocka_unit_test_setup(a_program_that_changes_is_believed_again, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
