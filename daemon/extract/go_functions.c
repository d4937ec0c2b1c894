/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/go_functions.h"

#include "symbol/symbol_file.h"

#include <errno.h>

enum {
	FRAMES_MAX = 64, /* of inlined calls in each other */
	NO_CALL = -1,
};

/* The source place of the code from `address` to the next row. */
struct go_row {
	uint64_t address;
	uint64_t place;
};

/* The inlined call, by number, of the code at [start, end). */
struct go_stretch {
	uint64_t start, end;
	int32_t call;
};

struct go_reading {
	struct symbol_builder *builder;
	struct go_table *table;
	struct scratch_array file_ids; /* of the table's units; 0: not known yet */
	/* Of the current function. */
	struct go_function function;
	uint32_t root;
	struct scratch_array rows, stretches;
	uint64_t rows_end;	     /* padding follows */
	struct scratch_array calls;  /* as in the file */
	struct scratch_array frames; /* of calls, by number; 0: none yet */
};

static void reading_done(struct go_reading *reading)
{
	scratch_array_done(&reading->file_ids);
	scratch_array_done(&reading->rows);
	scratch_array_done(&reading->stretches);
	scratch_array_done(&reading->calls);
	scratch_array_done(&reading->frames);
}

static int reading_init(struct go_reading *reading, struct scratch *scratch)
{
	size_t file_count = reading->table->units.size / sizeof(uint32_t);
	int r;

	r = scratch_array_init(&reading->file_ids, scratch, sizeof(uint32_t), file_count + 1);
	if (r == 0)
		r = scratch_array_reserve(&reading->file_ids, file_count + 1);
	if (r == 0)
		r = scratch_array_init(&reading->rows, scratch, sizeof(struct go_row), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(
			&reading->stretches, scratch, sizeof(struct go_stretch), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(
			&reading->calls, scratch, 1, GO_INLINED_MAX * GO_INLINED_BYTES_MAX);
	if (r == 0)
		r = scratch_array_init(&reading->frames, scratch, sizeof(uint32_t), GO_INLINED_MAX);
	return r;
}

/* Gives 0 for a file that is not known. */
static int find_file(struct go_reading *reading, int32_t file, uint32_t *ret_id)
{
	uint64_t at = (uint64_t)reading->function.unit + (uint32_t)file;
	uint32_t *ids = reading->file_ids.items;
	const char *path;
	int r = 0;

	*ret_id = 0;
	if (file < 0 || at >= reading->file_ids.capacity)
		return 0;
	if (ids[at] == 0) {
		path = go_table_file(reading->table, reading->function.unit, (uint32_t)file);
		if (path)
			r = symbol_builder_add_file(reading->builder, path, strlen(path), &ids[at]);
	}
	*ret_id = ids[at];
	return r;
}

static int add_row(struct go_reading *reading, uint64_t address, int32_t file, int32_t line)
{
	struct go_row row = { .address = address };
	uint32_t id;
	int r = find_file(reading, file, &id);

	if (id != 0 && line > 0)
		row.place = symbol_place_pack(id, (uint32_t)line, 0);
	return r < 0 ? r : scratch_array_append(&reading->rows, &row, sizeof(row));
}

/* Merges the programs of files and of lines to rows. */
static int read_rows(struct go_reading *reading)
{
	const struct go_function *function = &reading->function;
	uint64_t start, line_start, file_end = 0, line_end = 0;
	struct go_program files, lines;
	int32_t file, line;
	int r = 0;

	reading->rows.count = 0;
	reading->rows_end = function->start;
	go_program_init(&files, reading->table, function, function->file_program);
	go_program_init(&lines, reading->table, function, function->line_program);
	for (uint64_t at = function->start; r == 0;
		at = file_end < line_end ? file_end : line_end) {
		int has_file = 1, has_line = 1;

		if (file_end <= at)
			has_file = go_program_next(&files, &start, &file_end, &file);
		if (line_end <= at)
			has_line = go_program_next(&lines, &line_start, &line_end, &line);
		if (has_file <= 0 || has_line <= 0)
			return has_file < 0 ? has_file : has_line < 0 ? has_line : 0;
		r = add_row(reading, at, file, line);
		reading->rows_end = file_end < line_end ? file_end : line_end;
	}
	return r;
}

static uint64_t place_of(const struct go_reading *reading, uint64_t address)
{
	const struct go_row *rows = reading->rows.items;
	size_t low = 0, high = reading->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? rows[low - 1].place : 0;
}

static int32_t call_at(const struct go_reading *reading, uint64_t address)
{
	const struct go_stretch *stretches = reading->stretches.items;
	size_t low = 0, high = reading->stretches.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stretches[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reading->stretches.count && stretches[low].start <= address
		       ? stretches[low].call
		       : NO_CALL;
}

/* Reads the ranges of code of the inlined calls, and copies the calls from the file. */
static int read_calls(struct go_reading *reading)
{
	struct go_table *table = reading->table;
	const struct go_function *function = &reading->function;
	uint64_t room = 0, bytes, call_bytes = go_inlined_bytes(table);
	struct go_stretch stretch;
	struct go_program program;
	int32_t last = NO_CALL;
	int r;

	reading->stretches.count = 0;
	if (function->inlined < table->inlined_bytes)
		room = (table->inlined_bytes - function->inlined) / call_bytes;
	if (room > GO_INLINED_MAX)
		room = GO_INLINED_MAX;
	go_program_init(&program, table, function, function->inline_program);
	while ((r = go_program_next(&program, &stretch.start, &stretch.end, &stretch.call)) > 0) {
		if (stretch.call < 0 || (uint32_t)stretch.call >= room)
			continue;
		if (stretch.call > last)
			last = stretch.call;
		r = scratch_array_append(&reading->stretches, &stretch, sizeof(stretch));
		if (r < 0)
			return r;
	}
	bytes = (uint64_t)(last + 1) * call_bytes;
	if (r == 0 && !go_table_charge(table, bytes))
		r = -ENOEXEC;
	if (r == 0)
		r = scratch_array_reserve(&reading->calls, bytes);
	if (r == 0)
		r = scratch_array_reserve(&reading->frames, (size_t)last + 1);
	if (r == 0 && bytes > 0)
		r = elf_file_read(table->file, table->inlined_offset + function->inlined,
			reading->calls.items, bytes);
	reading->calls.count = r == 0 ? bytes : 0;
	reading->frames.count = r == 0 ? (size_t)last + 1 : 0;
	if (r < 0)
		reading->stretches.count = 0;
	return r;
}

/* Adds the frame of a call below that of its caller. */
static int add_frame(struct go_reading *reading, int32_t call, uint32_t parent, uint32_t *ret_frame)
{
	const uint8_t *bytes = reading->calls.items;
	const struct go_inlined inlined = go_inlined_decode(
		reading->table, bytes + (size_t)call * go_inlined_bytes(reading->table));
	const char *text = go_table_name(reading->table, inlined.name);
	uint32_t name = 0;
	int r = 0;

	if (text)
		r = symbol_builder_add_name(reading->builder, text, strlen(text), &name);
	else
		symbol_builder_count_loss(reading->builder, SYMBOL_LOSS_NAME, -ENOEXEC);
	return r < 0 ? r
		     : symbol_builder_add_inlined(reading->builder, parent, name,
			       place_of(reading, reading->function.start + inlined.call),
			       ret_frame);
}

static int32_t caller_of(const struct go_reading *reading, int32_t call)
{
	const uint8_t *bytes = reading->calls.items;
	const struct go_inlined inlined = go_inlined_decode(
		reading->table, bytes + (size_t)call * go_inlined_bytes(reading->table));

	return call_at(reading, reading->function.start + inlined.call);
}

/* Finds or adds the frame of a call and those of its callers. */
static int find_frame(struct go_reading *reading, int32_t call, uint32_t *ret_frame)
{
	uint32_t *frames = reading->frames.items, frame = reading->root;
	int32_t chain[FRAMES_MAX];
	size_t count = 0;
	int r = 0;

	/* The bound ends a circle of calls, too. */
	while (call >= 0 && (size_t)call < reading->frames.count && count < FRAMES_MAX) {
		if (frames[call] != 0) {
			frame = frames[call];
			break;
		}
		chain[count++] = call;
		call = caller_of(reading, call);
	}
	while (r == 0 && count > 0) {
		call = chain[--count];
		r = add_frame(reading, call, frame, &frame);
		if (r == 0)
			frames[call] = frame;
	}
	*ret_frame = frame;
	return r;
}

static int add_calls(struct go_reading *reading)
{
	const struct go_stretch *stretches = reading->stretches.items;
	uint32_t frame;
	int r = 0;

	if (reading->frames.count > 0)
		memset(reading->frames.items, 0, reading->frames.count * sizeof(uint32_t));
	for (size_t i = 0; r == 0 && i < reading->stretches.count; i++) {
		r = find_frame(reading, stretches[i].call, &frame);
		if (r == 0)
			r = symbol_builder_add_range(
				reading->builder, frame, stretches[i].start, stretches[i].end);
	}
	return r;
}

static int add_lines(struct go_reading *reading)
{
	const struct go_row *rows = reading->rows.items;
	int r = 0;

	if (reading->rows.count == 0)
		return 0;
	for (size_t i = 0; r == 0 && i < reading->rows.count; i++)
		r = symbol_builder_add_row(reading->builder, rows[i].address, rows[i].place);
	return r < 0 ? r : symbol_builder_end_sequence(reading->builder, reading->rows_end);
}

static int add_function(struct go_reading *reading)
{
	struct symbol_builder *builder = reading->builder;
	const struct go_function *function = &reading->function;
	const char *text = go_table_name(reading->table, function->name);
	uint32_t name;
	int r;

	if (!text || *text == '\0') {
		symbol_builder_count_loss(builder, SYMBOL_LOSS_NAME, -ENOEXEC);
		return 0;
	}
	/* Lines and inlined calls that are malformed cost no more than themselves. */
	r = read_rows(reading);
	if (r == 0)
		r = read_calls(reading);
	if (r == -ENOEXEC) {
		symbol_builder_count_loss(builder, SYMBOL_LOSS_UNIT, r);
		reading->stretches.count = 0;
	} else if (r < 0) {
		return r;
	}
	r = symbol_builder_add_name(builder, text, strlen(text), &name);
	if (r == 0)
		r = symbol_builder_begin_function(builder, name, &reading->root);
	if (r == 0)
		r = symbol_builder_add_range(
			builder, reading->root, function->start, function->end);
	if (r == 0)
		r = add_calls(reading);
	if (r == 0)
		r = symbol_builder_end_function(builder);
	return r < 0 ? r : add_lines(reading);
}

int go_functions_read(
	struct symbol_builder *builder, struct go_table *table, struct scratch *scratch)
{
	struct go_reading reading = { .builder = builder, .table = table };
	uint64_t end = 0;
	int r;

	r = reading_init(&reading, scratch);
	for (uint32_t i = 0; r == 0 && i < table->function_count; i++) {
		/* Overlapping functions could have the same long programs, again and again. */
		if (go_table_function(table, i, &reading.function) < 0 ||
			reading.function.start < end) {
			symbol_builder_count_loss(builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
			continue;
		}
		end = reading.function.end;
		r = add_function(&reading);
	}
	reading_done(&reading);
	return r;
}
