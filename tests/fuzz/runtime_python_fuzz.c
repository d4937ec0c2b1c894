/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes the interpreter in a hostile ELF file: the input itself, and a small CPython of the
 * version that the first byte chooses, damaged by the rest: two bytes for a place, one for the
 * change.
 */
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_accessor.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/runtime_python.h"
#include "extract/unwind_files.h"
#include "tests/extract/python_fixture.h"

#include <stdlib.h>

enum { DAMAGES_MAX = 16, FIRST_MINOR = 8, MINORS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct python_fixture python;

static void try_fd(int fd)
{
	static int scratch_fd = -1;
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct pilotlight_runtime runtime;
	struct unwind_files opened;
	struct scratch scratch;

	if (scratch_fd < 0)
		scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&scratch, scratch_fd, 16 << 20, 16 << 20);
	if (unwind_files_open(&opened, &files) == 0 &&
		runtime_python_read(&opened, &scratch, &runtime) == 0 &&
		!runtime_bounds_hold(&runtime))
		abort();
}

static void try_file(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("python", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
		try_fd(fd);
}

static void try_damaged(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	python_fixture_init_as(&python,
		0x030000f0 | (uint32_t)(FIRST_MINOR + bytes[0] % MINORS) << 16, bytes[0] & 0x80);
	for (size_t i = 0, at = 1; i < DAMAGES_MAX && at + 3 <= size; i++, at += 3)
		python.bytes[(bytes[at] | (size_t)bytes[at + 1] << 8) % sizeof(python.bytes)] ^=
			bytes[at + 2];
	fd = python_fixture_fd(&python);
	if (fd >= 0)
		try_fd(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct code_accessor accessor;

	(void)code_instruction_load(NULL);
	code_accessor_read(bytes, size, 0x1000, &accessor);
	try_file(bytes, size);
	try_damaged(bytes, size);
	return 0;
}
