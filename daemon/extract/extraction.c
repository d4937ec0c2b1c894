/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/extraction.h"

#include "base/clock.h"
#include "base/scratch.h"
#include "dwarf/dwarf_file.h"
#include "dwarf/elf_sections.h"
#include "dwarf/go_table.h"
#include "extract/code_instruction.h"
#include "extract/dwarf_info.h"
#include "extract/elf_symbols.h"
#include "extract/function_bounds.h"
#include "extract/go_functions.h"
#include "extract/symbol_builder.h"
#include "symbol/elf_image.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	PROGRAM_HEADERS_MAX = 256,
	PLACES_MAX = 1000000, /* names of some 40 bytes; a third of what a file may have */
};

struct extraction {
	const struct pilotlight_symbol_request *request;
	struct symbol_identity identity;
	struct pilotlight_symbol_report *report;
	struct elf_file binary, debug, alternate;
	bool has_binary, has_debug, has_alternate;
	bool is_debug_incomplete; /* some DWARF of the debug file was not read */
	bool has_dwarf;
	struct scratch scratch;
	struct dwarf_split_files split_files;
	struct symbol_builder *builder;
};

static bool is_binarys_debug_file(const struct extraction *extraction)
{
	const struct symbol_identity *identity = &extraction->identity;
	struct build_id found;

	if (extraction->has_binary)
		return elf_sections_is_debug_file_of(&extraction->binary, &extraction->debug);
	found = elf_image_build_id(extraction->debug.fd);
	switch (identity->kind) {
	case PILOTLIGHT_SYMBOL_BUILD_ID:
		return found.size > 0 && build_id_equal(&identity->id, &found);
	case PILOTLIGHT_SYMBOL_OWNED:
		/* The identity was derived from this file, and its owner alone uses it. */
		return found.size > 0;
	default:
		return false;
	}
}

static int open_files(struct extraction *extraction, const struct extraction_files *files)
{
	int r = -ENODATA;

	if (files->binary_fd >= 0) {
		r = elf_file_init(&extraction->binary, files->binary_fd);
		if (r < 0)
			return r;
		extraction->has_binary = true;
	}
	if (files->debug_fd >= 0) {
		int debug = elf_file_init(&extraction->debug, files->debug_fd);

		extraction->has_debug = debug == 0 && is_binarys_debug_file(extraction);
		if (!extraction->has_binary)
			r = debug < 0 ? debug : extraction->has_debug ? 0 : -ENODATA;
	}
	if (files->alternate_fd >= 0)
		extraction->has_alternate =
			elf_file_init(&extraction->alternate, files->alternate_fd) == 0;
	return r;
}

/*
 * Skips the ELF headers in the segment that begins with the file. They are not code, but may be at
 * vaddr 0, where linkers place discarded functions. Debug files give offset 0 to contents that they
 * lack, so only a segment at vaddr 0 is known to begin with the headers.
 */
static void leave_out_headers(const struct elf_file *file, const Elf64_Phdr *phdr,
	struct pilotlight_symbol_segment *segment)
{
	uint64_t header_bytes = file->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	uint64_t phdr_bytes = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (file->phdr_offset == header_bytes)
		header_bytes += file->phdr_count * phdr_bytes;
	if (phdr->p_offset != 0 || (phdr->p_filesz < header_bytes && phdr->p_vaddr != 0))
		return;
	if (header_bytes >= segment->memory_bytes)
		return;
	segment->offset += header_bytes;
	segment->vaddr += header_bytes;
	segment->memory_bytes -= header_bytes;
	segment->file_bytes -=
		header_bytes < segment->file_bytes ? header_bytes : segment->file_bytes;
}

static int find_code(const struct extraction *extraction, struct symbol_builder_code *ret_code)
{
	const struct elf_file *file =
		extraction->has_binary ? &extraction->binary : &extraction->debug;
	struct symbol_builder_code code = { .segment_count = 0 };
	Elf64_Phdr phdr;
	int r;

	if (file->phdr_count > PROGRAM_HEADERS_MAX)
		return -EFBIG;
	for (uint32_t i = 0; i < file->phdr_count; i++) {
		struct pilotlight_symbol_segment *segment = &code.segments[code.segment_count];

		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || phdr.p_memsz == 0)
			continue;
		if (code.segment_count == SYMBOL_BUILDER_SEGMENTS_MAX)
			return -EFBIG;
		*segment = (struct pilotlight_symbol_segment){
			.offset = phdr.p_offset,
			.vaddr = phdr.p_vaddr,
			/* File offsets of a debug file are not those of the binary. */
			.file_bytes = extraction->has_binary ? phdr.p_filesz : 0,
			.memory_bytes = phdr.p_memsz,
		};
		leave_out_headers(file, &phdr, segment);
		code.segment_count++;
	}
	*ret_code = code;
	return 0;
}

