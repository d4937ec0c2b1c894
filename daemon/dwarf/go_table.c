/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/go_table.h"

#include "base/array.h"
#include "dwarf/elf_sections.h"
#include "dwarf/go_module.h"

#include <errno.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	FUNCDATA_INLINED = 3,
	PCDATA_INLINED = 2,
	DATA_COUNT_MAX = 64, /* of a function; Go has about ten */
	ABSENT = 0xffffffff,
	FUNCTIONS_MAX = 1 << 26,
	NUMBER_BYTES_MAX = 5,
	/* Linkers need less than one step for a byte of the file. */
	STEPS_OF_BYTE = 4,
};

static int match_go(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab",
		".note.go.buildid", ".go.buildinfo" };

	(void)context;
	(void)index;
	(void)section;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

int go_table_is_in(const struct elf_file *file)
{
	return elf_sections_each(file, match_go, NULL);
}

void go_table_close(struct go_table *table)
{
	scratch_array_done(&table->contents);
	*table = (struct go_table){ 0 };
}

static struct dwarf_bytes part_from(const struct go_part *part, uint64_t offset)
{
	struct dwarf_bytes bytes = { .position = part->bytes, .end = part->bytes + part->size };

	(void)dwarf_bytes_take(&bytes, offset);
	return bytes;
}

static uint32_t part_u32(const struct go_part *part, uint64_t offset, bool *ret_is_short)
{
	struct dwarf_bytes bytes = part_from(part, offset);
	uint32_t value = dwarf_bytes_u32(&bytes);

	*ret_is_short |= bytes.is_short;
	return value;
}

static size_t entry_bytes(const struct go_table *table)
{
	return table->version == GO_1_16 ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* A part reaches to the table's end, because the parts may come in any order. */
static int set_part(const struct go_table *table, uint64_t offset, struct go_part *ret_part)
{
	if (offset >= table->contents.count)
		return -ENOEXEC;
	*ret_part = (struct go_part){
		.bytes = (const uint8_t *)table->contents.items + offset,
		.size = table->contents.count - (size_t)offset,
	};
	return 0;
}

/* Reads the header. *ret_names is the offset of the names, *ret_text the address of the code, or 0.
 */
static int read_header(struct go_table *table, uint64_t *ret_names, uint64_t *ret_text)
{
	const uint8_t *header = table->contents.items;
	struct dwarf_bytes bytes = { .position = header, .end = header + table->contents.count };
	struct go_part *const parts[] = { &table->names, &table->units, &table->files,
		&table->programs, &table->functions };
	uint64_t count, offset;
	uint32_t magic;

	if (table->contents.count < GO_HEADER_BYTES || !go_module_is_table(header))
		return -ENODATA;
	magic = dwarf_bytes_u32(&bytes);
	table->version = magic == 0xfffffffa ? GO_1_16 : magic == 0xfffffff0 ? GO_1_18 : GO_1_20;
	(void)dwarf_bytes_take(&bytes, 4);
	table->quantum = header[6];
	count = dwarf_bytes_u64(&bytes);
	(void)dwarf_bytes_u64(&bytes); /* the number of files */
	*ret_text = table->version == GO_1_16 ? 0 : dwarf_bytes_u64(&bytes);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		offset = dwarf_bytes_u64(&bytes);
		if (i == 0)
			*ret_names = offset;
		if (set_part(table, offset, parts[i]) < 0)
			return -ENOEXEC;
	}
	if (count > FUNCTIONS_MAX || (count * 2 + 1) * entry_bytes(table) > table->functions.size)
		return -ENOEXEC;
	table->function_count = (uint32_t)count;
	return 0;
}

static int copy(struct go_table *table, const struct go_place *place)
{
	int r;

	if (place->bytes > GO_TABLE_BYTES_MAX)
		return -EFBIG;
	r = scratch_array_reserve(&table->contents, place->bytes);
	if (r < 0)
		return r;
	table->contents.count = place->bytes;
	return elf_file_read(table->file, place->offset, table->contents.items, place->bytes);
}

/* Finds where the code begins and where the inlined calls are. */
static int read_module(
	struct go_table *table, const struct go_place *place, uint64_t names, uint64_t text)
{
	struct go_module module;
	struct go_place inlined;
	int r;

