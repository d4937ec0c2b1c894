/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_image.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The input is the file. An accepted image keeps the promises of elf_image.h. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_image image;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return 0;
	if (elf_image_read(fd, &image) < 0)
		return 0;
	if (image.build_id.size > BUILD_ID_BYTES || image.segment_count > ELF_IMAGE_SEGMENTS_MAX)
		abort();
	for (size_t i = 0; i < image.segment_count; i++) {
		const struct elf_segment *segment = &image.segments[i];
		uint64_t vaddr;

		if (segment->file_bytes == 0 ||
			!elf_image_find_vaddr(&image, segment->offset, &vaddr) ||
			!elf_image_find_vaddr(
				&image, segment->offset + segment->file_bytes - 1, &vaddr))
			abort();
	}
	return 0;
}
