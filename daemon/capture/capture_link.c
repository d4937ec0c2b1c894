/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_link.h"

#include "base/clock.h"
#include "capture/capture_client.h"
#include "capture/capture_session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

/* The time for an answer, except to the request that loads the programs. */
#define TIMEOUT_NS (5ULL * NSEC_PER_SEC)

/* Exactly one of the two is set. */
struct capture_link {
	struct capture_session *session;
	struct capture_client *client;
};

int capture_link_new(struct capture_link **ret_link)
{
	_cleanup_(capture_link_freep) struct capture_link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->session = calloc(1, sizeof(*link->session));
	if (!link->session)
		return -ENOMEM;
	*ret_link = TAKE_PTR(link);
	return 0;
}

int capture_link_connect(int fd, struct capture_link **ret_link)
{
	_cleanup_(capture_link_freep) struct capture_link *link = calloc(1, sizeof(*link));
	int r;

	if (!link)
		return -ENOMEM;
	r = capture_client_new(fd, TIMEOUT_NS, &link->client);
	if (r == 0)
		*ret_link = TAKE_PTR(link);
	return r;
}

void capture_link_release(struct capture_link *link)
{
	(void)capture_client_release(link->client);
}

void capture_link_free(struct capture_link *link)
{
	if (!link)
		return;
	capture_client_free(link->client);
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

int capture_link_ask(const struct capture_link *link, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count)
{
	struct pilotlight_capture_answer answer;
	size_t count = 0;
	int r;

	if (link->client) {
		r = capture_client_ask(link->client, request, &answer, fds, &count);
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
