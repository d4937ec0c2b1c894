/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/folded.h"

#include "base/array.h"
#include "render/frame_walk.h"

#include <errno.h>
#include <string.h>

/*
 * Each frame's text is appended to its parent's, so that a stack of any depth is written with one
 * copy. ends[depth] is the end of a frame's text.
 */
struct folding {
	const struct frame_labels *labels;
	struct output *output;
	char *line;
	size_t line_capacity;
	size_t *ends;
	size_t end_capacity;
};

static void folding_done(struct folding *folding)
{
	free(folding->line);
	free(folding->ends);
}

const char *folded_suffix(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return "_[k]";
	case FRAME_JIT:
	case FRAME_JAVA:
		return "_[j]";
	case FRAME_PYTHON:
		return "_[p]";
	case FRAME_JAVASCRIPT:
		return "_[v]";
	case FRAME_RUBY:
		return "_[r]";
	case FRAME_PHP:
		return "_[h]";
	case FRAME_PERL:
		return "_[e]";
	case FRAME_INLINED:
		return "_[i]";
	default:
		return "";
	}
}

static int append(struct folding *folding, const struct frame *frame)
{
	const struct frame_label *label = &folding->labels->items[frame->label];
	const char *kind = folded_suffix(label->kind);
	size_t end = frame->depth > 1 ? folding->ends[frame->depth - 1] : 0;
	char name[FRAME_NAME_BYTES];
	size_t size = frame_label_format(label, name);
	int r;

	r = ARRAY_RESERVE(folding->line, &folding->line_capacity, end + 1 + size + strlen(kind),
		SIZE_MAX / 2);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(
		folding->ends, &folding->end_capacity, (size_t)frame->depth + 1, UINT32_MAX);
	if (r < 0)
		return r;
	for (char *c = name; (c = memchr(c, ';', size - (size_t)(c - name)));)
		*c = ':';
	if (frame->depth > 1)
		folding->line[end++] = ';';
	memcpy(folding->line + end, name, size);
	end += size;
	memcpy(folding->line + end, kind, strlen(kind));
	folding->ends[frame->depth] = end + strlen(kind);
	return 0;
}

static int fold(void *context, const struct frame *frame)
{
	struct folding *folding = context;
	int r;

	if (frame->depth == 0)
		return 0;
	r = append(folding, frame);
	if (r < 0)
		return r;
	if (frame->self == 0)
		return 0;
	output_write(folding->output, folding->line, folding->ends[frame->depth]);
	output_char(folding->output, ' ');
	output_u64(folding->output, frame->self);
	output_char(folding->output, '\n');
	return 0;
}

int folded_write(const struct profile *profile, enum frame_detail detail, struct output *output)
{
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	_cleanup_(folding_done) struct folding folding = { .output = output };
	int r;

	r = frame_labels_new(profile, detail, &labels);
	if (r < 0)
		return r;
	folding.labels = labels;
	return frame_walk(profile, labels, NULL, 0, NULL, fold, &folding);
}
