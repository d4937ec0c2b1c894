/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_sections.h"

#include "base/array.h"
#include "dwarf/elf_inflate.h"

#include <assert.h>
#include <byteswap.h>
#include <errno.h>
#include <string.h>

enum {
	CONTENTS_ALIGNMENT = 16,
	COPY_BYTES = 1024 * 1024,
	OLD_HEADER_BYTES = 12,		   /* "ZLIB" and the size as 64 bits, big-endian */
	HEADER_BYTES = sizeof(Elf64_Ehdr), /* of the narrow class too */
};

struct unpacking {
	const struct elf_file *file;
	struct scratch_array *unpacked;
	size_t names; /* where the sections' names are in the unpacked file */
	size_t names_bytes;
};

/* Does it say what we look for, after ".debug_" or ".zdebug_"? */
static bool is_wanted(const char *name)
{
	static const char *const wanted[] = { "info", "types", "abbrev", "line", "str", "line_str",
		"str_offsets", "addr", "ranges", "rnglists", "cu_index", "tu_index" };
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".dwo") == 0)
		length -= 4;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strlen(wanted[i]) == length && memcmp(wanted[i], name, length) == 0)
			return true;
	return false;
}

static bool is_old_style(const char *name)
{
	return strncmp(name, ".zdebug_", strlen(".zdebug_")) == 0;
}

static const char *skip_prefix(const char *name)
{
	if (is_old_style(name))
		return name + strlen(".zdebug_");
	return strncmp(name, ".debug_", strlen(".debug_")) == 0 ? name + strlen(".debug_") : NULL;
}

static int match_compressed(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	(void)context;
	(void)index;
	if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL || !skip_prefix(name))
		return 0;
	return is_old_style(name) || (section->sh_flags & SHF_COMPRESSED);
}

bool elf_sections_are_compressed(const struct elf_file *file)
{
	return elf_sections_each(file, match_compressed, NULL) == 1;
}

static void put_u32(const struct unpacking *unpacking, uint64_t position, uint32_t value)
{
	if (unpacking->file->is_swapped)
		value = bswap_32(value);
	memcpy((uint8_t *)unpacking->unpacked->items + position, &value, sizeof(value));
}

static void put_word(const struct unpacking *unpacking, uint64_t position, uint64_t value)
{
	if (!unpacking->file->is_64) {
		put_u32(unpacking, position, (uint32_t)value);
		return;
	}
	if (unpacking->file->is_swapped)
		value = bswap_64(value);
	memcpy((uint8_t *)unpacking->unpacked->items + position, &value, sizeof(value));
}

