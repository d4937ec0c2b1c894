/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/tracing_frames.h"

#include "base/array.h"

#include <stdbool.h>
#include <string.h>

/* A longer way than any known; further from the leaf they are of another program. */
enum { FRAMES_MAX = 16 };

/* The starts of names in Linux 5.15 to 6.18. */
static const char *const starts[] = {
	"bpf_prog_",
	"bpf_trampoline_",
	"bpf_trace_run",
	"__bpf_trace_",
	"__traceiter_",
	"__bpf_tramp_",
	"trace_call_bpf",
	"perf_trace_",
	"perf_tp_event",
	"trace_event_raw_event_",
	"__perf_event_overflow",
	"bpf_overflow_handler",
	"perf_swevent_",
	"___perf_sw_event",
	"__perf_sw_event",
};

static bool is_tracing(const struct resolved_frame *frame)
{
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncmp(frame->name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

size_t tracing_frames_count(const struct resolved_frame *frames, size_t count)
{
	size_t last = 0;

	/* Of the user's code only generated code has names here, which its runtime wrote. */
	for (size_t i = 1; i <= count && i <= FRAMES_MAX; i++) {
		const struct resolved_frame *frame = &frames[count - i];

		if (!frame->name || frame->jit)
			break;
		if (is_tracing(frame))
			last = i;
	}
	return last;
}
