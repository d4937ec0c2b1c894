/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/line_table.h"

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
	FOLDERS_MAX = 1 << 18,
	FILES_MAX = 1 << 18, /* 6 MiB */
	FORMATS_MAX = UINT8_MAX,
	PATH_BYTES_MAX = 16 * 1024,
};

struct line_file {
	const char *name; /* borrowed; NULL unknown */
	uint32_t folder;
	uint32_t id; /* the builder's */
	bool has_id;
};

/* The formats in which DWARF 5 writes entries of a table of folders or files. */
struct entry_format {
	uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
	size_t count;
};

void line_table_init(
	struct line_table *table, struct symbol_builder *builder, uint64_t budget_bytes)
{
	*table = (struct line_table){
		.builder = builder,
		.folder = "",
		.budget_bytes = budget_bytes,
	};
}

void line_table_done(struct line_table *table)
{
	free(table->folders);
	free(table->files);
	*table = (struct line_table){ .folder = "" };
}

void line_table_clear(struct line_table *table)
{
	table->folder_count = table->file_count = 0;
	table->folder = "";
	table->program = (struct dwarf_bytes){ 0 };
}

static int add_folder(struct line_table *table, const char *folder)
{
	int r;

	r = ARRAY_RESERVE(
		table->folders, &table->folder_capacity, table->folder_count + 1, FOLDERS_MAX);
	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	table->folders[table->folder_count++] = folder;
	return 0;
}

static int add_file(struct line_table *table, const char *name, uint64_t folder)
{
	int r;

	r = ARRAY_RESERVE(table->files, &table->file_capacity, table->file_count + 1, FILES_MAX);
	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	table->files[table->file_count++] = (struct line_file){
		.name = name,
		.folder = folder > UINT32_MAX ? UINT32_MAX : (uint32_t)folder,
	};
	return 0;
}

/* Adds a file whose name has been read. The rest is common to tables and DW_LNE_define_file. */
static int read_old_file(struct line_table *table, struct dwarf_bytes *bytes, const char *name)
{
	uint64_t folder = dwarf_bytes_uleb(bytes);

	(void)dwarf_bytes_uleb(bytes); /* time */
	(void)dwarf_bytes_uleb(bytes); /* size */
	return bytes->is_short ? -EBADMSG : add_file(table, name, folder);
}

int line_table_define_file(struct line_table *table, struct dwarf_bytes *operands)
{
	const char *name = dwarf_bytes_string(operands);

	return name ? read_old_file(table, operands, name) : -EBADMSG;
}

/* Up to DWARF 4, folder 0 is the unit's, and file numbers begin with 1. */
static int read_old_files(struct line_table *table, struct dwarf_bytes *bytes)
{
	const char *name;
	int r;

	r = add_folder(table, "");
	while (r == 0 && (name = dwarf_bytes_string(bytes)) && *name)
		r = add_folder(table, name);
	if (r == 0)
		r = add_file(table, NULL, 0);
	while (r == 0 && (name = dwarf_bytes_string(bytes)) && *name)
		r = read_old_file(table, bytes, name);
	return r == 0 && bytes->is_short ? -EBADMSG : r;
}

static int read_format(struct dwarf_bytes *bytes, struct entry_format *format)
{
	format->count = dwarf_bytes_u8(bytes);
	for (size_t i = 0; i < format->count; i++) {
		format->content[i] = dwarf_bytes_uleb(bytes);
		format->form[i] = dwarf_bytes_uleb(bytes);
	}
	return bytes->is_short ? -EBADMSG : 0;
}

/* Reads a string or a number; skips other forms. Every form has at least one byte. */
static int read_field(const struct dwarf_sections *sections, struct dwarf_bytes *bytes,
	uint8_t offset_bytes, uint64_t form, const char **string, uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		*string = dwarf_bytes_string(bytes);
		break;
	case DW_FORM_line_strp:
		*string = dwarf_sections_string(
			&sections->line_str, dwarf_bytes_integer(bytes, offset_bytes));
		break;
	case DW_FORM_strp:
		*string = dwarf_sections_string(
			&sections->str, dwarf_bytes_integer(bytes, offset_bytes));
		break;
	case DW_FORM_udata:
		*number = dwarf_bytes_uleb(bytes);
		break;
	case DW_FORM_data1:
		*number = dwarf_bytes_u8(bytes);
		break;
	case DW_FORM_data2:
		*number = dwarf_bytes_u16(bytes);
		break;
	case DW_FORM_data4:
		*number = dwarf_bytes_u32(bytes);
		break;
	case DW_FORM_data8:
		*number = dwarf_bytes_u64(bytes);
		break;
	case DW_FORM_data16:
		(void)dwarf_bytes_take(bytes, 16);
		break;
	case DW_FORM_block:
		(void)dwarf_bytes_take(bytes, dwarf_bytes_uleb(bytes));
		break;
	default:
		return -EBADMSG;
	}
	return bytes->is_short ? -EBADMSG : 0;
}

