/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/shared_library.h"
#include "child/child_request.h"
#include "sandbox/sandbox.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/fetch_request.h"
#include "symbolize/fetch_sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_NOT_A_FETCHER = 3 };
#define SONAME	   "libdebuginfod.so.1"
#define CACHE_NAME "cache"

SHARED_LIBRARY_NOTE(SONAME, "debuginfod", "Fetches debug files from servers", "suggested");

/* Functions of elfutils/debuginfod.h, from version 0.180 on. */
struct library {
	void *(*begin)(void);
	void (*set_user_data)(void *client, void *data);
	void (*set_progress)(void *client, int (*progress)(void *client, long done, long total));
	int (*find_debuginfo)(void *client, const unsigned char *id, int id_bytes, char **ret_path);
};

/* Not linked: otherwise every process would load curl. Loaded before the sandbox closes. */
static int load_library(struct library *library)
{
	const struct shared_library_function functions[] = {
		{ "debuginfod_begin", &library->begin },
		{ "debuginfod_set_user_data", &library->set_user_data },
		{ "debuginfod_set_progressfn", &library->set_progress },
		{ "debuginfod_find_debuginfo", &library->find_debuginfo },
	};

	/* libc itself loads it when a thread is cancelled, and aborts without it. */
	(void)shared_library_load("libgcc_s.so.1", NULL, NULL, 0, NULL);
	return shared_library_load(SONAME, NULL, functions, ARRAY_SIZE(functions), NULL) < 0
		       ? -ENOSYS
		       : 0;
}

/* The next usual length: zeros at the end of an id may be missing. */
static int usual_length(int id_bytes)
{
	static const int lengths[] = { 8, 16, BUILD_ID_BYTES };
	size_t i = 0;

	while (lengths[i] < id_bytes)
		i++;
	return lengths[i];
}

/* The size limit of the fetched file. */
struct bound {
	uint64_t bytes_max;
	bool is_exceeded;
};

/*
 * Stops a file that exceeds the limit. If RLIMIT_FSIZE cut it off, libdebuginfod would retry, and
 * its own limit applies only if the server announces the length. Only the library leads from a
 * client to our data, so it is loaded again here.
 */
static int check_progress(void *client, long done, long total)
{
	void *(*get_user_data)(void *client);
	const struct shared_library_function function = { "debuginfod_get_user_data",
		&get_user_data };
	struct bound *bound;

	(void)total;
	if (shared_library_load(SONAME, NULL, &function, 1, NULL) < 0)
		return 0;
	bound = get_user_data(client);
	if (done > 0 && (uint64_t)done > bound->bytes_max)
		bound->is_exceeded = true;
	return bound->is_exceeded;
}

static int fetch(const struct library *library, const struct fetch_request *request, int *ret_fd)
{
	const int lengths[] = { usual_length(request->id_bytes), request->id_bytes };
	struct bound bound = { .bytes_max = request->bytes_max };
	void *client = library->begin();
	char *path = NULL;
	int fd = -ENOENT;

	if (!client)
		return -ENOMEM;
	library->set_user_data(client, &bound);
	library->set_progress(client, check_progress);
	for (size_t i = 0; i < ARRAY_SIZE(lengths) && fd == -ENOENT; i++)
		if ((i == 0 || lengths[i] != lengths[i - 1]) && !bound.is_exceeded)
			fd = library->find_debuginfo(client, request->id, lengths[i], &path);
	/* The client and the path are not freed: the process ends. */
	if (fd < 0 && bound.is_exceeded)
		return -EFBIG;
	/* EPERM is reserved for the sandbox. */
	if (fd == -EPERM)
		return -EIO;
	if (fd < 0)
		return fd == -ETIME ? -ETIMEDOUT : fd;
	*ret_fd = fd;
	return 0;
}