struct naming {
	struct symbol_builder *builder;
	const char *path;
	size_t room; /* for more names */
};

static int name_place(void *context, uint64_t start, uint64_t end)
{
	struct naming *naming = context;
	char text[PLACE_NAME_BYTES];
	size_t size = place_name_format(text, naming->path, start);
	uint32_t name;
	int r;

	if (naming->room-- == 0)
		return -ENODATA;
	r = symbol_builder_add_name(naming->builder, text, size, &name);
	return r < 0 ? r : symbol_builder_add_place(naming->builder, start, end, name);
}

/* A function without a symbol is one function nevertheless. */
static int name_places(struct extraction *extraction, const struct function_bounds *bounds)
{
	struct naming naming = {
		.builder = extraction->builder,
		.path = extraction->request->origin,
		.room = PLACES_MAX,
	};
	int r = function_bounds_each(bounds, name_place, &naming);

	return r == -ENODATA ? 0 : r;
}

/* Stripping leaves .eh_frame, which tells where functions without names begin and end. */
static int bound_symbols(struct extraction *extraction, struct elf_symbols *symbols)
{
	_cleanup_(function_bounds_done) struct function_bounds bounds = { 0 };
	const bool is_stripped = elf_symbols_are_stripped(symbols);
	int r;

	r = function_bounds_read(&bounds, extraction->binary.fd, &extraction->scratch);
	if (r == 0 && is_stripped)
		r = name_places(extraction, &bounds);
	if (r < 0 || !elf_symbols_need_bounds(symbols))
		return r;
	if (is_stripped) {
		if (!code_instruction_is_loaded())
			symbol_builder_add_contents(
				extraction->builder, PILOTLIGHT_SYMBOL_LACKS_DECODER);
		r = function_bounds_infer(&bounds, &extraction->scratch);
	}
	return r < 0 ? r : elf_symbols_bound(symbols, &bounds);
}

static int read_symbols(struct extraction *extraction)
{
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	int r;

	r = elf_symbols_new(extraction->builder, &extraction->scratch, &symbols);
	if (r == 0 && extraction->has_binary)
		r = elf_symbols_add_file(symbols, &extraction->binary);
	if (r == 0 && extraction->has_debug)
		r = elf_symbols_add_file(symbols, &extraction->debug);
	if (r == 0 && extraction->has_binary &&
		(elf_symbols_need_bounds(symbols) || elf_symbols_are_stripped(symbols)))
		r = bound_symbols(extraction, symbols);
	return r < 0 ? r : elf_symbols_finish(symbols);
}

/* Is the alternate file the one that `file` names? */
static bool is_alternate_of(const struct extraction *extraction, const struct elf_file *file)
{
	struct elf_alternate_link link;
	struct build_id id;

	if (!extraction->has_alternate || elf_sections_read_alternate_link(file, &link) < 0)
		return false;
	id = elf_image_build_id(extraction->alternate.fd);
	return id.size > 0 && id.size == link.build_id_bytes &&
	       memcmp(id.bytes, link.build_id, id.size) == 0;
}

static bool is_out_of_resources(int r)
{
	return r == -ENOMEM || r == -ENOSPC;
}

/* Returns 0; -ENODATA no DWARF; -ENOEXEC it is lost, and counted; or an error that ends the run. */
static int read_dwarf_of(struct extraction *extraction, const struct elf_file *file,
	struct dwarf_info_gaps *ret_gaps)
{
	_cleanup_(dwarf_file_close) struct dwarf_file dwarf = { 0 }, alternate = { 0 };
	struct scratch *scratch = &extraction->scratch;
	int r;

	if (is_alternate_of(extraction, file)) {
		r = dwarf_file_open(&alternate, extraction->alternate.fd, false, scratch);
		if (is_out_of_resources(r))
			return r;
		/* If it fails, dwarf_info_read() counts the units that need it as lost. */
		extraction->report->has_taken_alternate = r == 0;
	}
	r = dwarf_file_open(&dwarf, file->fd, false, scratch);
	if (is_out_of_resources(r))
		return r;
	if (r == 0)
		r = dwarf_info_read(extraction->builder, &dwarf, &alternate,
			&extraction->split_files, ret_gaps);
	else {
		symbol_builder_count_loss(extraction->builder, SYMBOL_LOSS_UNIT, r);
		return -ENOEXEC;
	}
	if (r == -ENOEXEC)
		symbol_builder_count_loss(extraction->builder, SYMBOL_LOSS_UNIT, r);
	return r;
}

