/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_DIGITS = 8 };

static size_t digits_of(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool frame_path_is_valid(const char *text)
{
	for (;;) {
		size_t digits = digits_of(text);

		if (digits == 0 || digits > HASH_DIGITS)
			return false;
		text += digits;
		if (!*text)
			return true;
		if (*text++ != '.')
			return false;
	}
}

static void read_hashes(const char *text, uint32_t *hashes, size_t count)
{
	char *end;

	for (size_t i = 0; i < count; i++) {
		hashes[i] = (uint32_t)strtoul(text, &end, 16);
		text = end + 1;
	}
}

int frame_path_find(
	const struct frame_labels *labels, const char *text, struct frame_path *ret_path)
{
	_cleanup_free_ uint32_t *hashes = NULL;
	struct frame_path path = { .count = 1 };

	for (const char *dot = text; (dot = strchr(dot, '.')); dot++)
		path.count++;
	hashes = reallocarray(NULL, path.count, sizeof(*hashes));
	path.labels = reallocarray(NULL, path.count, sizeof(*path.labels));
	if (!hashes || !path.labels) {
		frame_path_done(&path);
		return -ENOMEM;
	}
	read_hashes(text, hashes, path.count);
	memset(path.labels, 0xff, path.count * sizeof(*path.labels));
	for (uint32_t label = 0; label < labels->count; label++) {
		const uint32_t hash = frame_label_hash(&labels->items[label]);

		for (size_t i = 0; i < path.count; i++)
			if (hashes[i] == hash && path.labels[i] == FRAME_NONE)
				path.labels[i] = label;
	}
	*ret_path = path;
	return 0;
}

void frame_path_done(struct frame_path *path)
{
	free(path->labels);
	*path = (struct frame_path){ 0 };
}
