/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_python.h"

#include "base/runtime_bounds.h"
#include "dwarf/elf_sections.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/runtime_loop.h"
#include "extract/runtime_python_frames.h"
#include "extract/runtime_python_tasks.h"
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
	FREE_THREADED_MORE = 16, /* without the global lock, before both */
};

/* The exported symbols that are used. Py_Version is there from 3.11 on, PyFrame_GetCode() from 3.9
 * on. */
enum symbol {
	SYMBOL_RUNTIME,
	SYMBOL_CODE_TYPE,
	SYMBOL_VERSION,
	SYMBOL_GIL_STATE,
	SYMBOL_FRAME_CODE,
	SYMBOL_LOOP,
	SYMBOLS,
};
static const struct wanted_symbol wanted[SYMBOLS] = {
	[SYMBOL_RUNTIME] = { .name = "_PyRuntime" },
	[SYMBOL_CODE_TYPE] = { .name = "PyCode_Type" },
	[SYMBOL_VERSION] = { .name = "Py_Version" },
	[SYMBOL_GIL_STATE] = { .name = "PyGILState_GetThisThreadState" },
	[SYMBOL_FRAME_CODE] = { .name = "PyFrame_GetCode" },
	[SYMBOL_LOOP] = { .name = "_PyEval_EvalFrameDefault" },
};

struct python {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	char name[SYMBOL_NAME_BYTES];
	struct wanted_symbol symbols[SYMBOLS];
	bool has_section; /* from 3.10 on */
	bool has_lock;
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
	uint64_t type = python->symbols[SYMBOL_CODE_TYPE].vaddr +
			(python->has_lock ? 0 : FREE_THREADED_MORE);
	uint64_t members, size;
	uint16_t positional;
	int r;

	r = elf_memory_read_pointer(&python->memory, type + TYPE_MEMBERS, &members);
	if (r == 0)
		r = find_member(python, members, "co_filename", &runtime->code_file_at);
	if (r == 0)
		r = find_member(python, members, python->minor <= 10 ? "co_name" : "co_qualname",
			&runtime->code_name_at);
	if (r == 0)
		r = find_member(python, members, "co_firstlineno", &runtime->code_first_line_at);
	if (r == 0)
		r = find_member(python, members, python->has_section ? "co_linetable" : "co_lnotab",
			&runtime->code_lines_at);
	/* Not in 3.7. */
	if (r == 0 && !python->has_section)
		r = find_member(python, members, "co_posonlyargcount", &positional);
	if (r == 0)
		r = elf_memory_read(&python->memory, type + TYPE_BASIC_SIZE, &size, sizeof(size));
	if (r < 0)
		return r;
	if (size > PILOTLIGHT_RUNTIME_AT_MAX)
		return -ENOTSUP;
	/* From 3.11 on, the instructions follow the object. */
	runtime->code_units_at = python->minor <= 10 ? PILOTLIGHT_RUNTIME_NONE : (uint16_t)size;
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

	/* A key's value is another function's result, or not seen if that is jumped to. */
	if (r == 0 && accessor.result.kind != CODE_VALUE_UNKNOWN &&
		accessor.result.kind != CODE_VALUE_RESULT)
		r = runtime_anchor_describe_variable(&anchor, &accessor.result, &python->runtime);
	else if (r == 0)
		r = runtime_anchor_describe_key(
			&anchor, &accessor.argument, KEY_IN_TSS, &python->runtime);
	if (r == 0)
		r = runtime_anchor_find_place(&anchor, python->symbols[SYMBOL_CODE_TYPE].vaddr,
			&python->runtime.code_type_place);
	return r;
}

/* --- The loop --- */

