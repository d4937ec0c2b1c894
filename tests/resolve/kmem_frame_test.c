/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kmem_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(int kind, const char *name)
{
	static char text[KMEM_FRAME_BYTES];

	return kmem_frame_text((uint16_t)kind, name, text);
}

static void kinds_have_names(void **state)
{
	assert_string_equal(text_of(PILOTLIGHT_KMEM_PAGES, ""), "[pages order 0]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_PAGES + 15, ""), "[pages order 15]");
	assert_string_equal(
		text_of(PILOTLIGHT_KMEM_MOVABLE_PAGES + 9, ""), "[movable pages order 9]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_KMALLOC, ""), "[kmalloc-8]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_KMALLOC + 3, ""), "[kmalloc-64]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_KMALLOC + 4, ""), "[kmalloc-96]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_KMALLOC + 13, ""), "[kmalloc large]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_OTHER_CACHE, ""), "[other cache]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_CACHE, "dentry"), "[dentry]");
	assert_string_equal(text_of(PILOTLIGHT_KMEM_KINDS - 1, ""), "[unknown cache]");
}

/* The kernel's bytes may be longer than a name can be. */
static void a_long_name_is_cut(void **state)
{
	assert_string_equal(text_of(PILOTLIGHT_KMEM_CACHE, "a123456789b123456789c123456789d1234"),
		"[a123456789b123456789c123456789d]");
}

static void other_sources_have_no_kind(void **state)
{
	const struct raw_sample sample = { .source = PILOTLIGHT_SOURCE_OFFCPU };
	char text[KMEM_FRAME_BYTES];

	assert_null(kmem_frame_of(&sample, -1, text));
}

/* `names` are root first. */
static bool is_slab(int kind, const char *const *names, size_t count)
{
	const struct raw_sample sample = {
		.source = PILOTLIGHT_SOURCE_KMEM_ALLOC,
		.kind = (uint16_t)kind,
	};
	struct resolved_frame frames[16] = { 0 };

	for (size_t i = 0; i < count; i++)
		frames[i].name = names[i];
	return kmem_frame_is_slab(&sample, frames, count);
}

#define IS_SLAB(kind, ...)                                  \
	is_slab(kind, (const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void pages_of_the_slab_allocator_are_told_apart(void **state)
{
	enum { PAGES = PILOTLIGHT_KMEM_PAGES, CACHE = PILOTLIGHT_KMEM_CACHE };

	assert_true(IS_SLAB(PAGES, NULL, "vfs_open", "kmem_cache_alloc_noprof", "___slab_alloc",
		"allocate_slab", "alloc_pages_mpol", "__alloc_frozen_pages_noprof"));
	assert_true(IS_SLAB(PAGES, "new_slab.isra.0", "__alloc_pages"));
	assert_true(IS_SLAB(PAGES, "kvmalloc", "___kmalloc_large_node", "__alloc_pages"));
	assert_false(IS_SLAB(PAGES, "new_slabs", "__alloc_pages"));
	assert_false(IS_SLAB(PAGES, "handle_mm_fault", "vma_alloc_folio", "__alloc_pages"));
	/* User code is of no kernel function's name; and what the slab gives out counts. */
	assert_false(IS_SLAB(PAGES, "new_slab", NULL, "__alloc_pages"));
	assert_false(IS_SLAB(CACHE, "___slab_alloc", "kmem_cache_alloc"));
	assert_false(is_slab(PAGES, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(other_sources_have_no_kind),
		cmocka_unit_test(pages_of_the_slab_allocator_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
