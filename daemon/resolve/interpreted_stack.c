/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/interpreted_stack.h"

#include "resolve/runtime_names.h"

/* Finds the next group whose place is known, with those before it. */
static void find_next(struct interpreted_stack *stack)
{
	size_t i = 0;

	stack->place = SIZE_MAX;
	while (i < stack->count && stack->place == SIZE_MAX) {
		const struct pilotlight_runtime_frame *frame = &stack->frames[i++];

		if (frame->flags & PILOTLIGHT_RUNTIME_GROUP_END &&
			frame->place != PILOTLIGHT_RUNTIME_PLACE_UNKNOWN)
			stack->place = frame->place;
	}
	stack->next = i;
}

/* Where a group does not end it is not known what runs it: the native frames tell more. */
static size_t whole_groups(const struct raw_sample *sample)
{
	size_t count = sample->runtime_count;

	while (count > 0 &&
		!(sample->runtime_frames[count - 1].flags & PILOTLIGHT_RUNTIME_GROUP_END))
		count--;
	return count;
}

void interpreted_stack_init(struct interpreted_stack *stack, const struct raw_sample *sample,
	const struct runtime_names *names, uint32_t binary)
{
	*stack = (struct interpreted_stack){
		.sample = sample,
		.names = names,
		.binary = binary,
		.frames = sample->runtime_frames,
		.count = names ? whole_groups(sample) : 0,
		.room = PILOTLIGHT_RUNTIME_FRAMES_MAX - sample->runtime_count,
	};
	stack->is_lost = names && stack->count == 0 && sample->runtime_count > 0 &&
			 sample->runtime_end == PILOTLIGHT_RUNTIME_DEEP;
	find_next(stack);
}

static struct resolved_frame frame_of(
	const struct interpreted_stack *stack, uint64_t code, const struct runtime_name *name)
{
	return (struct resolved_frame){
		.address = code,
		.binary = stack->binary,
		.is_interpreted = true,
		.name = name->name,
		.file = name->file,
		.line = name->line,
	};
}

/* Does each frame have a native one of its own, which stays if the frame is missing? */
static bool has_native_frames(const struct interpreted_stack *stack)
{
	return stack->sample->runtime_language == PILOTLIGHT_RUNTIME_V8 ||
	       stack->sample->runtime_language == PILOTLIGHT_RUNTIME_HOTSPOT;
}

/* Others have native frames. */
static const char *const unreadable[PILOTLIGHT_RUNTIME_LANGUAGES] = {
	[PILOTLIGHT_RUNTIME_PYTHON] = "[truncated: Python frame unreadable]",
	[PILOTLIGHT_RUNTIME_RUBY] = "[truncated: Ruby frame unreadable]",
	[PILOTLIGHT_RUNTIME_PHP] = "[truncated: PHP frame unreadable]",
	[PILOTLIGHT_RUNTIME_PERL] = "[truncated: Perl frame unreadable]",
};

/* Says why the outermost frames are missing. Returns the number of frames that do. */
static size_t write_end(const struct interpreted_stack *stack, struct resolved_frame *frame)
{
	struct runtime_name name = { .name = "[truncated: depth]" };

	if (stack->count > 0 || stack->sample->runtime_end == PILOTLIGHT_RUNTIME_ROOT ||
		has_native_frames(stack))
		return 0;
	if (stack->sample->runtime_end == PILOTLIGHT_RUNTIME_UNREADABLE)
		name.name = unreadable[stack->sample->runtime_language];
	*frame = frame_of(stack, 0, &name);
	return 1;
}

/* What came before it was known whose the cgroup is was kept for that cgroup. */
static bool find_name(const struct interpreted_stack *stack,
	const struct runtime_inlined_frame *frame, struct runtime_name *ret_name)
{
	const struct raw_sample *sample = stack->sample;

	return runtime_names_find(
		       stack->names, sample->share_user, 0, frame->code, frame->unit, ret_name) ||
	       runtime_names_find(stack->names, sample->user, sample->cgroup_id, frame->code,
		       frame->unit, ret_name);
}

