/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds small symbol files in memory. Set fields (all may be zero), build, optionally damage the
 * bytes and seal them again, and write them to an anonymous file.
 *
 *	struct symbol_file_fixture fixture = { .identity = { 1, 2, 3 } };
 *
 *	symbol_file_fixture_fill(&fixture);
 *	symbol_file_fixture_build(&fixture);
 *	fd = symbol_file_fixture_fd(&fixture);
 */
#pragma once

#include "pilotlight/symbol_file.h"
#include "symbol/symbol_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

enum {
	SYMBOL_FILE_FIXTURE_BYTES = 64 * 1024,
	SYMBOL_FILE_FIXTURE_BASE = 0x401000,
	SYMBOL_FILE_FIXTURE_SECTIONS = 16, /* reserved; eight are used */
};

/* Ids of frames and files begin at 1: the builder adds the empty entries 0. */
struct symbol_file_fixture_frame {
	uint32_t parent;
	const char *name;
	uint64_t call;
};

struct symbol_file_fixture {
	uint8_t identity[20];
	uint8_t identity_bytes; /* 0: 20 */
	uint8_t kind;		/* 0: a build-id */
	uint8_t rank, failure;
	bool is_old; /* made before extractions had numbers */
	uint64_t base_vaddr, created_s;
	uint32_t contents;
	uint8_t boundary_shift, row_shift;
	const char *origin; /* NULL: "" */

	const struct pilotlight_symbol_segment *segments;
	size_t segment_count;
	const struct pilotlight_symbol_boundary *boundaries; /* sorted */
	size_t boundary_count;
	const struct symbol_file_fixture_frame *frames;
	size_t frame_count;
	const struct pilotlight_symbol_row *rows; /* sorted */
	size_t row_count;
	const char *const *files;
	size_t file_count;

	/* Out: */
	_Alignas(64) uint8_t bytes[SYMBOL_FILE_FIXTURE_BYTES];
	size_t size;
};

static inline struct pilotlight_symbol_row symbol_file_fixture_row(
	uint32_t offset, uint32_t file, uint32_t line, uint32_t column)
{
	uint64_t place = symbol_place_pack(file, line, column);

	return (struct pilotlight_symbol_row){ offset, (uint32_t)place, (uint32_t)(place >> 32) };
}

/*
 * Two functions at the base, unknown code from 0x60, and at the end code that has a line but no
 * function:
 *
 *	0x00  main          main.c:10:1
 *	0x10  inner <- outer <- main   inner.h:5:3, outer.h:7:2, main.c:11:4
 *	0x20  outer <- main            outer.h:8:0, main.c:11:4
 *	0x30  main          main.c:12:1
 *	0x40  cold          no line
 *	0x60  nothing
 *	0x80  nothing       asm.S:3:0
 */
