/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_drawing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int flamegraph_listing_init(struct flamegraph_listing *listing, size_t id_count)
{
	listing->positions = reallocarray(NULL, id_count + 1, sizeof(*listing->positions));
	if (!listing->positions)
		return -ENOMEM;
	for (size_t i = 0; i < id_count; i++)
		listing->positions[i] = FRAME_NONE;
	listing->id_count = id_count;
	return 0;
}

uint32_t flamegraph_listing_position(struct flamegraph_listing *listing, uint32_t id)
{
	if (listing->positions[id] == FRAME_NONE)
		listing->positions[id] = listing->count++;
	return listing->positions[id];
}

uint32_t *flamegraph_listing_ids(const struct flamegraph_listing *listing)
{
	uint32_t *ids = calloc((size_t)listing->count + 1, sizeof(*ids));

	for (uint32_t i = 0; ids && i < listing->id_count; i++)
		if (listing->positions[i] != FRAME_NONE)
			ids[listing->positions[i]] = i;
	return ids;
}

/* The letters of the kinds in the style sheet's class names. The script takes frames of 'e' for
 * left out, and those of 'm' and 'p' for less and more than before. */
static char kind_letter(enum frame_kind kind)
{
	static const char letters[FRAME_KIND_COUNT] = {
		[FRAME_KERNEL] = 'k',
		[FRAME_EXECUTABLE] = 'x',
		[FRAME_LIBRARY] = 'l',
		[FRAME_JIT] = 'j',
		[FRAME_PYTHON] = 't',
		[FRAME_JAVASCRIPT] = 'v',
		[FRAME_RUBY] = 'y',
		[FRAME_JAVA] = 'j', /* as any generated code */
		[FRAME_PHP] = 'h',
		[FRAME_PERL] = 'q',
		[FRAME_SYNTHETIC] = 's',
		[FRAME_INLINED] = 'i',
		[FRAME_COMM] = 'c',
		[FRAME_ROOT] = 'r',
	};

	return letters[kind];
}

/* FNV-1a instead of the seeded hash: the same profile gives the same bytes in any process. */
static char shade_digit(const char *name, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619U;
	return (char)('0' + (hash ^ hash >> 16) % FLAMEGRAPH_SHADES);
}

void flamegraph_frame_class(const struct flamegraph_drawing *drawing, const struct frame *frame,
	char class[FLAMEGRAPH_CLASS_BYTES])
{
	const struct frame_label *label = &drawing->tree->labels->items[frame->label];
	const struct flamegraph_style *style = drawing->style;
	char name[FRAME_NAME_BYTES];
	size_t size;

	if (style) {
		(void)snprintf(class, FLAMEGRAPH_CLASS_BYTES, "%s",
			style->class_of(style->context, (size_t)(frame - drawing->tree->frames)));
		return;
	}
	size = frame_label_format(label, name);
	class[0] = kind_letter(label->kind);
	class[1] = shade_digit(name, size);
	class[2] = '\0';
}
