/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A code object of an interpreter, from the record that the kernel side copied of it (struct
 * pilotlight_runtime_code). The program wrote its contents, so they are hostile (I8): texts become
 * valid UTF-8 that is safe to show. A value object that borrows the record's table.
 */
#pragma once

#include "base/utf8.h"
#include "pilotlight/runtime.h"

#include <stddef.h>
#include <stdint.h>

struct runtime_code {
	uint64_t hash;
	enum pilotlight_runtime_lines lines;
	int32_t first_line;
	const uint8_t *table; /* borrowed; perhaps cut */
	size_t table_bytes;
	/* Of a text that was cut, "…" takes the place of the rest. */
	char name[UTF8_CLEAN_BYTES];
	char file[UTF8_CLEAN_BYTES];
};

/* `bytes` are a record without what its table does not use. Returns 0, or -EINVAL. */
int runtime_code_parse(const void *bytes, size_t size, struct runtime_code *ret_code);

/* The line of an instruction; 0: not known. */
uint32_t runtime_code_line(const struct runtime_code *code, int32_t unit);
