/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables from whole ELF files. Any other input is a pair of sections: the first byte
 * selects the machine and the address, the next two bytes are the length of .eh_frame, and
 * .debug_frame is the rest.
 */
#include "extract/unwind_extraction.h"
#include "symbol/symbol_file.h"
#include "tests/extract/unwind_fixture.h"
#include "unwind/unwind_table.h"

#include "base/cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	IS_AARCH64 = 1 << 0,
	IS_GO = 1 << 1,
	HAS_NO_SECTIONS = 1 << 2,
	HAS_TWO_SEGMENTS = 1 << 3,
	HAS_STUBS = 1 << 4,
	FLAGS_END = 1 << 5,
	HEAD_BYTES = 3,
};

/* The engine accepts every table that a worker makes. */
static void check_output(int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_table table;

	if (symbol_file_open(fd, &file) < 0 || unwind_table_init(&table, file) < 0)
		abort();
}

/* The segments of a file without sections: .eh_frame_hdr and the bytes after it. */
static void add_segments(struct unwind_elf *elf, uint8_t header[12])
{
	uint64_t offset;

	memcpy(header, "\1\x1b\xff\xff\4\0\0\0\0\0\0\0", 12);
	elf->segment_count += 2;
	offset = unwind_elf_contents(elf);
	elf->segments[elf->segment_count - 2] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME, .p_offset = offset, .p_vaddr = 0x5000, .p_filesz = 8
	};
	elf->segments[elf->segment_count - 1] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_offset = offset,
		.p_vaddr = 0x5000,
		.p_filesz = 8 + elf->parts[1].size };
}

/* Returns -1 if it is unavailable. */
static int wrap_sections(const uint8_t *bytes, size_t size)
{
	size_t eh_bytes = bytes[1] | (size_t)bytes[2] << 8;
	uint8_t flags = bytes[0], header[12];
	struct unwind_elf elf = {
		.machine = flags & IS_AARCH64 ? EM_AARCH64 : EM_X86_64,
		.has_no_sections = flags & HAS_NO_SECTIONS,
	};

	bytes += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (eh_bytes > size)
		eh_bytes = size;
	unwind_elf_add_code(&elf);
	if (flags & HAS_TWO_SEGMENTS) {
		unwind_elf_add_code(&elf);
		elf.segments[1].p_vaddr += 2 * CODE_BYTES;
		elf.segments[1].p_offset += CODE_BYTES / 2;
	}
	unwind_elf_add_part(&elf, ".eh_frame_hdr", 0x5000, header, 8);
	unwind_elf_add_part(&elf, ".eh_frame", 0x5008, bytes, eh_bytes);
	unwind_elf_add_part(&elf, ".debug_frame", 0, bytes + eh_bytes, size - eh_bytes);
	if (flags & IS_GO)
		unwind_elf_add_part(&elf, ".gopclntab", 0, "", 1);
	if (flags & HAS_STUBS)
		unwind_elf_add_part(
			&elf, ".plt", CODE_VADDR + 0x60, bytes + eh_bytes, size - eh_bytes);
	if (flags & HAS_NO_SECTIONS)
		add_segments(&elf, header);
	return unwind_elf_fd(&elf);
}

static int open_input(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size >= HEAD_BYTES && bytes[0] < FLAGS_END)
		return wrap_sections(bytes, size);
	fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return -1;
	return TAKE_FD(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int binary = open_input(bytes, size);
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = binary, /* at least its build-id matches */
		.alternate_fd = -1,
		.scratch_fd = scratch,
		.output_fd = output,
	};
	const struct pilotlight_symbol_request request = {
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1 },
		.identity_bytes = 20,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 64 << 20,
	};
	struct pilotlight_symbol_report report;

	if (binary < 0 || scratch < 0 || output < 0)
		return 0;
	if (unwind_extraction_run(&files, &request, &report) == 0)
		check_output(output);
	return 0;
}
