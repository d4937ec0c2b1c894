/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kmem_frame.h"

#include "base/array.h"
#include "base/event_source.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

/* Between the page allocator and the slab allocator's functions; the compiler inlines some. */
enum { SLAB_FRAMES_MAX = 8 };

const char *kmem_frame_text(uint16_t kind, const char *cache_name, char text[KMEM_FRAME_BYTES])
{
	static const char *const sizes[PILOTLIGHT_KMEM_SIZE_CLASSES] = { "kmalloc-8", "kmalloc-16",
		"kmalloc-32", "kmalloc-64", "kmalloc-96", "kmalloc-128", "kmalloc-192",
		"kmalloc-256", "kmalloc-512", "kmalloc-1k", "kmalloc-2k", "kmalloc-4k",
		"kmalloc-8k", "kmalloc large" };

	if (kind >= PILOTLIGHT_KMEM_CACHE)
		(void)snprintf(text, KMEM_FRAME_BYTES, "[%.*s]", PILOTLIGHT_KMEM_NAME_BYTES - 1,
			*cache_name ? cache_name : "unknown cache");
	else if (kind >= PILOTLIGHT_KMEM_KMALLOC + PILOTLIGHT_KMEM_SIZE_CLASSES)
		(void)snprintf(text, KMEM_FRAME_BYTES, "[other cache]");
	else if (kind >= PILOTLIGHT_KMEM_KMALLOC)
		(void)snprintf(
			text, KMEM_FRAME_BYTES, "[%s]", sizes[kind - PILOTLIGHT_KMEM_KMALLOC]);
	else if (kind >= PILOTLIGHT_KMEM_MOVABLE_PAGES)
		(void)snprintf(text, KMEM_FRAME_BYTES, "[movable pages order %d]",
			kind - PILOTLIGHT_KMEM_MOVABLE_PAGES);
	else
		(void)snprintf(text, KMEM_FRAME_BYTES, "[pages order %d]", kind);
	return text;
}

/* A name with the NUL that the kernel's bytes may lack. */
static void read_name(int map_fd, uint32_t number, char name[PILOTLIGHT_KMEM_NAME_BYTES])
{
	if (bpf_map_lookup_elem(map_fd, &number, name) < 0)
		name[0] = '\0';
	name[PILOTLIGHT_KMEM_NAME_BYTES - 1] = '\0';
}

const char *kmem_frame_of(
	const struct raw_sample *sample, int cache_names_fd, char text[KMEM_FRAME_BYTES])
{
	char name[PILOTLIGHT_KMEM_NAME_BYTES] = "";

	if (!event_source_is_kmem(sample->source))
		return NULL;
	if (sample->kind >= PILOTLIGHT_KMEM_CACHE)
		read_name(cache_names_fd, sample->kind - PILOTLIGHT_KMEM_CACHE, name);
	return kmem_frame_text(sample->kind, name, text);
}

/* The compiler adds ".isra.0", ".constprop.0" or ".part.0" to changed copies of a function. */
static bool is_function(const char *name, const char *function)
{
	size_t length = strlen(function);

	return strncmp(name, function, length) == 0 && (!name[length] || name[length] == '.');
}

/* Of Linux 6.1 to 6.18. */
static bool is_slab_function(const char *name)
{
	static const char *const functions[] = { "allocate_slab", "alloc_slab_page", "new_slab",
		"___slab_alloc", "kmalloc_large_node", "__kmalloc_large_node",
		"___kmalloc_large_node", "kmalloc_large", "__kmalloc_large_noprof",
		"__kmalloc_large_node_noprof", "kmalloc_large_node_noprof", "kmalloc_large_noprof",
		"__kmalloc_noprof", "__kmalloc", "kmalloc_order" };

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (is_function(name, functions[i]))
			return true;
	return false;
}

bool kmem_frame_is_slab(
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count)
{
	if (!event_source_is_kmem(sample->source) || sample->kind >= PILOTLIGHT_KMEM_KMALLOC)
		return false;
	for (size_t i = 0; i < count && i < SLAB_FRAMES_MAX; i++) {
		const struct resolved_frame *frame = &frames[count - 1 - i];

		if (!frame->name || frame->jit)
			return false;
		if (is_slab_function(frame->name))
			return true;
	}
	return false;
}
