/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_plt.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/scratch.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <string.h>

enum {
	STUBS_MAX = 4 * 1024 * 1024,
	RELOCATIONS_MAX = 64 * 1024 * 1024, /* of all sections together */
	CHUNK_BYTES = 24 * 1024,
	LONG_STUB_BYTES = 16,
	SHORT_STUB_BYTES = 8,
};

struct stub {
	uint64_t slot;
	uint64_t start;
	uint32_t symbol; /* 0: unknown */
	uint32_t bytes;
};

struct plt {
	const struct elf_file *file;
	struct scratch_array stubs;
	uint64_t relocation_count; /* examined */
};

/*
 * Decodes a jump through memory, relative to the next instruction: [endbr64] [bnd] jmp
 * *slot(%rip). Returns its length with the prefixes; 0: another instruction.
 */
static size_t decode_jump(const uint8_t *code, size_t size, int32_t *ret_distance)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t jump[] = { 0xff, 0x25 };
	size_t position = 0;
	uint32_t distance;

	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		position = sizeof(endbr64);
	if (position < size && code[position] == 0xf2)
		position++;
	if (size - position < sizeof(jump) + sizeof(distance) ||
		memcmp(code + position, jump, sizeof(jump)) != 0)
		return 0;
	code += position + sizeof(jump);
	distance = code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
		   (uint32_t)code[3] << 24;
	*ret_distance = (int32_t)distance;
	return position + sizeof(jump) + sizeof(distance);
}

/* `stride` is the distance of stubs that do not begin with endbr64. */
static int decode_chunk(
	struct plt *plt, const uint8_t *code, size_t size, uint64_t vaddr, size_t stride)
{
	size_t step;
	int r;

	for (size_t at = 0; at < size; at += step) {
		int32_t distance;
		size_t length = decode_jump(code + at, size - at, &distance);

		/* A jump with endbr64 does not fit in a short stub. */
		step = length > SHORT_STUB_BYTES ? LONG_STUB_BYTES : stride;
		if (step > size - at)
			step = size - at;
		if (length == 0)
			continue;
		const struct stub stub = {
			.slot = vaddr + at + length + (uint64_t)(int64_t)distance,
			.start = vaddr + at,
			.bytes = (uint32_t)step,
		};
		if (plt->stubs.count == STUBS_MAX)
			return -ENOEXEC;
		r = scratch_array_append(&plt->stubs, &stub, sizeof(stub));
		if (r < 0)
			return r;
	}
	return 0;
}

/* GNU's linkers give the distance of stubs; for others it is guessed. */
static int decode_section(struct plt *plt, const Elf64_Shdr *section, size_t usual_stride)
{
	size_t stride =
		section->sh_entsize == LONG_STUB_BYTES || section->sh_entsize == SHORT_STUB_BYTES
			? section->sh_entsize
			: usual_stride;
	uint8_t chunk[CHUNK_BYTES];
	uint64_t size = section->sh_size;
	int r;

	if (section->sh_addr > UINT64_MAX - size)
		return -ENOEXEC;
	for (uint64_t at = 0; at < size;) {
		size_t piece = size - at < sizeof(chunk) ? size - at : sizeof(chunk);

		r = elf_file_read(plt->file, section->sh_offset + at, chunk, piece);
		if (r == 0)
			r = decode_chunk(plt, chunk, piece, section->sh_addr + at, stride);
		if (r < 0)
			return r;
		at += piece;
	}
	return 0;
}

static int find_stubs(struct plt *plt)
{
	static const struct {
		const char *name;
		size_t usual_stride;
	} sections[] = {
		{ ".plt", LONG_STUB_BYTES },
		{ ".plt.sec", LONG_STUB_BYTES },
		{ ".plt.got", SHORT_STUB_BYTES },
	};
	Elf64_Shdr section;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		r = elf_sections_find(plt->file, sections[i].name, &section);
		if (r == 0)
			r = decode_section(plt, &section, sections[i].usual_stride);
		if (r < 0 && r != -ENODATA)
			return r;
	}
	return 0;
}

