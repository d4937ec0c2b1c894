/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_loop.h"

#include "base/cleanup.h"
#include "dwarf/elf_sections.h"
#include "extract/code_instruction.h"
#include "extract/elf_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* .eh_frame_hdr, as linkers write it (Linux Standard Base 5.0, 10.6.2): the kinds of its numbers,
 * and a sorted table of pairs, relative to its own vaddr: a function's start, and its entry. */
enum { TABLE_AT = 12, PAIR_BYTES = 8, COUNT_AT = 8, KINDS_BYTES = 4 };
static const uint8_t kinds[KINDS_BYTES] = { 1, 0x1b, 0x03, 0x3b };

struct entries {
	const struct elf_memory *memory;
	uint64_t vaddr;
	uint32_t count;
};

static int open_entries(struct entries *entries, const struct elf_memory *memory)
{
	uint8_t found[KINDS_BYTES];
	Elf64_Shdr section;
	int r = elf_sections_find(memory->file, ".eh_frame_hdr", &section);

	if (r < 0)
		return r;
	*entries = (struct entries){ .memory = memory, .vaddr = section.sh_addr };
	r = elf_memory_read(memory, entries->vaddr, found, sizeof(found));
	for (size_t i = 0; r == 0 && i < KINDS_BYTES; i++)
		r = found[i] == kinds[i] ? 0 : -ENODATA;
	return r < 0 ? r
		     : elf_memory_read(memory, entries->vaddr + COUNT_AT, &entries->count,
			       sizeof(entries->count));
}

static int start_of(const struct entries *entries, uint32_t index, uint64_t *ret_start)
{
	int32_t distance;
	int r = elf_memory_read(entries->memory,
		entries->vaddr + TABLE_AT + (uint64_t)index * PAIR_BYTES, &distance,
		sizeof(distance));

	if (r == 0)
		*ret_start = entries->vaddr + (uint64_t)(int64_t)distance;
	return r;
}

/* The function around a vaddr, up to the next one. -ENODATA: there is none. */
static int find_function(
	const struct entries *entries, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	uint32_t low = 0, high = entries->count;
	int r;

	/* `high` is the first that begins behind the vaddr. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t start = 0;

		r = start_of(entries, middle, &start);
		if (r < 0)
			return r;
		if (start > vaddr)
			high = middle;
		else
			low = middle + 1;
	}
	if (high == 0 || high == entries->count)
		return -ENODATA;
	r = start_of(entries, high - 1, ret_start);
	return r < 0 ? r : start_of(entries, high, ret_end);
}

/* Jumps to the start of a function are tail calls. */
static int look_at(
	const struct entries *entries, uint64_t target, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	uint64_t start = 0, end = 0;
	int r = find_function(entries, target, &start, &end);

	if (r < 0 || start == target || end - start > RUNTIME_LOOP_BYTES_MAX)
		return r == -ENODATA || r == -ENOEXEC ? 0 : r;
	*ret_vaddr = start;
	*ret_bytes = end - start;
	return 0;
}

static int find_rest(const struct entries *entries, const uint8_t *code, uint64_t vaddr,
	uint64_t bytes, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	struct code_instruction instruction;
	int r = 0;

	for (uint64_t at = 0; r == 0 && *ret_bytes == 0 && at < bytes; at += instruction.length) {
		uint64_t target;

		if (!code_instruction_decode(code + at, bytes - at, &instruction))
			break;
		target = at + instruction.length + (uint64_t)instruction.target;
		if ((instruction.flow == CODE_FLOW_BRANCH || instruction.flow == CODE_FLOW_JUMP) &&
			target >= bytes)
			r = look_at(entries, vaddr + target, ret_vaddr, ret_bytes);
	}
	return r;
}

/* Of the functions that are called, the longest. */
static int find_callee(const struct entries *entries, const uint8_t *code, uint64_t vaddr,
	uint64_t bytes, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	struct code_instruction instruction;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < bytes; at += instruction.length) {
		uint64_t target, start = 0, end = 0;

		if (!code_instruction_decode(code + at, bytes - at, &instruction))
			break;
		if (instruction.flow != CODE_FLOW_CALL)
			continue;
		target = vaddr + at + instruction.length + (uint64_t)instruction.target;
		r = find_function(entries, target, &start, &end);
		if (r == 0 && start == target && start != vaddr && end - start > *ret_bytes &&
			end - start <= RUNTIME_LOOP_BYTES_MAX) {
			*ret_vaddr = start;
			*ret_bytes = end - start;
		}
		r = r == -ENODATA || r == -ENOEXEC ? 0 : r;
	}
	return r;
}

