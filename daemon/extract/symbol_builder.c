/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_builder.h"

#include "extract/bucket_index.h"
#include "extract/code_segments.h"
#include "extract/code_spans.h"
#include "extract/function_flattener.h"
#include "extract/line_sequences.h"
#include "extract/name_table.h"
#include "extract/symbol_file_writer.h"
#include "extract/symbol_frames.h"
#include "extract/symbol_layer.h"

#include <assert.h>
#include <errno.h>

struct symbol_builder {
	struct scratch *scratch; /* borrowed */
	struct code_segments segments;
	struct name_table names;
	struct symbol_frames frames;
	struct function_flattener flattener;
	struct code_spans functions; /* entries of struct pilotlight_symbol_boundary */
	struct line_sequences lines;
	struct symbol_layer symbols;
	uint32_t root; /* of the open function; 0: none */
	uint32_t contents;
	uint32_t units_failed, ranges_outside, names_failed, symbols_failed;
	int first_error; /* -EFBIG or -ENOEXEC of the first loss; 0: none */
};

static void add_up(uint32_t *counter, uint32_t more)
{
	*counter = more < UINT32_MAX - *counter ? *counter + more : UINT32_MAX;
}

static int init_tables(struct symbol_builder *builder)
{
	struct scratch *scratch = builder->scratch;
	int r = name_table_init(&builder->names, scratch);

	if (r == 0)
		r = function_flattener_init(&builder->flattener, scratch);
	if (r == 0)
		r = code_spans_init(
			&builder->functions, scratch, sizeof(struct pilotlight_symbol_boundary));
	if (r == 0)
		r = line_sequences_init(&builder->lines, scratch, &builder->segments);
	if (r == 0)
		r = symbol_layer_init(&builder->symbols, scratch);
	if (r == 0)
		r = symbol_frames_init(&builder->frames, scratch);
	return r;
}

int symbol_builder_new(const struct symbol_builder_code *code, struct scratch *scratch,
	struct symbol_builder **ret_builder)
{
	_cleanup_(symbol_builder_freep) struct symbol_builder *builder =
		calloc(1, sizeof(*builder));
	int r;

	if (!builder)
		return -ENOMEM;
	builder->scratch = scratch;
	r = code_segments_init(&builder->segments, code);
	if (r == 0)
		r = init_tables(builder);
	if (r < 0)
		return r;
	*ret_builder = TAKE_PTR(builder);
	return 0;
}

void symbol_builder_free(struct symbol_builder *builder)
{
	if (!builder)
		return;
	name_table_done(&builder->names);
	symbol_frames_done(&builder->frames);
	function_flattener_done(&builder->flattener);
	code_spans_done(&builder->functions);
	line_sequences_done(&builder->lines);
	symbol_layer_done(&builder->symbols);
	free(builder);
}

bool symbol_builder_has_code(const struct symbol_builder *builder, uint64_t start, uint64_t end)
{
	return code_segments_hold(&builder->segments, start, end);
}

int symbol_builder_add_name(
	struct symbol_builder *builder, const char *name, size_t length, uint32_t *ret_name)
{
	return name_table_add_function(&builder->names, name, length, ret_name);
}

int symbol_builder_add_file(
	struct symbol_builder *builder, const char *path, size_t length, uint32_t *ret_file)
{
	return name_table_add_file(&builder->names, path, length, ret_file);
}

int symbol_builder_begin_function(
	struct symbol_builder *builder, uint32_t name, uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame frame = { .name = name };
	int r;

	assert(builder->root == 0 && name < builder->names.strings.count);
	r = symbol_frames_add(&builder->frames, &frame, &builder->root);
	if (r == 0)
		*ret_frame = builder->root;
	return r;
}

static bool is_of_function(const struct symbol_builder *builder, uint32_t frame)
{
	return builder->root != 0 && frame >= builder->root && frame < builder->frames.frames.count;
}

