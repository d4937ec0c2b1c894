/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/batch_name.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* 2026-11-20 03:10:00 UTC. */
#define NOW_NS 1795144200000000000ULL

static void a_name_says_which_time_of_which_source(void **state)
{
	const struct batch batch = { NOW_NS + 3123456, NOW_NS + 60001234567,
		PILOTLIGHT_SOURCE_CPU };
	char name[BATCH_NAME_BYTES];
	struct batch back;

	batch_name_format(&batch, ".pb.gz", name);
	assert_string_equal(name, "20261120T031000.003123456Z_59998111111ns_cpu.pb.gz");
	assert_int_equal(batch_name_parse(name, ".pb.gz", &back), 0);
	assert_int_equal(back.start_ns, batch.start_ns);
	assert_int_equal(back.end_ns, batch.end_ns);
	assert_int_equal(back.source, batch.source);
}

static void each_source_has_a_name_of_its_own(void **state)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct batch batch = { NOW_NS, NOW_NS + 1, i };
		char name[BATCH_NAME_BYTES];
		struct batch back;

		batch_name_format(&batch, ".pb.gz", name);
		assert_null(strpbrk(name, ": /"));
		assert_int_equal(batch_name_parse(name, ".pb.gz", &back), 0);
		assert_int_equal(back.source, i);
	}
}

static void the_longest_name_fits(void **state)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct batch batch = { INT64_MAX - 2000000000, UINT64_MAX - 2000000000, i };
		char name[BATCH_NAME_BYTES];
		struct batch back;

		batch_name_format(&batch, ".ending-of-15-b", name);
		assert_true(strlen(name) + 1 < BATCH_NAME_BYTES);
		/* Its duration alone is too long. */
		assert_int_equal(batch_name_parse(name, ".ending-of-15-b", &back), -EINVAL);
	}
}

static void other_names_are_refused(void **state)
{
	static const char *const names[] = {
		"",
		".",
		".until-cpu",
		".unfinished",
		"20261120T031000.003123456Z_59998111111ns_cpu.pb",
		"20261120T031000.003123456Z_59998111111ns_cpu.pb.gz.part",
		"20261120T031000.003123456Z_59998111111ns_gpu.pb.gz",
		"20261120T031000.003123456Z_59998111111ns_.pb.gz",
		"20261120T031000.003123456Z_059998111111ns_cpu.pb.gz",
		"20261120T031000.003123456Z_ns_cpu.pb.gz",
		"20261120T031000.003123456Z_99999999999999999999ns_cpu.pb.gz",
		"20261120T031000.03123456Z_59998111111ns_cpu.pb.gz",
		"20260231T031000.003123456Z_59998111111ns_cpu.pb.gz",
		"20261120T241000.003123456Z_59998111111ns_cpu.pb.gz",
		"20261120T031060.003123456Z_59998111111ns_cpu.pb.gz",
		"19691231T235959.003123456Z_59998111111ns_cpu.pb.gz",
		"99991231T235959.003123456Z_59998111111ns_cpu.pb.gz",
		"-0261120T031000.003123456Z_59998111111ns_cpu.pb.gz",
	};
	struct batch batch;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (batch_name_parse(names[i], ".pb.gz", &batch) != -EINVAL)
			fail_msg("'%s' is taken", names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_which_time_of_which_source),
		cmocka_unit_test(each_source_has_a_name_of_its_own),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(other_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
