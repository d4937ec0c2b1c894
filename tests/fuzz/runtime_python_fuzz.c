/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes the interpreter in a hostile ELF file: the input itself, and a small CPython of the
 * version that the first byte chooses, damaged by the rest: two bytes for a place, one for the
 * change.
 */
#include "tests/fuzz/damaged_binary.h"

#include "base/cleanup.h"
#include "extract/code_accessor.h"
#include "extract/code_instruction.h"
#include "extract/runtime_python.h"
#include "tests/extract/python_fixture.h"

enum { FIRST_MINOR = 8, MINORS = 8 };

static struct python_fixture python;

static void try_file(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("python", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
		try_description(fd, runtime_python_read);
}

static void try_damaged(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	python_fixture_init_as(&python,
		0x030000f0 | (uint32_t)(FIRST_MINOR + bytes[0] % MINORS) << 16, bytes[0] & 0x80);
	damage(python.bytes, sizeof(python.bytes), bytes + 1, size - 1);
	fd = python_fixture_fd(&python);
	try_description(fd, runtime_python_read);
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