static int read_entries(struct line_table *table, const struct dwarf_sections *sections,
	struct dwarf_bytes *bytes, bool is_files)
{
	struct entry_format format;
	uint64_t count;
	int r;

	r = read_format(bytes, &format);
	if (r < 0)
		return r;
	count = dwarf_bytes_uleb(bytes);
	/* A hostile count of entries without bytes would be unbounded. */
	if (bytes->is_short || (format.count == 0 && count > 0))
		return -EBADMSG;
	for (; count > 0; count--) {
		const char *name = NULL, *string = NULL;
		uint64_t folder = 0, number = 0;

		for (size_t i = 0; i < format.count; i++) {
			r = read_field(sections, bytes, table->offset_bytes, format.form[i],
				&string, &number);
			if (r < 0)
				return r;
			if (format.content[i] == DW_LNCT_path)
				name = string;
			else if (format.content[i] == DW_LNCT_directory_index)
				folder = number;
		}
		r = is_files ? add_file(table, name, folder) : add_folder(table, name ? name : "");
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_header(
	struct line_table *table, const struct dwarf_sections *sections, struct dwarf_bytes *bytes)
{
	uint64_t length = dwarf_bytes_unit_length(bytes, &table->offset_bytes);
	const uint8_t *lengths;
	int r;

	if (bytes->is_short || length > dwarf_bytes_left(bytes) || length > table->budget_bytes)
		return -EBADMSG;
	table->budget_bytes -= length;
	bytes->end = bytes->position + length;
	table->version = dwarf_bytes_u16(bytes);
	if (table->version < 2 || table->version > 5)
		return -EBADMSG;
	if (table->version >= 5)
		(void)dwarf_bytes_u16(bytes); /* sizes of addresses and segment selectors */
	length = dwarf_bytes_integer(bytes, table->offset_bytes);
	if (bytes->is_short || length > dwarf_bytes_left(bytes))
		return -EBADMSG;
	table->program = *bytes;
	table->program.position += length;
	bytes->end = table->program.position;

	table->instruction_bytes = dwarf_bytes_u8(bytes);
	if (table->version >= 4)
		(void)dwarf_bytes_u8(bytes); /* operations of an instruction, on VLIW machines */
	(void)dwarf_bytes_u8(bytes);	     /* is_stmt */
	table->line_base = (int8_t)dwarf_bytes_u8(bytes);
	table->line_range = dwarf_bytes_u8(bytes);
	table->opcode_base = dwarf_bytes_u8(bytes);
	table->opcode_lengths = *bytes;
	lengths = dwarf_bytes_take(bytes, table->opcode_base ? table->opcode_base - 1 : 0);
	if (!lengths)
		return -EBADMSG;
	table->opcode_lengths.end = bytes->position;

	if (table->version < 5)
		return read_old_files(table, bytes);
	r = read_entries(table, sections, bytes, false);
	return r < 0 ? r : read_entries(table, sections, bytes, true);
}

int line_table_open(struct line_table *table, const struct dwarf_sections *sections,
	uint64_t offset, const char *folder)
{
	struct dwarf_bytes bytes = sections->line;
	int r = -EBADMSG;

	line_table_clear(table);
	if (dwarf_bytes_take(&bytes, offset))
		r = read_header(table, sections, &bytes);
	if (r < 0) {
		line_table_clear(table);
		return r;
	}
	table->folder = folder;
	return 0;
}

struct path {
	char bytes[PATH_BYTES_MAX];
	size_t length;
	bool is_too_long;
};

/* One slash between the parts, as LLVM joins them. */
static void append(struct path *path, const char *part)
{
	bool ends_with_slash = path->length > 0 && path->bytes[path->length - 1] == '/';
	size_t length;

	if (*part == '\0')
		return;
	if (ends_with_slash)
		part += strspn(part, "/");
	else if (path->length > 0 && *part != '/' && path->length < sizeof(path->bytes))
		path->bytes[path->length++] = '/';
	length = strlen(part);
	if (length > sizeof(path->bytes) - path->length) {
		path->is_too_long = true;
		return;
	}
	memcpy(path->bytes + path->length, part, length);
	path->length += length;
}

static int add_path(struct line_table *table, const struct line_file *file, uint32_t *ret_file)
{
	struct path path;
	const char *folder;

	path.length = 0;
	path.is_too_long = false;
	if (*file->name != '/') {
		folder = file->folder < table->folder_count ? table->folders[file->folder] : "";
		if (*folder != '/')
			append(&path, table->folder);
		append(&path, folder);
	}
	append(&path, file->name);
	return symbol_builder_add_file(
		table->builder, path.bytes, path.is_too_long ? 0 : path.length, ret_file);
}

int line_table_file(struct line_table *table, uint64_t number, uint32_t *ret_file)
{
	struct line_file *file;
	int r;

	if (number >= table->file_count || !table->files[number].name) {
		*ret_file = 0;
		return 0;
	}
	file = &table->files[number];
	if (!file->has_id) {
		r = add_path(table, file, &file->id);
		if (r < 0)
			return r;
		file->has_id = true;
	}
	*ret_file = file->id;
	return 0;
}