	table->text = text;
	if (table->version == GO_1_16)
		return 0;
	r = go_module_find(table->file, place->vaddr, place->vaddr + names, &module);
	if (r == -ENODATA && text != 0)
		return 0;
	if (r < 0)
		return r == -ENODATA ? -ENOEXEC : r;
	table->text = module.words[GO_MODULE_TEXT];
	r = go_module_find_vaddr(table->file,
		module.words[table->version == GO_1_18 ? GO_MODULE_DATA_1_18 : GO_MODULE_DATA_1_20],
		&inlined);
	if (r < 0)
		return r == -ENODATA || r == -ENOEXEC ? 0 : r;
	table->inlined_offset = inlined.offset;
	table->inlined_bytes = inlined.bytes;
	return 0;
}

int go_table_open(struct go_table *table, const struct elf_file *file, struct scratch *scratch)
{
	struct go_place place;
	uint64_t names = 0, text = 0;
	int r;

	table->file = file;
	table->steps_left = file->size_bytes * STEPS_OF_BYTE;
	if (!file->is_64 || file->is_swapped)
		return -ENODATA;
	r = go_module_find_table(file, &place);
	if (r == 0)
		r = scratch_array_init(&table->contents, scratch, 1, GO_TABLE_BYTES_MAX);
	if (r == 0)
		r = copy(table, &place);
	if (r == 0)
		r = read_header(table, &names, &text);
	return r < 0 ? r : read_module(table, &place, names, text);
}

/* The number of an entry in the list of functions: starts and places take turns. */
static uint64_t read_entry(const struct go_table *table, uint64_t number, bool *ret_is_short)
{
	struct dwarf_bytes bytes = part_from(&table->functions, number * entry_bytes(table));
	uint64_t value = dwarf_bytes_integer(&bytes, entry_bytes(table));

	*ret_is_short |= bytes.is_short;
	return value;
}

/* Reads what follows the fixed part of a function: its programs, then its data. */
static void read_data(const struct go_table *table, struct dwarf_bytes *bytes,
	uint32_t program_count, uint8_t data_count, struct go_function *function)
{
	struct dwarf_bytes programs = *bytes, data;

	if (program_count > DATA_COUNT_MAX || data_count > DATA_COUNT_MAX)
		return;
	(void)dwarf_bytes_take(bytes, program_count * sizeof(uint32_t));
	data = *bytes;
	if (program_count > PCDATA_INLINED) {
		(void)dwarf_bytes_take(&programs, PCDATA_INLINED * sizeof(uint32_t));
		function->inline_program = dwarf_bytes_u32(&programs);
	}
	/* Before Go 1.18 the data are addresses, which may need relocations. */
	if (table->version == GO_1_16 || data_count <= FUNCDATA_INLINED)
		return;
	(void)dwarf_bytes_take(&data, FUNCDATA_INLINED * sizeof(uint32_t));
	function->inlined = dwarf_bytes_u32(&data);
	bytes->is_short |= programs.is_short || data.is_short;
}

int go_table_function(
	const struct go_table *table, uint32_t index, struct go_function *ret_function)
{
	struct go_function function = { .inlined = GO_NOT_INLINED };
	uint32_t program_count;
	uint8_t data_count;
	bool is_short = false;
	struct dwarf_bytes bytes;
	uint64_t number = (uint64_t)index * 2, start, end;

	start = read_entry(table, number, &is_short);
	end = read_entry(table, number + 2, &is_short);
	bytes = part_from(&table->functions, read_entry(table, number + 1, &is_short));
	if (is_short || start >= end ||
		__builtin_add_overflow(start, table->text, &function.start) ||
		__builtin_add_overflow(end, table->text, &function.end))
		return -ENOEXEC;
	(void)dwarf_bytes_take(&bytes, entry_bytes(table)); /* its start again */
	function.name = dwarf_bytes_u32(&bytes);
	(void)dwarf_bytes_take(&bytes, 2 * sizeof(uint32_t)); /* arguments, deferred returns */
	function.stack_program = dwarf_bytes_u32(&bytes);
	function.file_program = dwarf_bytes_u32(&bytes);
	function.line_program = dwarf_bytes_u32(&bytes);
	program_count = dwarf_bytes_u32(&bytes);
	function.unit = dwarf_bytes_u32(&bytes);
	if (table->version == GO_1_20)
		(void)dwarf_bytes_u32(&bytes); /* the first line */
	(void)dwarf_bytes_take(&bytes, 3);     /* kind, flags, padding */
	data_count = dwarf_bytes_u8(&bytes);
	read_data(table, &bytes, program_count, data_count, &function);
	if (bytes.is_short)
		return -ENOEXEC;
	*ret_function = function;
	return 0;
}