/* Returns 1, 0 or -errno. */
static int calls_pointer(const struct entries *entries, uint64_t start, uint64_t bytes)
{
	_cleanup_free_ uint8_t *code = malloc(bytes);
	struct code_instruction instruction;
	int r;

	if (!code)
		return -ENOMEM;
	r = elf_memory_read(entries->memory, start, code, bytes);
	for (uint64_t at = 0; r == 0 && at < bytes; at += instruction.length) {
		if (!code_instruction_decode(code + at, bytes - at, &instruction))
			break;
		r = instruction.flow == CODE_FLOW_CALL_INDIRECT;
	}
	return r;
}

/* None if there are several. */
static int find_caller(const struct entries *entries, const uint8_t *code, uint64_t vaddr,
	uint64_t bytes, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	struct code_instruction instruction;
	int r = 0;

	for (uint64_t at = 0; at < bytes; at += instruction.length) {
		uint64_t target, start = 0, end = 0;

		if (!code_instruction_decode(code + at, bytes - at, &instruction))
			break;
		target = vaddr + at + instruction.length + (uint64_t)instruction.target;
		if ((instruction.flow != CODE_FLOW_CALL && instruction.flow != CODE_FLOW_JUMP) ||
			target == *ret_vaddr)
			continue;
		r = find_function(entries, target, &start, &end);
		if (r == 0 && start == target && start != vaddr && end > start &&
			end - start <= RUNTIME_LOOP_BYTES_MAX)
			r = calls_pointer(entries, start, end - start);
		if (r < 0 && r != -ENODATA && r != -ENOEXEC)
			return r;
		if (r <= 0)
			continue;
		if (*ret_bytes > 0) {
			*ret_vaddr = *ret_bytes = 0;
			return 0;
		}
		*ret_vaddr = start;
		*ret_bytes = end - start;
	}
	return 0;
}

typedef int (*search_function)(const struct entries *entries, const uint8_t *code, uint64_t vaddr,
	uint64_t bytes, uint64_t *ret_vaddr, uint64_t *ret_bytes);

static int search(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	search_function function, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	_cleanup_free_ uint8_t *code = NULL;
	struct entries entries;
	int r;

	*ret_vaddr = *ret_bytes = 0;
	if (bytes == 0 || bytes > RUNTIME_LOOP_BYTES_MAX)
		return -ENOTSUP;
	code = malloc(bytes);
	if (!code)
		return -ENOMEM;
	r = elf_memory_read(memory, vaddr, code, bytes);
	if (r < 0)
		return r;
	r = open_entries(&entries, memory);
	if (r == 0 && code_instruction_is_loaded())
		r = function(&entries, code, vaddr, bytes, ret_vaddr, ret_bytes);
	return r == -ENODATA || r == -ENOEXEC ? 0 : r;
}

int runtime_loop_find_rest(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	return search(memory, vaddr, bytes, find_rest, ret_vaddr, ret_bytes);
}

int runtime_loop_find_callee(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t least, uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	int r = search(memory, vaddr, bytes, find_callee, ret_vaddr, ret_bytes);

	if (r == 0 && *ret_bytes < least)
		*ret_vaddr = *ret_bytes = 0;
	return r;
}

int runtime_loop_find_caller(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t *ret_vaddr, uint64_t *ret_bytes)
{
	return search(memory, vaddr, bytes, find_caller, ret_vaddr, ret_bytes);
}

int runtime_loop_measure(const struct elf_memory *memory, uint64_t vaddr, uint64_t *ret_bytes)
{
	struct entries entries;
	uint64_t start = 0, end = 0;
	int r = open_entries(&entries, memory);

	if (r == 0)
		r = find_function(&entries, vaddr, &start, &end);
	if (r == -ENODATA || r == -ENOEXEC || (r == 0 && start != vaddr))
		return -ENOTSUP;
	if (r == 0)
		*ret_bytes = end - start;
	return r;
}
