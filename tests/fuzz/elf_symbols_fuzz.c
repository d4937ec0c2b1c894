/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_symbol_source.h"

#include "base/cleanup.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { REQUESTS = 200 };

static void check_batch(const struct symbol_batch *batch)
{
	for (size_t i = 0; i < batch->request_count; i++) {
		const struct symbol_request *request = &batch->requests[i];

		if (request->frame_count == 0)
			continue;
		if (request->frame_count != 1 || request->first_frame >= batch->frame_count)
			abort();
		if (*string_pool_get(
			    batch->strings, batch->frames[request->first_frame].function) == '\0')
			abort();
	}
}

/* The file's own sections say where symbols may be. */
static size_t fill_requests(int fd, struct symbol_request requests[REQUESTS])
{
	uint64_t step = 0x100, vaddr = 0x400000;
	struct elf_file file;
	Elf64_Shdr shdr;

	if (elf_file_init(&file, fd) == 0 && file.shdr_count > 1 &&
		elf_file_read_shdr(&file, 1, &shdr) == 0) {
		vaddr = shdr.sh_addr;
		step = shdr.sh_size / REQUESTS + 1;
	}
	for (size_t i = 0; i < REQUESTS; i++) {
		requests[i] = (struct symbol_request){ .vaddr = vaddr };
		if (vaddr > UINT64_MAX - step)
			return i + 1;
		vaddr += step;
	}
	return REQUESTS;
}

/* The input is the binary and, where it has a build-id, its debug file too. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	struct symbol_request requests[REQUESTS];
	struct symbol_source *source = NULL;
	struct string_pool strings;
	struct elf_image image;
	struct symbol_batch batch = { .requests = requests, .strings = &strings };
	struct symbol_binary binary = { .path = "fuzz", .fd = fd, .debug_fd = fd };

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return 0;
	if (elf_image_read(fd, &image) == 0)
		binary.build_id = image.build_id;
	batch.request_count = fill_requests(fd, requests);
	if (string_pool_init(&strings, 64 * 1024) < 0)
		return 0;
	if (elf_symbol_source_new(&source) == 0 && source->lookup(source, &binary, &batch) == 0)
		check_batch(&batch);
	symbol_source_free(source);
	symbol_batch_done(&batch);
	string_pool_done(&strings);
	return 0;
}
