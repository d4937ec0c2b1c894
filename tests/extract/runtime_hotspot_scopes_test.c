/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which methods a compiled method of HotSpot contains, compiled for the host, in a made-up JVM. */
#include "tests/extract/hotspot_memory.h"

#include "base/array.h"
#include "bpf/runtime_hotspot_scopes.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <cmocka.h>

static struct walk walk;
static struct hotspot hotspot;
static struct hotspot_blob blob;
static struct hotspot_scopes scopes;

static int set_up(void **state)
{
	jvm_init();
	walk = (struct walk){ .sp = at(0) };
	walk.hotspot.base = JVM_MEMORY;
	hotspot = (struct hotspot){ 0 };
	return 0;
}

/* The methods that run at an offset in the compiled one, innermost first, with their bytecodes:
 * "inner 3, run 5". "" if the scopes make no sense. */
static const char *scopes_of(
	const struct pilotlight_runtime_hotspot *runtime, size_t offset, bool is_exact)
{
	static char text[20 * HOTSPOT_SCOPES_MAX];
	struct hotspot_class classes[HOTSPOT_CLASSES] = { 0 };
	struct hotspot_method method;
	struct runtime_step step;

	walk.ip = code_in(JVM_COMPILED, offset);
	walk.is_exact = is_exact;
	assert_int_equal(hotspot_find(&walk, &hotspot, &blob, &jvm_runtime, walk.ip - !is_exact),
		HOTSPOT_METHOD);
	memset(&scopes, 0xa5, sizeof(scopes));
	hotspot_find_scopes(&scopes, runtime, &blob, walk.ip, is_exact);
	if (scopes.next != 0 && scopes.place & HOTSPOT_PLACE_BETWEEN)
		hotspot_keep_common(&scopes, runtime->flags);
	text[0] = '\0';
	for (unsigned i = 0; i < HOTSPOT_SCOPES_MAX && scopes.next != 0; i++) {
		size_t size = strlen(text);

		if (!hotspot_next_scope(&scopes, runtime) ||
			!hotspot_prove(
				&method, &blob, classes, &jvm_runtime, scopes.method, &step) ||
			!hotspot_scope_unit(&scopes, &blob, &jvm_runtime, &step.unit))
			return "";
		(void)snprintf(text + size, sizeof(text) - size, "%s%s %d", size ? ", " : "",
			step.code == JVM_MEMORY + JVM_INNER ? "inner" : "run", step.unit);
	}
	return text;
}

static void a_compiled_method_tells_what_it_contains(void **state)
{
	/* Behind a call. */
	assert_string_equal(scopes_of(&jvm_runtime, 0x40, false), "run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, false), "inner 3, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x80, false), "inner 15, inner 3, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x61, false), "");
	/* Of a leaf, what two places have that are known. */
	assert_string_equal(scopes_of(&jvm_runtime, 0x41, true), "run 5");
	assert_int_equal(scopes.place, code_in(JVM_COMPILED, 0x60) | HOTSPOT_PLACE_BETWEEN);
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, true), "inner 3, run 5");
	assert_int_equal(scopes.place, code_in(JVM_COMPILED, 0x60));
	assert_string_equal(scopes_of(&jvm_runtime, 0x7f, true), "inner 3, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, JVM_COMPLETE, true), "run 5");
	assert_string_equal(scopes_of(&jvm_runtime, JVM_COMPLETE - 1, true), "");
	assert_string_equal(scopes_of(&jvm_runtime, 0x81, true), "");
	assert_int_equal(scopes.place, 0);
}

static void a_scope_without_locals_is_of_the_instruction_before(void **state)
{
	/* Scopes of "inner", which "run" calls: one with locals, one without. */
	static const uint8_t with[] = { 1, 2, 6, 1 }, without[] = { 1, 2, 6, 0 };

	memcpy(jvm + JVM_SCOPES + 16, with, sizeof(with));
	jvm_put_pc(2, 0x60, 16);
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, true), "inner 5, run 5");
	memcpy(jvm + JVM_SCOPES + 16, without, sizeof(without));
	assert_string_equal(scopes_of(&jvm_runtime, 0x5f, true), "inner 5, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, false), "inner 5, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, true), "inner 15, inner 3, run 5");
	assert_int_equal(scopes.place, code_in(JVM_COMPILED, 0x80) | HOTSPOT_PLACE_BETWEEN);
	/* Nothing is behind it. */
	jvm_put_pc(3, 0x80, 16);
	assert_string_equal(scopes_of(&jvm_runtime, 0x80, false), "inner 5, run 5");
	assert_string_equal(scopes_of(&jvm_runtime, 0x80, true), "");
	assert_int_equal(scopes.place, 0);
	/* If it cannot be read, it has nothing in common with the next one. */
	jvm_put_pc(2, 0x60, 0x70000000);
	jvm_put_pc(3, 0x80, 9);
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, true), "run 5");
}

