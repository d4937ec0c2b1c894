/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_python.h"

#include "base/runtime_bounds.h"
#include "dwarf/elf_sections.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/runtime_python_frames.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEMBERS_MAX = 64,
	KEY_IN_TSS = 4, /* of a Py_tss_t */
	/* In a PyTypeObject. */
	TYPE_BASIC_SIZE = 32,
	TYPE_MEMBERS = 240,
};

/* The exported symbols that are used. Py_Version is there from 3.11 on. */
enum symbol {
	SYMBOL_RUNTIME,
	SYMBOL_CODE_TYPE,
	SYMBOL_VERSION,
	SYMBOL_GIL_STATE,
	SYMBOLS,
};
static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_RUNTIME] = "_PyRuntime",
	[SYMBOL_CODE_TYPE] = "PyCode_Type",
	[SYMBOL_VERSION] = "Py_Version",
	[SYMBOL_GIL_STATE] = "PyGILState_GetThisThreadState",
};

struct python {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	char name[SYMBOL_NAME_BYTES];
	struct {
		uint64_t vaddr, bytes; /* vaddr 0: there is none */
	} symbols[SYMBOLS];
	uint32_t minor;
	struct pilotlight_runtime runtime;
};

/* --- The type of code objects --- */

static int find_member(
	const struct python *python, uint64_t members, const char *name, uint16_t *ret_at)
{
	/* A PyMemberDef has the name, and the offset at 16. */
	enum { MEMBER_BYTES = 40, MEMBER_OFFSET = 16 };
	uint64_t text, offset;
	int r;

	for (uint64_t i = 0; i < MEMBERS_MAX; i++) {
		uint64_t member = members + i * MEMBER_BYTES;

		r = elf_memory_read_pointer(&python->memory, member, &text);
		if (r < 0)
			return r;
		if (text == 0)
			break;
		if (!elf_memory_has_text(&python->memory, text, name))
			continue;
		r = elf_memory_read(
			&python->memory, member + MEMBER_OFFSET, &offset, sizeof(offset));
		if (r < 0)
			return r;
		if (offset > PILOTLIGHT_RUNTIME_AT_MAX)
			break;
		*ret_at = (uint16_t)offset;
		return 0;
	}
	return -ENOTSUP;
}

static int describe_code(struct python *python)
{
	struct pilotlight_runtime *runtime = &python->runtime;
	uint64_t type = python->symbols[SYMBOL_CODE_TYPE].vaddr, members, size;
	bool is_3_10 = python->minor == 10;
	int r;

	r = elf_memory_read_pointer(&python->memory, type + TYPE_MEMBERS, &members);
	if (r == 0)
		r = find_member(python, members, "co_filename", &runtime->code_file_at);
	if (r == 0)
		r = find_member(python, members, is_3_10 ? "co_name" : "co_qualname",
			&runtime->code_name_at);
	if (r == 0)
		r = find_member(python, members, "co_firstlineno", &runtime->code_first_line_at);
	if (r == 0)
		r = find_member(python, members, "co_linetable", &runtime->code_lines_at);
	if (r == 0)
		r = elf_memory_read(&python->memory, type + TYPE_BASIC_SIZE, &size, sizeof(size));
	if (r < 0)
		return r;
	if (size > PILOTLIGHT_RUNTIME_AT_MAX)
		return -ENOTSUP;
	/* From 3.11 on, the instructions follow the object. */
	runtime->code_units_at = is_3_10 ? PILOTLIGHT_RUNTIME_NONE : (uint16_t)size;
	return 0;
}

/* --- The anchor --- */

static int read_accessor(const struct python *python, struct code_accessor *ret_accessor)
{
	uint8_t code[CODE_ACCESSOR_BYTES_MAX];
	uint64_t vaddr = python->symbols[SYMBOL_GIL_STATE].vaddr;
	uint64_t bytes = python->symbols[SYMBOL_GIL_STATE].bytes;
	int r;

	if (vaddr == 0 || bytes == 0)
		return -ENOTSUP;
	if (bytes > sizeof(code))
		bytes = sizeof(code);
	r = elf_memory_read(&python->memory, vaddr, code, bytes);
	if (r == 0)
		code_accessor_read(code, bytes, vaddr, ret_accessor);
	return r;
}