/* Reads the DWARF of the debug file, else of the binary. Malformed DWARF is a counted loss. */
static int read_dwarf(struct extraction *extraction)
{
	const struct elf_file *files[2];
	size_t count = 0;
	int r;

	if (extraction->has_debug)
		files[count++] = &extraction->debug;
	if (extraction->has_binary)
		files[count++] = &extraction->binary;
	for (size_t i = 0; i < count; i++) {
		struct dwarf_info_gaps gaps = { .alternate = false };

		r = read_dwarf_of(extraction, files[i], &gaps);
		extraction->has_dwarf |= r == 0;
		if (r == 0)
			symbol_builder_add_contents(
				extraction->builder, PILOTLIGHT_SYMBOL_HAS_DWARF);
		if (gaps.split)
			symbol_builder_add_contents(
				extraction->builder, PILOTLIGHT_SYMBOL_LACKS_SPLIT);
		if (files[i] == &extraction->debug)
			extraction->is_debug_incomplete = r == -ENOEXEC || gaps.alternate;
		if (r != -ENODATA && r != -ENOEXEC)
			return r;
	}
	return 0;
}

/* Reads Go's own table, unless DWARF says more. A table that is malformed or too big is a counted
 * loss. */
static int read_go(struct extraction *extraction)
{
	struct go_table table = { 0 };
	int r;

	if (!extraction->has_binary || extraction->has_dwarf ||
		go_table_is_in(&extraction->binary) <= 0)
		return 0;
	r = go_table_open(&table, &extraction->binary, &extraction->scratch);
	if (r == -EFBIG) {
		symbol_builder_count_loss(extraction->builder, SYMBOL_LOSS_UNIT, r);
		r = -ENODATA;
	}
	if (r == 0)
		r = go_functions_read(extraction->builder, &table, &extraction->scratch);
	if (r == 0)
		symbol_builder_add_contents(extraction->builder, PILOTLIGHT_SYMBOL_HAS_GO_TABLE);
	go_table_close(&table);
	if (r == -ENOEXEC)
		symbol_builder_count_loss(extraction->builder, SYMBOL_LOSS_UNIT, r);
	return r == -ENOEXEC || r == -ENODATA ? 0 : r;
}

static int fill_builder(struct extraction *extraction)
{
	struct symbol_builder_code code;
	int r;

	r = find_code(extraction, &code);
	if (r == 0)
		r = symbol_builder_new(&code, &extraction->scratch, &extraction->builder);
	if (r == 0)
		r = read_symbols(extraction);
	if (r == 0)
		r = read_dwarf(extraction);
	return r < 0 ? r : read_go(extraction);
}

/* A useless debug file gets a low rank, so that a better one is still requested. */
static uint8_t rank_of(const struct extraction *extraction)
{
	uint8_t debug_rank = extraction->request->debug_rank;

	if (!extraction->has_debug)
		return PILOTLIGHT_SYMBOL_RANK_BINARY;
	if (!extraction->is_debug_incomplete)
		return debug_rank;
	if (extraction->has_binary)
		return PILOTLIGHT_SYMBOL_RANK_BINARY;
	return debug_rank < PILOTLIGHT_SYMBOL_RANK_DEBUGLINK ? debug_rank
							     : PILOTLIGHT_SYMBOL_RANK_DEBUGLINK;
}

static int write_symbols(struct extraction *extraction, int fd)
{
	const struct pilotlight_symbol_request *request = extraction->request;
	struct pilotlight_symbol_header header;
	int r;

	r = symbol_builder_write(extraction->builder, &extraction->identity,
		extraction->report->rank,
		extraction->has_binary ? extraction->binary.machine : extraction->debug.machine,
		request->origin, fd);
	if (r < 0)
		return r;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return -EIO;
	extraction->report->units_failed = header.units_failed;
	extraction->report->output_bytes = header.file_bytes;
	return 0;
}

int extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report)
{
	struct pilotlight_symbol_report report = { .version = PILOTLIGHT_WORKER_VERSION };
	struct extraction extraction = {
		.request = request,
		.identity = symbol_identity_make(
			request->identity_kind, request->identity, request->identity_bytes),
		.report = &report,
	};
	int r;

	scratch_init(&extraction.scratch, files->scratch_fd, request->scratch_bytes_max,
		EXTRACTION_MEMORY_BYTES);
	dwarf_split_files_init(&extraction.split_files, files->package_fd, files->split_opener,
		&extraction.scratch);
	r = open_files(&extraction, files);
	report.has_taken_debug = extraction.has_debug;
	if (r == 0)
		r = fill_builder(&extraction);
	report.rank = rank_of(&extraction);
	if (r == 0)
		r = write_symbols(&extraction, files->output_fd);
	symbol_builder_free(extraction.builder);
	dwarf_split_files_done(&extraction.split_files);
	report.error = r;
	report.scratch_bytes = extraction.scratch.used_bytes;
	report.cpu_ns = clock_process_cpu_ns();
	*ret_report = report;
	return r;
}
