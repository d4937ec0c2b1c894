/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_starts.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
	CHUNK_BYTES = 4096,
	ENTRY_BYTES_MAX = 256,		   /* from the entry on; the dynamic linker has some 80 */
	CODE_BYTES_MAX = 16 * 1024 * 1024, /* of a file */
	/* make_fcontext() is longer. Most gaps are shorter: they are padding. */
	GAP_BYTES_MIN = 32,
	JUMP_BYTES = 3,
	START_BYTES_MIN = 11,
	START_BYTES_MAX = 17,
};

/* push %rbp; jmp *%rbx: pushes the return address and goes to the first function */
static const uint8_t jump[JUMP_BYTES] = { 0x55, 0xff, 0xe3 };

/* endbr64: with control-flow enforcement, the first function is to return to it */
static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/*
 * Returns the length of the code that begins with the jump. Behind that, it calls _exit(0), through
 * the procedure linkage table or not, and does not come back: hlt. 0: it is other code.
 */
static size_t start_length(const uint8_t *code, size_t size)
{
	size_t at = JUMP_BYTES;

	if (size < START_BYTES_MIN || memcmp(code, jump, sizeof(jump)) != 0)
		return 0;
	if (memcmp(code + at, landing, sizeof(landing)) == 0)
		at += sizeof(landing);
	if (size - at < START_BYTES_MIN - JUMP_BYTES)
		return 0;
	at += code[at] == 0x48; /* xor %rdi, %rdi; or %edi */
	if (code[at] != 0x31 || code[at + 1] != 0xff)
		return 0;
	at += 2;
	if (code[at] == 0xe8)
		at += 5;
	else if (code[at] == 0xff && code[at + 1] == 0x15)
		at += 6;
	else
		return 0;
	return at < size && code[at] == 0xf4 ? at + 1 : 0;
}

/* Where starts are searched, and what for. */
struct search {
	struct unwind_stubs *stubs;
	const struct elf_file *file;
	uint32_t entry; /* of the program; 0: unknown */
	uint32_t left;	/* bytes that may yet be searched */
};

static void add_root(struct search *search, uint32_t start, uint32_t end)
{
	const struct unwind_stub stub = {
		.start = start, .end = end, .rule.kind = PILOTLIGHT_UNWIND_ROOT
	};

	if (search->stubs->count < UNWIND_STUBS_MAX)
		unwind_stubs_insert(search->stubs, &stub);
}

/* Searches file offsets from `start` to `end`, where no function is described. */
static int search_gap(struct search *search, uint32_t start, uint32_t end)
{
	uint8_t code[CHUNK_BYTES + START_BYTES_MAX];

	if (search->entry >= start && search->entry < end)
		add_root(search, search->entry,
			end - search->entry < ENTRY_BYTES_MAX ? end
							      : search->entry + ENTRY_BYTES_MAX);
	if (start >= end || end - start < GAP_BYTES_MIN)
		return 0;
	while (start < end && end - start >= START_BYTES_MIN && search->left > 0) {
		uint32_t size = end - start < sizeof(code) ? end - start : sizeof(code);
		uint32_t starts = size < CHUNK_BYTES ? size : CHUNK_BYTES;
		int r = elf_file_read(search->file, start, code, size);

		if (r < 0)
			return r;
		for (uint32_t at = 0; at < starts; at++) {
			size_t length = start_length(code + at, size - at);

			/* No call led there: the address before it is looked up. */
			if (length > 0)
				add_root(search, start + at + JUMP_BYTES - 1,
					start + at + (uint32_t)length);
		}
		start += starts;
		search->left -= starts < search->left ? starts : search->left;
	}
	return 0;
}

/* unwind_files_open() accepts only 64-bit files of the host's byte order. */
static int find_entry(const struct unwind_files *files, uint32_t *ret_offset)
{
	uint32_t bytes;
	uint64_t entry;
	int r = elf_file_read(&files->binary, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));

	if (r == 0 && !unwind_files_find_offset(files, entry, ret_offset, &bytes))
		*ret_offset = 0;
	return r;
}

static int search_all(struct search *search, const struct unwind_functions *functions,
	const struct unwind_files *files)
{
	const struct unwind_function *items = functions->functions.items;
	size_t count = functions->functions.count, next = 0;
	int r = 0;

	/* Segments and functions ascend, the former by vaddr and, as linkers make them, by offset.
	 */
	for (size_t i = 0; r == 0 && i < files->code.count; i++) {
		const struct pilotlight_symbol_segment *segment = &files->code.segments[i];
		uint32_t position = (uint32_t)segment->offset;
		uint32_t end = (uint32_t)(segment->offset + segment->file_bytes);

		for (; r == 0 && next < count && items[next].start < end; next++) {
			r = search_gap(search, position, items[next].start);
			if (items[next].end > position)
				position = items[next].end;
		}
		if (r == 0)
			r = search_gap(search, position, end);
	}
	return r;
}

int unwind_starts_add(struct unwind_stubs *stubs, const struct unwind_functions *functions,
	const struct unwind_files *files, bool with_entry)
{
	struct search search = {
		.stubs = stubs,
		.file = &files->binary,
		.left = CODE_BYTES_MAX,
	};
	int r;

	if (files->binary.machine != EM_X86_64)
		return 0;
	r = with_entry ? find_entry(files, &search.entry) : 0;
	if (r == 0)
		r = search_all(&search, functions, files);
	return r == -ENOEXEC ? 0 : r;
}