static uint64_t slot_key(const void *item)
{
	return ((const struct stub *)item)->slot;
}

/* Returns the first stub of that slot; NULL: none. */
static struct stub *find_slot(const struct plt *plt, uint64_t slot)
{
	struct stub *stubs = plt->stubs.items;
	size_t first = 0, end = plt->stubs.count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (stubs[middle].slot < slot)
			first = middle + 1;
		else
			end = middle;
	}
	return first < plt->stubs.count && stubs[first].slot == slot ? &stubs[first] : NULL;
}

static void bind_slot(const struct plt *plt, const uint8_t *relocation)
{
	const struct elf_file *file = plt->file;
	size_t word = elf_file_word_bytes(file);
	uint64_t info = elf_file_decode_word(file, relocation + word);
	uint32_t type = (uint32_t)(file->is_64 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info));
	uint32_t symbol = (uint32_t)(file->is_64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info));
	struct stub *stub;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbol == 0)
		return;
	stub = find_slot(plt, elf_file_decode_word(file, relocation));
	if (stub && stub->symbol == 0)
		stub->symbol = symbol;
}

static int read_relocations(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct plt *plt = context;
	size_t bytes = 3 * elf_file_word_bytes(plt->file);
	uint64_t count = section->sh_size / bytes;
	uint8_t chunk[CHUNK_BYTES];
	int r;

	(void)index;
	(void)name;
	if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC))
		return 0;
	if (section->sh_entsize != bytes || count > RELOCATIONS_MAX - plt->relocation_count)
		return -ENOEXEC;
	plt->relocation_count += count;
	for (uint64_t first = 0; first < count;) {
		uint64_t piece = sizeof(chunk) / bytes;

		if (piece > count - first)
			piece = count - first;
		r = elf_file_read(
			plt->file, section->sh_offset + first * bytes, chunk, piece * bytes);
		if (r < 0)
			return r;
		for (uint64_t i = 0; i < piece; i++)
			bind_slot(plt, chunk + i * bytes);
		first += piece;
	}
	return 0;
}

static int visit_stubs(const struct plt *plt,
	int (*visit)(void *context, uint64_t start, uint64_t end, uint32_t symbol), void *context)
{
	const struct stub *stubs = plt->stubs.items;
	uint32_t symbol = 0;
	int r;

	for (size_t i = 0; i < plt->stubs.count; i++) {
		/* Of several stubs of one slot, only the first has the symbol. */
		if (i == 0 || stubs[i].slot != stubs[i - 1].slot)
			symbol = stubs[i].symbol;
		if (symbol == 0)
			continue;
		r = visit(context, stubs[i].start, stubs[i].start + stubs[i].bytes, symbol);
		if (r < 0)
			return r;
	}
	return 0;
}

static void plt_done(struct plt *plt)
{
	scratch_array_done(&plt->stubs);
}

int elf_plt_each(const struct elf_file *file, struct scratch *scratch,
	int (*visit)(void *context, uint64_t start, uint64_t end, uint32_t symbol), void *context)
{
	static const scratch_sort_key keys[] = { slot_key };
	_cleanup_(plt_done) struct plt plt = { .file = file };
	int r;

	if (file->machine != EM_X86_64)
		return 0;
	r = scratch_array_init(&plt.stubs, scratch, sizeof(struct stub), STUBS_MAX);
	if (r == 0)
		r = find_stubs(&plt);
	if (r < 0 || plt.stubs.count == 0)
		return r;
	r = scratch_sort(&plt.stubs, keys, ARRAY_SIZE(keys));
	if (r == 0)
		r = elf_sections_each(file, read_relocations, &plt);
	return r < 0 ? r : visit_stubs(&plt, visit, context);
}
