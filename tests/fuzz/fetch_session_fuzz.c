/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fetch from debuginfod servers, whose fetcher and whose broker are hostile. The first two bytes
 * select the broker's answer. Each step of four bytes is then a message of the fetcher, with or
 * without descriptors, a report of its end, an entry in its folder, a look at the outcome, or a
 * message to the service that starts fetchers. A fetch gives a descriptor of a regular, readable
 * file within the limit, or an error that is documented, once. No descriptor and no folder is left.
 */
#include "base/array.h"
#include "broker/broker.h"
#include "broker/broker_socket.h"
#include "broker/child_service.h"
#include "child/child_request.h"
#include "pilotlight/broker_request.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/fetch_request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	STEP_BYTES = 4,
	STEPS_MAX = 64,
	FILE_BYTES_MAX = 8,
	KINDS = 8,   /* of descriptors, below */
	FDS_MAX = 4, /* of a message */
};

#define PICK(list, number) ((list)[(number) % ARRAY_SIZE(list)])
#define CONTENT		   "content"

static char folder[] = "/tmp/fetch_session_fuzz.XXXXXX";

struct session {
	struct broker *broker;
	struct debuginfod_fetch *fetch; /* NULL: it did not start, or has ended */
	int fetcher_fd, end_fd;		/* the ends of the fetcher and of the broker; -1: closed */
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void make_pair(int pair[2])
{
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		require(close(*fd) == 0);
	*fd = -1;
}

/* --- descriptors that a message carries ------------------------------------------------------- */

static int file_of(const char *content)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	return fd;
}

static int reopened(int flags)
{
	char path[64];
	int fd = file_of(CONTENT), again;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	require(again >= 0 && close(fd) == 0);
	return again;
}

static int end_of_pipe(void)
{
	int pair[2];

	require(pipe2(pair, O_CLOEXEC) == 0 && close(pair[1]) == 0);
	return pair[0];
}

static int descriptor_of(unsigned int kind)
{
	switch (kind % KINDS) {
	case 0:
		return file_of(CONTENT);
	case 1:
		return file_of("");
	case 2:
		return file_of("more than is allowed");
	case 3:
		return reopened(O_WRONLY);
	case 4:
		return reopened(O_PATH);
	case 5:
		return end_of_pipe();
	case 6:
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	default:
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	}
}

/* The other side may be gone, or its buffer full. */
static void send_with(int fd, const void *message, size_t size, unsigned int kind, size_t count)
{
	int fds[FDS_MAX];

	require(count <= FDS_MAX);
	for (size_t i = 0; i < count; i++)
		require((fds[i] = descriptor_of(kind + (unsigned int)i)) >= 0);
	if (fd >= 0)
		(void)broker_socket_send(fd, message, size, fds, count);
	for (size_t i = 0; i < count; i++)
		require(close(fds[i]) == 0);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void reply(struct session *session, const uint8_t *step)
{
	static const int32_t errors[] = { 0, 0, -ENOENT, -EIO, -EAGAIN, 1, INT32_MIN, -EPERM };
	static const size_t sizes[] = { sizeof(struct fetch_reply), sizeof(struct fetch_reply), 0,
		1, sizeof(struct fetch_reply) - 1, 256, 300 };
	char message[300] = { 0 };
	const struct fetch_reply reply = {
		.version = FETCH_VERSION + (step[3] & 0x80 ? 1 : 0),
		.error = PICK(errors, step[1]),
	};

	memcpy(message, &reply, sizeof(reply));
	send_with(
		session->fetcher_fd, message, PICK(sizes, step[2]), step[3] & 7, step[3] >> 3 & 3);
}

static void report_end(struct session *session, const uint8_t *step)
{
	static const size_t sizes[] = { sizeof(struct pilotlight_child_end),
		sizeof(struct pilotlight_child_end), 0, 1, 64 };
	char message[64] = { 0 };
	const struct pilotlight_child_end end = {
		.signal = (int8_t)step[1],
		.exit_status = (int8_t)step[2],
	};

	memcpy(message, &end, sizeof(end));
	send_with(session->end_fd, message, PICK(sizes, step[3]), 0, step[3] >> 4 & 1);
}

/* In the fetcher's folder, whose name only its owner knows. */
static void make_entry(const uint8_t *step)
{
	/* Deeper folders may stay. */
	static const char *const names[] = { "files/a", "files/a/b", "files/.lock" };
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, NULL);
	char path[512];

	require(count >= 0);
	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", folder, entries[i]->d_name,
			PICK(names, step[1]));
		if (entries[i]->d_name[0] == '.')
			(void)0;
		else if (step[2] % 4 == 0)
			(void)mkdir(path, 0777);
		else if (step[2] % 4 == 1)
			(void)!symlink("/", path);
		else if (step[2] % 4 == 2)
			(void)mkfifo(path, 0600);
		else
			(void)mknod(path, S_IFREG | 0600, 0);
		free(entries[i]);
	}
	free(entries);
}

static bool is_documented(int error)
{
	static const int errors[] = { -ENOENT, -ETIMEDOUT, -EFBIG, -ENOSPC, -ENOMEM, -ENOSYS,
		-EPERM, -EIO };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (error == errors[i])
			return true;
	return false;
}