static inline void symbol_file_fixture_fill(struct symbol_file_fixture *fixture)
{
	static const char *const files[] = { "/src/main.c", "/src/inner.h", "/src/outer.h",
		"/src/asm.S" };
	static const struct symbol_file_fixture_frame frames[] = {
		{ 0, "main", 0 },
		{ 1, "outer", (uint64_t)1 << 40 | 11 << 16 | 4 },
		{ 2, "inner", (uint64_t)3 << 40 | 7 << 16 | 2 },
		{ 0, "cold", 0 },
	};
	static const struct pilotlight_symbol_boundary boundaries[] = {
		{ 0x00, 1 },
		{ 0x10, 3 },
		{ 0x20, 2 },
		{ 0x30, 1 },
		{ 0x40, 4 },
		{ 0x60, 0 },
	};
	static const struct pilotlight_symbol_row rows[] = {
		{ 0x00, 10 << 16 | 1, 1 << 8 },
		{ 0x10, 5 << 16 | 3, 2 << 8 },
		{ 0x20, 8 << 16, 3 << 8 },
		{ 0x30, 12 << 16 | 1, 1 << 8 },
		{ 0x40, 0, 0 },
		{ 0x80, 3 << 16, 4 << 8 },
		{ 0x90, 0, 0 },
	};
	static const struct pilotlight_symbol_segment segments[] = {
		{ 0x1000, SYMBOL_FILE_FIXTURE_BASE, 0x100, 0x100 },
	};

	fixture->base_vaddr = SYMBOL_FILE_FIXTURE_BASE;
	fixture->boundary_shift = 5;
	fixture->row_shift = 4;
	if (fixture->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		fixture->rank = PILOTLIGHT_SYMBOL_RANK_BINARY;
	fixture->contents = PILOTLIGHT_SYMBOL_HAS_SYMTAB | PILOTLIGHT_SYMBOL_HAS_DWARF;
	fixture->origin = "/usr/bin/example";
	fixture->segments = segments;
	fixture->segment_count = sizeof(segments) / sizeof(segments[0]);
	fixture->boundaries = boundaries;
	fixture->boundary_count = sizeof(boundaries) / sizeof(boundaries[0]);
	fixture->frames = frames;
	fixture->frame_count = sizeof(frames) / sizeof(frames[0]);
	fixture->rows = rows;
	fixture->row_count = sizeof(rows) / sizeof(rows[0]);
	fixture->files = files;
	fixture->file_count = sizeof(files) / sizeof(files[0]);
}

static inline struct pilotlight_symbol_header *symbol_file_fixture_header(
	struct symbol_file_fixture *fixture)
{
	return (struct pilotlight_symbol_header *)fixture->bytes;
}

/* A section's entry in the table; NULL: no such section. */
static inline struct pilotlight_symbol_section *symbol_file_fixture_section(
	struct symbol_file_fixture *fixture, uint32_t id)
{
	struct pilotlight_symbol_header *header = symbol_file_fixture_header(fixture);
	struct pilotlight_symbol_section *sections =
		(struct pilotlight_symbol_section *)(header + 1);

	for (uint16_t i = 0; i < header->section_count; i++)
		if (sections[i].id == id)
			return &sections[i];
	return NULL;
}

/* The section's bytes; NULL: no such section. */
static inline void *symbol_file_fixture_contents(struct symbol_file_fixture *fixture, uint32_t id)
{
	struct pilotlight_symbol_section *section = symbol_file_fixture_section(fixture, id);

	return section ? fixture->bytes + section->offset : NULL;
}

/* Sets the hashes of any bytes as far as possible, but not the length. */
static inline void symbol_file_fixture_seal(uint8_t *bytes, size_t size)
{
	struct pilotlight_symbol_header header;
	struct pilotlight_symbol_section section;
	size_t count;

	if (size < sizeof(header))
		return;
	memcpy(&header, bytes, sizeof(header));
	count = (size - sizeof(header)) / sizeof(section);
	if (count > header.section_count)
		count = header.section_count;
	for (size_t i = 0; i < count && i < PILOTLIGHT_SYMBOL_SECTIONS_MAX; i++) {
		uint8_t *entry = bytes + sizeof(header) + i * sizeof(section);

		memcpy(&section, entry, sizeof(section));
		if (section.offset > size || section.bytes > size - section.offset)
			continue;
		section.hash = XXH3_64bits(bytes + section.offset, section.bytes);
		memcpy(entry, &section, sizeof(section));
	}
	header.header_hash = 0;
	memcpy(bytes, &header, sizeof(header));
	header.header_hash = XXH3_64bits(bytes, sizeof(header) + count * sizeof(section));
	memcpy(bytes, &header, sizeof(header));
}

/* Appends a section with `contents`, or zeros if NULL, and returns its bytes. */
static inline void *symbol_file_fixture_append(struct symbol_file_fixture *fixture, uint32_t id,
	uint32_t entry_bytes, const void *contents, size_t count)
{
	struct pilotlight_symbol_header *header = symbol_file_fixture_header(fixture);
	struct pilotlight_symbol_section *sections =
		(struct pilotlight_symbol_section *)(header + 1);
	size_t alignment = PILOTLIGHT_SYMBOL_ALIGNMENT;
	size_t offset = (fixture->size + alignment - 1) / alignment * alignment;

	sections[header->section_count++] = (struct pilotlight_symbol_section){
		.id = id,
		.entry_bytes = entry_bytes,
		.offset = offset,
		.bytes = (uint64_t)entry_bytes * count,
	};
	if (contents && count > 0)
		memcpy(fixture->bytes + offset, contents, entry_bytes * count);
	fixture->size = offset + entry_bytes * count;
	return fixture->bytes + offset;
}

/* Entries begin with the offset; `stride` is their size in 32-bit words. */
static inline void symbol_file_fixture_append_index(struct symbol_file_fixture *fixture,
	uint32_t id, const uint32_t *offsets, size_t count, size_t stride, uint8_t shift)
{
	size_t ranges = count > 0 ? (offsets[(count - 1) * stride] >> shift) + 1 : 0;
	size_t entries = count > 0 ? ranges + 1 : 0;
	uint32_t *index = symbol_file_fixture_append(fixture, id, 4, NULL, entries);
	size_t before = 0;

	for (size_t i = 0; i < entries; i++) {
		while (before < count && (uint64_t)offsets[before * stride] < (uint64_t)i << shift)
			before++;
		index[i] = (uint32_t)before;
	}
}

static inline uint32_t symbol_file_fixture_put_string(
	struct symbol_file_fixture *fixture, const char *string)
{
	struct pilotlight_symbol_section *section =
		symbol_file_fixture_section(fixture, PILOTLIGHT_SYMBOL_STRINGS);
	uint64_t at = section->bytes;

	memcpy(fixture->bytes + section->offset + at, string, strlen(string) + 1);
	section->bytes += strlen(string) + 1;
	fixture->size = section->offset + section->bytes;
	return (uint32_t)at;
}

/* The strings come last, so that they can grow. */
static inline void symbol_file_fixture_append_names(struct symbol_file_fixture *fixture)
{
	struct pilotlight_symbol_frame *frames = symbol_file_fixture_append(
		fixture, PILOTLIGHT_SYMBOL_FRAMES, sizeof(*frames), NULL, fixture->frame_count + 1);
	uint32_t *files = symbol_file_fixture_append(
		fixture, PILOTLIGHT_SYMBOL_FILES, sizeof(*files), NULL, fixture->file_count + 1);

	(void)symbol_file_fixture_append(fixture, PILOTLIGHT_SYMBOL_STRINGS, 1, "", 1);
	for (size_t i = 0; i < fixture->frame_count; i++) {
		const struct symbol_file_fixture_frame *frame = &fixture->frames[i];

		frames[i + 1] = (struct pilotlight_symbol_frame){
			.parent = frame->parent,
			.name = symbol_file_fixture_put_string(fixture, frame->name),
			.call_low = (uint32_t)frame->call,
			.call_high = (uint32_t)(frame->call >> 32),
		};
	}
	for (size_t i = 0; i < fixture->file_count; i++)
		files[i + 1] = symbol_file_fixture_put_string(fixture, fixture->files[i]);
}

/* Sets length and hashes after a change of the bytes. */
static inline void symbol_file_fixture_finish(struct symbol_file_fixture *fixture)
{
	symbol_file_fixture_header(fixture)->file_bytes = fixture->size;
	symbol_file_fixture_seal(fixture->bytes, fixture->size);
}

static inline void symbol_file_fixture_build(struct symbol_file_fixture *fixture)
{
	struct pilotlight_symbol_header *header = symbol_file_fixture_header(fixture);

	memset(fixture->bytes, 0, sizeof(fixture->bytes));
	*header = (struct pilotlight_symbol_header){
		.version = PILOTLIGHT_SYMBOL_VERSION,
		.header_bytes = sizeof(*header),
		.identity_bytes = fixture->identity_bytes ? fixture->identity_bytes : 20,
		.identity_kind = fixture->kind ? fixture->kind : PILOTLIGHT_SYMBOL_BUILD_ID,
		.rank = fixture->rank,
		.failure = fixture->failure,
		.contents = fixture->contents,
		.machine = 62,
		.boundary_shift = fixture->boundary_shift,
		.row_shift = fixture->row_shift,
		.base_vaddr = fixture->base_vaddr,
		.extraction = fixture->is_old ? 0 : PILOTLIGHT_SYMBOL_EXTRACTION,
		.created_s = fixture->created_s,
	};
	memcpy(header->magic, PILOTLIGHT_SYMBOL_MAGIC, sizeof(header->magic));
	memcpy(header->identity, fixture->identity, sizeof(header->identity));
	if (fixture->origin)
		strncpy(header->origin, fixture->origin, sizeof(header->origin) - 1);

	fixture->size = sizeof(*header);
	if (fixture->rank != PILOTLIGHT_SYMBOL_RANK_NONE) {
		fixture->size +=
			SYMBOL_FILE_FIXTURE_SECTIONS * sizeof(struct pilotlight_symbol_section);
		(void)symbol_file_fixture_append(fixture, PILOTLIGHT_SYMBOL_SEGMENTS,
			sizeof(*fixture->segments), fixture->segments, fixture->segment_count);
		(void)symbol_file_fixture_append(fixture, PILOTLIGHT_SYMBOL_BOUNDARIES,
			sizeof(*fixture->boundaries), fixture->boundaries, fixture->boundary_count);
		symbol_file_fixture_append_index(fixture, PILOTLIGHT_SYMBOL_BOUNDARY_INDEX,
			(const uint32_t *)fixture->boundaries, fixture->boundary_count, 2,
			fixture->boundary_shift);
		(void)symbol_file_fixture_append(fixture, PILOTLIGHT_SYMBOL_ROWS,
			sizeof(*fixture->rows), fixture->rows, fixture->row_count);
		symbol_file_fixture_append_index(fixture, PILOTLIGHT_SYMBOL_ROW_INDEX,
			(const uint32_t *)fixture->rows, fixture->row_count, 3, fixture->row_shift);
		symbol_file_fixture_append_names(fixture);
	}
	symbol_file_fixture_finish(fixture);
}

/* -1 on failure. */
static inline int symbol_file_fixture_fd(const struct symbol_file_fixture *fixture)
{
	int fd = memfd_create("symbols", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, fixture->bytes, fixture->size) != (ssize_t)fixture->size) {
		(void)close(fd);
		return -1;
	}
	return fd;
}
