/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf_event_opener.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker_socket.h"
#include "capture/perf_event.h"
#include "capture/perf_event_service.h"

#include <errno.h>
#include <poll.h>

/* systemd starts a process first, which takes seconds on a slow, busy machine. */
enum { PATIENCE_MS = 10000 };

static const uint64_t PAUSE_NS = 60ULL * NSEC_PER_SEC;

void perf_event_opener_init(struct perf_event_opener *opener, const char *service)
{
	*opener = (struct perf_event_opener){ .service = service, .fd = -1 };
}

static void hang_up(struct perf_event_opener *opener)
{
	closep(&opener->fd);
	opener->fd = -1;
}

void perf_event_opener_done(struct perf_event_opener *opener)
{
	hang_up(opener);
}

/* Returns the descriptor, or -errno of the service. -EPIPE: it has ended. */
static int exchange(int fd, const struct perf_event_request *request)
{
	struct pollfd answered = { .fd = fd, .events = POLLIN };
	struct broker_message message;
	struct perf_event_answer answer;
	int r = broker_socket_send(fd, request, sizeof(*request), NULL, 0);

	if (r < 0)
		return r;
	r = poll(&answered, 1, PATIENCE_MS);
	if (r <= 0)
		return r == 0 ? -ETIMEDOUT : -errno;
	r = broker_socket_receive(fd, &answer, sizeof(answer), 1, &message);
	if (r < 0)
		return r;
	if (message.size == sizeof(answer) && answer.result == 0 && message.fd_count == 1)
		return message.fds[0];
	broker_message_close(&message);
	if (message.size != sizeof(answer) || answer.result >= 0)
		return message.has_lost_fds ? -EMFILE : -EBADMSG;
	return answer.result;
}

/* The service ends when it is idle. So an old connection may be dead, but not a new one. */
static int ask(struct perf_event_opener *opener, const struct perf_event_request *request)
{
	int r = -EPIPE;

	if (opener->fd >= 0)
		r = exchange(opener->fd, request);
	if (r == -EPIPE) {
		hang_up(opener);
		r = broker_socket_connect(opener->service, &opener->fd);
		if (r == 0)
			r = exchange(opener->fd, request);
	}
	if (r != -ETIMEDOUT && r != -EBADMSG && r != -EPIPE && r != -EAGAIN && r != -EINTR)
		return r;
	/* A late answer must not become that to the next request. */
	hang_up(opener);
	opener->retry_ns = clock_monotonic_ns() + PAUSE_NS;
	return -ETIMEDOUT;
}

int perf_event_opener_open(
	struct perf_event_opener *opener, const struct perf_event_attr *attr, uint32_t cpu)
{
	const struct perf_event_request request = {
		.version = PERF_EVENT_SERVICE_VERSION,
		.cpu = cpu,
		.attr = *attr,
	};
	int refused = perf_event_open_cpu(attr, cpu), r;

	if ((refused != -EACCES && refused != -EPERM) || !opener || !opener->service)
		return refused;
	/* The caller may want an event for each of many CPUs, and must not wait for each. */
	if (clock_monotonic_ns() < opener->retry_ns)
		return -ETIMEDOUT;
	r = ask(opener, &request);
	return r == -ENETDOWN ? refused : r;
}
