/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf_event_service.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker_socket.h"
#include "capture/counted_event.h"
#include "capture/perf_event.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
	CONNECTION_NUMBER = 3, /* sd_listen_fds(3) */
	IDLE_MS = 5000,
	PMU_PERIOD_MIN = 1000, /* the default periods of event_name.h are longer */
};

/* Every bit that an event of the profiler may have, in each field. */
static const struct perf_event_attr allowed = {
	.type = UINT32_MAX, /* with config: is_known_event() */
	.config = UINT64_MAX,
	.config1 = UINT64_MAX,
	.size = UINT32_MAX,
	.sample_freq = UINT64_MAX,
	.freq = 1,
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	.precise_ip = 3,
	.disabled = 1,
	.exclude_user = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
	.exclude_guest = 1,
	.sample_id_all = 1,
	.mmap = 1,
	.mmap2 = 1,
	.comm = 1,
	.comm_exec = 1,
	.task = 1,
	.ksymbol = 1,
	.cgroup = 1,
	.use_clockid = 1,
	.clockid = CLOCK_MONOTONIC,
	.watermark = 1,
	.wakeup_watermark = 1,
};

/*
 * An event that the sampler counts (count_events.h). The kernel bounds how often one of the PMU or
 * of its software interrupts a CPU (kernel.perf_event_max_sample_rate). At a tracepoint the
 * broker's BPF program runs, which the broker could attach itself; without content of the hit.
 */
static bool is_counted(const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_SOFTWARE:
		return counted_event_is_software(attr->config) && attr->sample_period > 0;
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return attr->sample_period >= PMU_PERIOD_MIN;
	case PERF_TYPE_TRACEPOINT:
		return attr->sample_period == 1 && attr->sample_type == 0;
	default:
		return false;
	}
}

/* CPU time, or the side-band. */
static bool is_timed(const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		return attr->config == PERF_COUNT_HW_CPU_CYCLES;
	case PERF_TYPE_SOFTWARE:
		return attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_DUMMY;
	default:
		return false;
	}
}

int perf_event_request_check(const struct perf_event_request *request)
{
	const unsigned char *wanted = (const unsigned char *)&request->attr;
	const unsigned char *mask = (const unsigned char *)&allowed;

	if (request->version != PERF_EVENT_SERVICE_VERSION)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(request->attr); i++)
		if (wanted[i] & ~mask[i])
			return -EPERM;
	/* Beyond it, the kernel would read what the check has not seen. */
	if (request->attr.size != sizeof(request->attr))
		return -EPERM;
	if (request->attr.sample_freq > 0 && !request->attr.freq)
		return is_counted(&request->attr) ? 0 : -EPERM;
	return is_timed(&request->attr) ? 0 : -EPERM;
}

/* Returns 0, or an error that ends the service. */
static int serve(void)
{
	struct perf_event_answer answer;
	struct perf_event_request request;
	struct broker_message message;
	_cleanup_close_ int fd = -1;
	int r = broker_socket_receive(CONNECTION_NUMBER, &request, sizeof(request), 0, &message);

	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	if (message.size != sizeof(request) || message.has_lost_fds)
		return -EBADMSG;
	r = perf_event_request_check(&request);
	fd = r < 0 ? r : perf_event_open_cpu(&request.attr, request.cpu);
	answer.result = fd < 0 ? fd : 0;
	return broker_socket_send_answer(
		CONNECTION_NUMBER, &answer, sizeof(answer), &answer.result, &fd, fd < 0 ? 0 : 1);
}

static int confine(void)
{
	static const int capabilities[] = { CAP_SYS_ADMIN };
	int r = sandbox_keep_capabilities(capabilities, ARRAY_SIZE(capabilities));

	return r == 0 ? sandbox_forbid_event_service() : r;
}

int perf_event_service_main(int argc, char **argv)
{
	struct pollfd connection = { .fd = CONNECTION_NUMBER, .events = POLLIN };
	int r;

	(void)argc;
	(void)argv;
	(void)prctl(PR_SET_NAME, "event-service", 0, 0, 0);
	r = broker_socket_check(CONNECTION_NUMBER);
	if (r == 0)
		r = confine();
	while (r == 0 && poll(&connection, 1, IDLE_MS) > 0)
		r = serve();
	return r == 0 || r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
