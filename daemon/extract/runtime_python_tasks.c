/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_python_tasks.h"

#include "base/array.h"
#include "dwarf/elf_sections.h"
#include "extract/elf_memory.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MINOR_FIRST = 14 };

/* Words of struct _Py_AsyncioModuleDebugOffsets, and behind it of struct _Py_DebugOffsets. */
enum word {
	TASK_AWAITED_BY = 2,
	TASK_AWAITED_BY_IS_SET = 4,
	TASK_COROUTINE = 5,
	THREAD_RUNNING_TASK = 11,
	TASK_WORDS = 13,
	COROUTINE_FRAME = TASK_WORDS,
	COROUTINE_STATE,
	FRAME_STACK,
	WORDS,
};

/* Where the second struct has its words, in 3.14 and 3.15; the state of a frame that has yielded
 * from another object (enum _framestate); and how far below the top of its stack that object is. */
static const struct {
	uint16_t at[WORDS - TASK_WORDS];
	uint8_t waits, awaited_below;
} published[] = {
	{ { 680, 688, 296 }, (uint8_t)-1, 8 },
	{ { 808, 816, 360 }, 2, 16 },
};

/* Of 3.14 without the global lock, and with it, whose _asyncio is a library of its own. What is
 * wrong here finds no task: the sampler wants the frame of its coroutine in the thread's stack. */
static const uint64_t known_3_14[2][TASK_WORDS] = {
	{ [TASK_AWAITED_BY] = 112,
		[TASK_AWAITED_BY_IS_SET] = 125,
		[TASK_COROUTINE] = 144,
		[THREAD_RUNNING_TASK] = 872 },
	{ [TASK_AWAITED_BY] = 96,
		[TASK_AWAITED_BY_IS_SET] = 109,
		[TASK_COROUTINE] = 128,
		[THREAD_RUNNING_TASK] = 872 },
};

static const struct {
	enum word word;
	size_t field; /* of struct pilotlight_runtime */
} fields[] = {
#define FIELD(name) offsetof(struct pilotlight_runtime, name)
	{ THREAD_RUNNING_TASK, FIELD(state_task_at) },
	{ TASK_COROUTINE, FIELD(task_coroutine_at) },
	{ TASK_AWAITED_BY, FIELD(task_awaiter_at) },
	{ TASK_AWAITED_BY_IS_SET, FIELD(task_several_at) },
	{ COROUTINE_FRAME, FIELD(coroutine_frame_at) },
	{ COROUTINE_STATE, FIELD(coroutine_state_at) },
	{ FRAME_STACK, FIELD(frame_stack_at) },
#undef FIELD
};

/* Returns 0; -ENODATA the binary has none; or -errno from reading. */
static int read_tasks(
	const struct elf_file *file, const struct elf_memory *memory, uint64_t words[TASK_WORDS])
{
	Elf64_Shdr section;
	int r = elf_sections_find(file, ".AsyncioDebug", &section);

	if (r < 0)
		return r;
	if (section.sh_size < TASK_WORDS * sizeof(*words))
		return -ENODATA;
	return elf_memory_read(memory, section.sh_addr, words, TASK_WORDS * sizeof(*words));
}

static bool are_offsets(const uint64_t words[WORDS])
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (words[fields[i].word] == 0 || words[fields[i].word] > PILOTLIGHT_RUNTIME_AT_MAX)
			return false;
	return true;
}

int runtime_python_describe_tasks(const struct elf_file *file, const struct elf_memory *memory,
	uint64_t vaddr, uint32_t minor, bool has_lock, struct pilotlight_runtime *runtime)
{
	uint32_t column = minor - MINOR_FIRST;
	uint64_t words[WORDS];
	int r;

	if (minor < MINOR_FIRST || column >= ARRAY_SIZE(published))
		return 0;
	r = read_tasks(file, memory, words);
	if (r == -ENODATA && minor == MINOR_FIRST) {
		memcpy(words, known_3_14[has_lock], sizeof(known_3_14[has_lock]));
		r = 0;
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(published[column].at); i++)
		r = elf_memory_read(memory, vaddr + published[column].at[i], &words[TASK_WORDS + i],
			sizeof(*words));
	if (r < 0 || !are_offsets(words))
		return r == -ENODATA ? 0 : r;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint16_t at = (uint16_t)words[fields[i].word];

		memcpy((uint8_t *)runtime + fields[i].field, &at, sizeof(at));
	}
	runtime->coroutine_waits = published[column].waits;
	runtime->stack_awaited_below = published[column].awaited_below;
	return 0;
}
