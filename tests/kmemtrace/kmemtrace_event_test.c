/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_event.h"

#include "tests/kmemtrace/kmemtrace_bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void set_size(unsigned char *bytes, uint16_t size)
{
	memcpy(bytes + 2, &size, sizeof(size));
}

static void all_fields_are_read(void **state)
{
	/* An odd address: events need no alignment. */
	unsigned char bytes[64], *at = bytes + 1;
	struct kmemtrace_event event;

	assert_int_equal(put_alloc(at, -5, SITE_A, 0xffff888000001000, 100), 48);
	assert_int_equal(kmemtrace_event_parse(at, 48, &event), 48);
	assert_int_equal(event.event_id, PILOTLIGHT_KMEMTRACE_ALLOC);
	assert_int_equal(event.type_id, PILOTLIGHT_KMEMTRACE_KMALLOC);
	assert_int_equal(event.sequence, -5);
	assert_int_equal(event.call_site, SITE_A);
	assert_true(event.pointer == 0xffff888000001000);
	assert_int_equal(event.requested_bytes, 100);
	assert_int_equal(event.allocated_bytes, 150);
	assert_int_equal(event.gfp_flags, 0xcc0);
	assert_int_equal(event.node, -1);
	assert_false(event.has_stack);

	assert_int_equal(put_free(at, 7, SITE_B, 0x10), 24);
	assert_int_equal(kmemtrace_event_parse(at, 24, &event), 24);
	assert_int_equal(event.event_id, PILOTLIGHT_KMEMTRACE_FREE);
	assert_int_equal(event.type_id, PILOTLIGHT_KMEMTRACE_CACHE);
	assert_int_equal(event.sequence, 7);
	assert_int_equal(event.requested_bytes, 0);
}

/* The bytes that Linux 2.6.30's documents describe, on a little-endian machine. */
static void the_layout_is_the_documents(void **state)
{
	static const unsigned char bytes[48] = {
		0, 1, 48, 0,				  /* ALLOC, cache, size */
		1, 0, 0, 0,				  /* sequence */
		0x78, 0x56, 0x34, 0x12, 0, 0, 0xff, 0xff, /* call site */
		0x10, 0x20, 0x30, 0x40, 0, 0, 0xff, 0xff, /* pointer */
		5, 0, 0, 0, 0, 0, 0, 0,			  /* requested */
		8, 0, 0, 0, 0, 0, 0, 0,			  /* allocated */
		0xd0, 0, 0, 0,				  /* flags */
		0xff, 0xff, 0xff, 0xff,			  /* node */
	};
	struct kmemtrace_event event;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	skip();
#endif
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), 48);
	assert_int_equal(event.sequence, 1);
	assert_true(event.call_site == 0xffff000012345678);
	assert_true(event.pointer == 0xffff000040302010);
	assert_int_equal(event.requested_bytes, 5);
	assert_int_equal(event.allocated_bytes, 8);
	assert_int_equal(event.gfp_flags, 0xd0);
	assert_int_equal(event.node, -1);
}

static void an_event_may_go_on_beyond_the_bytes(void **state)
{
	struct kmemtrace_event event = { .sequence = 77 };
	unsigned char bytes[48];

	put_alloc(bytes, 1, SITE_A, 0x1000, 8);
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_int_equal(kmemtrace_event_parse(bytes, size, &event), 0);
	assert_int_equal(event.sequence, 77);
}

static void a_size_below_the_fields_is_refused(void **state)
{
	struct kmemtrace_event event;
	unsigned char bytes[64] = { 0 };

	put_alloc(bytes, 1, SITE_A, 0x1000, 8);
	set_size(bytes, 47);
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), -EBADMSG);
	set_size(bytes, 0);
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), -EBADMSG);
	put_free(bytes, 1, SITE_A, 0x1000);
	set_size(bytes, 23);
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), -EBADMSG);
}

static void less_allocated_than_requested_is_wrong(void **state)
{
	struct kmemtrace_event event;
	unsigned char bytes[48];
	uint64_t requested = 151;

	put_alloc(bytes, 1, SITE_A, 0x1000, 100);
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), 48);
	assert_false(event.is_wrong);
	memcpy(bytes + 24, &requested, sizeof(requested));
	assert_int_equal(kmemtrace_event_parse(bytes, sizeof(bytes), &event), 48);
	assert_true(event.is_wrong);
}

static void unknown_features_are_skipped(void **state)
{
	static const unsigned char features[] = { 5, 0, 9, 'a', 'b', 3, 0, 1, 8, 0, 0x53, 0, 42, 0,
		0, 0 };
	struct kmemtrace_event event;
	unsigned char bytes[64];

	put_free(bytes, 1, SITE_A, 0x1000);
	memcpy(bytes + 24, features, sizeof(features));
	set_size(bytes, 24 + sizeof(features));
	assert_int_equal(
		kmemtrace_event_parse(bytes, 24 + sizeof(features), &event), 24 + sizeof(features));
	assert_true(event.has_stack);
	assert_int_equal(event.stack, 42);
}

static void damaged_features_end_the_features(void **state)
{
	static const unsigned char cases[][12] = {
		{ 0, 0, 0x53 },			     /* less than its header */
		{ 13, 0, 0x53 },		     /* beyond the event */
		{ 8, 0, 0x54, 0, 1, 0, 0, 0, 2, 0 }, /* an unknown one, then a damaged one */
		{ 9, 0, 0x53, 0, 1, 0, 0, 0, 0 },    /* ours with another size */
	};
	struct kmemtrace_event event;
	unsigned char bytes[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_free(bytes, 1, SITE_A, 0x1000);
		memcpy(bytes + 24, cases[i], 12);
		set_size(bytes, 36);
		assert_int_equal(kmemtrace_event_parse(bytes, 36, &event), 36);
		assert_false(event.has_stack);
	}
}

static void unknown_events_have_a_size(void **state)
{
	struct kmemtrace_event event;
	unsigned char bytes[64] = { 0 };

	put_free(bytes, 1, SITE_A, 0x1000);
	bytes[0] = 7;
	bytes[1] = 9;
	set_size(bytes, 40);
	assert_int_equal(kmemtrace_event_parse(bytes, 40, &event), 40);
	assert_int_equal(event.event_id, 7);
	assert_string_equal(kmemtrace_type_name(event.type_id), "other");
}

static void sequence_numbers_wrap(void **state)
{
	assert_true(kmemtrace_is_before(1, 2));
	assert_false(kmemtrace_is_before(2, 1));
	assert_false(kmemtrace_is_before(2, 2));
	assert_true(kmemtrace_is_before(INT32_MAX, INT32_MIN));
	assert_true(kmemtrace_is_before(-1, 0));
	assert_false(kmemtrace_is_before(INT32_MIN, INT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fields_are_read),
		cmocka_unit_test(the_layout_is_the_documents),
		cmocka_unit_test(an_event_may_go_on_beyond_the_bytes),
		cmocka_unit_test(a_size_below_the_fields_is_refused),
		cmocka_unit_test(less_allocated_than_requested_is_wrong),
		cmocka_unit_test(unknown_features_are_skipped),
		cmocka_unit_test(damaged_features_end_the_features),
		cmocka_unit_test(unknown_events_have_a_size),
		cmocka_unit_test(sequence_numbers_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
