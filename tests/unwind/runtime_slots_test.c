/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/runtime_slots.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

enum { USER = 1000, OTHER_USER = 1001 };

/* The stand-in for the sampler. */
static struct pilotlight_runtime sampler[PILOTLIGHT_RUNTIMES_MAX];
static size_t sets;
static int set_error;
static struct runtime_slots slots;

static int set(void *context, uint32_t number, const struct pilotlight_runtime *runtime)
{
	assert_ptr_equal(context, sampler);
	assert_true(number < PILOTLIGHT_RUNTIMES_MAX);
	if (set_error < 0)
		return set_error;
	sampler[number] = *runtime;
	sets++;
	return 0;
}

static int set_up(void **state)
{
	sets = 0;
	set_error = 0;
	memset(sampler, 0, sizeof(sampler));
	runtime_slots_init(&slots, set, sampler);
	runtime_slots_begin_window(&slots, 10);
	return 0;
}

static struct pilotlight_runtime description(uint32_t release)
{
	return (struct pilotlight_runtime){ .release = release };
}

static int acquire(uint32_t release, uint64_t user, uint32_t *ret_number)
{
	const struct pilotlight_runtime runtime = description(release);
	int r = runtime_slots_acquire(&slots, &runtime, user, ret_number);

	if (r == 0)
		assert_int_equal(sampler[*ret_number].release, release);
	return r;
}

static void files_with_the_same_description_share_it(void **state)
{
	uint32_t first, second, other;

	assert_int_equal(acquire(1, USER, &first), 0);
	assert_int_equal(acquire(1, OTHER_USER, &second), 0);
	assert_int_equal(acquire(2, USER, &other), 0);
	assert_int_equal(first, second);
	assert_int_not_equal(first, other);
	assert_int_equal(sets, 2);
	runtime_slots_release(&slots, first);
	assert_int_equal(acquire(1, USER, &first), 0);
	assert_int_equal(sets, 2);
}

static void a_number_is_free_two_windows_later(void **state)
{
	uint32_t first, second;

	assert_int_equal(acquire(1, USER, &first), 0);
	runtime_slots_release(&slots, first);
	runtime_slots_begin_window(&slots, 11);
	assert_int_equal(acquire(2, USER, &second), 0);
	assert_int_not_equal(second, first);
	runtime_slots_begin_window(&slots, 12);
	assert_int_equal(acquire(3, USER, &second), 0);
	assert_int_equal(second, first);
	runtime_slots_release(&slots, RUNTIME_SLOTS_NONE);
}

static void a_user_does_not_get_all(void **state)
{
	uint32_t number, held = 0;

	while (acquire(held + 1, USER, &number) == 0)
		held++;
	assert_true(held < PILOTLIGHT_RUNTIMES_MAX);
	assert_int_equal(acquire(1000, USER, &number), -ENOSPC);
	assert_int_equal(acquire(1000, OTHER_USER, &number), 0);
	/* What is there already costs nothing. */
	assert_int_equal(acquire(1, USER, &number), 0);
}

static void what_the_sampler_does_not_take_has_no_number(void **state)
{
	uint32_t number;

	set_error = -EINVAL;
	assert_int_equal(acquire(1, USER, &number), -EINVAL);
	assert_int_equal(slots.share.used, 0);
	runtime_slots_init(&slots, NULL, NULL);
	assert_int_equal(acquire(1, USER, &number), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(files_with_the_same_description_share_it, set_up),
		cmocka_unit_test_setup(a_number_is_free_two_windows_later, set_up),
		cmocka_unit_test_setup(a_user_does_not_get_all, set_up),
		cmocka_unit_test_setup(what_the_sampler_does_not_take_has_no_number, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
