/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the header of the symbol builder promises, by looking at everything for each address: tells
 * a builder and itself the same, and holds the file that comes of it against what it knows.
 * Bounded; what has no room is told to neither.
 */
#pragma once

#include "base/utf8.h"
#include "extract/demangle.h"
#include "extract/symbol_builder.h"
#include "symbol/symbol_file.h"

#include <assert.h>
#include <string.h>

enum {
	MODEL_FRAMES_MAX = 192,
	MODEL_RANGES_MAX = 192,
	MODEL_SYMBOLS_MAX = 64,
	MODEL_SEQUENCES_MAX = 64,
	MODEL_ROWS_MAX = 256,
	MODEL_TEXTS_MAX = 128,
};

struct model_text {
	uint32_t id; /* the builder's */
	char text[UTF8_CLEAN_BYTES];
};

struct symbol_model {
	struct symbol_builder_code code;
	struct model_text names[MODEL_TEXTS_MAX], files[MODEL_TEXTS_MAX];
	size_t name_count, file_count;

	struct model_frame {
		size_t parent; /* itself: outermost */
		size_t root;
		size_t name; /* in `names` */
		uint64_t call;
		uint32_t id; /* the builder's, while the function is open */
	} frames[MODEL_FRAMES_MAX];
	size_t frame_count;
	bool is_in_function;

	struct model_range {
		size_t frame;
		uint64_t start, end;
	} ranges[MODEL_RANGES_MAX];
	size_t range_count;

	struct model_symbol {
		uint64_t start, end;
		size_t name;
		bool is_guess;
	} symbols[MODEL_SYMBOLS_MAX];
	size_t symbol_count;

	struct model_sequence {
		uint64_t end; /* valid when it is not open */
		size_t first, count;
	} sequences[MODEL_SEQUENCES_MAX];
	size_t sequence_count;
	bool is_in_sequence;

	struct model_row {
		uint64_t vaddr, place;
	} rows[MODEL_ROWS_MAX];
	size_t row_count;
};

static inline void model_init(struct symbol_model *model, const struct symbol_builder_code *code)
{
	model->code = *code;
	model->name_count = 1;
	model->names[0] = (struct model_text){ 0 };
	model->file_count = 1;
	model->files[0] = (struct model_text){ 0 };
	model->frame_count = model->range_count = model->symbol_count = 0;
	model->sequence_count = model->row_count = 0;
	model->is_in_function = model->is_in_sequence = false;
}

static inline uint64_t model_segment_end(const struct symbol_model *model, uint64_t vaddr)
{
	for (size_t i = 0; i < model->code.segment_count; i++) {
		const struct pilotlight_symbol_segment *segment = &model->code.segments[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_bytes)
			return segment->vaddr + segment->memory_bytes;
	}
	return 0;
}

/* Equal texts have equal ids, others have others. */
static inline size_t model_note_text(
	struct model_text *texts, size_t *count, uint32_t id, const char *clean)
{
	for (size_t i = 0; i < *count; i++) {
		assert((texts[i].id == id) == (strcmp(texts[i].text, clean) == 0));
		if (texts[i].id == id)
			return i;
	}
	assert(*count < MODEL_TEXTS_MAX);
	texts[*count].id = id;
	(void)strcpy(texts[*count].text, clean);
	return (*count)++;
}

/* `ret_name` is a position in `names`. */
static inline int model_add_name(struct symbol_model *model, struct symbol_builder *builder,
	const char *name, size_t length, size_t *ret_name)
{
	_cleanup_free_ char *terminated = NULL;
	_cleanup_free_ char *demangled = NULL;
	char clean[UTF8_CLEAN_BYTES];
	uint32_t id;
	int r;

	*ret_name = 0;
	if (model->name_count == MODEL_TEXTS_MAX)
		return 0;
	r = symbol_builder_add_name(builder, name, length, &id);
	if (r < 0)
		return r;
	terminated = strndup(name, length);
	assert(terminated);
	if (strlen(terminated) == length)
		demangled = demangle(terminated);
	(void)utf8_clean(
		clean, demangled ? demangled : name, demangled ? strlen(demangled) : length);
	*ret_name = model_note_text(model->names, &model->name_count, id, clean);
	return 0;
}

