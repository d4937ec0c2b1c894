/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_library.h"

#include "base/array.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

SHARED_LIBRARY_NOTE("libm.so.6", "arithmetic", "Numbers", "suggested");

/* Of the C library's: there wherever tests are. */
static typeof(fmax) *greatest;
static typeof(hypot) *hypotenuse;

static const struct shared_library_function functions[] = {
	{ "fmax", &greatest },
	{ "hypot", &hypotenuse },
};

static int set_up(void **state)
{
	greatest = NULL;
	hypotenuse = NULL;
	return 0;
}

static void all_functions_are_found(void **state)
{
	struct fault fault = { 0 };

	assert_int_equal(
		shared_library_load("libm.so.6", NULL, functions, ARRAY_SIZE(functions), &fault),
		0);
	assert_string_equal(fault.text, "");
	assert_true(greatest(1, 2) == 2);
	assert_true(hypotenuse(3, 4) == 5);
	/* Again: it is there already. */
	greatest = NULL;
	assert_int_equal(
		shared_library_load("libm.so.6", NULL, functions, ARRAY_SIZE(functions), NULL), 0);
	assert_non_null(greatest);
}

static void a_library_that_is_not_there_is_named(void **state)
{
	struct fault fault = { 0 };

	assert_int_equal(shared_library_load("libpilotlight-nowhere.so.7", NULL, functions,
				 ARRAY_SIZE(functions), &fault),
		-ELIBACC);
	assert_string_equal(fault.text,
		"cannot load the library libpilotlight-nowhere.so.7: libpilotlight-nowhere.so.7: "
		"cannot open shared object file: No such file or directory");
	assert_null(greatest);
	assert_null(hypotenuse);
	assert_int_equal(shared_library_load("libpilotlight-nowhere.so.7", NULL, functions,
				 ARRAY_SIZE(functions), NULL),
		-ELIBACC);
}

static void a_file_that_is_no_library_is_reported(void **state)
{
	struct fault fault = { 0 };

	assert_int_equal(shared_library_load(
				 "/proc/self/maps", NULL, functions, ARRAY_SIZE(functions), &fault),
		-ELIBACC);
	assert_non_null(strstr(fault.text, "cannot load the library /proc/self/maps: "));
	assert_null(greatest);
}

/* Also those that were found before it. */
static void missing_functions_are_reported(void **state)
{
	const struct shared_library_function wanted[] = {
		{ "fmax", &greatest },
		{ "no_such_function", &hypotenuse },
	};
	struct fault fault = { 0 };

	assert_int_equal(shared_library_load("libm.so.6", NULL, wanted, ARRAY_SIZE(wanted), &fault),
		-ELIBBAD);
	assert_string_equal(fault.text, "the library libm.so.6 has no function no_such_function");
	assert_null(greatest);
	assert_null(hypotenuse);
	fault = (struct fault){ 0 };
	assert_int_equal(
		shared_library_load("libm.so.6", "libc6", wanted, ARRAY_SIZE(wanted), &fault),
		-ELIBBAD);
	assert_string_equal(fault.text, "the library libm.so.6 has no function no_such_function"
					" (on Debian: apt-get install libc6)");
}

struct search {
	const char *json;
	bool is_found;
};

/* Of the program itself, which is the first. */
static int find_note(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
		const char *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && segment->p_align == 4 && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *owner = at + sizeof(*note);
			const char *text = owner + (note->n_namesz + 3) / 4 * 4;

			at = text + (note->n_descsz + 3) / 4 * 4;
			if (note->n_type != 0x407c0c0a || strcmp(owner, "FDO") != 0)
				continue;
			assert_int_equal(note->n_descsz, strlen(search->json) + 1);
			assert_string_equal(text, search->json);
			search->is_found = true;
		}
	}
	return 1;
}

static void the_program_has_a_note(void **state)
{
	struct search search = {
		"[{\"soname\":[\"libm.so.6\"],\"feature\":\"arithmetic\","
		"\"description\":\"Numbers\",\"priority\":\"suggested\"}]",
		false,
	};

	(void)dl_iterate_phdr(find_note, &search);
	assert_true(search.is_found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_functions_are_found, set_up),
		cmocka_unit_test_setup(a_library_that_is_not_there_is_named, set_up),
		cmocka_unit_test_setup(a_file_that_is_no_library_is_reported, set_up),
		cmocka_unit_test_setup(missing_functions_are_reported, set_up),
		cmocka_unit_test(the_program_has_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
