/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proofs and the copies of HotSpot's methods, compiled for the host, in a made-up JVM. */
#include "tests/extract/hotspot_memory.h"

#include "bpf/runtime_hotspot_method.bpf.h"
#include "symbol/runtime_code.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct hotspot_blob blob;
static struct pilotlight_runtime_code record;
static struct hotspot_class classes[HOTSPOT_CLASSES];

static int set_up(void **state)
{
	jvm_init();
	return 0;
}

/* In a sample of its own. */
static int prove(struct hotspot_method *method, struct runtime_step *step)
{
	memset(classes, 0, sizeof(classes));
	return hotspot_prove(method, &blob, classes, &jvm_runtime, JVM_MEMORY + JVM_METHOD, step);
}

static void a_method_is_proved_by_its_class(void **state)
{
	struct hotspot_method method;
	struct runtime_step step, again;

	assert_true(prove(&method, &step));
	assert_int_equal(step.code, JVM_MEMORY + JVM_METHOD);
	assert_int_equal(
		hotspot_unit(&method, &blob, &jvm_runtime, JVM_MEMORY + JVM_CONST + 48), 0);
	assert_int_equal(
		hotspot_unit(&method, &blob, &jvm_runtime, JVM_MEMORY + JVM_CONST + 63), 15);
	assert_int_equal(
		hotspot_unit(&method, &blob, &jvm_runtime, JVM_MEMORY + JVM_CONST + 64), -1);
	assert_int_equal(
		hotspot_unit(&method, &blob, &jvm_runtime, JVM_MEMORY + JVM_CONST + 47), -1);
	jvm_point(JVM_CLASS + 24, JVM_SYMBOLS + 0x100);
	assert_true(prove(&method, &again));
	assert_int_not_equal(again.check, step.check);
	jvm_point(JVM_CLASS + 232, JVM_POOL + 8);
	assert_false(prove(&method, &step));
	assert_int_equal(step.code, 0);
	(void)set_up(NULL);
	jvm_put(JVM_METHOD + 8, 0, 8);
	assert_false(prove(&method, &step));
	assert_false(hotspot_prove(&method, &blob, classes, &jvm_runtime, 0, &step));
	assert_false(hotspot_prove(
		&method, &blob, classes, &jvm_runtime, JVM_MEMORY + JVM_METHOD + 4, &step));
}

static void a_class_is_proved_once_a_sample(void **state)
{
	struct hotspot_method method;
	struct runtime_step step, again;

	assert_true(prove(&method, &step));
	/* As if another method of it were found. */
	jvm_put(JVM_POOL + 24, 0, 8);
	jvm_put(JVM_CLASS + 232, 0, 8);
	jvm_put(JVM_CLASS + 24, 0, 8);
	memset(&method, 0xa5, sizeof(method));
	assert_true(hotspot_prove(
		&method, &blob, classes, &jvm_runtime, JVM_MEMORY + JVM_METHOD, &again));
	assert_int_equal(again.check, step.check);
	assert_int_equal(method.class, JVM_MEMORY + JVM_CLASS);
	assert_int_equal(method.class_name, JVM_MEMORY + JVM_SYMBOLS);
	assert_false(prove(&method, &step));
	/* What could not be proved is not kept, and no pool is none. */
	(void)set_up(NULL);
	jvm_put(JVM_CLASS + 24, 0, 8);
	for (unsigned i = 0; i < 2; i++) {
		assert_false(hotspot_prove(
			&method, &blob, classes, &jvm_runtime, JVM_MEMORY + JVM_METHOD, &step));
		jvm_put(JVM_CONST + 8, 0, 8);
	}
}

/* Another class whose pool has the same entry takes its place. */
static void classes_displace_each_other(void **state)
{
	struct hotspot_method method;
	struct runtime_step step;
	struct hotspot_class *known = classes;

	assert_true(prove(&method, &step));
	while (known->pool != JVM_MEMORY + JVM_POOL)
		assert_true(++known < classes + HOTSPOT_CLASSES);
	*known = (struct hotspot_class){ JVM_MEMORY + JVM_POOL + 8, 5, 6 };
	assert_true(hotspot_prove(
		&method, &blob, classes, &jvm_runtime, JVM_MEMORY + JVM_METHOD, &step));
	assert_int_equal(known->pool, JVM_MEMORY + JVM_POOL);
	assert_int_equal(method.class, JVM_MEMORY + JVM_CLASS);
}