static inline int model_add_file(struct symbol_model *model, struct symbol_builder *builder,
	const char *path, size_t length, uint32_t *ret_file)
{
	char clean[UTF8_CLEAN_BYTES];
	int r;

	*ret_file = 0;
	if (model->file_count == MODEL_TEXTS_MAX)
		return 0;
	r = symbol_builder_add_file(builder, path, length, ret_file);
	if (r < 0)
		return r;
	(void)utf8_clean(clean, path, length);
	(void)model_note_text(model->files, &model->file_count, *ret_file, clean);
	return 0;
}

static inline int model_begin_function(
	struct symbol_model *model, struct symbol_builder *builder, size_t name)
{
	size_t i = model->frame_count;
	uint32_t id;
	int r;

	if (model->is_in_function || i == MODEL_FRAMES_MAX)
		return 0;
	r = symbol_builder_begin_function(builder, model->names[name].id, &id);
	if (r < 0)
		return r;
	model->frames[i] = (struct model_frame){ .parent = i, .root = i, .name = name, .id = id };
	model->frame_count++;
	model->is_in_function = true;
	return 0;
}

static inline int model_end_function(struct symbol_model *model, struct symbol_builder *builder)
{
	if (!model->is_in_function)
		return 0;
	model->is_in_function = false;
	return symbol_builder_end_function(builder);
}

/* Of the open function the frame that `choice` falls on. */
static inline size_t model_choose_frame(const struct symbol_model *model, size_t choice)
{
	size_t root = model->frames[model->frame_count - 1].root;

	return root + choice % (model->frame_count - root);
}

static inline int model_add_inlined(struct symbol_model *model, struct symbol_builder *builder,
	size_t choice, size_t name, uint64_t call)
{
	size_t i = model->frame_count, parent;
	uint32_t id;
	int r;

	if (!model->is_in_function || i == MODEL_FRAMES_MAX)
		return 0;
	parent = model_choose_frame(model, choice);
	r = symbol_builder_add_inlined(
		builder, model->frames[parent].id, model->names[name].id, call, &id);
	if (r < 0)
		return r;
	model->frames[i] = (struct model_frame){
		.parent = parent,
		.root = model->frames[parent].root,
		.name = name,
		.call = call,
		.id = id,
	};
	model->frame_count++;
	return 0;
}

static inline int model_add_range(struct symbol_model *model, struct symbol_builder *builder,
	size_t choice, uint64_t start, uint64_t end)
{
	size_t frame;
	bool is_code = start < end && end <= model_segment_end(model, start);

	assert(symbol_builder_has_code(builder, start, end) == is_code);
	if (!model->is_in_function || model->range_count == MODEL_RANGES_MAX)
		return 0;
	frame = model_choose_frame(model, choice);
	if (is_code)
		model->ranges[model->range_count++] =
			(struct model_range){ .frame = frame, .start = start, .end = end };
	return symbol_builder_add_range(builder, model->frames[frame].id, start, end);
}

static inline int model_add_symbol(struct symbol_model *model, struct symbol_builder *builder,
	uint64_t start, uint64_t end, size_t name, bool is_guess)
{
	uint64_t segment_end = model_segment_end(model, start);

	if (model->symbol_count == MODEL_SYMBOLS_MAX)
		return 0;
	if (segment_end > 0 && model->names[name].id > 0)
		model->symbols[model->symbol_count++] = (struct model_symbol){
			.start = start,
			.end = end < segment_end ? end : segment_end,
			.name = name,
			.is_guess = is_guess,
		};
	return symbol_builder_add_symbol(builder, start, end, model->names[name].id, is_guess);
}