/*
 * The state that this function returns is the thread's own, whether the thread has the global lock
 * or not. _PyThreadState_GetCurrent() knows none without. To 3.14 it is the value of a key: the
 * function passes on the Py_tss_t, or the key in it. Then it is a variable of each thread.
 */
static int describe_anchor(struct python *python)
{
	const struct runtime_anchor anchor = { python->files, &python->table };
	struct code_accessor accessor;
	int r = read_accessor(python, &accessor);

	if (r == 0 && accessor.result.kind != CODE_VALUE_UNKNOWN)
		r = runtime_anchor_describe_variable(&anchor, &accessor.result, &python->runtime);
	else if (r == 0)
		r = runtime_anchor_describe_key(
			&anchor, &accessor.argument, KEY_IN_TSS, &python->runtime);
	if (r == 0)
		r = runtime_anchor_find_place(&anchor, python->symbols[SYMBOL_CODE_TYPE].vaddr,
			&python->runtime.code_type_place);
	return r;
}

/* --- All of it --- */

static int visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct python *python = context;
	size_t length;
	int r;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return 0;
	r = symbol_table_read_name(&python->table, symbol->st_name, python->name, &length);
	if (r < 0)
		return r;
	for (size_t i = 0; i < SYMBOLS; i++)
		if (strcmp(python->name, symbol_names[i]) == 0) {
			python->symbols[i].vaddr = symbol->st_value;
			python->symbols[i].bytes = symbol->st_size;
		}
	return 0;
}

/* 3.10 does not tell its version, but it is the only one that has the section and does not. */
static int read_version(struct python *python)
{
	uint32_t release = 0x030a0000;
	int r = 0;

	if (python->symbols[SYMBOL_VERSION].vaddr != 0)
		r = elf_memory_read(&python->memory, python->symbols[SYMBOL_VERSION].vaddr,
			&release, sizeof(release));
	if (r < 0)
		return r;
	if (release >> 24 != 3)
		return -ENOTSUP;
	python->minor = release >> 16 & 0xff;
	python->runtime.release = release;
	return 0;
}

static int describe(struct python *python)
{
	int r = symbol_table_each(&python->table, visit_symbol, python);

	if (r < 0)
		return r;
	if (python->symbols[SYMBOL_RUNTIME].vaddr == 0 ||
		python->symbols[SYMBOL_CODE_TYPE].vaddr == 0)
		return -ENOTSUP;
	r = read_version(python);
	if (r == 0)
		r = describe_code(python);
	if (r == 0)
		r = runtime_python_describe_frames(&python->memory,
			python->symbols[SYMBOL_RUNTIME].vaddr, python->minor, &python->runtime);
	if (r == 0)
		r = describe_anchor(python);
	return r;
}

int runtime_python_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct python *python;
	Elf64_Shdr section;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	r = elf_sections_find(&files->binary, ".PyRuntime", &section);
	if (r < 0)
		return r;
	python = calloc(1, sizeof(*python));
	if (!python)
		return -ENOMEM;
	python->files = files;
	python->runtime = runtime_python_common;
	r = symbol_table_open(&python->table, &files->binary, SHT_DYNSYM);
	if (r == 0)
		r = elf_memory_open(&python->memory, &files->binary, scratch);
	if (r == 0)
		r = describe(python);
	if (r == 0 && !runtime_bounds_hold(&python->runtime))
		r = -ENOTSUP;
	if (r == 0)
		*ret_runtime = python->runtime;
	elf_memory_done(&python->memory);
	symbol_table_close(&python->table);
	free(python);
	/* The section is there, but what should be beside it is not. */
	return r == -ENODATA ? -ENOTSUP : r;
}
