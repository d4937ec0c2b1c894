/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_stubs.h"

#include "base/array.h"
#include "dwarf/cfi_program.h"
#include "dwarf/elf_sections.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	HEAD_BYTES = 40, /* as much of a section as is looked at */
	X86_64_STUB_BYTES = 16,
	X86_64_PUSH_BYTES = 6,
	AARCH64_HEADER_BYTES = 32,
	INSTRUCTION_BYTES = 4, /* of aarch64 */
};

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* The current section: its place, and its first bytes; zeros beyond its end. */
struct section {
	const struct unwind_files *files;
	Elf64_Shdr header;
	uint8_t head[HEAD_BYTES];
};

void unwind_stubs_insert(struct unwind_stubs *stubs, const struct unwind_stub *stub)
{
	size_t i;

	assert(stubs->count < UNWIND_STUBS_MAX);
	for (i = stubs->count++; i > 0 && stubs->stubs[i - 1].start > stub->start; i--)
		stubs->stubs[i] = stubs->stubs[i - 1];
	stubs->stubs[i] = *stub;
}

/* Adds a stub from `start` to `end` of the section, without the parts that are not code. */
static void add(struct unwind_stubs *stubs, const struct section *section, uint64_t start,
	uint64_t end, const struct pilotlight_unwind_rule *rule)
{
	struct unwind_stub stub = { .rule = *rule };
	uint32_t bytes;

	if (end > section->header.sh_size)
		end = section->header.sh_size;
	if (start >= end || !unwind_files_find_offset(section->files,
				    section->header.sh_addr + start, &stub.start, &bytes))
		return;
	if (bytes > end - start)
		bytes = (uint32_t)(end - start);
	stub.end = stub.start + bytes;
	unwind_stubs_insert(stubs, &stub);
}

static struct pilotlight_unwind_rule x86_64_rule(int32_t offset)
{
	return (struct pilotlight_unwind_rule){
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = cfi_registers_x86_64.numbers[CFI_STACK_POINTER],
		.offset = offset,
	};
}

/* Returns the offset in a stub from which its index is on the stack; 0: it does not push one. */
static int32_t pushed_from(const uint8_t *stub)
{
	const uint8_t push = 0x68;

	if (stub[0] == 0xff && stub[1] == 0x25 && stub[6] == push)
		return 11;
	if (memcmp(stub, endbr64, sizeof(endbr64)) == 0 && stub[4] == push)
		return 9;
	return 0;
}

/*
 * Lazy stubs push their index and jump to the first stub, which begins with the index on the
 * stack.
 */
static void add_x86_64_lazy(struct unwind_stubs *stubs, const struct section *section)
{
	const uint8_t *head = section->head;
	const struct pilotlight_unwind_rule before = x86_64_rule(2 * WORD_BYTES),
					    behind = x86_64_rule(3 * WORD_BYTES);
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_PLT,
		.offset = pushed_from(head + X86_64_STUB_BYTES),
	};

	if (head[0] != 0xff || head[1] != 0x35 || rule.offset == 0)
		return;
	add(stubs, section, 0, X86_64_PUSH_BYTES, &before);
	add(stubs, section, X86_64_PUSH_BYTES, X86_64_STUB_BYTES, &behind);
	add(stubs, section, X86_64_STUB_BYTES, UINT64_MAX, &rule);
}

/* Stubs that only jump. */
static void add_x86_64_jumps(struct unwind_stubs *stubs, const struct section *section)
{
	const struct pilotlight_unwind_rule rule = x86_64_rule(WORD_BYTES);
	const uint8_t *head = section->head;

	if (memcmp(head, endbr64, sizeof(endbr64)) == 0)
		head += sizeof(endbr64);
	if (head[0] == 0xf2) /* bnd */
		head++;
	if (head[0] == 0xff && head[1] == 0x25)
		add(stubs, section, 0, UINT64_MAX, &rule);
}

/* Only the first stub has a frame. */
static void add_aarch64(struct unwind_stubs *stubs, const struct section *section)
{
	static const uint8_t landing[] = { 0x5f, 0x24, 0x03, 0xd5 }; /* bti c */
	static const uint8_t store[] = { 0xf0, 0x7b, 0xbf, 0xa9 };   /* stp x16, x30, [sp, #-16]! */
	const struct pilotlight_unwind_rule without = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = cfi_registers_aarch64.numbers[CFI_STACK_POINTER],
	};
	struct pilotlight_unwind_rule with = without;
	size_t at = memcmp(section->head, landing, sizeof(landing)) == 0 ? INSTRUCTION_BYTES : 0;

	if (memcmp(section->head + at, store, sizeof(store)) != 0)
		return;
	with.offset = 2 * WORD_BYTES;
	with.return_address_offset = -WORD_BYTES;
	at += INSTRUCTION_BYTES;
	add(stubs, section, 0, at, &without);
	add(stubs, section, at, AARCH64_HEADER_BYTES, &with);
	add(stubs, section, AARCH64_HEADER_BYTES, UINT64_MAX, &without);
}

static const struct {
	const char *name;
	uint16_t machine;
	void (*add)(struct unwind_stubs *stubs, const struct section *section);
} layouts[] = {
	{ ".plt", EM_X86_64, add_x86_64_lazy },
	{ ".plt.sec", EM_X86_64, add_x86_64_jumps },
	{ ".plt.got", EM_X86_64, add_x86_64_jumps },
	{ ".plt", EM_AARCH64, add_aarch64 },
};

static int find(struct unwind_stubs *stubs, const struct unwind_files *files, size_t layout)
{
	struct section section = { .files = files };
	size_t bytes = sizeof(section.head);
	int r;

	r = elf_sections_find(&files->binary, layouts[layout].name, &section.header);
	if (r < 0)
		return r;
	if (bytes > section.header.sh_size)
		bytes = section.header.sh_size;
	r = elf_file_read(&files->binary, section.header.sh_offset, section.head, bytes);
	if (r == 0)
		layouts[layout].add(stubs, &section);
	return r;
}

int unwind_stubs_find(struct unwind_stubs *ret_stubs, const struct unwind_files *files)
{
	struct unwind_stubs stubs = { .count = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		int r = 0;

		if (layouts[i].machine == files->binary.machine)
			r = find(&stubs, files, i);
		if (r < 0 && r != -ENODATA && r != -ENOEXEC)
			return r;
	}
	*ret_stubs = stubs;
	return 0;
}