static inline void model_close_sequence(struct symbol_model *model, uint64_t end)
{
	struct model_sequence *sequence = &model->sequences[model->sequence_count - 1];
	uint64_t last = model->rows[model->row_count - 1].vaddr;

	sequence->end = end > last ? end : last;
	model->is_in_sequence = false;
}

static inline int model_add_row(
	struct symbol_model *model, struct symbol_builder *builder, uint64_t vaddr, uint64_t place)
{
	if (model->row_count == MODEL_ROWS_MAX || model->sequence_count == MODEL_SEQUENCES_MAX)
		return 0;
	if (model->is_in_sequence && vaddr < model->rows[model->row_count - 1].vaddr)
		model_close_sequence(model, 0);
	if (!model->is_in_sequence)
		model->sequences[model->sequence_count++] =
			(struct model_sequence){ .first = model->row_count };
	model->is_in_sequence = true;
	model->sequences[model->sequence_count - 1].count++;
	model->rows[model->row_count++] = (struct model_row){ .vaddr = vaddr, .place = place };
	return symbol_builder_add_row(builder, vaddr, place);
}

static inline int model_end_sequence(
	struct symbol_model *model, struct symbol_builder *builder, uint64_t end)
{
	if (model->is_in_sequence)
		model_close_sequence(model, end);
	return symbol_builder_end_sequence(builder, end);
}

/* The position of the frame, or MODEL_FRAMES_MAX. */
static inline size_t model_find_frame(const struct symbol_model *model, size_t root, uint64_t vaddr)
{
	size_t found = MODEL_FRAMES_MAX;

	for (size_t i = 0; i < model->range_count; i++) {
		const struct model_range *range = &model->ranges[i];

		if (model->frames[range->frame].root == root && range->start <= vaddr &&
			vaddr < range->end && (found == MODEL_FRAMES_MAX || range->frame > found))
			found = range->frame;
	}
	return found;
}

/* Where the function's code begins that goes on to `vaddr`; behind it, if it has no such code. */
static inline uint64_t model_find_start(
	const struct symbol_model *model, size_t root, uint64_t vaddr)
{
	uint64_t start = vaddr + 1, before;

	do {
		before = start;
		for (size_t i = 0; i < model->range_count; i++)
			if (model->ranges[i].frame == root && model->ranges[i].start < start &&
				model->ranges[i].end >= start)
				start = model->ranges[i].start;
	} while (start < before);
	return start;
}

/* The innermost frame of the function that has the code at `vaddr`, or MODEL_FRAMES_MAX. */
static inline size_t model_find_function(const struct symbol_model *model, uint64_t vaddr)
{
	size_t best = MODEL_FRAMES_MAX;
	uint64_t best_start = 0;

	for (size_t i = 0; i < model->frame_count; i++) {
		uint64_t start = vaddr + 1;

		if (model->frames[i].root == i)
			start = model_find_start(model, i, vaddr);
		if (start <= vaddr && (best == MODEL_FRAMES_MAX || start > best_start)) {
			best = i;
			best_start = start;
		}
	}
	return best == MODEL_FRAMES_MAX ? best : model_find_frame(model, best, vaddr);
}

/* Of symbols that overlap the one that was told first, as far as it is by ascending start. */
static inline const struct model_symbol *model_find_symbol(
	const struct symbol_model *model, uint64_t vaddr)
{
	uint64_t done = 0;

	for (size_t i = 0; i < model->symbol_count; i++) {
		const struct model_symbol *symbol = &model->symbols[i];

		if (symbol->start <= vaddr && done <= vaddr && vaddr < symbol->end)
			return symbol;
		if (symbol->start < symbol->end && symbol->end > done)
			done = symbol->end;
	}
	return NULL;
}