static size_t shdr_bytes(const struct elf_file *file)
{
	return file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static int append_copy(struct unpacking *unpacking, uint64_t offset, uint64_t size)
{
	struct scratch_array *unpacked = unpacking->unpacked;
	int r;

	while (size > 0) {
		size_t piece = size < COPY_BYTES ? size : COPY_BYTES;

		r = scratch_array_reserve(unpacked, unpacked->count + piece);
		if (r == 0)
			r = elf_file_read(unpacking->file, offset,
				(uint8_t *)unpacked->items + unpacked->count, piece);
		if (r < 0)
			return r;
		unpacked->count += piece;
		offset += piece;
		size -= piece;
	}
	return 0;
}

/* The compression header of an ELF file of today. */
static int append_compressed(
	struct unpacking *unpacking, const Elf64_Shdr *section, uint64_t *ret_alignment)
{
	const struct elf_file *file = unpacking->file;
	uint64_t unpacked_bytes, alignment;
	uint8_t header[sizeof(Elf64_Chdr)];
	size_t header_bytes = file->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	int r;

	if (section->sh_size < header_bytes)
		return -ENOEXEC;
	r = elf_file_read(file, section->sh_offset, header, header_bytes);
	if (r < 0)
		return r;
	if (elf_file_decode_u32(file, header) != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	unpacked_bytes =
		elf_file_decode_word(file, header + (file->is_64 ? offsetof(Elf64_Chdr, ch_size)
								 : offsetof(Elf32_Chdr, ch_size)));
	alignment = elf_file_decode_word(
		file, header + (file->is_64 ? offsetof(Elf64_Chdr, ch_addralign)
					    : offsetof(Elf32_Chdr, ch_addralign)));
	r = elf_inflate(file, section->sh_offset + header_bytes, section->sh_size - header_bytes,
		unpacked_bytes, unpacking->unpacked);
	if (r < 0)
		return r;
	*ret_alignment = alignment;
	return 0;
}

static int append_old_style(struct unpacking *unpacking, const Elf64_Shdr *section)
{
	uint8_t header[OLD_HEADER_BYTES];
	uint64_t unpacked_bytes = 0;
	int r;

	if (section->sh_size < sizeof(header))
		return -ENOEXEC;
	r = elf_file_read(unpacking->file, section->sh_offset, header, sizeof(header));
	if (r < 0)
		return r;
	if (memcmp(header, "ZLIB", 4) != 0)
		return -ENOEXEC;
	for (size_t i = 4; i < sizeof(header); i++)
		unpacked_bytes = unpacked_bytes << 8 | header[i];
	return elf_inflate(unpacking->file, section->sh_offset + sizeof(header),
		section->sh_size - sizeof(header), unpacked_bytes, unpacking->unpacked);
}

static int align_contents(struct scratch_array *unpacked)
{
	size_t aligned = (unpacked->count + CONTENTS_ALIGNMENT - 1) / CONTENTS_ALIGNMENT *
			 CONTENTS_ALIGNMENT;
	int r;

	r = scratch_array_reserve(unpacked, aligned);
	if (r < 0)
		return r;
	unpacked->count = aligned;
	return 0;
}

/* Appends the contents that the section is to have, and says in `shdr` where and what they are. */
static int append_contents(
	struct unpacking *unpacking, const Elf64_Shdr *section, const char *name, Elf64_Shdr *shdr)
{
	struct scratch_array *unpacked = unpacking->unpacked;
	uint64_t start;
	int r;

	if (section->sh_offset > unpacking->file->size_bytes ||
		section->sh_size > unpacking->file->size_bytes - section->sh_offset)
		return -ENOEXEC;
	r = align_contents(unpacked);
	if (r < 0)
		return r;
	start = unpacked->count;
	if (skip_prefix(name) && (section->sh_flags & SHF_COMPRESSED))
		r = append_compressed(unpacking, section, &shdr->sh_addralign);
	else if (is_old_style(name))
		r = append_old_style(unpacking, section);
	else
		r = append_copy(unpacking, section->sh_offset, section->sh_size);
	if (r < 0)
		return r;
	shdr->sh_offset = start;
	shdr->sh_size = unpacked->count - start;
	/* Nobody reads beyond what we align to, and libelf wants a power of two. */
	if (shdr->sh_addralign > CONTENTS_ALIGNMENT ||
		(shdr->sh_addralign & (shdr->sh_addralign - 1)) != 0)
		shdr->sh_addralign = 1;
	return 0;
}

static bool has_contents(const Elf64_Shdr *section, const char *name)
{
	const char *debug = skip_prefix(name);

	switch (section->sh_type) {
	case SHT_NULL:
	case SHT_NOBITS:
		return false;
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
		return !debug || is_wanted(debug);
	default:
		return debug && is_wanted(debug);
	}
}

/* The fields of both classes are in one order. */
static void put_shdr(const struct unpacking *unpacking, uint64_t position, const Elf64_Shdr *shdr)
{
	size_t word = elf_file_word_bytes(unpacking->file);

	put_u32(unpacking, position, shdr->sh_name);
	put_u32(unpacking, position + 4, shdr->sh_type);
	put_word(unpacking, position + 8, shdr->sh_flags);
	put_word(unpacking, position + 8 + word, shdr->sh_addr);
	put_word(unpacking, position + 8 + 2 * word, shdr->sh_offset);
	put_word(unpacking, position + 8 + 3 * word, shdr->sh_size);
	put_u32(unpacking, position + 8 + 4 * word, shdr->sh_link);
	put_u32(unpacking, position + 12 + 4 * word, shdr->sh_info);
	put_word(unpacking, position + 16 + 4 * word, shdr->sh_addralign);
	put_word(unpacking, position + 16 + 5 * word, shdr->sh_entsize);
}

static int unpack_section(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct unpacking *unpacking = context;
	const struct elf_file *file = unpacking->file;
	bool is_names = index == file->names_section;
	Elf64_Shdr shdr = *section;
	int r = 0;

	shdr.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	/* The names are what they are, whatever their own name and flags may say. */
	if (is_names)
		r = append_contents(unpacking, section, "", &shdr);
	else if (has_contents(section, name))
		r = append_contents(unpacking, section, name, &shdr);
	else if (shdr.sh_type != SHT_NULL)
		shdr.sh_type = SHT_NOBITS;
	if (r < 0)
		return r;
	if (!file->is_64 && unpacking->unpacked->count > UINT32_MAX)
		return -EFBIG;
	if (is_names) {
		unpacking->names = shdr.sh_offset;
		unpacking->names_bytes = shdr.sh_size;
	}
	/* ".zdebug_info" without its first letter, see rename_section(). */
	if (is_old_style(name))
		shdr.sh_name++;
	put_shdr(unpacking, HEADER_BYTES + (uint64_t)index * shdr_bytes(file), &shdr);
	return 0;
}

static int rename_section(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct unpacking *unpacking = context;
	uint8_t *names = (uint8_t *)unpacking->unpacked->items + unpacking->names;

	(void)index;
	if (is_old_style(name) && section->sh_name + 1ULL < unpacking->names_bytes)
		names[section->sh_name + 1ULL] = '.';
	return 0;
}

/* The header as it was, without program headers. */
static int put_header(struct unpacking *unpacking)
{
	const struct elf_file *file = unpacking->file;
	uint8_t *header = unpacking->unpacked->items;
	size_t word = elf_file_word_bytes(file);
	size_t count_position =
		file->is_64 ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum);
	int r;

	r = elf_file_read(file, 0, header, file->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	if (r < 0)
		return r;
	put_word(unpacking, offsetof(Elf64_Ehdr, e_entry) + word, 0);
	put_word(unpacking, offsetof(Elf64_Ehdr, e_entry) + 2 * word, HEADER_BYTES);
	memset(header + count_position, 0, sizeof(uint16_t));
	/* The first section is none, but large counts are kept there. */
	return elf_file_read(file, file->shdr_offset, header + HEADER_BYTES, shdr_bytes(file));
}

int elf_sections_unpack(const struct elf_file *file, struct scratch_array *unpacked)
{
	struct unpacking unpacking = { .file = file, .unpacked = unpacked };
	size_t headers_bytes = HEADER_BYTES + file->shdr_count * shdr_bytes(file);
	int r;

	assert(unpacked->item_bytes == 1 && unpacked->count == 0);
	if (file->shdr_count == 0 || file->shdr_count > ELF_SECTIONS_MAX)
		return -ENOEXEC;
	r = scratch_array_reserve(unpacked, headers_bytes);
	if (r < 0)
		return r;
	unpacked->count = headers_bytes;
	r = put_header(&unpacking);
	if (r == 0)
		r = elf_sections_each(file, unpack_section, &unpacking);
	if (r == 0)
		r = elf_sections_each(file, rename_section, &unpacking);
	return r;
}