bool go_table_charge(struct go_table *table, uint64_t steps)
{
	if (steps > table->steps_left) {
		table->steps_left = 0;
		return false;
	}
	table->steps_left -= steps;
	return true;
}

static const char *part_string(struct go_table *table, const struct go_part *part, uint64_t offset)
{
	struct dwarf_bytes bytes = part_from(part, offset);
	const uint8_t *start = bytes.position;
	const char *text = dwarf_bytes_string(&bytes);

	/* Searching in vain costs as much as the longest string. */
	return go_table_charge(
		       table, text ? (uint64_t)(bytes.position - start) : DWARF_STRING_BYTES_MAX)
		       ? text
		       : NULL;
}

const char *go_table_name(struct go_table *table, uint32_t name)
{
	return part_string(table, &table->names, name);
}

const char *go_table_file(struct go_table *table, uint32_t unit, uint32_t file)
{
	bool is_short = false;
	uint32_t offset =
		part_u32(&table->units, ((uint64_t)unit + file) * sizeof(uint32_t), &is_short);

	return is_short || offset == ABSENT ? NULL : part_string(table, &table->files, offset);
}

void go_program_init(struct go_program *program, struct go_table *table,
	const struct go_function *function, uint32_t offset)
{
	*program = (struct go_program){
		.table = table,
		.bytes = part_from(&table->programs, offset),
		.address = function->start,
		.end = function->end,
		.value = (uint32_t)-1,
		.quantum = table->quantum,
		.is_first = true,
	};
	/* Offset 0 stands for no program: the values are unknown. */
	if (offset == 0)
		program->address = program->end;
}

/* A number of 32 bits. Longer ones, which many programs could share, would take time without bound.
 */
static uint64_t next_number(struct dwarf_bytes *bytes)
{
	struct dwarf_bytes few = *bytes;
	uint64_t number;

	if (few.end - few.position > NUMBER_BYTES_MAX)
		few.end = few.position + NUMBER_BYTES_MAX;
	number = dwarf_bytes_uleb(&few);
	bytes->position = few.position;
	bytes->is_short |= few.is_short;
	return number;
}

int go_program_next(
	struct go_program *program, uint64_t *ret_start, uint64_t *ret_end, int32_t *ret_value)
{
	uint64_t start = program->address, difference, length;
	uint32_t delta;

	if (start >= program->end)
		return 0;
	if (!go_table_charge(program->table, 1))
		return -ENOEXEC;
	difference = next_number(&program->bytes);
	if (difference == 0 && !program->is_first && !program->bytes.is_short)
		return 0;
	length = next_number(&program->bytes);
	/* A length of 0 would let a program be longer than its code. */
	if (program->bytes.is_short || difference > UINT32_MAX || length > UINT32_MAX ||
		length == 0)
		return -ENOEXEC;
	delta = (uint32_t)(difference >> 1);
	program->value += difference & 1 ? ~delta : delta;
	program->is_first = false;
	length *= program->quantum;
	if (length > program->end - start)
		length = program->end - start;
	program->address = start + length;
	*ret_start = start;
	*ret_end = program->address;
	*ret_value = (int32_t)program->value;
	return 1;
}

size_t go_inlined_bytes(const struct go_table *table)
{
	return table->version == GO_1_20 ? 16 : GO_INLINED_BYTES_MAX;
}

struct go_inlined go_inlined_decode(const struct go_table *table, const uint8_t *bytes)
{
	bool is_long = table->version != GO_1_20;
	struct go_inlined inlined;

	memcpy(&inlined.name, bytes + (is_long ? 12 : 4), sizeof(inlined.name));
	memcpy(&inlined.call, bytes + (is_long ? 16 : 8), sizeof(inlined.call));
	return inlined;
}
