/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables out of whole ELF files, or, where the input is none, out of sections: its first
 * byte says of which machine and where, the next two how long .eh_frame is, and .debug_frame is the
 * rest.
 */
#include "extract/unwind_extraction.h"
#include "pilotlight/unwind.h"
#include "symbol/symbol_file.h"
#include "tests/extract/unwind_fixture.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/stat.h>

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

struct table {
	const uint8_t *bytes;
	const struct pilotlight_unwind_summary *summary;
	const uint32_t *pages;
	const struct pilotlight_unwind_line *lines;
	const struct pilotlight_unwind_rule *rules;
	const struct pilotlight_unwind_escape *escapes;
};

static const void *find_section(const struct table *table, uint32_t id, uint64_t expected)
{
	const struct pilotlight_symbol_header *header = (const void *)table->bytes;
	const struct pilotlight_symbol_section *sections = (const void *)(header + 1);

	for (size_t i = 0; i < header->section_count; i++) {
		if (sections[i].id != id)
			continue;
		if (sections[i].bytes != expected * sections[i].entry_bytes)
			abort();
		return table->bytes + sections[i].offset;
	}
	if (expected > 0)
		abort();
	return NULL;
}

static void check_rule(const struct table *table, uint32_t id)
{
	if (id >= table->summary->rule_count || table->rules[id].kind >= PILOTLIGHT_UNWIND_KINDS ||
		table->rules[id].frame_pointer >= PILOTLIGHT_UNWIND_FPS)
		abort();
}

/* Rows ascend and are counted, and each has a rule. */
static void check_lines(const struct table *table)
{
	uint32_t rows = 0, escapes = 0;
	int64_t last = -1;

	for (uint32_t i = 0; i < table->summary->line_count; i++) {
		const struct pilotlight_unwind_line *line = &table->lines[i];

		for (uint32_t k = 0; k < PILOTLIGHT_UNWIND_LINE_ROWS; k++) {
			uint32_t rule = line->rules[k];

			if (line->deltas[k] == PILOTLIGHT_UNWIND_DELTA_UNUSED && k > 0)
				break;
			if ((int64_t)line->base + line->deltas[k] <= last)
				abort();
			last = (int64_t)line->base + line->deltas[k];
			if (rule == PILOTLIGHT_UNWIND_ESCAPE) {
				if (escapes == table->summary->escape_count ||
					table->escapes[escapes].row !=
						i * PILOTLIGHT_UNWIND_LINE_ROWS + k)
					abort();
				rule = table->escapes[escapes++].rule;
			}
			check_rule(table, rule);
			rows++;
		}
	}
	if (rows != table->summary->row_count || escapes != table->summary->escape_count)
		abort();
}

/* What no page of the file leads to is not found. */
static void check_pages(const struct table *table)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint32_t line = 0;

	for (uint32_t i = 0; summary->page_count > 0 && i <= summary->page_count; i++) {
		uint64_t start = ((uint64_t)summary->first_page + i)
				 << PILOTLIGHT_UNWIND_PAGE_SHIFT;

		while (line + 1 < summary->line_count && table->lines[line + 1].base <= start)
			line++;
		if (table->pages[i] != line)
			abort();
	}
	if (summary->page_count > 0 && line != summary->line_count - 1)
		abort();
}

static void check_output(int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct pilotlight_unwind_summary *summary;
	struct table table;
	struct stat status;

	if (symbol_file_open(fd, &file) < 0 || fstat(fd, &status) < 0)
		abort();
	table.bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (table.bytes == MAP_FAILED)
		abort();
	table.summary = summary = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND, 1);
	table.pages = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_PAGES,
		summary->page_count > 0 ? (uint64_t)summary->page_count + 1 : 0);
	table.lines = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_LINES, summary->line_count);
	table.rules = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_RULES, summary->rule_count);
	table.escapes =
		find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, summary->escape_count);
	check_lines(&table);
	check_pages(&table);
	(void)munmap((void *)(uintptr_t)table.bytes, (size_t)status.st_size);
}

/* The segments of a file without sections: .eh_frame_hdr and what is behind it. */
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

/* -1: it cannot be had. */
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
		.debug_fd = binary, /* of the same build-id, at least */
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
