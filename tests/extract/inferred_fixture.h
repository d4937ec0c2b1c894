/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules inferred from machine code that a test has as bytes, as text. */
#pragma once

#include "extract/unwind_inferred.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/unwind_fixture.h"

#include "extract/extraction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { INFERRED_TEXT_BYTES = 4096, INFERRED_NO_ENTRY = 0 };

struct inferred_fixture {
	struct unwind_elf elf;
	struct unwind_files files;
	struct unwind_gaps gaps;
	struct unwind_inferred inferred;
	struct unwind_functions functions; /* described; their array is the test's */
	struct unwind_stubs stubs;
	struct unwind_go go;
	struct scratch_fixture scratch;
	uint32_t entry; /* in the code; UINT32_MAX: none */
	int fd;
	char text[INFERRED_TEXT_BYTES];
};

static inline void inferred_fixture_init(struct inferred_fixture *fixture)
{
	*fixture = (struct inferred_fixture){ .fd = -1, .entry = UINT32_MAX };
	unwind_elf_add_code(&fixture->elf);
	assert_true(scratch_fixture_init(&fixture->scratch, 16 << 20));
}

static inline void inferred_fixture_clear(struct inferred_fixture *fixture)
{
	unwind_inferred_done(&fixture->inferred);
	unwind_gaps_done(&fixture->gaps);
	/* New items of its arrays are zeros. */
	(void)ftruncate(fixture->scratch.fd, 0);
	fixture->scratch.scratch.used_bytes = 0;
}

static inline void inferred_fixture_done(struct inferred_fixture *fixture)
{
	inferred_fixture_clear(fixture);
	scratch_fixture_done(&fixture->scratch);
	closep(&fixture->fd);
}

/* Makes the file: the code, and nothing behind it. */
static inline void inferred_fixture_put(
	struct inferred_fixture *fixture, const uint8_t *code, size_t size)
{
	const uint64_t entry = CODE_VADDR + (uint64_t)fixture->entry;
	struct extraction_files descriptors = { .debug_fd = -1 };

	closep(&fixture->fd);
	fixture->elf.segments[0].p_filesz = fixture->elf.segments[0].p_memsz = size;
	fixture->fd = descriptors.binary_fd = unwind_elf_fd(&fixture->elf);
	unwind_elf_put(fixture->fd, CODE_OFFSET, code, size);
	if (fixture->entry != UINT32_MAX)
		unwind_elf_put(fixture->fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	assert_int_equal(unwind_files_open(&fixture->files, &descriptors), 0);
}

static inline int inferred_fixture_infer(struct inferred_fixture *fixture)
{
	struct scratch *scratch = &fixture->scratch.scratch;
	int r;

	inferred_fixture_clear(fixture);
	r = unwind_gaps_read(&fixture->gaps, &fixture->functions, &fixture->go, &fixture->stubs,
		&fixture->files, scratch);
	if (r == 0)
		r = unwind_inferred_read(
			&fixture->inferred, &fixture->gaps, &fixture->files, scratch);
	return r;
}

/*
 * "offset:rule" of each row, offsets from the start of the code: the CFA by sp or bp; `*` the
 * caller's frame pointer is saved, `?` it is lost.
 */
static inline const char *inferred_fixture_text(struct inferred_fixture *fixture)
{
	const struct unwind_inferred_row *rows = fixture->inferred.rows.items;
	struct pilotlight_unwind_rule last;
	size_t used = 0;

	fixture->text[0] = '\0';
	for (size_t i = 0; i < fixture->inferred.rows.count; i++) {
		const struct pilotlight_unwind_rule rule =
			unwind_inferred_rule(&fixture->inferred, &rows[i]);
		char *at = fixture->text + used;
		size_t room = sizeof(fixture->text) - used;
		const char *space = i > 0 ? " " : "";
		uint32_t offset = rows[i].offset - CODE_OFFSET;

		/* Other states may have the same rule. */
		if (i > 0 && memcmp(&rule, &last, sizeof(rule)) == 0)
			continue;
		last = rule;
		if (rule.kind != PILOTLIGHT_UNWIND_INFERRED)
			used += (size_t)snprintf(at, room, "%s%x:%s", space, offset,
				rule.kind == PILOTLIGHT_UNWIND_STOP ? "stop" : "root");
		else
			used += (size_t)snprintf(at, room, "%s%x:%s+%d%s", space, offset,
				rule.base == 7 ? "sp" : "bp", rule.offset,
				rule.frame_pointer == PILOTLIGHT_UNWIND_FP_AT_CFA    ? "*"
				: rule.frame_pointer == PILOTLIGHT_UNWIND_FP_UNKNOWN ? "?"
										     : "");
		assert_true(used < sizeof(fixture->text));
	}
	return fixture->text;
}
