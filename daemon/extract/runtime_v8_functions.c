/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_v8_functions.h"

#include "extract/code_accessor.h"
#include "extract/code_segments.h"
#include "extract/elf_memory.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>

enum accessor { PLACE, BYTES, ACCESSORS };

static int read_accessor(const struct elf_memory *memory, const struct wanted_symbol *function,
	struct code_value *ret_value)
{
	uint8_t code[CODE_ACCESSOR_BYTES_MAX];
	uint64_t bytes = function->bytes < sizeof(code) ? function->bytes : sizeof(code);
	struct code_accessor accessor;
	int r;

	if (function->vaddr == 0 || bytes == 0)
		return -ENOTSUP;
	r = elf_memory_read(memory, function->vaddr, code, bytes);
	if (r < 0)
		return r;
	code_accessor_read(code, bytes, function->vaddr, &accessor);
	*ret_value = accessor.result;
	return 0;
}

/* In V8 10.2 a variable has the place, later it is the address of what is there. */
static int read_place(
	const struct elf_memory *memory, const struct code_value *value, uint64_t *ret_vaddr)
{
	if (value->offset != 0)
		return -ENOTSUP;
	if (value->kind == CODE_VALUE_WORD)
		return elf_memory_read_pointer(memory, value->place, ret_vaddr);
	*ret_vaddr = value->place;
	return value->kind == CODE_VALUE_ADDRESS ? 0 : -ENOTSUP;
}

static int find(const struct elf_memory *memory, const struct wanted_symbol functions[ACCESSORS],
	uint64_t *ret_vaddr, int32_t *ret_bytes)
{
	struct code_value place, bytes;
	int r = read_accessor(memory, &functions[PLACE], &place);

	if (r == 0)
		r = read_accessor(memory, &functions[BYTES], &bytes);
	if (r == 0)
		r = read_place(memory, &place, ret_vaddr);
	if (r == 0 && bytes.kind != CODE_VALUE_NUMBER)
		r = -ENOTSUP;
	if (r == 0)
		r = elf_memory_read(memory, bytes.place, ret_bytes, sizeof(*ret_bytes));
	return r;
}

int runtime_v8_functions_find(const struct unwind_files *files, const struct symbol_table *table,
	struct scratch *scratch, uint64_t *ret_vaddr, int32_t *ret_bytes)
{
	struct wanted_symbol functions[ACCESSORS] = {
		[PLACE] = { .name = "_ZN2v88internal23DefaultEmbeddedBlobCodeEv" },
		[BYTES] = { .name = "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv" },
	};
	struct elf_memory memory = { 0 };
	uint64_t vaddr = 0;
	int32_t bytes = 0;
	int r = symbol_table_find(table, functions, ACCESSORS);

	if (r == 0)
		r = elf_memory_open(&memory, &files->binary, scratch);
	if (r == 0)
		r = find(&memory, functions, &vaddr, &bytes);
	elf_memory_done(&memory);
	if (r == -ENODATA || (r == 0 && (bytes <= 0 || !code_segments_hold(&files->code, vaddr,
							       vaddr + (uint64_t)bytes))))
		return -ENOTSUP;
	if (r < 0)
		return r;
	*ret_vaddr = vaddr;
	*ret_bytes = bytes;
	return 0;
}