/* Scopes of "run" at bytecode 7, of "inner" that it calls there, of "inner" that nothing calls, and
 * of "inner" that calls itself in this very scope. */
enum { OTHER_RUN = 16, OTHER_CALL = 20, OTHER_ROOT = 24, LOOP = 28 };

/* Where many scopes have room. */
enum { MANY_SCOPES = 0x7000 };

static void put_other_scopes(void)
{
	static const uint8_t others[] = { 0, 1, 8, 1, 16, 2, 4, 1, 0, 2, 4, 1, 28, 2, 4, 1 };

	memcpy(jvm + JVM_SCOPES + OTHER_RUN, others, sizeof(others));
}

static void between_two_places_runs_what_both_have(void **state)
{
	static const struct {
		const char *methods;
		int32_t last, next;
	} cases[] = {
		{ "inner 3, run 5", 5, 5 },
		{ "inner 3, run 5", 5, 9 },
		{ "inner 3, run 5", 9, 5 },
		{ "run 5", 1, 9 },
		{ "run 5", 9, 1 },
		{ "run 5", 0, 9 },
		/* The same method at another bytecode, and by another call. */
		{ "run 7", 1, OTHER_RUN },
		{ "run 5", OTHER_CALL, 9 },
		{ "run 7", 9, OTHER_CALL },
		/* The outermost method is another one, so that one is left alone. */
		{ "run 5", OTHER_ROOT, 9 },
		/* What makes no sense has nothing in common. */
		{ "run 5", LOOP, 9 },
		{ "run 5", 0x70000000, 9 },
		{ "", 9, LOOP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *methods;

		put_other_scopes();
		jvm_put_pc(2, 0x60, cases[i].last);
		jvm_put_pc(3, 0x80, cases[i].next);
		methods = scopes_of(&jvm_runtime, 0x61, true);
		if (strcmp(methods, cases[i].methods) != 0)
			fail_msg("case %zu: %s", i, methods);
	}
}

static size_t put_number(size_t at, uint32_t number)
{
	jvm[at] = (uint8_t)(number < 192 ? number : 192 + number % 64);
	if (number < 192)
		return 1;
	jvm[at + 1] = (uint8_t)((number - 192) / 64);
	return 2;
}

/* Puts scopes that call each other; returns the offset of the innermost one. The outermost one is
 * of "run" at a bytecode. */
static int32_t put_chain(size_t offset, unsigned count, uint32_t bytecode)
{
	size_t scope = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t caller = scope;

		scope = offset;
		offset += put_number(MANY_SCOPES + offset, (uint32_t)caller);
		offset += put_number(MANY_SCOPES + offset, i == 0 ? 1 : 2);
		offset += put_number(MANY_SCOPES + offset, i == 0 ? bytecode + 1 : 4);
		offset += put_number(MANY_SCOPES + offset, 1);
	}
	return (int32_t)scope;
}

