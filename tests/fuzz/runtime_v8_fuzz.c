/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes V8 in a hostile ELF file: a small one of the version that the first byte chooses,
 * perhaps stripped, damaged by the rest: two bytes for a place, one for the change.
 */
#include "tests/fuzz/damaged_binary.h"

#include "base/cleanup.h"
#include "extract/code_instruction.h"
#include "extract/runtime_v8.h"
#include "tests/extract/v8_fixture.h"

static struct v8_fixture v8;

static int read_runtime(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	uint32_t lacks;

	return runtime_v8_read(files, scratch, ret_runtime, &lacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return 0;
	v8_fixture_init(&v8, bytes[0] & 1 ? 13 : 11);
	if (bytes[0] & 2)
		v8_fixture_strip(&v8, bytes[0] & 4);
	damage(v8.bytes, sizeof(v8.bytes), bytes + 1, size - 1);
	(void)code_instruction_load(NULL);
	fd = v8_fixture_fd(&v8);
	try_description(fd, read_runtime);
	return 0;
}
