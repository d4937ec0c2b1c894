/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The thread context of OpenTelemetry (OTEP 4947), by which a program tells readers outside which
 * span each of its threads works on. The thread's own variable `otel_thread_ctx_v1` points to a
 * packed record, or is NULL. Only the thread itself writes to both, so who has interrupted it reads
 * them as they were before or after an update. The program may write anything there.
 */
#pragma once

#include <linux/types.h>

#define PILOTLIGHT_THREAD_CONTEXT_SYMBOL "otel_thread_ctx_v1"

/* The ids as in W3C's trace context; the first byte is the most significant. All 0: none. */
struct pilotlight_thread_context {
	__u8 trace_id[16];
	__u8 span_id[8];
};
_Static_assert(sizeof(struct pilotlight_thread_context) == 24, "packed");

/* The fixed part of the record. Attributes of `attributes_bytes` follow, and are not read. */
struct pilotlight_thread_context_record {
	struct pilotlight_thread_context ids;
	__u8 valid; /* PILOTLIGHT_THREAD_CONTEXT_VALID; else the record is being written */
	__u8 flags;
	__u16 attributes_bytes;
};
_Static_assert(sizeof(struct pilotlight_thread_context_record) == 28, "packed");

enum {
	PILOTLIGHT_THREAD_CONTEXT_VALID = 1,
	PILOTLIGHT_THREAD_CONTEXT_BYTES_MAX = 640, /* of a record with its attributes */
};