int symbol_builder_add_inlined(struct symbol_builder *builder, uint32_t parent, uint32_t name,
	uint64_t call, uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame frame = {
		.parent = parent,
		.name = name,
		.call_low = (uint32_t)call,
		.call_high = (uint32_t)(call >> 32),
	};

	assert(is_of_function(builder, parent) && name < builder->names.strings.count);
	return symbol_frames_add(&builder->frames, &frame, ret_frame);
}

int symbol_builder_add_range(
	struct symbol_builder *builder, uint32_t frame, uint64_t start, uint64_t end)
{
	uint64_t base = builder->segments.base;

	assert(is_of_function(builder, frame));
	if (start == end)
		return 0;
	if (!code_segments_hold(&builder->segments, start, end)) {
		add_up(&builder->ranges_outside,
			!code_segments_is_tombstone(&builder->segments, start));
		return 0;
	}
	return function_flattener_add(
		&builder->flattener, (uint32_t)(start - base), (uint32_t)(end - base), frame);
}

int symbol_builder_end_function(struct symbol_builder *builder)
{
	size_t spans = builder->functions.spans.count;
	uint32_t root = builder->root;
	int r;

	assert(root != 0);
	builder->root = 0;
	r = function_flattener_flush(&builder->flattener, root, &builder->functions);
	/* Linkers discard functions by the thousand, but keep their debug information. */
	if (r == 0 && builder->functions.spans.count == spans)
		builder->frames.frames.count = root;
	return r;
}

int symbol_builder_add_row(struct symbol_builder *builder, uint64_t vaddr, uint64_t place)
{
	return line_sequences_add(&builder->lines, vaddr, place);
}

int symbol_builder_end_sequence(struct symbol_builder *builder, uint64_t end)
{
	return line_sequences_end(&builder->lines, end);
}

/* Cuts a range off at the end of its segment. False: nothing of it is code. */
static bool cut_to_segment(const struct symbol_builder *builder, uint64_t start, uint64_t *end)
{
	uint64_t segment_end = code_segments_end(&builder->segments, start);

	if (segment_end == 0)
		return false;
	if (*end > segment_end)
		*end = segment_end;
	return *end > start;
}

int symbol_builder_add_symbol(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name, bool is_guess)
{
	uint64_t base = builder->segments.base;

	assert(name < builder->names.strings.count);
	if (!cut_to_segment(builder, start, &end))
		return 0;
	return symbol_layer_add(&builder->symbols, (uint32_t)(start - base), (uint32_t)(end - base),
		name, is_guess);
}

int symbol_builder_add_place(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name)
{
	uint64_t base = builder->segments.base;

	assert(name < builder->names.strings.count);
	if (!cut_to_segment(builder, start, &end))
		return 0;
	return symbol_layer_add_place(
		&builder->symbols, (uint32_t)(start - base), (uint32_t)(end - base), name);
}

void symbol_builder_count_loss(
	struct symbol_builder *builder, enum symbol_builder_loss loss, int error)
{
	if (builder->first_error == 0)
		builder->first_error = error == -EFBIG ? -EFBIG : -ENOEXEC;
	switch (loss) {
	case SYMBOL_LOSS_UNIT:
		add_up(&builder->units_failed, 1);
		break;
	case SYMBOL_LOSS_NAME:
		add_up(&builder->names_failed, 1);
		break;
	case SYMBOL_LOSS_SYMBOLS:
		add_up(&builder->symbols_failed, 1);
		break;
	}
}

void symbol_builder_add_contents(struct symbol_builder *builder, uint32_t contents)
{
	builder->contents |= contents;
}

/* Makes the tables that need all others. */
struct finished {
	struct scratch_array boundaries, boundary_index;
	struct scratch_array rows, row_index;
	uint8_t boundary_shift, row_shift;
};

static void finished_done(struct finished *finished)
{
	scratch_array_done(&finished->boundaries);
	scratch_array_done(&finished->boundary_index);
	scratch_array_done(&finished->rows);
	scratch_array_done(&finished->row_index);
}

