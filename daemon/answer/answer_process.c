/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer.h"
#include "answer/answer_failure.h"
#include "base/array.h"
#include "child/child_request.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)ANSWER_SOCKET_FD == (int)CHILD_SOCKET_NUMBER, "where a child has its socket");
_Static_assert(sizeof(struct answer_request) <= CHILD_REQUEST_BYTES_MAX, "fits a child's request");

enum {
	STACK_BYTES = 8 << 20,
	DESCRIPTORS = 64,
	MEMORY_BYTES_MIN = 2 << 20, /* libseccomp crashes with less */
	EXIT_NO_REQUEST = 3,
};

static const struct answer_reply too_slow = {
	.version = ANSWER_VERSION,
	.status = ANSWER_UNAVAILABLE,
	.text = "query timed out; select less: a shorter time, a unit or a process",
};

static int send_reply(const struct answer_reply *reply)
{
	ssize_t size;

	do
		size = send(ANSWER_SOCKET_FD, reply, sizeof(*reply), MSG_NOSIGNAL);
	while (size < 0 && errno == EINTR);
	return size == (ssize_t)sizeof(*reply) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A signal handler cannot clean up at an arbitrary point, and exit makes cleanup unnecessary. */
static void time_out(int signal)
{
	(void)signal;
	_exit(send_reply(&too_slow));
}

/* Ignores SIGXFSZ, so that a file beyond its limit fails write() and does not kill the process. */
static int bound_time(uint32_t timeout_s)
{
	const struct sigaction end = { .sa_handler = time_out };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaction(SIGALRM, &end, NULL) < 0 || sigaction(SIGXCPU, &end, NULL) < 0 ||
		sigaction(SIGXFSZ, &ignore, NULL) < 0)
		return -errno;
	(void)alarm(timeout_s);
	return 0;
}

/* On kernels without Landlock only the other sandbox layers apply. */
static int confine(const struct answer_request *request)
{
	const struct sandbox_folder folders[] = {
		{ .path = request->history[0] ? request->history : NULL },
		{ .path = request->symbol_cache[0] ? request->symbol_cache : NULL },
	};
	int r = sandbox_confine(folders, ARRAY_SIZE(folders));

	return r == -ENOSYS || r == -EOPNOTSUPP ? 0 : r;
}

static int enter_sandbox(const struct answer_request *request)
{
	const struct sandbox_limits limits = {
		.memory_bytes = request->memory_max > MEMORY_BYTES_MIN ? request->memory_max
								       : MEMORY_BYTES_MIN,
		.file_bytes = request->bytes_max,
		.stack_bytes = STACK_BYTES,
		.cpu_s = request->timeout_s,
		.descriptors = DESCRIPTORS,
	};
	int r;

	/* Loads the local time zone, a file that the sandbox later denies. */
	tzset();
	r = bound_time(request->timeout_s);
	if (r == 0)
		r = sandbox_limit(&limits);
	if (r == 0)
		r = confine(request);
	if (r == 0)
		r = sandbox_forbid_query();
	return r;
}

static bool is_valid(const struct answer_request *request)
{
	return request->version == ANSWER_VERSION &&
	       memchr(request->history, '\0', sizeof(request->history)) &&
	       memchr(request->symbol_cache, '\0', sizeof(request->symbol_cache));
}

int answer_main(int argc, char **argv)
{
	_cleanup_free_ struct answer_request *request = malloc(sizeof(*request));
	struct answer_reply reply;
	int r;

	(void)argc;
	(void)argv;
	if (!request)
		return EXIT_FAILURE;
	/* Keeps user and group, which grant access to the history, and drops all else. */
	r = sandbox_drop_privileges_to(getuid(), getgid());
	if (r == 0)
		r = sandbox_die_with_parent(ANSWER_SOCKET_FD);
	if (r == 0)
		r = child_request_receive(request, sizeof(*request));
	if (r < 0 || !is_valid(request))
		return EXIT_NO_REQUEST;
	r = enter_sandbox(request);
	if (r < 0)
		(void)answer_fail(&reply, ANSWER_FAILED, "cannot sandbox the query process: %s",
			strerror(-r));
	else
		answer_make(request, ANSWER_OUTPUT_FD, &reply);
	return send_reply(&reply);
}
