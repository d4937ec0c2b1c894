/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/debuginfod_fetch.h"

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "child/child_process.h"
#include "symbolize/fetch_folder.h"
#include "symbolize/fetch_request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TIMEOUT_NS_DEFAULT (600 * (uint64_t)NSEC_PER_SEC)
#define TIMEOUT_S_MAX	   (7 * 24 * 3600)
#define BYTES_MAX_DEFAULT  (4ULL << 30)

struct debuginfod_fetch {
	struct child_process *child;
	struct fetch_folder folder;
	uint64_t bytes_max;
};

static int start_child(struct debuginfod_fetch *fetch,
	const struct debuginfod_fetch_options *options, const struct fetch_request *request,
	uint64_t timeout_ns)
{
	const struct child_descriptor descriptors[] = { { fetch->folder.fd, FETCH_FOLDER_FD } };
	const struct child_process_options child = {
		.broker = options->broker,
		.kind = BROKER_CHILD_SYMBOL_FETCH,
		.program = options->program,
		.descriptors = descriptors,
		.descriptor_count = ARRAY_SIZE(descriptors),
		.request = request,
		.request_bytes = sizeof(*request),
		.timeout_ns = timeout_ns,
		.accepts_fd = true,
	};

	_Static_assert((int)FETCH_SOCKET_FD == (int)CHILD_SOCKET_NUMBER, "the child's socket");
	return child_process_start(&child, &fetch->child);
}

int debuginfod_fetch_start(const struct debuginfod_fetch_options *options,
	const struct build_id *id, struct debuginfod_fetch **ret_fetch)
{
	const char *directory = options->directory ? options->directory : "/var/tmp";
	uint64_t timeout_ns = options->timeout_ns ? options->timeout_ns : TIMEOUT_NS_DEFAULT;
	uint64_t timeout_s = timeout_ns / NSEC_PER_SEC + 1;
	_cleanup_(debuginfod_fetch_freep) struct debuginfod_fetch *fetch = NULL;
	struct fetch_request request = {
		.version = FETCH_VERSION,
		.timeout_s = (uint32_t)(timeout_s < TIMEOUT_S_MAX ? timeout_s : TIMEOUT_S_MAX),
		.bytes_max = options->bytes_max ? options->bytes_max : BYTES_MAX_DEFAULT,
		.id_bytes = id->size,
	};
	int r;

	if (!options->urls || strspn(options->urls, " ") == strlen(options->urls) || !id->size)
		return -EINVAL;
	if (strlen(options->urls) >= sizeof(request.urls))
		return -E2BIG;
	memcpy(request.urls, options->urls, strlen(options->urls));
	memcpy(request.id, id->bytes, sizeof(request.id));
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return -ENOMEM;
	fetch->folder.parent_fd = -1;
	fetch->bytes_max = request.bytes_max;
	(void)fetch_folder_sweep(directory);
	r = fetch_folder_make(directory, &fetch->folder);
	if (r == 0)
		r = start_child(fetch, options, &request, timeout_ns);
	if (r < 0)
		return r;
	*ret_fetch = TAKE_PTR(fetch);
	return 0;
}

void debuginfod_fetch_free(struct debuginfod_fetch *fetch)
{
	if (!fetch)
		return;
	child_process_free(fetch->child);
	fetch_folder_remove(&fetch->folder);
	free(fetch);
}

int debuginfod_fetch_poll_fd(const struct debuginfod_fetch *fetch)
{
	return child_process_poll_fd(fetch->child);
}

static int error_of_silence(const struct child_process_end *end)
{
	if (end->has_timed_out || end->signal == SIGXCPU)
		return -ETIMEDOUT;
	return end->signal == SIGXFSZ ? -EFBIG : -EIO;
}

static int error_of_reply(int error)
{
	static const int known[] = { 0, ENOENT, ETIMEDOUT, EFBIG, ENOSPC, ENOMEM, ENOSYS, EPERM };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (error == -known[i])
			return error;
	return -EIO;
}

/* The process is not trusted: its descriptor could be one on which a read blocks. */
static int check_file(int fd, uint64_t bytes_max)
{
	struct stat stat;
	int flags;

	if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_size == 0)
		return -EIO;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
		return -EIO;
	return (uint64_t)stat.st_size <= bytes_max ? 0 : -EFBIG;
}

int debuginfod_fetch_take(struct debuginfod_fetch *fetch, int *ret_fd)
{
	struct child_process_end end;
	_cleanup_close_ int fd = -1;
	struct fetch_reply reply;
	int r = child_process_finish(fetch->child, &end);

	if (r < 0)
		return r;
	fd = end.reply_fd;
	fetch_folder_remove(&fetch->folder);
	if (end.reply_bytes != sizeof(reply))
		return error_of_silence(&end);
	memcpy(&reply, end.reply, sizeof(reply));
	r = reply.version == FETCH_VERSION ? error_of_reply(reply.error) : -EIO;
	if (r == 0)
		r = check_file(fd, fetch->bytes_max);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

const char *debuginfod_fetch_explain(int error)
{
	switch (-error) {
	case 0:
		return "fetched";
	case ENOENT:
		return "no server has a debug file of this build-id";
	case ETIMEDOUT:
		return "the servers took too long";
	case EFBIG:
		return "the file is larger than is allowed";
	case ENOSPC:
		return "the disk is full";
	case ENOMEM:
		return "there was not enough memory";
	case ENOSYS:
		return "libdebuginfod.so.1 is not installed (on Debian: apt-get install "
		       "libdebuginfod1)";
	case EPERM:
		return "root without CAP_SETUID and CAP_SETGID cannot start a process without "
		       "privileges for it";
	case EINVAL:
		return "no server is configured (DEBUGINFOD_URLS)";
	case E2BIG:
		return "too many servers are configured (DEBUGINFOD_URLS)";
	case ENETDOWN:
		return "the service that asks them does not run (pilotlight-fetch.socket)";
	case EAGAIN:
		return "too many other processes of the service ran";
	default:
		return "the servers could not be reached, or failed";
	}
}
