/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/usdt_probe.h"
#include "tests/dwarf/usdt_fixture.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct usdt_fixture fixture;
static struct usdt_place places[USDT_PLACES_MAX];
static size_t count;

static int find(const char *provider, const char *name)
{
	struct elf_file file;

	assert_int_equal(elf_file_init_memory(&file, &fixture, sizeof(fixture)), 0);
	return usdt_probe_find(&file, provider, name, places, &count);
}

static void add(uint64_t code, uint64_t semaphore, const char *name)
{
	usdt_fixture_add(&fixture, code, USDT_FIXTURE_BASE, semaphore, "app", name);
}

static void a_probe_has_its_places(void **state)
{
	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE + 0x10, 0, "begin");
	add(USDT_FIXTURE_CODE + 0x20, USDT_FIXTURE_DATA + 6, "end");
	add(USDT_FIXTURE_CODE + 0xfff, 0, "begin");
	usdt_fixture_add(&fixture, USDT_FIXTURE_CODE + 0x30, 0, 0, "other", "begin");
	assert_int_equal(find("app", "begin"), 0);
	assert_int_equal(count, 2);
	assert_int_equal(places[0].code, 0x1010);
	assert_int_equal(places[0].semaphore, 0);
	assert_int_equal(places[1].code, 0x1fff);
	assert_int_equal(find("app", "end"), 0);
	assert_int_equal(count, 1);
	assert_int_equal(places[0].code, 0x1020);
	assert_int_equal(places[0].semaphore, 0x2006);
	assert_int_equal(find("other", "begin"), 0);
	assert_int_equal(places[0].code, 0x1030);
	assert_int_equal(find("app", "beg"), -ENODATA);
	assert_int_equal(find("", "begin"), -ENODATA);
}

static void a_place_has_its_arguments(void **state)
{
	usdt_fixture_init(&fixture);
	usdt_fixture_add_with(&fixture, USDT_FIXTURE_CODE, USDT_FIXTURE_BASE, 0, "app", "begin",
		"8@%rdi -4@$7 8@-24(%rbp)");
	assert_int_equal(find("app", "begin"), 0);
	assert_int_equal(
		pilotlight_argument_kind(places[0].arguments[0]), PILOTLIGHT_ARGUMENT_REGISTER);
	assert_int_equal(
		pilotlight_argument_kind(places[0].arguments[1]), PILOTLIGHT_ARGUMENT_CONSTANT);
	assert_int_equal(
		pilotlight_argument_kind(places[0].arguments[2]), PILOTLIGHT_ARGUMENT_MEMORY);
}

static void a_file_without_notes_has_no_probe(void **state)
{
	usdt_fixture_init(&fixture);
	assert_int_equal(find("app", "begin"), -ENODATA);
	add(USDT_FIXTURE_CODE, 0, "begin");
	fixture.names[1] = 'x';
	assert_int_equal(find("app", "begin"), -ENODATA);
}

/* A prelinker moves all addresses but those of the notes. */
static void notes_of_a_moved_file_are_corrected(void **state)
{
	usdt_fixture_init(&fixture);
	usdt_fixture_add(&fixture, 0x10, USDT_FIXTURE_BASE - USDT_FIXTURE_CODE,
		USDT_FIXTURE_DATA - USDT_FIXTURE_CODE + 2, "app", "begin");
	assert_int_equal(find("app", "begin"), 0);
	assert_int_equal(places[0].code, 0x1010);
	assert_int_equal(places[0].semaphore, 0x2002);
}

static void places_must_be_in_segments(void **state)
{
	static const struct {
		uint64_t code, semaphore;
	} wrong[] = { { USDT_FIXTURE_CODE - 1, 0 }, { USDT_FIXTURE_CODE + 0x1000, 0 },
		{ USDT_FIXTURE_DATA, 0 }, { UINT64_MAX, 0 },
		{ USDT_FIXTURE_CODE, USDT_FIXTURE_CODE }, { USDT_FIXTURE_CODE, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		usdt_fixture_init(&fixture);
		add(wrong[i].code, wrong[i].semaphore, "begin");
		assert_int_equal(find("app", "begin"), -ENOEXEC);
		/* Others do not suffer. */
		add(USDT_FIXTURE_CODE, 0, "end");
		assert_int_equal(find("app", "end"), 0);
	}
	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE, 0, "begin");
	fixture.phdrs[0].p_offset = UINT64_MAX;
	assert_int_equal(find("app", "begin"), -ENOEXEC);
	fixture.phdrs[0].p_offset = USDT_FIXTURE_BYTES;
	assert_int_equal(find("app", "begin"), -ENOEXEC);
}

static void damaged_notes_are_refused(void **state)
{
	uint32_t *head = (uint32_t *)((uint8_t *)&fixture + USDT_FIXTURE_NOTES);

	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE, 0, "begin");
	head[1] = 23; /* less than three addresses */
	assert_int_equal(find("app", "begin"), -ENOEXEC);
	head[1] = 30; /* no end of the provider, as the next note begins within it */
	assert_int_equal(find("app", "begin"), -ENOEXEC);
	head[1] = UINT32_MAX;
	assert_int_equal(find("app", "begin"), -ENOEXEC);
	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE, 0, "begin");
	head[0] = UINT32_MAX;
	assert_int_equal(find("app", "begin"), -ENOEXEC);
	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE, 0, "begin");
	head[2] = 4; /* another type */
	assert_int_equal(find("app", "begin"), -ENODATA);
}

static void places_are_bounded(void **state)
{
	usdt_fixture_init(&fixture);
	for (int i = 0; i < USDT_PLACES_MAX; i++)
		add(USDT_FIXTURE_CODE + (uint64_t)i, 0, "b");
	assert_true(USDT_FIXTURE_NOTES + fixture.shdrs[1].sh_size < USDT_FIXTURE_BYTES - 64);
	assert_int_equal(find("app", "b"), 0);
	assert_int_equal(count, USDT_PLACES_MAX);
	add(USDT_FIXTURE_CODE, 0, "b");
	assert_int_equal(find("app", "b"), -E2BIG);
}

static void failing_allocations_are_reported(void **state)
{
	usdt_fixture_init(&fixture);
	add(USDT_FIXTURE_CODE, 0, "begin");
	assert_int_equal(FAIL_EACH_ALLOCATION(find("app", "begin"), -ENOMEM, true, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_probe_has_its_places),
		cmocka_unit_test(a_place_has_its_arguments),
		cmocka_unit_test(a_file_without_notes_has_no_probe),
		cmocka_unit_test(notes_of_a_moved_file_are_corrected),
		cmocka_unit_test(places_must_be_in_segments),
		cmocka_unit_test(damaged_notes_are_refused),
		cmocka_unit_test(places_are_bounded),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
