/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_image.h"

#include "symbol/elf_file.h"

#include <errno.h>
#include <string.h>

enum {
	PROGRAM_HEADERS_MAX = 256,
	SECTION_HEADERS_MAX = 4096,  /* searched for notes if no segment has the id */
	NOTES_BYTES_MAX = 64 * 1024, /* searched in one file */
	NOTE_HEADER_BYTES = 12,
};

static const char gnu_name[4] = "GNU";

/* `alignment` is a power of two. Sums of a few 32-bit numbers do not overflow. */
static uint64_t align_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

/* Some builds have zeros in place of the hash: equal zeros do not mean equal files. */
static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * Searches the notes at [offset, offset + size) for the build-id, up to `budget` bytes. A damaged
 * note ends the search without an error, because the segments are still useful.
 */
static int read_notes(const struct elf_file *file, uint64_t offset, uint64_t size,
	uint64_t alignment, uint64_t *budget, struct build_id *id)
{
	uint8_t header[NOTE_HEADER_BYTES + sizeof(gnu_name)];
	uint8_t bytes[BUILD_ID_BYTES];
	uint64_t position = 0;

	if (offset > file->size_bytes)
		return 0;
	if (size > file->size_bytes - offset)
		size = file->size_bytes - offset;
	if (size > *budget)
		size = *budget;
	*budget -= size;
	/* Notes are padded to 4 bytes, or to 8 if the section is aligned to 8. */
	alignment = alignment == 8 ? 8 : 4;

	while (position < size && size - position >= sizeof(header)) {
		uint32_t name_bytes, id_bytes, type;
		uint64_t id_position;
		int r;

		r = elf_file_read(file, offset + position, header, sizeof(header));
		if (r < 0)
			return r == -ENOEXEC ? 0 : r;
		name_bytes = elf_file_decode_u32(file, header);
		id_bytes = elf_file_decode_u32(file, header + 4);
		type = elf_file_decode_u32(file, header + 8);
		id_position =
			position + align_up((uint64_t)NOTE_HEADER_BYTES + name_bytes, alignment);
		position = align_up(id_position + id_bytes, alignment);
		/* The last note's padding may be missing. */
		if (id_position > size || id_bytes > size - id_position)
			return 0;
		if (type != NT_GNU_BUILD_ID || name_bytes != sizeof(gnu_name) ||
			memcmp(header + NOTE_HEADER_BYTES, gnu_name, sizeof(gnu_name)) != 0)
			continue;
		if (id_bytes == 0 || id_bytes > BUILD_ID_BYTES)
			continue;
		r = elf_file_read(file, offset + id_position, bytes, id_bytes);
		if (r < 0)
			return r == -ENOEXEC ? 0 : r;
		if (is_zero(bytes, id_bytes))
			continue;
		return build_id_set(id, bytes, id_bytes);
	}
	return 0;
}

static int add_segment(struct elf_image *image, const Elf64_Phdr *phdr)
{
	if (phdr->p_filesz == 0)
		return 0;
	if (phdr->p_offset > UINT64_MAX - phdr->p_filesz ||
		phdr->p_vaddr > UINT64_MAX - phdr->p_filesz)
		return -ENOEXEC;
	if (image->segment_count == ELF_IMAGE_SEGMENTS_MAX)
		return -EFBIG;
	image->segments[image->segment_count++] = (struct elf_segment){
		.offset = phdr->p_offset,
		.vaddr = phdr->p_vaddr,
		.file_bytes = phdr->p_filesz,
	};
	return 0;
}

static int read_segments(const struct elf_file *file, uint64_t *budget, struct elf_image *image)
{
	Elf64_Phdr phdr;
	int r;

	if (file->phdr_count > PROGRAM_HEADERS_MAX)
		return -EFBIG;
	for (uint32_t i = 0; i < file->phdr_count; i++) {
		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type == PT_LOAD && (phdr.p_flags & PF_X))
			r = add_segment(image, &phdr);
		else if (phdr.p_type == PT_INTERP)
			image->has_interpreter = true;
		else if (phdr.p_type == PT_NOTE && image->build_id.size == 0)
			r = read_notes(file, phdr.p_offset, phdr.p_filesz, phdr.p_align, budget,
				&image->build_id);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The segments of a separate debug file describe the binary; only its note section is in the file.
 */
static int read_note_sections(const struct elf_file *file, uint64_t *budget, struct build_id *id)
{
	Elf64_Shdr shdr;
	int r;

	for (uint32_t i = 1; i < file->shdr_count && i < SECTION_HEADERS_MAX; i++) {
		r = elf_file_read_shdr(file, i, &shdr);
		if (r < 0)
			return r;
		if (shdr.sh_type != SHT_NOTE)
			continue;
		r = read_notes(file, shdr.sh_offset, shdr.sh_size, shdr.sh_addralign, budget, id);
		if (r < 0 || id->size > 0)
			return r;
	}
	return 0;
}

int elf_image_read(int fd, struct elf_image *ret_image)
{
	struct elf_image image = { 0 };
	uint64_t budget = NOTES_BYTES_MAX;
	struct elf_file file;
	int r;

	r = elf_file_init(&file, fd);
	if (r < 0)
		return r;
	image.machine = file.machine;
	image.type = file.type;
	r = read_segments(&file, &budget, &image);
	if (r == 0 && image.build_id.size == 0)
		r = read_note_sections(&file, &budget, &image.build_id);
	if (r < 0)
		return r;
	*ret_image = image;
	return 0;
}

struct build_id elf_image_build_id(int fd)
{
	struct elf_image image;

	return elf_image_read(fd, &image) < 0 ? (struct build_id){ .size = 0 } : image.build_id;
}

bool elf_image_find_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		/* add_segment() has checked that no sum wraps. */
		if (offset >= segment->offset && offset - segment->offset < segment->file_bytes) {
			*ret_vaddr = offset - segment->offset + segment->vaddr;
			return true;
		}
	}
	return false;
}
