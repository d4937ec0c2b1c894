/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perl, hostile twice. Describes a small one whose file is damaged: the first byte chooses the
 * version and whether it has threads, then two bytes for a place and one for the change. And walks
 * the frames of a process: the input is a description, the thread pointer, the base, and the memory
 * at address 0x10000. A walk by a sound description must end, its reads are bounded, and what is
 * copied must be a sound record.
 */
#include "tests/fuzz/damaged_binary.h"
#include "tests/fuzz/walked_memory.h"

#include "base/cleanup.h"
#include "bpf/runtime_perl_names.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_perl.h"
#include "symbol/runtime_code.h"
#include "tests/extract/perl_fixture.h"

enum { STEPS_MAX = 300, VERSION_FIRST = 32, VERSIONS = 5 };

static void describe_damaged(const uint8_t *bytes, size_t size)
{
	static struct perl_fixture perl;
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return;
	perl_fixture_init(&perl, (uint8_t)(VERSION_FIRST + 2 * (bytes[0] % VERSIONS)), 0);
	if (bytes[0] / VERSIONS % 2)
		perl_fixture_leave_threads_out(&perl);
	damage(perl.bytes, sizeof(perl.bytes), bytes + 1, size - 1);
	fd = perl_fixture_fd(&perl);
	try_description(fd, runtime_perl_read);
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
	if (!perl_copy_place(walk, &record) || !perl_copy_names(walk, runtime, &record))
		return;
	if (runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
	(void)runtime_code_line(&code, step->unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime runtime;
	struct runtime_walk walk = { .base = 0 };
	struct runtime_span spans[RUNTIME_SPANS];
	uint64_t words[2];
	enum runtime_end end;

	(void)code_instruction_load(NULL);
	describe_damaged(bytes, size);
	if (!take_input(bytes, size, PILOTLIGHT_RUNTIME_PERL, &runtime, words, 2))
		return 0;
	walk.thread = words[0];
	walk.base = words[1];
	end = perl_begin(&walk, spans, &runtime, size % 2);
	for (int i = 0; end == RUNTIME_ON && i < STEPS_MAX; i++) {
		struct runtime_step step;

		end = perl_next(&walk, spans, &runtime, &step);
		if (end != RUNTIME_ON && end != RUNTIME_ROOT && end != RUNTIME_UNREADABLE)
			abort();
		if (end != RUNTIME_UNREADABLE && step.code)
			check_step(&runtime, &walk, &step);
	}
	return 0;
}
