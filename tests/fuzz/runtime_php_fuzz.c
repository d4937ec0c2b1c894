/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PHP, hostile twice. Describes a small one whose file is damaged: the first byte chooses the
 * version, then two bytes for a place and one for the change. And walks the frames of a process:
 * the input is a description, r15, the base, and the memory at address 0x10000; r14 is the
 * innermost frame. A walk by a sound description must end, its reads are bounded, and what is
 * copied must be a sound record.
 */
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/runtime_php.h"
#include "extract/unwind_files.h"
#include "symbol/runtime_code.h"
#include "tests/extract/php_fixture.h"

#include <stdlib.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_php.bpf.h"

enum { DAMAGES_MAX = 16, STEPS_MAX = 300 };
#define START 0x10000ULL

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct {
	const uint8_t *bytes;
	size_t size;
} memory;

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	if (size > PILOTLIGHT_RUNTIME_TABLE_MAX)
		abort();
	if (address < START || size > memory.size || address - START > memory.size - size)
		return 0;
	memcpy(bytes, memory.bytes + (address - START), size);
	return 1;
}

static void describe_damaged(const uint8_t *bytes, size_t size)
{
	static const struct {
		const char *version;
		int32_t file_at;
	} versions[] = { { "7.4.33", 136 }, { "8.0.8", 144 }, { "8.2.36", 152 }, { "8.4.1", 168 } };
	static struct php_fixture php;
	static int scratch_fd = -1;
	struct pilotlight_runtime runtime;
	struct unwind_files opened;
	struct scratch scratch;
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	php_fixture_init(&php, versions[bytes[0] % 4].version, versions[bytes[0] % 4].file_at);
	for (size_t i = 0, at = 1; i < DAMAGES_MAX && at + 3 <= size; i++, at += 3)
		php.bytes[(bytes[at] | (size_t)bytes[at + 1] << 8) % sizeof(php.bytes)] ^=
			bytes[at + 2];
	fd = php_fixture_fd(&php);
	if (scratch_fd < 0)
		scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&scratch, scratch_fd, 16 << 20, 16 << 20);
	if (unwind_files_open(
		    &opened, &(struct extraction_files){ .binary_fd = fd, .debug_fd = -1 }) == 0 &&
		runtime_php_read(&opened, &scratch, &runtime) == 0 &&
		!runtime_bounds_hold(&runtime))
		abort();
}

/* The record was full of other bytes before. */
static void check_step(const struct pilotlight_runtime *runtime, const struct runtime_walk *walk,
	const struct runtime_step *step)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;

	if (step->unit < RUNTIME_UNIT_UNKNOWN || step->unit >= RUNTIME_UNITS_MAX)
		abort();
	memset(&record, 0xff, sizeof(record));
	if (!php_copy_code(walk, runtime, &record))
		return;
	if (runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
	(void)runtime_code_line(&code, step->unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime runtime;
	struct runtime_walk walk = { .base = 0 };
	enum runtime_end end;

	(void)code_instruction_load(NULL);
	describe_damaged(bytes, size);
	if (size < sizeof(runtime) + 2 * sizeof(uint64_t))
		return 0;
	memcpy(&runtime, bytes, sizeof(runtime));
	memcpy(&walk.registers[0], bytes + sizeof(runtime), sizeof(walk.registers[0]));
	memcpy(&walk.base, bytes + sizeof(runtime) + sizeof(uint64_t), sizeof(walk.base));
	memory.bytes = bytes + sizeof(runtime) + 2 * sizeof(uint64_t);
	memory.size = size - sizeof(runtime) - 2 * sizeof(uint64_t);
	if (!runtime_bounds_hold(&runtime) || runtime.language != PILOTLIGHT_RUNTIME_PHP)
		return 0;
	end = php_begin(&walk, &runtime);
	walk.registers[1] = walk.frame;
	for (int i = 0; end == RUNTIME_ON && i < STEPS_MAX; i++) {
		struct runtime_step step;

		end = php_next(&walk, &runtime, &step);
		if (end != RUNTIME_ON && end != RUNTIME_ROOT && end != RUNTIME_UNREADABLE)
			abort();
		if (end != RUNTIME_UNREADABLE && step.code)
			check_step(&runtime, &walk, &step);
	}
	return 0;
}