/* What was in the record before does not matter. */
static int copy(struct runtime_code *ret_code)
{
	struct hotspot_line_search search;
	struct hotspot_method method;
	struct runtime_step step;

	assert_true(prove(&method, &step));
	memset(&record, 0xa5, sizeof(record));
	if (!hotspot_copy_name(&jvm_runtime, &method, &blob, &record.name) ||
		!hotspot_copy_class(&jvm_runtime, &method, &record.file))
		return 0;
	hotspot_copy_source(&jvm_runtime, &method, &record);
	hotspot_copy_lines(&jvm_runtime, &method, &blob, &record);
	hotspot_end_text(&record.file);
	hotspot_begin_search(&search, &record);
	while (hotspot_search_lines(&search, &record))
		;
	hotspot_end_lines(&search, &record);
	record.hash = runtime_code_hash(&record);
	assert_int_equal(
		runtime_code_parse(&record, runtime_code_words(&record) * 8UL, ret_code), 0);
	return 1;
}

static void a_method_is_copied_with_its_names_and_lines(void **state)
{
	struct runtime_code code;

	assert_true(copy(&code));
	assert_string_equal(code.name, "a.b.Main.run");
	assert_string_equal(code.file, "a/b/Main.java");
	assert_int_equal(runtime_code_line(&code, -1), 2);
	assert_int_equal(runtime_code_line(&code, 4), 3);
	assert_int_equal(runtime_code_line(&code, 15), 23);
	/* The copy ends where the lines end. */
	assert_int_equal(record.line_bytes, sizeof(struct pilotlight_hotspot_table) + 6);
	assert_int_equal(record.line_bytes_all, record.line_bytes);
	assert_memory_equal(record.table + record.line_bytes, "\0\0", 2);
}

static void only_what_a_method_says_is_in_its_identity(void **state)
{
	struct runtime_code code;
	uint64_t hash;

	assert_true(copy(&code));
	hash = code.hash;
	jvm_put(JVM_CONST + 48 + 16 + 6, 0x1234, 2);
	assert_true(copy(&code));
	assert_int_equal(code.hash, hash);
	jvm_put_symbol(0, "a/b/Main+0x123");
	assert_true(copy(&code));
	assert_int_equal(code.hash, hash);
	assert_string_equal(code.name, "a.b.Main.run");
	jvm_put_symbol(2, "(J)V");
	assert_true(copy(&code));
	assert_int_not_equal(code.hash, hash);
}

static void methods_may_lack_lines_and_source(void **state)
{
	struct runtime_code code;

	jvm_put(JVM_CONST + 28, 0, 2);
	jvm_put(JVM_POOL + 54, 0, 2);
	assert_true(copy(&code));
	assert_string_equal(code.file, "");
	assert_int_equal(runtime_code_line(&code, 4), 0);
	/* A size that ends before the lines, and lines without an end. */
	(void)set_up(NULL);
	jvm_put(JVM_CONST + 24, 8, 4);
	assert_true(copy(&code));
	assert_int_equal(runtime_code_line(&code, 4), 0);
	jvm_put(JVM_CONST + 24, 9, 4);
	memset(jvm + JVM_CONST + 48 + 16, 0x0a, 16);
	assert_true(copy(&code));
	assert_int_equal(record.line_bytes, sizeof(struct pilotlight_hotspot_table) + 8);
	assert_int_equal(record.line_bytes_all, record.line_bytes + 1);
	/* The name cannot be read. */
	jvm_put(JVM_POOL + 72 + 8, 0x10, 8);
	assert_false(copy(&code));
}

static void long_names_are_cut(void **state)
{
	char name[200];
	struct runtime_code code;

	memset(name, 'x', sizeof(name));
	memcpy(name, "abc", 3);
	memcpy(name + 196, "yz\0", 3);
	jvm_put_symbol(0, name);
	jvm_put_symbol(1, name);
	jvm_put_symbol(3, name); /* of a file, half a name is none */
	assert_true(copy(&code));
	assert_int_equal(record.name.bytes, PILOTLIGHT_RUNTIME_TEXT_MAX);
	assert_int_equal(record.file.bytes, PILOTLIGHT_RUNTIME_TEXT_MAX);
	assert_memory_equal(record.name.characters, "abcx", 4);
	assert_memory_equal(record.file.characters + PILOTLIGHT_RUNTIME_TEXT_MAX - 3, "xyz", 3);
	assert_string_equal(code.file, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_method_is_proved_by_its_class, set_up),
		cmocka_unit_test_setup(a_class_is_proved_once_a_sample, set_up),
		cmocka_unit_test_setup(classes_displace_each_other, set_up),
		cmocka_unit_test_setup(a_method_is_copied_with_its_names_and_lines, set_up),
		cmocka_unit_test_setup(only_what_a_method_says_is_in_its_identity, set_up),
		cmocka_unit_test_setup(methods_may_lack_lines_and_source, set_up),
		cmocka_unit_test_setup(long_names_are_cut, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