static int receive_request(struct fetch_request *ret_request)
{
	int r = child_request_receive(ret_request, sizeof(*ret_request));

	if (r < 0)
		return r;
	return ret_request->version == FETCH_VERSION && ret_request->id_bytes > 0 &&
			       ret_request->id_bytes <= BUILD_ID_BYTES &&
			       memchr(ret_request->urls, '\0', sizeof(ret_request->urls))
		       ? 0
		       : -EPROTO;
}

/* Before the request is received: the sender may have fewer privileges than the process that
 * started this one. A unit kills all its processes when the first has ended. */
static int give_up_privileges(bool is_in_service)
{
	int r = sandbox_drop_privileges(SANDBOX_ROOT_FAILS);

	return r == 0 && !is_in_service ? sandbox_die_with_parent(FETCH_SOCKET_FD) : r;
}

static int set_number(const char *name, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return setenv(name, text, 1) < 0 ? -errno : 0;
}

/* The settings of libdebuginfod. */
static int set_environment(const struct fetch_request *request)
{
	int r = setenv("DEBUGINFOD_URLS", request->urls, 1) < 0 ? -errno : 0;

	if (r == 0 && setenv("DEBUGINFOD_CACHE_PATH", "./" CACHE_NAME, 1) < 0)
		r = -errno;
	if (r == 0)
		r = set_number("DEBUGINFOD_TIMEOUT", request->timeout_s);
	if (r == 0)
		r = set_number("DEBUGINFOD_MAXTIME", request->timeout_s);
	if (r == 0)
		r = set_number("DEBUGINFOD_MAXSIZE", request->bytes_max);
	return r;
}

/* Everybody may write, so that the owner can remove the contents as another user. */
static int make_open_folder(const char *name)
{
	if (mkdir(name, 0777) < 0 && errno != EEXIST)
		return -errno;
	return chmod(name, 0777) < 0 ? -errno : 0;
}

/* libdebuginfod would make these folders with access for this user only. */
static int make_cache_folder(const unsigned char *id, int id_bytes)
{
	char name[sizeof(CACHE_NAME "/") + 2 * BUILD_ID_BYTES];
	int length = snprintf(name, sizeof(name), CACHE_NAME "/");

	for (int i = 0; i < id_bytes; i++)
		length += snprintf(name + length, sizeof(name) - (size_t)length, "%02x", id[i]);
	return make_open_folder(name);
}

static int make_cache_folders(const struct fetch_request *request)
{
	int r = make_open_folder(CACHE_NAME);

	if (r == 0)
		r = make_cache_folder(request->id, usual_length(request->id_bytes));
	return r == 0 ? make_cache_folder(request->id, request->id_bytes) : r;
}

/* Everything that needs more than the sandbox permits comes before its part that forbids it. */
static int work(const struct fetch_request *request, int *ret_fd)
{
	struct library library;
	int r = load_library(&library);

	if (r == 0)
		r = set_environment(request);
	if (r == 0)
		r = fetch_sandbox_close_files(request);
	if (r == 0)
		r = make_cache_folders(request);
	if (r == 0)
		r = fetch_sandbox_forbid_calls();
	return r == 0 ? fetch(&library, request, ret_fd) : r;
}

static int send_reply(int error, int fd)
{
	struct fetch_reply reply = { .version = FETCH_VERSION, .error = error };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec bytes = { &reply, sizeof(reply) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(FETCH_SOCKET_FD, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int debuginfod_fetch_main(int argc, char **argv)
{
	struct fetch_request request;
	int fd = -1;
	int r;

	/* Otherwise the name is that of /proc/self/exe. */
	(void)prctl(PR_SET_NAME, "symbol-fetch", 0, 0, 0);
	/* A write to a closed connection fails with EPIPE instead. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = give_up_privileges(argc > 1 && strcmp(argv[1], "--in-service") == 0);
	if (r == 0) {
		if (receive_request(&request) < 0)
			return EXIT_NOT_A_FETCHER;
		r = work(&request, &fd);
	}
	if (send_reply(r, fd) < 0)
		return EXIT_NOT_A_FETCHER;
	_exit(EXIT_SUCCESS);
}
