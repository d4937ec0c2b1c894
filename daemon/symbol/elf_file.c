/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_file.h"

#include <byteswap.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint16_t to_u16(const struct elf_file *file, uint16_t value)
{
	return file->is_swapped ? bswap_16(value) : value;
}

static uint32_t to_u32(const struct elf_file *file, uint32_t value)
{
	return file->is_swapped ? bswap_32(value) : value;
}

static uint64_t to_u64(const struct elf_file *file, uint64_t value)
{
	return file->is_swapped ? bswap_64(value) : value;
}

/* A field in host byte order. */
#define HOST(file, field) \
	_Generic((field), uint16_t : to_u16, uint32_t : to_u32, uint64_t : to_u64)(file, field)

uint32_t elf_file_decode_u32(const struct elf_file *file, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return to_u32(file, value);
}

uint64_t elf_file_decode_u64(const struct elf_file *file, const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return to_u64(file, value);
}

uint64_t elf_file_decode_word(const struct elf_file *file, const uint8_t *bytes)
{
	return file->is_64 ? elf_file_decode_u64(file, bytes) : elf_file_decode_u32(file, bytes);
}

size_t elf_file_word_bytes(const struct elf_file *file)
{
	return file->is_64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

/*
 * A user's own file system may return any error. Errors by which callers conclude something about
 * more than this file become -EIO.
 */
static int reading_error(int error)
{
	switch (error) {
	case ENOMEM:
	case E2BIG:
	case EFBIG:
	case ENOSPC:
	case EDQUOT:
		return -EIO;
	default:
		return -error;
	}
}

int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size)
{
	uint8_t *position = bytes;

	if (offset > file->size_bytes || size > file->size_bytes - offset)
		return -ENOEXEC;
	if (file->memory) {
		memcpy(bytes, file->memory + offset, size);
		return 0;
	}
	while (size > 0) {
		ssize_t n = pread(file->fd, position, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reading_error(errno);
		if (n == 0)
			return -ENOEXEC;
		position += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

#define HOST_PHDR(file, raw)                            \
	((Elf64_Phdr){                                  \
		.p_type = HOST(file, (raw).p_type),     \
		.p_flags = HOST(file, (raw).p_flags),   \
		.p_offset = HOST(file, (raw).p_offset), \
		.p_vaddr = HOST(file, (raw).p_vaddr),   \
		.p_filesz = HOST(file, (raw).p_filesz), \
		.p_memsz = HOST(file, (raw).p_memsz),   \
		.p_align = HOST(file, (raw).p_align),   \
	})

int elf_file_read_phdr(const struct elf_file *file, uint32_t index, Elf64_Phdr *ret_phdr)
{
	union {
		Elf32_Phdr narrow;
		Elf64_Phdr wide;
	} raw;
	size_t size = file->is_64 ? sizeof(raw.wide) : sizeof(raw.narrow);
	int r;

	r = elf_file_read(file, file->phdr_offset + (uint64_t)index * size, &raw, size);
	if (r < 0)
		return r;
	*ret_phdr = file->is_64 ? HOST_PHDR(file, raw.wide) : HOST_PHDR(file, raw.narrow);
	return 0;
}

#define HOST_SHDR(file, raw)                                    \
	((Elf64_Shdr){                                          \
		.sh_name = HOST(file, (raw).sh_name),           \
		.sh_type = HOST(file, (raw).sh_type),           \
		.sh_flags = HOST(file, (raw).sh_flags),         \
		.sh_addr = HOST(file, (raw).sh_addr),           \
		.sh_offset = HOST(file, (raw).sh_offset),       \
		.sh_size = HOST(file, (raw).sh_size),           \
		.sh_link = HOST(file, (raw).sh_link),           \
		.sh_info = HOST(file, (raw).sh_info),           \
		.sh_addralign = HOST(file, (raw).sh_addralign), \
		.sh_entsize = HOST(file, (raw).sh_entsize),     \
	})

int elf_file_read_shdr(const struct elf_file *file, uint32_t index, Elf64_Shdr *ret_shdr)
{
	union {
		Elf32_Shdr narrow;
		Elf64_Shdr wide;
	} raw;
	size_t size = file->is_64 ? sizeof(raw.wide) : sizeof(raw.narrow);
	int r;

	r = elf_file_read(file, file->shdr_offset + (uint64_t)index * size, &raw, size);
	if (r < 0)
		return r;
	*ret_shdr = file->is_64 ? HOST_SHDR(file, raw.wide) : HOST_SHDR(file, raw.narrow);
	return 0;
}

size_t elf_file_symbol_bytes(const struct elf_file *file)
{
	return file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

Elf64_Sym elf_file_decode_symbol(const struct elf_file *file, const uint8_t *bytes)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (file->is_64) {
		memcpy(&wide, bytes, sizeof(wide));
		wide.st_name = to_u32(file, wide.st_name);
		wide.st_shndx = to_u16(file, wide.st_shndx);
		wide.st_value = to_u64(file, wide.st_value);
		wide.st_size = to_u64(file, wide.st_size);
		return wide;
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return (Elf64_Sym){
		.st_name = to_u32(file, narrow.st_name),
		.st_info = narrow.st_info,
		.st_other = narrow.st_other,
		.st_shndx = to_u16(file, narrow.st_shndx),
		.st_value = to_u32(file, narrow.st_value),
		.st_size = to_u32(file, narrow.st_size),
	};
}

/* The offset of an empty table does not matter. */
static bool is_inside(const struct elf_file *file, uint64_t offset, uint64_t count, size_t size)
{
	return count == 0 ||
	       (offset <= file->size_bytes && count <= (file->size_bytes - offset) / size);
}

static int count_sections(struct elf_file *file, uint16_t shdr_bytes, size_t shdr_size)
{
	Elf64_Shdr first;
	int r;

	if (file->shdr_offset == 0 || shdr_bytes != shdr_size)
		return -ENOEXEC;
	if (file->shdr_count == 0 || file->names_section == SHN_XINDEX) {
		r = elf_file_read_shdr(file, 0, &first);
		if (r < 0)
			return r;
		if (file->names_section == SHN_XINDEX)
			file->names_section = first.sh_link;
		if (file->shdr_count == 0 && first.sh_size > UINT32_MAX)
			return -ENOEXEC;
		if (file->shdr_count == 0)
			file->shdr_count = (uint32_t)first.sh_size;
	}
	return is_inside(file, file->shdr_offset, file->shdr_count, shdr_size) ? 0 : -ENOEXEC;
}

static int check_tables(struct elf_file *file, uint16_t phdr_bytes, uint16_t shdr_bytes)
{
	size_t phdr_size = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	size_t shdr_size = file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	int r;

	if (file->phdr_count > 0 && phdr_bytes != phdr_size)
		return -ENOEXEC;
	if (file->phdr_count != PN_XNUM &&
		!is_inside(file, file->phdr_offset, file->phdr_count, phdr_size))
		return -ENOEXEC;
	/* What runs needs no sections: a table that is damaged is no table. */
	r = count_sections(file, shdr_bytes, shdr_size);
	if (r == -ENOEXEC) {
		file->shdr_count = 0;
		r = 0;
	}
	return r;
}

#define HOST_EHDR(file, raw)                                  \
	((Elf64_Ehdr){                                        \
		.e_type = HOST(file, (raw).e_type),           \
		.e_machine = HOST(file, (raw).e_machine),     \
		.e_phoff = HOST(file, (raw).e_phoff),         \
		.e_shoff = HOST(file, (raw).e_shoff),         \
		.e_phentsize = HOST(file, (raw).e_phentsize), \
		.e_phnum = HOST(file, (raw).e_phnum),         \
		.e_shentsize = HOST(file, (raw).e_shentsize), \
		.e_shnum = HOST(file, (raw).e_shnum),         \
		.e_shstrndx = HOST(file, (raw).e_shstrndx),   \
	})

static int parse_header(struct elf_file *file)
{
	union {
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} raw;
	Elf64_Ehdr header;
	int r;

	r = elf_file_read(file, 0, &raw, file->is_64 ? sizeof(raw.wide) : sizeof(raw.narrow));
	if (r < 0)
		return r;
	header = file->is_64 ? HOST_EHDR(file, raw.wide) : HOST_EHDR(file, raw.narrow);
	file->type = header.e_type;
	file->machine = header.e_machine;
	file->phdr_offset = header.e_phoff;
	file->phdr_count = header.e_phnum;
	file->shdr_offset = header.e_shoff;
	file->shdr_count = header.e_shnum;
	file->names_section = header.e_shstrndx;
	return check_tables(file, header.e_phentsize, header.e_shentsize);
}

/* `file` has a descriptor or memory, and a size. */
static int parse(struct elf_file *file)
{
	const uint8_t host_order = BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	uint8_t ident[EI_NIDENT];
	int r;

	r = elf_file_read(file, 0, ident, sizeof(ident));
	if (r < 0)
		return r;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return -ENOEXEC;
	file->is_64 = ident[EI_CLASS] == ELFCLASS64;
	file->is_swapped = ident[EI_DATA] != host_order;
	return parse_header(file);
}

int elf_file_init(struct elf_file *ret_file, int fd)
{
	struct elf_file file = { .fd = fd };
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0)
		return reading_error(errno);
	/* Reading from a pipe or a device could block. */
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file.size_bytes = (uint64_t)status.st_size;
	r = parse(&file);
	if (r < 0)
		return r;
	*ret_file = file;
	return 0;
}

int elf_file_init_memory(struct elf_file *ret_file, const void *bytes, size_t size)
{
	struct elf_file file = { .fd = -1, .memory = bytes, .size_bytes = size };
	int r;

	r = parse(&file);
	if (r < 0)
		return r;
	*ret_file = file;
	return 0;
}
