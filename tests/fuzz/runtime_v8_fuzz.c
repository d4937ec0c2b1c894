/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes V8 in a hostile ELF file: a small one of the version that the first byte chooses,
 * damaged by the rest: two bytes for a place, one for the change.
 */
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "extract/extraction.h"
#include "extract/runtime_v8.h"
#include "extract/unwind_files.h"
#include "tests/extract/v8_fixture.h"

#include <stdlib.h>

enum { DAMAGES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct v8_fixture v8;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime runtime;
	struct extraction_files files = { .debug_fd = -1 };
	struct unwind_files opened;
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return 0;
	v8_fixture_init(&v8, bytes[0] & 1 ? 13 : 11);
	for (size_t i = 0, at = 1; i < DAMAGES_MAX && at + 3 <= size; i++, at += 3)
		v8.bytes[(bytes[at] | (size_t)bytes[at + 1] << 8) % sizeof(v8.bytes)] ^=
			bytes[at + 2];
	fd = v8_fixture_fd(&v8);
	files.binary_fd = fd;
	if (fd >= 0 && unwind_files_open(&opened, &files) == 0 &&
		runtime_v8_read(&opened, &runtime) == 0 && !runtime_bounds_hold(&runtime))
		abort();
	return 0;
}
