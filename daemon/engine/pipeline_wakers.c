/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts who ended a wait above it, in the order of Brendan Gregg's off-wake flame graphs: the stack
 * of the thread that waited, what it waited for, "--", and the stack of the waker upside down. So
 * the place where the waker woke it comes first, and its name is on top.
 */
#include "engine/pipeline_state.h"

#include "base/array.h"
#include "resolve/tracing_frames.h"
#include "resolve/wait_reason.h"

#include <stdio.h>
#include <string.h>

int pipeline_open_wakers(struct pipeline *pipeline)
{
	if (!pipeline->settings.capture.wants_wakers)
		return 0;
	return waker_table_new(&pipeline->wakers);
}

void pipeline_keep_waker(struct pipeline *pipeline, const struct raw_sample *waker)
{
	if (pipeline->wakers)
		waker_table_add(pipeline->wakers, waker);
}

struct joined {
	struct resolved_frame *frames;
	size_t count;
};

/* Frames for which there is no room are left out, but never the label at the end. */
static void append(struct joined *joined, const struct resolved_frame *frame)
{
	if (joined->count < RESOLVED_FRAMES_MAX - 1)
		joined->frames[joined->count++] = *frame;
}

static struct resolved_frame label(const char *name)
{
	return (struct resolved_frame){ .binary = RESOLVED_SYNTHETIC, .name = name };
}

/* Does an interrupt begin here? The code below was only interrupted. */
static bool is_interrupt_entry(const struct resolved_frame *frame)
{
	static const char *const starts[] = { "asm_common_interrupt", "asm_sysvec_",
		"asm_call_irq_on_stack", "common_interrupt_return" };

	if (!frame->name || frame->jit)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncmp(frame->name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* Appends the waker's frames, which are root first, from the leaf on. Returns whether it was an
 * interrupt. */
static bool append_waker(struct joined *joined, const struct resolved_frame *frames, size_t count)
{
	const struct resolved_frame generated = label("[generated code]");

	for (size_t i = count - tracing_frames_count(frames, count); i > 0; i--) {
		/* Names of generated code are found by the process of the sample. */
		append(joined, frames[i - 1].jit ? &generated : &frames[i - 1]);
		if (is_interrupt_entry(&frames[i - 1]))
			return true;
	}
	return false;
}

const struct raw_sample *pipeline_take_waker(
	struct pipeline *pipeline, const struct raw_sample *sample)
{
	return pipeline->wakers ? waker_table_take(pipeline->wakers, sample) : NULL;
}

size_t pipeline_join_waker(const struct raw_sample *sample, const struct pipeline_waker *waker,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count,
	char text[WAKER_LABEL_BYTES])
{
	struct joined joined = { .frames = frames, .count = count };
	struct resolved_frame last = label(wait_reason_frame(sample, frames, count));
	const struct resolved_frame separator = label("--");

	if (last.name)
		append(&joined, &last);
	append(&joined, &separator);
	if (append_waker(&joined, waker->frames, waker->count))
		(void)snprintf(text, WAKER_LABEL_BYTES, "[woken by an interrupt]");
	else
		(void)snprintf(text, WAKER_LABEL_BYTES, "[woken by %s]", waker->comm);
	frames[joined.count++] = label(text);
	return joined.count;
}
