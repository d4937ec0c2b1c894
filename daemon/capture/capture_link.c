/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_link.h"

#include "base/clock.h"
#include "broker/broker_client.h"
#include "capture/capture_session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The time for an answer, except to the request that loads the programs. */
#define TIMEOUT_NS (5ULL * NSEC_PER_SEC)

/* Each program that walks stacks takes the kernel a second of CPU time to verify, and with all
 * sources there are ten. Beside 20 busy threads on two CPUs that was a minute and more. */
enum { OPEN_TIMEOUTS = 36 };

_Static_assert(
	(int)PILOTLIGHT_CAPTURE_FDS <= (int)BROKER_SOCKET_FDS_MAX, "an answer's descriptors");

struct capture_link {
	struct capture_session *session; /* NULL: `client` asks another process */
	struct broker_client client;
};

static int link_alloc(struct capture_link **ret_link)
{
	struct capture_link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->client.fd = -1;
	*ret_link = link;
	return 0;
}

int capture_link_new(const struct cgroup_choice *choice, struct capture_link **ret_link)
{
	_cleanup_(capture_link_freep) struct capture_link *link = NULL;

	if (link_alloc(&link) < 0)
		return -ENOMEM;
	link->session = calloc(1, sizeof(*link->session));
	if (!link->session)
		return -ENOMEM;
	link->session->is_own = true;
	if (choice)
		capture_session_choose(link->session, choice);
	*ret_link = TAKE_PTR(link);
	return 0;
}

int capture_link_connect(int fd, struct capture_link **ret_link)
{
	_cleanup_(capture_link_freep) struct capture_link *link = NULL;
	int r = link_alloc(&link);

	if (r == 0)
		r = broker_client_init(&link->client, fd, TIMEOUT_NS);
	if (r == 0)
		*ret_link = TAKE_PTR(link);
	return r;
}

void capture_link_release(struct capture_link *link)
{
	link->client.fd = -1;
}

void capture_link_free(struct capture_link *link)
{
	if (!link)
		return;
	broker_client_done(&link->client);
	if (link->session)
		capture_session_done(link->session);
	free(link->session);
	free(link);
}

bool capture_link_is_here(const struct capture_link *link)
{
	return link->session != NULL;
}

void capture_link_close_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

/* Duplicates the session's descriptors for the caller. */
static int duplicate_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			int error = -errno;

			capture_link_close_fds(fds, i);
			return error;
		}
		fds[i] = fd;
	}
	return 0;
}

static int ask_server(struct capture_link *link, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count)
{
	const struct broker_exchange exchange = {
		.version = PILOTLIGHT_CAPTURE_VERSION,
		.timeouts = request->operation == PILOTLIGHT_CAPTURE_OPEN ? OPEN_TIMEOUTS : 1,
		.request = request,
		.answer = answer,
		.request_bytes = sizeof(*request),
		.answer_bytes = sizeof(*answer),
	};
	struct broker_message message;
	int r = broker_client_ask(&link->client, &exchange, &message);

	if (r < 0)
		return r;
	if (message.fd_count > PILOTLIGHT_CAPTURE_FDS ||
		!memchr(answer->fault, '\0', sizeof(answer->fault)) ||
		!memchr(answer->state.event, '\0', sizeof(answer->state.event))) {
		broker_message_close(&message);
		return -EBADMSG;
	}
	memcpy(fds, message.fds, message.fd_count * sizeof(*fds));
	*ret_count = message.fd_count;
	return 0;
}

int capture_link_ask(struct capture_link *link, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count)
{
	struct pilotlight_capture_answer answer;
	size_t count = 0;
	int r;

	if (!link->session) {
		r = ask_server(link, request, &answer, fds, &count);
	} else {
		request->version = PILOTLIGHT_CAPTURE_VERSION;
		assert(capture_request_check(request) == 0);
		count = capture_session_execute(link->session, request, &answer, fds);
		r = duplicate_fds(fds, count);
	}
	if (r < 0)
		return r;
	*ret_answer = answer;
	*ret_count = count;
	return answer.result;
}