static void as_many_scopes_are_compared_as_are_shown(void **state)
{
	static const struct {
		unsigned last, next;
		const char *methods;
	} cases[] = {
		{ 1, HOTSPOT_SCOPES_MAX, "run 5" },
		{ HOTSPOT_SCOPES_MAX, HOTSPOT_SCOPES_MAX, "run 5" },
		{ HOTSPOT_SCOPES_MAX, 1, "run 5" },
		/* There are others in what is too much, so nothing is in common. */
		{ HOTSPOT_SCOPES_MAX + 1, 2, "run 5" },
		{ 1, HOTSPOT_SCOPES_MAX + 1, NULL },
		{ HOTSPOT_SCOPES_MAX, 100, NULL },
		{ 100, 150, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *methods;

		jvm_point(JVM_SCOPES_AT + 8, MANY_SCOPES);
		jvm_put_pc(2, 0x60, put_chain(1, cases[i].last, 7));
		jvm_put_pc(3, 0x80, put_chain(0x700, cases[i].next, 5));
		methods = scopes_of(&jvm_runtime, 0x61, true);
		/* What is too much is not cut, so that it is refused. */
		if (cases[i].methods ? strcmp(methods, cases[i].methods) != 0 : scopes.next == 0)
			fail_msg("case %zu: %.80s", i, methods);
	}
}

static void scopes_without_locals_tell_what_runs_between(void **state)
{
	static const uint8_t without[] = { 1, 2, 6, 0 };

	put_other_scopes();
	memcpy(jvm + JVM_SCOPES + 32, without, sizeof(without));
	/* The next one, then the last one. */
	jvm_put_pc(2, 0x60, 1);
	jvm_put_pc(3, 0x80, 32);
	assert_string_equal(scopes_of(&jvm_runtime, 0x61, true), "inner 5, run 5");
	jvm_put_pc(2, 0x60, 32);
	jvm_put_pc(3, 0x80, OTHER_CALL);
	assert_string_equal(scopes_of(&jvm_runtime, 0x61, true), "inner 3, run 7");
}

static void scopes_of_newer_versions_are_read(void **state)
{
	struct pilotlight_runtime_hotspot runtime = jvm_runtime;

	/* Tables behind an address, and no byte is 0. */
	for (size_t i = 1; i < 13; i++)
		jvm[JVM_SCOPES + i]++;
	jvm_point(JVM_SCOPES_AT, JVM_PCS - 8);
	jvm_put(JVM_SCOPES_AT + 8, 8, 4);
	jvm_put(JVM_SCOPES_AT + 12, 8 + 5 * 16, 4);
	jvm_put(JVM_SCOPES_AT + 16, JVM_SCOPES - JVM_PCS + 8, 4);
	jvm_point(JVM_SCOPES_AT + 24, JVM_METADATA - 0x20);
	jvm_put(JVM_SCOPES_AT + 32, 0x20, 4);
	runtime.flags = PILOTLIGHT_HOTSPOT_NO_ZEROS;
	runtime.scopes_base_at = 128;
	runtime.scopes_pcs_at = 136;
	runtime.scopes_pcs_end_at = 140;
	runtime.scopes_data_at = 144;
	runtime.metadata_base_at = 152;
	runtime.metadata_at = 160;
	assert_string_equal(scopes_of(&runtime, 0x80, false), "inner 15, inner 3, run 5");
	/* The metadata behind the blob's data, in 2 bytes. */
	jvm_put(JVM_SCOPES_AT + 24, JVM_METADATA - JVM_COMPILED - 16 - 0x20, 4);
	jvm_put(JVM_SCOPES_AT + 32, 0xffff0020, 4);
	runtime.flags |= PILOTLIGHT_HOTSPOT_SHORT_METADATA;
	runtime.metadata_base_at = PILOTLIGHT_RUNTIME_NONE;
	runtime.data_at = 152;
	assert_string_equal(scopes_of(&runtime, 0x80, false), "inner 15, inner 3, run 5");
	/* Not known. */
	runtime.scopes_pcs_at = PILOTLIGHT_RUNTIME_NONE;
	assert_string_equal(scopes_of(&runtime, 0x80, false), "");
}

static void scopes_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint64_t number;
		size_t bytes;
	} damages[] = {
		{ JVM_SCOPES + 5, 5, 1 },	     /* the caller is itself */
		{ JVM_SCOPES + 5, 9, 1 },	     /* or behind */
		{ JVM_SCOPES + 6, 0, 1 },	     /* no method */
		{ JVM_SCOPES + 6, 3, 1 },	     /* what is none */
		{ JVM_SCOPES + 6, 0xffffffffff, 5 }, /* far away */
		{ JVM_SCOPES + 7, 17, 1 },	     /* behind the bytecodes */
		{ JVM_SCOPES + 7, 0xffffffffff, 5 }, /* far before */
		{ JVM_SCOPES_AT + 4, 0, 4 },	     /* the end before the beginning */
		{ JVM_SCOPES_AT, 0x70000000, 8 },    /* nowhere */
		{ JVM_SCOPES_AT + 8, 0, 8 },
		{ JVM_SCOPES_AT + 16, 0x70000000, 4 },
		{ JVM_INNER + 8, 0, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		(void)set_up(NULL);
		jvm_put(damages[i].at, damages[i].number, damages[i].bytes);
		if (strcmp(scopes_of(&jvm_runtime, 0x60, false), "") != 0)
			fail_msg("damage %zu", i);
	}
	/* Before the first bytecode. */
	(void)set_up(NULL);
	jvm[JVM_SCOPES + 7] = 0;
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, false), "inner -1, run 5");
	/* Numbers of several bytes. */
	(void)set_up(NULL);
	jvm_put(JVM_INNER_CONST + 32, 0x6000, 2);
	memcpy(jvm + JVM_SCOPES + 5, "\x01\x02\xc9\xc0\x02", 5);
	assert_string_equal(scopes_of(&jvm_runtime, 0x60, false), "inner 20680, run 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_compiled_method_tells_what_it_contains, set_up),
		cmocka_unit_test_setup(a_scope_without_locals_is_of_the_instruction_before, set_up),
		cmocka_unit_test_setup(between_two_places_runs_what_both_have, set_up),
		cmocka_unit_test_setup(as_many_scopes_are_compared_as_are_shown, set_up),
		cmocka_unit_test_setup(scopes_without_locals_tell_what_runs_between, set_up),
		cmocka_unit_test_setup(scopes_of_newer_versions_are_read, set_up),
		cmocka_unit_test_setup(scopes_that_make_no_sense_are_refused, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
