/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for the history of each test: STORE_TEST() makes it before the test and removes it. */
#pragma once

#include "tests/store/store_fixture.h"

static char store_folder[64];

static inline int store_folder_make(void **state)
{
	fixture_folder(store_folder);
	return 0;
}

static inline int store_folder_remove(void **state)
{
	fixture_remove(store_folder);
	return 0;
}

#define STORE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, store_folder_make, store_folder_remove)
