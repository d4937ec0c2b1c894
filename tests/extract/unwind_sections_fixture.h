/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections and code as the files of a binary have them, without the files. */
#pragma once

#include "extract/unwind_sections.h"
#include "tests/extract/unwind_fixture.h"

/* Those that are empty are not there; no scratch array is either. */
static inline struct unwind_sections unwind_sections_of(
	const struct cfi_writer *first, const struct cfi_writer *second)
{
	struct unwind_sections sections = { 0 };

	if (first->size > 0)
		sections.sections[sections.count++].cfi = cfi_section_of(first);
	if (second->size > 0)
		sections.sections[sections.count++].cfi = cfi_section_of(second);
	return sections;
}

/* One segment, where tests have code. */
static inline struct unwind_files unwind_files_of_code(uint16_t machine)
{
	const struct symbol_builder_code code = {
		.segments[0] = { .offset = CODE_OFFSET,
			.vaddr = CODE_VADDR,
			.file_bytes = CODE_BYTES,
			.memory_bytes = CODE_BYTES },
		.segment_count = 1,
	};
	struct unwind_files files = { .binary.machine = machine };
	int r;

	r = code_segments_init(&files.code, &code);
	assert(r == 0);
	(void)r;
	return files;
}