static int describe_loop(struct python *python)
{
	const struct runtime_anchor anchor = { python->files, &python->table };
	struct pilotlight_runtime *runtime = &python->runtime;
	uint64_t vaddr = python->symbols[SYMBOL_LOOP].vaddr, rest, rest_bytes;
	uint64_t bytes = python->symbols[SYMBOL_LOOP].bytes;
	int r;

	if (runtime->group != PILOTLIGHT_RUNTIME_GROUP_CALL)
		return 0;
	r = runtime_loop_find_rest(&python->memory, vaddr, bytes, &rest, &rest_bytes);
	if (r < 0)
		return r;
	runtime->loop_bytes = (uint32_t)bytes;
	runtime->loop_rest_bytes = (uint32_t)rest_bytes;
	r = runtime_anchor_find_place(&anchor, vaddr, &runtime->loop_place);
	if (r == 0 && rest_bytes > 0)
		r = runtime_anchor_find_place(&anchor, rest, &runtime->loop_rest_place);
	return r;
}

/* --- All of it --- */

/* The type of code objects has 416 bytes in 3.8, and 408 in 3.9. */
static int visit_type(void *context, const Elf64_Sym *symbol)
{
	struct python *python = context;
	size_t length;
	int r;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF ||
		(symbol->st_size != 416 && symbol->st_size != 408))
		return 0;
	r = symbol_table_read_name(&python->table, symbol->st_name, python->name, &length);
	if (r == 0 && strcmp(python->name, wanted[SYMBOL_CODE_TYPE].name) == 0)
		python->symbols[SYMBOL_CODE_TYPE].vaddr = symbol->st_value;
	return r;
}

/* To 3.10 it does not tell its version. */
static int read_version(struct python *python)
{
	uint32_t release = 0x03080000;
	int r = 0;

	if (python->has_section)
		release = 0x030a0000;
	else if (python->symbols[SYMBOL_FRAME_CODE].vaddr != 0)
		release = 0x03090000;
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
	int r = symbol_table_find(&python->table, python->symbols, SYMBOLS);

	if (r < 0)
		return r;
	if (python->symbols[SYMBOL_RUNTIME].vaddr == 0 ||
		python->symbols[SYMBOL_CODE_TYPE].vaddr == 0)
		return -ENOTSUP;
	r = read_version(python);
	if (r == 0)
		r = runtime_python_find_lock(&python->memory, python->symbols[SYMBOL_RUNTIME].vaddr,
			python->minor, &python->has_lock);
	if (r == 0)
		r = describe_code(python);
	if (r == 0)
		r = runtime_python_describe_frames(&python->memory,
			python->symbols[SYMBOL_RUNTIME].vaddr, python->minor, &python->runtime);
	if (r == 0)
		r = runtime_python_describe_tasks(&python->files->binary, &python->memory,
			python->symbols[SYMBOL_RUNTIME].vaddr, python->minor, python->has_lock,
			&python->runtime);
	if (r == 0)
		r = describe_loop(python);
	if (r == 0)
		r = describe_anchor(python);
	return r;
}

/* Is there anything of CPython? Returns 0, or -ENODATA. */
static int find_python(struct python *python)
{
	int r = symbol_table_open(&python->table, &python->files->binary, SHT_DYNSYM);

	if (r == 0 && !python->has_section)
		r = symbol_table_each(&python->table, visit_type, python);
	if (python->has_section || r == -ENOMEM)
		return r;
	return python->symbols[SYMBOL_CODE_TYPE].vaddr == 0 ? -ENODATA : 0;
}

int runtime_python_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct python *python;
	Elf64_Shdr section;
	bool is_python;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	r = elf_sections_find(&files->binary, ".PyRuntime", &section);
	if (r < 0 && r != -ENODATA)
		return r;
	python = calloc(1, sizeof(*python));
	if (!python)
		return -ENOMEM;
	python->files = files;
	python->has_section = r == 0;
	python->runtime = runtime_python_common;
	memcpy(python->symbols, wanted, sizeof(wanted));
	r = find_python(python);
	is_python = python->has_section || r == 0;
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
	/* It is there, but what should be beside it is not. */
	return r == -ENODATA && is_python ? -ENOTSUP : r;
}
