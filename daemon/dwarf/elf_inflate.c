/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_inflate.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum {
	INPUT_BYTES = 64 * 1024,
	OUTPUT_BYTES = 1024 * 1024,
	ZDEBUG_HEADER_BYTES = 4 + 8, /* "ZLIB" and the size, big-endian */
};

struct inflation {
	const struct elf_file *file;
	uint64_t offset, end; /* of the remaining input */
	uint64_t room;	      /* remaining output */
	struct scratch_array *unpacked;
	z_stream stream;
	uint8_t input[INPUT_BYTES];
};

static void *allocate(void *context, uInt count, uInt size)
{
	(void)context;
	return calloc(count, size);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static int read_input(struct inflation *inflation)
{
	uint64_t size = inflation->end - inflation->offset;
	int r;

	if (size == 0)
		return -ENOEXEC;
	if (size > sizeof(inflation->input))
		size = sizeof(inflation->input);
	r = elf_file_read(inflation->file, inflation->offset, inflation->input, size);
	if (r < 0)
		return r;
	inflation->offset += size;
	inflation->stream.next_in = inflation->input;
	inflation->stream.avail_in = (uInt)size;
	return 0;
}

static int make_room(struct inflation *inflation)
{
	struct scratch_array *unpacked = inflation->unpacked;
	size_t size = inflation->room < OUTPUT_BYTES ? inflation->room : OUTPUT_BYTES;
	int r;

	if (unpacked->capacity - unpacked->count < size) {
		r = scratch_array_reserve(unpacked, unpacked->count + size);
		if (r < 0)
			return r;
	}
	inflation->stream.next_out = (uint8_t *)unpacked->items + unpacked->count;
	inflation->stream.avail_out = (uInt)size;
	return 0;
}

static int unpack_chunk(struct inflation *inflation)
{
	z_stream *stream = &inflation->stream;
	uInt room;
	int r;

	r = stream->avail_in == 0 ? read_input(inflation) : 0;
	if (r == 0)
		r = make_room(inflation);
	if (r < 0)
		return r;
	room = stream->avail_out;
	r = inflate(stream, Z_NO_FLUSH);
	inflation->unpacked->count += room - stream->avail_out;
	inflation->room -= room - stream->avail_out;
	switch (r) {
	case Z_OK:
		return 0;
	case Z_STREAM_END:
		/* Some linkers write several streams in a row. */
		if (stream->avail_in == 0 && inflation->offset == inflation->end)
			inflation->room = 0;
		return inflateReset(stream) == Z_OK ? 0 : -ENOEXEC;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return -ENOEXEC;
	}
}

static void inflation_free(struct inflation *inflation)
{
	(void)inflateEnd(&inflation->stream);
	free(inflation);
}
DEFINE_CLEANUP(struct inflation, inflation_free);

static int inflate_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
	uint64_t unpacked_max, struct scratch_array *unpacked)
{
	_cleanup_(inflation_freep) struct inflation *inflation = calloc(1, sizeof(*inflation));
	int r;

	/* Refuses a decompression bomb before it starts. */
	if (unpacked_max > scratch_array_room(unpacked))
		return -EFBIG;
	if (!inflation)
		return -ENOMEM;
	inflation->file = file;
	inflation->offset = offset;
	inflation->end = offset + size;
	inflation->room = unpacked_max;
	inflation->unpacked = unpacked;
	inflation->stream.zalloc = allocate;
	inflation->stream.zfree = release;
	r = inflateInit(&inflation->stream);
	if (r != Z_OK)
		return r == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	while (inflation->room > 0) {
		r = unpack_chunk(inflation);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the header of a SHF_COMPRESSED section; the ELF class determines its field widths. */
static int read_header(const struct elf_file *file, const Elf64_Shdr *section,
	uint64_t *ret_header_bytes, uint64_t *ret_unpacked_bytes)
{
	const size_t header_bytes = file->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uint8_t header[sizeof(Elf64_Chdr)];
	int r;

	if (section->sh_size < header_bytes)
		return -ENOEXEC;
	r = elf_file_read(file, section->sh_offset, header, header_bytes);
	if (r < 0)
		return r;
	if (elf_file_decode_u32(file, header) != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	*ret_header_bytes = header_bytes;
	*ret_unpacked_bytes =
		elf_file_decode_word(file, header + (file->is_64 ? offsetof(Elf64_Chdr, ch_size)
								 : offsetof(Elf32_Chdr, ch_size)));
	return 0;
}

static int read_zdebug_header(const struct elf_file *file, const Elf64_Shdr *section,
	uint64_t *ret_header_bytes, uint64_t *ret_unpacked_bytes)
{
	uint8_t header[ZDEBUG_HEADER_BYTES];
	uint64_t unpacked_bytes = 0;
	int r;

	if (section->sh_size < sizeof(header))
		return -ENOEXEC;
	r = elf_file_read(file, section->sh_offset, header, sizeof(header));
	if (r < 0)
		return r;
	if (memcmp(header, "ZLIB", 4) != 0)
		return -ENOEXEC;
	for (size_t i = 4; i < sizeof(header); i++)
		unpacked_bytes = unpacked_bytes << 8 | header[i];
	*ret_header_bytes = sizeof(header);
	*ret_unpacked_bytes = unpacked_bytes;
	return 0;
}

int elf_inflate_section(const struct elf_file *file, const Elf64_Shdr *section, bool is_zdebug,
	struct scratch_array *unpacked)
{
	uint64_t header_bytes, unpacked_bytes;
	int r;

	r = is_zdebug ? read_zdebug_header(file, section, &header_bytes, &unpacked_bytes)
		      : read_header(file, section, &header_bytes, &unpacked_bytes);
	if (r < 0)
		return r;
	return inflate_bytes(file, section->sh_offset + header_bytes,
		section->sh_size - header_bytes, unpacked_bytes, unpacked);
}
