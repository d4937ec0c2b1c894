/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with CAP_SYS_ADMIN that opens perf events for a perf_event_opener. systemd listens at a
 * socket that only the broker's user may connect to, and starts one process of this program for
 * each connection, as `event-service`. So the kernel's setting stays as it is for all users, and
 * the broker does without a capability that is nearly that of root.
 *
 * The client is not trusted (I8). It gets only the events that the profiler needs: cycles, the
 * clock, the side-band, and those that count (counted_event.h), without the content of registers,
 * stacks or tracepoints.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

enum { PERF_EVENT_SERVICE_VERSION = 1 };

/* Both are messages of a SOCK_SEQPACKET socket. Client and service are the same program. */
struct perf_event_request {
	uint32_t version;
	uint32_t cpu;
	struct perf_event_attr attr;
};

struct perf_event_answer {
	int32_t result; /* 0 with the descriptor; or -errno of perf_event_open(2) */
};

/* Returns 0; -EBADMSG another version; -EPERM an event that the profiler does not need. */
int perf_event_request_check(const struct perf_event_request *request);

/*
 * The main function of the service: serves the connection at descriptor 3 until the client hangs
 * up, or asks for nothing for some seconds. Returns an exit status.
 */
int perf_event_service_main(int argc, char **argv);
