/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The build-id and the executable segments of an ELF file, from its headers. The file is hostile
 * (I8): each offset and count is checked, and the bytes read are bounded. A value object.
 */
#pragma once

#include "base/build_id.h"

#include <stdbool.h>
#include <stdint.h>

enum { ELF_IMAGE_SEGMENTS_MAX = 16 };

/* An executable PT_LOAD. */
struct elf_segment {
	uint64_t offset;     /* in the file */
	uint64_t vaddr;	     /* at link time */
	uint64_t file_bytes; /* p_filesz */
};

struct elf_image {
	struct build_id build_id; /* size 0: none, or all zeros */
	uint16_t machine;	  /* EM_… */
	uint16_t type;		  /* ET_… */
	bool has_interpreter;	  /* PT_INTERP: a dynamic program, or libc.so.6 */
	uint8_t segment_count;
	struct elf_segment segments[ELF_IMAGE_SEGMENTS_MAX];
};

/*
 * Reads the headers of `fd`, which is borrowed and keeps its position. Returns 0; -ENOEXEC not ELF
 * or damaged; -EFBIG more program headers or executable segments than linkers make; or another
 * -errno from reading.
 */
int elf_image_read(int fd, struct elf_image *ret_image);

/* The build-id of `fd`; of size 0 if it has none or cannot be read. */
struct build_id elf_image_build_id(int fd);

/*
 * The link-time vaddr of a file offset: offset - p_offset + p_vaddr of its executable PT_LOAD.
 * False: the offset is in no executable segment, so a frame with it is garbage.
 */
bool elf_image_find_vaddr(const struct elf_image *image, uint64_t offset, uint64_t *ret_vaddr);
