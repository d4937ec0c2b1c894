/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the frames of a hostile process, and copies their code objects: the input is a description,
 * the thread's pointer, the base, and the memory at address 0x10000. A walk by a sound description
 * must end, its reads are bounded, and what is copied must be a sound record.
 */
#include "tests/fuzz/walked_memory.h"

#include "bpf/runtime_code.bpf.h"
#include "bpf/runtime_tasks.bpf.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_description.h"

enum { STEPS_MAX = 300 };

/* The record was full of other bytes before. */
static void check_code(const struct pilotlight_runtime *runtime, uint64_t address)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;

	memset(&record, 0xff, sizeof(record));
	if (runtime_copy_code(runtime, address, &record) &&
		runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
}

static void check(const struct runtime_step *step, enum runtime_end end)
{
	if (end != RUNTIME_ON && end != RUNTIME_ROOT && end != RUNTIME_UNREADABLE)
		abort();
	if (end != RUNTIME_UNREADABLE && step->code &&
		(step->code & PILOTLIGHT_RUNTIME_TAG_BITS || step->unit < RUNTIME_UNIT_UNKNOWN ||
			step->unit >= RUNTIME_UNITS_MAX))
		abort();
}

/* Each task that is found has frames, and at most as many as there is room for. */
static void check_tasks(const struct runtime_walk *walk, const struct pilotlight_runtime *runtime)
{
	struct runtime_tasks tasks;
	int found = 0;

	if (!runtime->state_task_at || !runtime_find_task(&tasks, walk, runtime))
		return;
	while (runtime_find_awaiter(&tasks, runtime)) {
		if (tasks.left == 0 || tasks.left > RUNTIME_COROUTINES_MAX ||
			++found > RUNTIME_TASKS_MAX)
			abort();
		while (tasks.left > 0)
			(void)runtime_take_coroutine(&tasks);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime runtime = { .version = 0 };
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk = { .base = 0 };
	uint64_t words[2];
	char text[RUNTIME_RELEASE_BYTES];
	enum runtime_end end;
	bool is_sound = take_input(bytes, size, PILOTLIGHT_RUNTIME_PYTHON, &runtime, words, 2);

	if (strlen(runtime_description_release(&runtime, text)) >= sizeof(text))
		abort();
	if (!is_sound)
		return 0;
	walk.thread = words[0];
	walk.base = words[1];
	end = runtime_begin(&walk, spans, &runtime);
	if (end == RUNTIME_ON)
		check_tasks(&walk, &runtime);
	for (int i = 0; end == RUNTIME_ON && i < STEPS_MAX; i++) {
		struct runtime_step step;

		end = runtime_next(&walk, spans, &runtime, &step);
		check(&step, end);
		if (end != RUNTIME_UNREADABLE && step.code)
			check_code(&runtime, step.code);
	}
	return 0;
}
