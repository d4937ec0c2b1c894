/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information made to measure: CIEs and FDEs, one behind the other. */
#pragma once

#include "dwarf/cfi_section.h"

#include <assert.h>
#include <string.h>

/* Instructions as tests write them. */
#define ADVANCE(delta)		(0x40 | (delta))
#define OFFSET(number, factor)	(0x80 | (number)), (factor)
#define RESTORE(number)		(0xc0 | (number))
#define REMEMBER_STATE		0x0a
#define RESTORE_STATE		0x0b
#define DEF_CFA(number, offset) 0x0c, (number), (offset)
#define DEF_CFA_REGISTER(n)	0x0d, (n)
#define DEF_CFA_OFFSET(offset)	0x0e, (offset)
#define UNDEFINED(number)	0x07, (number)
#define SAME_VALUE(number)	0x08, (number)

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16, X29 = 29, X30 = 30, SP = 31 };

struct cfi_writer {
	uint8_t bytes[32 * 1024];
	size_t size;
	uint64_t vaddr; /* of the section */
	bool is_debug_frame;
	bool is_64;   /* the 64-bit format */
	size_t entry; /* where the one that is open begins */
};

static inline void cfi_put(struct cfi_writer *writer, uint64_t value, size_t size)
{
	assert(writer->size + size <= sizeof(writer->bytes));
	memcpy(writer->bytes + writer->size, &value, size);
	writer->size += size;
}

static inline void cfi_put_bytes(struct cfi_writer *writer, const void *bytes, size_t size)
{
	assert(writer->size + size <= sizeof(writer->bytes));
	if (size > 0)
		memcpy(writer->bytes + writer->size, bytes, size);
	writer->size += size;
}

static inline void cfi_begin(struct cfi_writer *writer)
{
	writer->entry = writer->size;
	if (writer->is_64)
		cfi_put(writer, UINT32_MAX, 4);
	cfi_put(writer, 0, writer->is_64 ? 8 : 4);
}

/* Closes the entry: its length is known. */
static inline void cfi_end(struct cfi_writer *writer)
{
	size_t at = writer->entry + (writer->is_64 ? 4 : 0), bytes = writer->is_64 ? 8 : 4;
	uint64_t length = writer->size - at - bytes;

	memcpy(writer->bytes + at, &length, bytes);
}

static inline size_t cfi_id_bytes(const struct cfi_writer *writer)
{
	return writer->is_64 && writer->is_debug_frame ? 8 : 4;
}

struct cfi_cie_fields {
	uint8_t version; /* 0: 1 */
	const char *letters;
	uint8_t return_column;
	const uint8_t *data; /* of the augmentation, with its length */
	size_t data_bytes;
	const uint8_t *program;
	size_t program_bytes;
	uint8_t code_alignment; /* 0: 1 */
};

/* Returns its offset. */
static inline uint32_t cfi_add_cie(struct cfi_writer *writer, const struct cfi_cie_fields *fields)
{
	cfi_begin(writer);
	cfi_put(writer, writer->is_debug_frame ? UINT64_MAX : 0, cfi_id_bytes(writer));
	cfi_put(writer, fields->version ? fields->version : 1, 1);
	cfi_put_bytes(writer, fields->letters, strlen(fields->letters) + 1);
	if (strcmp(fields->letters, "eh") == 0)
		cfi_put(writer, 0, 8);
	if (fields->version == 4)
		cfi_put(writer, 8, 2);
	cfi_put(writer, fields->code_alignment ? fields->code_alignment : 1, 1);
	cfi_put(writer, 0x78, 1); /* -8 */
	cfi_put(writer, fields->return_column, 1);
	cfi_put_bytes(writer, fields->data, fields->data_bytes);
	cfi_put_bytes(writer, fields->program, fields->program_bytes);
	cfi_end(writer);
	return (uint32_t)writer->entry;
}

/* x86-64's usual one: "zR" with addresses relative to themselves; of .debug_frame absolute ones. */
static inline uint32_t cfi_add_usual_cie(struct cfi_writer *writer)
{
	static const uint8_t data[] = { 1, 0x1b };
	static const uint8_t program[] = { DEF_CFA(RSP, 8), OFFSET(RIP, 1) };
	const struct cfi_cie_fields fields = {
		.letters = writer->is_debug_frame ? "" : "zR",
		.return_column = RIP,
		.data = data,
		.data_bytes = writer->is_debug_frame ? 0 : sizeof(data),
		.program = program,
		.program_bytes = sizeof(program),
	};

	return cfi_add_cie(writer, &fields);
}

static inline void cfi_begin_fde(struct cfi_writer *writer, uint32_t cie)
{
	cfi_begin(writer);
	cfi_put(writer, writer->is_debug_frame ? cie : writer->size - cie, cfi_id_bytes(writer));
}

/* Of a usual CIE. Returns its offset. */
static inline uint32_t cfi_add_fde(struct cfi_writer *writer, uint32_t cie, uint64_t start,
	uint64_t size, const uint8_t *program, size_t program_bytes)
{
	cfi_begin_fde(writer, cie);
	if (writer->is_debug_frame) {
		cfi_put(writer, start, 8);
		cfi_put(writer, size, 8);
	} else {
		cfi_put(writer, start - (writer->vaddr + writer->size), 4);
		cfi_put(writer, size, 4);
		cfi_put(writer, 0, 1);
	}
	cfi_put_bytes(writer, program, program_bytes);
	cfi_end(writer);
	return (uint32_t)writer->entry;
}

/* Its instructions as arguments. */
#define CFI_ADD_FDE(writer, cie, start, size, ...)                              \
	cfi_add_fde(writer, cie, start, size, (const uint8_t[]){ __VA_ARGS__ }, \
		sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline struct cfi_section cfi_section_of(const struct cfi_writer *writer)
{
	return (struct cfi_section){
		.bytes = writer->bytes,
		.size = writer->size,
		.vaddr = writer->vaddr,
		.is_eh = !writer->is_debug_frame,
	};
}
