/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request of arbitrary bytes to the privileged half of capture, where nothing is open yet. It is
 * refused or executed. A server that receives it as a message gives the same result, and no
 * descriptor leaks. Requests that would load programs are left out, because the kernel would do
 * their work.
 */
#include "base/event_source.h"
#include "capture/capture_server.h"
#include "capture/capture_session.h"
#include "capture/counted_event.h"
#include "pilotlight/capture_message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MESSAGE_MAX = 32768 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && close(fd) == 0);
	return fd;
}

static bool has_good_sources(const struct pilotlight_capture_request *request)
{
	if (request->sources == 0 || request->sources >= 1 << PILOTLIGHT_SOURCES ||
		request->periods[PILOTLIGHT_SOURCE_CPU])
		return false;
	for (int i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (request->sources & 1U << i
				? request->periods[i] < event_sources[i].least_period ||
					  request->periods[i] > event_sources[i].greatest_period
				: request->periods[i] != 0)
			return false;
	return true;
}

static bool has_good_events(const struct pilotlight_capture_request *request)
{
	for (int i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (!counted_event_is_valid(&request->counted[i]) ||
			request->counted[i].kind == PILOTLIGHT_COUNTED_PROBE ||
			(request->counted[i].kind > 0) !=
				(request->sources >> (PILOTLIGHT_SOURCE_COUNTED + i) & 1))
			return false;
	return true;
}

/* Would a session accept these settings? */
static bool is_openable(const struct pilotlight_capture_request *request)
{
	return request->operation == PILOTLIGHT_CAPTURE_OPEN && request->rate_hz > 0 &&
	       request->rate_hz <= PILOTLIGHT_CAPTURE_RATE_HZ_MAX &&
	       request->map_budget_bytes <= PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX &&
	       request->unwind_budget_bytes <= PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX &&
	       request->stack_slots <= PILOTLIGHT_CAPTURE_STACK_SLOTS_MAX &&
	       request->wants_kernel <= 1 && request->filters_processes <= 1 &&
	       request->is_sparing <= 1 && request->wants_wakers <= 1 &&
	       request->skips_interpreted <= 1 && request->event <= 2 &&
	       has_good_sources(request) && has_good_events(request);
}

static int execute(const struct pilotlight_capture_request *request)
{
	struct capture_session session = { .host = NULL };
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];

	memset(&answer, 0xa5, sizeof(answer));
	require(capture_session_execute(&session, request, &answer, fds) == 0);
	require(!session.host && answer.version == PILOTLIGHT_CAPTURE_VERSION &&
		answer.number == request->number &&
		memchr(answer.fault, '\0', sizeof(answer.fault)));
	require(answer.result ==
		(request->operation == PILOTLIGHT_CAPTURE_OPEN ? -EINVAL : -ENXIO));
	return answer.result;
}

static void serve(const uint8_t *bytes, size_t size, int expected)
{
	struct pilotlight_capture_answer answer;
	struct capture_server *server;
	int pair[2];

	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	require(capture_server_new(NULL, &server) == 0);
	require(capture_server_connect(server, pair[1]) == 0);
	require(send(pair[0], bytes, size, 0) == (ssize_t)size);
	require(capture_server_run(server) == 0);
	require(recv(pair[0], &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer));
	require(answer.version == PILOTLIGHT_CAPTURE_VERSION && answer.result == expected);
	capture_server_free(server);
	require(close(pair[0]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_capture_request request;
	int descriptor = next_descriptor(), r;

	/* Short input is padded with zeros. */
	memset(&request, 0, sizeof(request));
	if (size > 0)
		memcpy(&request, bytes, size < sizeof(request) ? size : sizeof(request));
	r = capture_request_check(&request);
	require(r == 0 || r == -EBADMSG);
	if (r == 0 && is_openable(&request))
		return 0;
	if (r == 0)
		r = execute(&request);
	if (size > 0 && size <= MESSAGE_MAX)
		serve(bytes, size, size == sizeof(request) ? r : -EBADMSG);
	require(next_descriptor() == descriptor);
	return 0;
}
