/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The process context of OpenTelemetry (OTEP 4719), by which a program tells readers outside what
 * its SDK calls the service. A mapping of the program begins with this header, and has the name
 * "OTEL_CTX" of a memfd or of anonymous memory. Any other memory of the program may hold the
 * payload, a protobuf message. The program may write anything there, and at any time.
 */
#pragma once

#include <linux/types.h>

struct pilotlight_process_context {
	char signature[8]; /* PILOTLIGHT_PROCESS_CONTEXT_SIGNATURE, written last; no NUL */
	__u32 version;
	__u32 payload_bytes;
	__u64 published_ns; /* 0: is being written */
	__u64 payload;	    /* its address */
};
_Static_assert(sizeof(struct pilotlight_process_context) == 32, "packed");

#define PILOTLIGHT_PROCESS_CONTEXT_SIGNATURE "OTEL_CTX"

enum {
	PILOTLIGHT_PROCESS_CONTEXT_VERSION = 2,
	PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX = 1 << 16, /* of a payload */
};
