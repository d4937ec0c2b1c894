/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_debugdata.h"

#include "base/cleanup.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <lzma.h>

enum { INPUT_BYTES = 64 * 1024, OUTPUT_BYTES = 1024 * 1024 };

struct unpacking {
	const struct elf_file *file;
	uint64_t offset, end; /* of the remaining input */
	struct scratch_array *unpacked;
	lzma_stream stream;
	uint8_t input[INPUT_BYTES];
};

static void *allocate(void *context, size_t count, size_t size)
{
	(void)context;
	return calloc(count, size);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const lzma_allocator allocator = { .alloc = allocate, .free = release };

static int read_input(struct unpacking *unpacking)
{
	uint64_t size = unpacking->end - unpacking->offset;
	int r;

	if (size > sizeof(unpacking->input))
		size = sizeof(unpacking->input);
	r = elf_file_read(unpacking->file, unpacking->offset, unpacking->input, size);
	if (r < 0)
		return r;
	unpacking->offset += size;
	unpacking->stream.next_in = unpacking->input;
	unpacking->stream.avail_in = size;
	return 0;
}

static int make_room(struct unpacking *unpacking)
{
	struct scratch_array *unpacked = unpacking->unpacked;
	size_t size = OUTPUT_BYTES;
	int r;

	if (size > ELF_DEBUGDATA_BYTES_MAX - unpacked->count)
		size = ELF_DEBUGDATA_BYTES_MAX - unpacked->count;
	if (size == 0)
		return -ENOEXEC;
	r = scratch_array_reserve(unpacked, unpacked->count + size);
	if (r < 0)
		return r;
	unpacking->stream.next_out = (uint8_t *)unpacked->items + unpacked->count;
	unpacking->stream.avail_out = size;
	return 0;
}

/* Returns 1 if more follows. */
static int unpack_piece(struct unpacking *unpacking)
{
	lzma_stream *stream = &unpacking->stream;
	size_t room;
	lzma_ret status;
	int r;

	r = stream->avail_in == 0 ? read_input(unpacking) : 0;
	if (r == 0)
		r = make_room(unpacking);
	if (r < 0)
		return r;
	room = stream->avail_out;
	status = lzma_code(stream, unpacking->offset == unpacking->end ? LZMA_FINISH : LZMA_RUN);
	unpacking->unpacked->count += room - stream->avail_out;
	switch (status) {
	case LZMA_OK:
		return 1;
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	default:
		return -ENOEXEC;
	}
}

static void unpacking_free(struct unpacking *unpacking)
{
	lzma_end(&unpacking->stream);
	free(unpacking);
}
DEFINE_CLEANUP(struct unpacking, unpacking_free);

static int unpack(
	const struct elf_file *file, const Elf64_Shdr *section, struct scratch_array *unpacked)
{
	_cleanup_(unpacking_freep) struct unpacking *unpacking = calloc(1, sizeof(*unpacking));
	lzma_ret status;
	int r;

	if (!unpacking)
		return -ENOMEM;
	unpacking->file = file;
	unpacking->offset = section->sh_offset;
	unpacking->end = section->sh_offset + section->sh_size;
	unpacking->unpacked = unpacked;
	unpacking->stream = (lzma_stream)LZMA_STREAM_INIT;
	unpacking->stream.allocator = &allocator;
	status = lzma_stream_decoder(&unpacking->stream, ELF_DEBUGDATA_MEMORY_BYTES_MAX, 0);
	if (status != LZMA_OK)
		return status == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
	do {
		r = unpack_piece(unpacking);
	} while (r > 0);
	return r;
}

int elf_debugdata_open(const struct elf_file *file, struct scratch *scratch,
	struct scratch_array *ret_bytes, struct elf_file *ret_inner)
{
	_cleanup_(scratch_array_done) struct scratch_array bytes = { 0 };
	Elf64_Shdr section;
	int r;

	r = elf_sections_find(file, ".gnu_debugdata", &section);
	if (r < 0)
		return r;
	r = scratch_array_init(&bytes, scratch, 1, ELF_DEBUGDATA_BYTES_MAX);
	if (r < 0)
		return r;
	r = unpack(file, &section, &bytes);
	if (r == 0)
		r = elf_file_init_memory(ret_inner, bytes.items, bytes.count);
	if (r < 0)
		return r;
	*ret_bytes = bytes;
	bytes = (struct scratch_array){ 0 };
	return 0;
}
