/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_anchor.h"

#include "base/array.h"
#include "dwarf/elf_sections.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DYNAMIC_MAX = 1024 };

/* The names of C libraries whose layout is known; musl's is "libc.so" if a program was linked by
 * its own compiler wrapper. */
static const struct {
	const char *name;
	enum pilotlight_runtime_libc libc;
} libcs[] = {
	{ "libc.so.6", PILOTLIGHT_RUNTIME_GLIBC },
	{ "libc.musl-x86_64.so.1", PILOTLIGHT_RUNTIME_MUSL },
	{ "libc.so", PILOTLIGHT_RUNTIME_MUSL },
};

/* Returns enum pilotlight_runtime_libc, 0 for another library, or -errno. */
static int libc_of(const struct runtime_anchor *anchor, uint64_t name, char text[SYMBOL_NAME_BYTES])
{
	size_t length;
	int r;

	if (name > UINT32_MAX)
		return -ENOEXEC;
	r = symbol_table_read_name(anchor->symbols, (uint32_t)name, text, &length);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(libcs); i++)
		if (strcmp(text, libcs[i].name) == 0)
			return libcs[i].libc;
	return r;
}

/* Which C library does the program load? Returns enum pilotlight_runtime_libc; -ENOTSUP it is not
 * known; or another -errno. */
static int find_libc(const struct runtime_anchor *anchor)
{
	const struct elf_file *file = &anchor->files->binary;
	_cleanup_free_ char *text = malloc(SYMBOL_NAME_BYTES);
	Elf64_Shdr section;
	Elf64_Dyn entry;
	int r;

	if (!text)
		return -ENOMEM;
	r = elf_sections_find(file, ".dynamic", &section);
	if (r < 0)
		return r == -ENODATA ? -ENOTSUP : r;
	for (uint64_t i = 0; i < section.sh_size / sizeof(entry) && i < DYNAMIC_MAX; i++) {
		r = elf_file_read(
			file, section.sh_offset + i * sizeof(entry), &entry, sizeof(entry));
		if (r == 0 && entry.d_tag == DT_NEEDED)
			r = libc_of(anchor, entry.d_un.d_val, text);
		if (r != 0)
			return r;
		if (entry.d_tag == DT_NULL)
			break;
	}
	return -ENOTSUP;
}

int runtime_anchor_find_place(const struct runtime_anchor *anchor, uint64_t vaddr, __s64 *ret_place)
{
	const struct code_segments *code = &anchor->files->code;
	uint64_t distance = code->segments[0].vaddr - code->segments[0].offset;

	for (size_t i = 1; i < code->count; i++)
		if (code->segments[i].vaddr - code->segments[i].offset != distance)
			return -ENOTSUP;
	*ret_place = (__s64)(vaddr - distance);
	return 0;
}

int runtime_anchor_describe(const struct runtime_anchor *anchor,
	enum pilotlight_runtime_anchor kind, uint64_t vaddr, int64_t offset,
	struct pilotlight_runtime *runtime)
{
	int r = 0;

	runtime->anchor = (uint8_t)kind;
	runtime->anchor_offset = offset;
	if (kind != PILOTLIGHT_RUNTIME_TLS)
		r = runtime_anchor_find_place(anchor, vaddr, &runtime->anchor_place);
	if (r < 0 || kind == PILOTLIGHT_RUNTIME_TLS || kind == PILOTLIGHT_RUNTIME_TLS_SLOT)
		return r;
	r = find_libc(anchor);
	if (r > 0)
		runtime->libc = (uint8_t)r;
	return r < 0 ? r : 0;
}

int runtime_anchor_describe_variable(const struct runtime_anchor *anchor,
	const struct code_value *value, struct pilotlight_runtime *runtime)
{
	switch (value->kind) {
	case CODE_VALUE_THREAD_WORD:
		return runtime_anchor_describe(
			anchor, PILOTLIGHT_RUNTIME_TLS, 0, value->offset, runtime);
	case CODE_VALUE_SLOT_WORD:
		return runtime_anchor_describe(
			anchor, PILOTLIGHT_RUNTIME_TLS_SLOT, value->place, value->offset, runtime);
	case CODE_VALUE_RESULT_WORD:
		return runtime_anchor_describe(
			anchor, PILOTLIGHT_RUNTIME_TLS_INDEX, value->place, value->offset, runtime);
	default:
		return -ENOTSUP;
	}
}

int runtime_anchor_describe_key(const struct runtime_anchor *anchor, const struct code_value *value,
	uint32_t key_at, struct pilotlight_runtime *runtime)
{
	switch (value->kind) {
	case CODE_VALUE_ADDRESS:
		return runtime_anchor_describe(
			anchor, PILOTLIGHT_RUNTIME_KEY, value->place + key_at, 0, runtime);
	case CODE_VALUE_NUMBER:
		return runtime_anchor_describe(
			anchor, PILOTLIGHT_RUNTIME_KEY, value->place, 0, runtime);
	case CODE_VALUE_WORD:
		return runtime_anchor_describe(anchor, PILOTLIGHT_RUNTIME_KEY_BEHIND, value->place,
			value->offset + key_at, runtime);
	case CODE_VALUE_NUMBER_BEHIND:
		return runtime_anchor_describe(anchor, PILOTLIGHT_RUNTIME_KEY_BEHIND, value->place,
			value->offset, runtime);
	default:
		return -ENOTSUP;
	}
}
