/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_cut.h"

#include <errno.h>

/*
 * A drawn frame is some 250 bytes and its name twice. Browsers take a second to open a picture of
 * ten times as many.
 */
enum { FRAMES_MAX = 10000, NAME_BYTES_MAX = 1 << 20 };

static bool is_within_bounds(const struct frame_tree *tree, uint64_t minimum)
{
	size_t frames = 0, name_bytes = 0;

	for (size_t i = 0; i < tree->count; i++) {
		if (tree->frames[i].total < minimum)
			continue;
		frames++;
		name_bytes += tree->labels->items[tree->frames[i].label].text_bytes;
	}
	return frames <= FRAMES_MAX && name_bytes <= NAME_BYTES_MAX;
}

/* Finds the last row that holds `row_minimum`. No row holds more than the one below it. */
static int find_depth(
	struct flamegraph_cut *cut, const struct frame_tree *tree, uint64_t row_minimum)
{
	_cleanup_free_ uint64_t *rows = calloc((size_t)tree->depth + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++)
		if (tree->frames[i].total >= cut->minimum)
			rows[tree->frames[i].depth] += tree->frames[i].total;
	while (cut->depth < tree->depth && rows[cut->depth + 1] > 0 &&
		rows[cut->depth + 1] >= row_minimum)
		cut->depth++;
	return 0;
}

static void count_narrow(struct flamegraph_cut *cut, const struct frame_tree *tree)
{
	uint32_t narrow_depth = UINT32_MAX; /* of the narrow frame that those before stand on */

	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];

		if (flamegraph_cut_draws(cut, frame)) {
			narrow_depth = UINT32_MAX;
			continue;
		}
		if (frame->depth > narrow_depth)
			continue;
		narrow_depth = frame->depth;
		cut->narrow_count++;
		cut->narrow += frame->total;
	}
}

int flamegraph_cut_init(struct flamegraph_cut *ret_cut, const struct frame_tree *tree,
	uint64_t minimum, uint64_t row_minimum)
{
	struct flamegraph_cut cut = { .minimum = minimum > 0 ? minimum : 1 };
	int r;

	while (!is_within_bounds(tree, cut.minimum) && cut.minimum <= UINT64_MAX / 2)
		cut.minimum *= 2;
	r = find_depth(&cut, tree, row_minimum);
	if (r < 0)
		return r;
	count_narrow(&cut, tree);
	*ret_cut = cut;
	return 0;
}

bool flamegraph_cut_draws(const struct flamegraph_cut *cut, const struct frame *frame)
{
	return frame->depth == 0 || (frame->total >= cut->minimum && frame->depth <= cut->depth);
}