static int finished_init(struct finished *finished, struct scratch *scratch)
{
	int r = scratch_array_init(&finished->boundaries, scratch,
		sizeof(struct pilotlight_symbol_boundary), UINT32_MAX);

	if (r == 0)
		r = scratch_array_init(
			&finished->boundary_index, scratch, sizeof(uint32_t), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(
			&finished->rows, scratch, sizeof(struct pilotlight_symbol_row), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(&finished->row_index, scratch, sizeof(uint32_t), UINT32_MAX);
	return r;
}

static int finish_functions(struct symbol_builder *builder, struct finished *finished)
{
	int r = symbol_frames_begin_symbols(&builder->frames, builder->scratch);

	if (r == 0)
		r = symbol_layer_fold(&builder->symbols, &builder->functions, &builder->frames,
			&finished->boundaries);
	if (r == 0)
		r = symbol_frames_remove_unused(
			&builder->frames, builder->scratch, &finished->boundaries);
	if (r == 0)
		r = bucket_index_build(&finished->boundaries, builder->segments.span,
			&finished->boundary_index, &finished->boundary_shift);
	if (r == 0)
		add_up(&builder->names_failed, builder->frames.refused);
	return r;
}

static int finish_lines(struct symbol_builder *builder, struct finished *finished)
{
	int r = line_sequences_finish(&builder->lines, &finished->rows);

	if (r == 0)
		r = bucket_index_build(&finished->rows, builder->segments.span,
			&finished->row_index, &finished->row_shift);
	return r;
}

static void set_header(const struct symbol_builder *builder, const struct finished *finished,
	uint16_t machine, struct pilotlight_symbol_header *header)
{
	header->contents = builder->contents;
	header->machine = machine;
	header->boundary_shift = finished->boundary_shift;
	header->row_shift = finished->row_shift;
	header->base_vaddr = builder->segments.base;
	header->units_failed = builder->units_failed;
	header->ranges_outside = builder->ranges_outside;
	add_up(&header->ranges_outside, builder->lines.ranges_outside);
	header->names_failed = builder->names_failed;
	add_up(&header->names_failed, builder->names.failed);
	header->symbols_failed = builder->symbols_failed;
}

static void add_sections(struct symbol_file_writer *writer, const struct symbol_builder *builder,
	const struct finished *finished)
{
	symbol_file_writer_add(writer, PILOTLIGHT_SYMBOL_SEGMENTS, builder->segments.segments,
		builder->segments.count, sizeof(builder->segments.segments[0]));
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_BOUNDARIES, &finished->boundaries);
	symbol_file_writer_add_array(
		writer, PILOTLIGHT_SYMBOL_BOUNDARY_INDEX, &finished->boundary_index);
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_FRAMES, &builder->frames.frames);
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_ROWS, &finished->rows);
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_ROW_INDEX, &finished->row_index);
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_FILES, &builder->names.files);
	symbol_file_writer_add_array(writer, PILOTLIGHT_SYMBOL_STRINGS, &builder->names.strings);
}

int symbol_builder_write(struct symbol_builder *builder, const struct symbol_identity *identity,
	enum pilotlight_symbol_rank rank, uint16_t machine, const char *origin, int fd)
{
	_cleanup_(finished_done) struct finished finished = { 0 };
	struct symbol_file_writer writer;
	int r;

	assert(builder->root == 0);
	name_table_finish(&builder->names);
	r = finished_init(&finished, builder->scratch);
	if (r == 0)
		r = finish_functions(builder, &finished);
	if (r == 0)
		r = finish_lines(builder, &finished);
	if (r < 0)
		return r;
	if (finished.boundaries.count == 0 && finished.rows.count == 0)
		return builder->first_error < 0 ? builder->first_error : -ENODATA;
	symbol_file_writer_init(&writer, identity, rank, origin);
	set_header(builder, &finished, machine, &writer.head.header);
	add_sections(&writer, builder, &finished);
	return symbol_file_writer_write(&writer, fd);
}