static inline uint64_t model_find_place(const struct symbol_model *model, uint64_t vaddr)
{
	const struct model_sequence *best = NULL;
	uint64_t place = 0;

	for (size_t i = 0; i < model->sequence_count; i++) {
		const struct model_sequence *sequence = &model->sequences[i];
		uint64_t start = model->rows[sequence->first].vaddr;

		if (start > vaddr || sequence->end <= vaddr ||
			vaddr >= model_segment_end(model, start))
			continue;
		if (!best || start > model->rows[best->first].vaddr)
			best = sequence;
	}
	for (size_t i = 0; best && i < best->count; i++)
		if (model->rows[best->first + i].vaddr <= vaddr)
			place = model->rows[best->first + i].place;
	return place;
}

/* Is what the file knows of one vaddr what the model knows? */
static inline void model_check_vaddr(
	const struct symbol_model *model, const struct symbol_file *file, uint64_t vaddr)
{
	size_t i = model_find_function(model, vaddr);
	const struct model_symbol *symbol = model_find_symbol(model, vaddr);
	uint64_t place, call;
	uint32_t frame;

	symbol_file_find(file, &vaddr, 1, &frame, &place);
	assert(place == model_find_place(model, vaddr));
	if (i == MODEL_FRAMES_MAX) {
		assert((frame != 0) == (symbol != NULL));
		assert(strcmp(symbol_file_frame_name(file, frame),
			       symbol ? model->names[symbol->name].text : "") == 0);
		assert(symbol_file_frame_parent(file, frame, &call) == 0 && call == 0);
		return;
	}
	for (;; i = model->frames[i].parent) {
		const struct model_frame *wanted = &model->frames[i];
		bool is_root = wanted->root == i;
		size_t name = is_root && symbol && !symbol->is_guess ? symbol->name : wanted->name;

		assert(frame != 0);
		assert(strcmp(symbol_file_frame_name(file, frame), model->names[name].text) == 0);
		frame = symbol_file_frame_parent(file, frame, &call);
		assert((frame == 0) == is_root);
		assert(call == wanted->call);
		if (is_root)
			return;
	}
}

/* Nothing that is superfluous, nothing out of order. */
static inline void model_check_tables(const struct symbol_file *file)
{
	const struct pilotlight_symbol_boundary *boundaries =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	const struct pilotlight_symbol_row *rows =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_ROWS);
	size_t boundary_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	size_t row_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS);
	size_t frame_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES);
	_cleanup_free_ bool *is_used = calloc(frame_count, sizeof(*is_used));

	assert(is_used);
	for (size_t i = 0; i < boundary_count; i++) {
		assert(boundaries[i].frame < frame_count);
		assert(boundaries[i].frame != (i ? boundaries[i - 1].frame : 0));
		assert(i == 0 || boundaries[i].offset > boundaries[i - 1].offset);
		is_used[boundaries[i].frame] = true;
	}
	assert(boundary_count == 0 || boundaries[boundary_count - 1].frame == 0);
	for (size_t i = frame_count; i-- > 1;) {
		assert(is_used[i]);
		is_used[symbol_file_frame_parent(file, (uint32_t)i, NULL)] = true;
	}
	for (size_t i = 0; i < row_count; i++) {
		assert(i == 0 || rows[i].offset > rows[i - 1].offset);
		assert(rows[i].place_low != (i ? rows[i - 1].place_low : 0) ||
			rows[i].place_high != (i ? rows[i - 1].place_high : 0));
	}
	assert(row_count == 0 ||
		(rows[row_count - 1].place_low == 0 && rows[row_count - 1].place_high == 0));
}

/* All vaddrs from `start` to before `end`. */
static inline void model_check(const struct symbol_model *model, const struct symbol_file *file,
	uint64_t start, uint64_t end)
{
	model_check_tables(file);
	for (size_t i = 0; i < model->file_count; i++) {
		uint64_t place = symbol_place_pack(model->files[i].id, 1, 2);

		assert(strcmp(symbol_file_place(file, place).file, model->files[i].text) == 0);
	}
	for (uint64_t vaddr = start; vaddr != end; vaddr++)
		model_check_vaddr(model, file, vaddr);
}