static const char *const nameless[PILOTLIGHT_RUNTIME_LANGUAGES] = {
	[PILOTLIGHT_RUNTIME_PYTHON] = "[python: no name]",
	[PILOTLIGHT_RUNTIME_V8] = "[javascript: no name]",
	[PILOTLIGHT_RUNTIME_RUBY] = "[ruby: no name]",
	[PILOTLIGHT_RUNTIME_HOTSPOT] = "[java: no name]",
	[PILOTLIGHT_RUNTIME_PHP] = "[php: no name]",
	[PILOTLIGHT_RUNTIME_PERL] = "[perl: no name]",
};

/* The functions that a frame of native code runs, innermost first: itself if it is none. Only
 * frames of V8 are code of several. Without room the outermost stands for them. */
static size_t find_functions(struct interpreted_stack *stack,
	const struct pilotlight_runtime_frame *frame,
	struct runtime_inlined_frame functions[RUNTIME_INLINED_MAX])
{
	const struct raw_sample *sample = stack->sample;
	size_t count = 0;

	if (sample->runtime_language == PILOTLIGHT_RUNTIME_V8) {
		count = runtime_names_find_inlined(
			stack->names, sample->share_user, 0, frame->code, frame->unit, functions);
		if (count == 0)
			count = runtime_names_find_inlined(stack->names, sample->user,
				sample->cgroup_id, frame->code, frame->unit, functions);
	}
	if (count == 0)
		functions[count++] = (struct runtime_inlined_frame){ frame->code, frame->unit };
	if (count - 1 > stack->room) {
		functions[0] = functions[count - 1];
		count = 1;
	}
	stack->room -= count - 1;
	return count;
}

static size_t push_functions(struct interpreted_stack *stack,
	const struct pilotlight_runtime_frame *frame, struct resolved_frame *frames,
	struct resolver_counters *counters)
{
	struct runtime_inlined_frame functions[RUNTIME_INLINED_MAX];
	size_t count = find_functions(stack, frame, functions), written = 0;
	/* Java's native frame may be a stub, whose name tells more than none. */
	bool has_better =
		stack->sample->runtime_language == PILOTLIGHT_RUNTIME_HOTSPOT && stack->next == 1;

	counters->interpreted_frames += count;
	for (size_t i = 0; i < count; i++) {
		struct runtime_name name = {
			.name = nameless[stack->sample->runtime_language],
		};

		if (!find_name(stack, &functions[i], &name)) {
			counters->interpreted_nameless++;
			if (has_better)
				continue;
		}
		frames[written++] = frame_of(stack, functions[i].code, &name);
	}
	return written;
}

/* Says that the frame before belongs to another task. Returns the number of frames that do. */
static size_t push_awaits(struct interpreted_stack *stack,
	const struct pilotlight_runtime_frame *frame, struct resolved_frame *frames)
{
	static const struct runtime_name awaits = { .name = "[awaits task]" };

	if (!(frame->flags & PILOTLIGHT_RUNTIME_AWAITS) || stack->room == 0)
		return 0;
	stack->room--;
	*frames = frame_of(stack, 0, &awaits);
	return 1;
}

size_t interpreted_stack_take(struct interpreted_stack *stack, struct resolved_frame *frames,
	struct resolver_counters *counters)
{
	const size_t taken = stack->next;
	size_t written = 0;

	if (taken > 0)
		stack->callers_end =
			stack->place + 1 +
			(stack->frames[taken - 1].flags >> PILOTLIGHT_RUNTIME_CALLERS_SHIFT);
	for (size_t i = 0; i < taken; i++) {
		written += push_awaits(stack, &stack->frames[i], frames + written);
		written += push_functions(stack, &stack->frames[i], frames + written, counters);
	}
	stack->frames += taken;
	stack->count -= taken;
	find_next(stack);
	return written + write_end(stack, frames + written);
}