static void take(struct session *session)
{
	char content[FILE_BYTES_MAX + 1] = "";
	int fd = -7, r;

	if (!session->fetch)
		return;
	r = debuginfod_fetch_take(session->fetch, &fd);
	if (r == -EAGAIN)
		return;
	require(r == 0 || (is_documented(r) && fd == -7));
	if (r == 0) {
		require(pread(fd, content, sizeof(content), 0) == sizeof(CONTENT) - 1);
		require(strcmp(content, CONTENT) == 0 && close(fd) == 0);
	}
	debuginfod_fetch_free(session->fetch);
	session->fetch = NULL;
}

/* Only a message of the broker starts a fetcher. */
static void ask_service(const uint8_t *step)
{
	static const size_t sizes[] = { sizeof(struct child_service_request),
		sizeof(struct child_service_request), 0, 1, 64 };
	const size_t size = PICK(sizes, step[1]), count = step[3] >> 3 & 3;
	const struct child_service_request request = {
		.version = CHILD_SERVICE_VERSION + (step[2] & 1),
		.kind = BROKER_CHILD_SYMBOL_FETCH ^ (step[2] >> 1),
	};
	int pair[2], fds[CHILD_SERVICE_FDS], r;
	char message[64] = { 0 };

	memcpy(message, &request, sizeof(request));
	make_pair(pair);
	if (step[2] != 0x80)
		send_with(pair[0], message, size, step[3], count);
	close_one(&pair[0]);
	r = child_service_receive(pair[1], BROKER_CHILD_SYMBOL_FETCH, fds);
	require((r == 0) ==
		(size == sizeof(request) && step[2] == 0 && count >= CHILD_SERVICE_SOCKETS));
	for (size_t i = 0; r == 0 && i < CHILD_SERVICE_SOCKETS; i++)
		close_one(&fds[i]);
	close_one(&pair[1]);
}

static void step_once(struct session *session, const uint8_t *step)
{
	switch (step[0] & 7) {
	case 0:
	case 1:
		reply(session, step);
		break;
	case 2:
		report_end(session, step);
		break;
	case 3:
		make_entry(step);
		break;
	case 4:
		close_one(step[1] & 1 ? &session->fetcher_fd : &session->end_fd);
		break;
	case 5:
		ask_service(step);
		break;
	default:
		take(session);
	}
}

/* --- a session -------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_folder(void)
{
	(void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The broker's answer lies in the socket before the engine asks, which waits for it. */
static void answer(int fd, const uint8_t *head, const int fds[3])
{
	static const size_t counts[] = { 2, 2, 2, 2, 0, 1, 3 };
	static const int32_t results[] = { 0, 0, 0, 0, -EAGAIN, -ENETDOWN, 1 };
	struct pilotlight_broker_answer answer = {
		.version = PILOTLIGHT_BROKER_VERSION + (head[1] == 1),
		.result = PICK(results, head[0]),
		.number = head[1] == 2	 ? 0
			  : head[1] == 3 ? UINT64_MAX
					 : 1,
	};

	if (head[1] != 4)
		(void)broker_socket_send(fd, &answer, sizeof(answer) - (head[1] == 5), fds,
			PICK(counts, head[0] >> 4));
	require(shutdown(fd, SHUT_WR) == 0);
}

/* A first byte of 0 and a second one above 5 are an honest broker. */
static void begin(struct session *session, const uint8_t *head)
{
	static const struct build_id id = { .bytes = { 0xab, 0xcd }, .size = BUILD_ID_BYTES };
	struct debuginfod_fetch_options options = {
		.urls = "http://localhost",
		.directory = folder,
		.bytes_max = FILE_BYTES_MAX,
	};
	int pair[2], socket_pair[2], end_pair[2];
	static bool is_made;

	if (!is_made)
		require(mkdtemp(folder) && atexit(remove_folder) == 0);
	is_made = true;
	make_pair(pair);
	make_pair(socket_pair);
	make_pair(end_pair);
	require(broker_connect(pair[1], &session->broker) == 0);
	answer(pair[0], head, (const int[]){ socket_pair[1], end_pair[1], end_pair[1] });
	options.broker = session->broker;
	session->fetch = NULL;
	(void)debuginfod_fetch_start(&options, &id, &session->fetch);
	close_one(&pair[0]);
	close_one(&socket_pair[1]);
	close_one(&end_pair[1]);
	session->fetcher_fd = socket_pair[0];
	session->end_fd = end_pair[0];
}

static void end(struct session *session)
{
	close_one(&session->fetcher_fd);
	close_one(&session->end_fd);
	take(session);
	require(!session->fetch);
	broker_free(session->broker);
}

static void require_empty_folder(void)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, NULL);

	require(count == 2);
	free(entries[0]);
	free(entries[1]);
	free(entries);
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && close(fd) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const int descriptor = next_descriptor();
	struct session session;

	if (size < 2 || size > 2 + STEP_BYTES * STEPS_MAX)
		return 0;
	begin(&session, bytes);
	for (bytes += 2, size -= 2; size >= STEP_BYTES; size -= STEP_BYTES, bytes += STEP_BYTES)
		step_once(&session, bytes);
	end(&session);
	require_empty_folder();
	require(next_descriptor() == descriptor);
	return 0;
}
