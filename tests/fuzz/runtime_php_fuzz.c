/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PHP, hostile twice. Describes a small one whose file is damaged: the first byte chooses the
 * version, then two bytes for a place and one for the change. And walks the frames of a process:
 * the input is a description, r15, the base, and the memory at address 0x10000; r14 is the
 * innermost frame. A walk by a sound description must end, its reads are bounded, and what is
 * copied must be a sound record.
 */
#include "tests/fuzz/damaged_binary.h"
#include "tests/fuzz/walked_memory.h"

#include "base/cleanup.h"
#include "bpf/runtime_php.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_php.h"
#include "symbol/runtime_code.h"
#include "tests/extract/php_fixture.h"

enum { STEPS_MAX = 300 };

static void describe_damaged(const uint8_t *bytes, size_t size)
{
	static const struct {
		const char *version;
		int32_t file_at;
	} versions[] = { { "7.4.33", 136 }, { "8.0.8", 144 }, { "8.2.36", 152 }, { "8.4.1", 168 } };
	static struct php_fixture php;
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	php_fixture_init(&php, versions[bytes[0] % 4].version, versions[bytes[0] % 4].file_at);
	damage(php.bytes, sizeof(php.bytes), bytes + 1, size - 1);
	fd = php_fixture_fd(&php);
	try_description(fd, runtime_php_read);
}

/* The record was full of other bytes before. */
static void check_step(const struct pilotlight_runtime *runtime, struct runtime_walk *walk,
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
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk = { .base = 0 };
	uint64_t words[2];
	enum runtime_end end;

	(void)code_instruction_load(NULL);
	describe_damaged(bytes, size);
	if (!take_input(bytes, size, PILOTLIGHT_RUNTIME_PHP, &runtime, words, 2))
		return 0;
	walk.registers[0] = words[0];
	walk.base = words[1];
	end = php_begin(&walk, spans, &runtime);
	walk.registers[1] = walk.frame;
	for (int i = 0; end == RUNTIME_ON && i < STEPS_MAX; i++) {
		struct runtime_step step;

		end = php_next(&walk, spans, &runtime, &step);
		if (end != RUNTIME_ON && end != RUNTIME_ROOT && end != RUNTIME_UNREADABLE)
			abort();
		if (end != RUNTIME_UNREADABLE && step.code)
			check_step(&runtime, &walk, &step);
	}
	return 0;
}
