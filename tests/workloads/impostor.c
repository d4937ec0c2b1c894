/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does what an attacker can do who controls the engine: sends requests over its sockets.
 *
 *   impostor ENGINE path PATH
 *   impostor ENGINE alternate PATH
 *   impostor ENGINE debuglink BINARY NAME
 *   impostor ENGINE mapping|marker PID START END PATH      (numbers in base 16; PATH "-": none)
 *   impostor ENGINE map PID NUMBER
 *   impostor ENGINE capture HZ MIB EVENT
 *   impostor execute FILE
 *
 * Prints the error's name, or "opened" and the first bytes of the file. The last one maps a file as
 * code, prints the range of the mapping and waits until it is killed.
 */
#include "pilotlight/broker_request.h"
#include "pilotlight/capture_message.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BROKER_FD = 3, /* of an engine */
	CAPTURE_FD = 4,
	FDS_MAX = 64,
	SHOWN_BYTES = 8,
};

/* No engine gets this far. */
static const uint64_t request_number = 1ULL << 63;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A stopped engine does not take our answers. */
static int take_socket(pid_t engine, int number)
{
	int pidfd = pidfd_open(engine, 0), fd;
	char path[64], line[256];
	bool is_stopped = false;
	FILE *file;

	if (pidfd < 0 || kill(engine, SIGSTOP) < 0)
		fail("stopping the engine");
	(void)snprintf(path, sizeof(path), "/proc/%d/status", engine);
	while (!is_stopped) {
		file = fopen(path, "re");
		if (!file)
			fail(path);
		while (fgets(line, sizeof(line), file))
			is_stopped = is_stopped || strncmp(line, "State:\tT", 8) == 0;
		(void)fclose(file);
	}
	fd = pidfd_getfd(pidfd, number, 0);
	if (fd < 0)
		fail("taking its socket");
	(void)close(pidfd);
	return fd;
}

/* Receives an answer with its descriptors. Returns the first one, or -1. */
static int receive(int socket_fd, void *answer, size_t size)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int[FDS_MAX]))];
	} control;
	struct iovec part = { .iov_base = answer, .iov_len = size };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	const struct cmsghdr *header;
	int fd = -1;

	if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)size)
		fail("an answer");
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void show(int result, int fd)
{
	unsigned char bytes[SHOWN_BYTES];
	ssize_t size = fd < 0 ? 0 : pread(fd, bytes, sizeof(bytes), 0);

	if (result < 0) {
		(void)puts(strerrorname_np(-result));
		return;
	}
	(void)fputs("opened ", stdout);
	for (ssize_t i = 0; i < size; i++)
		(void)putchar(isprint(bytes[i]) ? bytes[i] : '.');
	(void)putchar('\n');
}

static void ask_broker(pid_t engine, struct pilotlight_broker_request *request)
{
	struct pilotlight_broker_answer answer;
	int socket_fd = take_socket(engine, BROKER_FD), fd;

	request->version = PILOTLIGHT_BROKER_VERSION;
	request->number = request_number;
	if (send(socket_fd, request, sizeof(*request), 0) < 0)
		fail("a request");
	/* The engine may have been waiting for an answer. */
	do
		fd = receive(socket_fd, &answer, sizeof(answer));
	while (answer.number != request_number);
	show(answer.result, fd);
}

static void ask_capture(pid_t engine, char **arguments)
{
	struct pilotlight_capture_request request = {
		.version = PILOTLIGHT_CAPTURE_VERSION,
		.operation = PILOTLIGHT_CAPTURE_OPEN,
		.number = request_number,
		.rate_hz = (uint32_t)atoi(arguments[0]),
		.map_budget_bytes = strtoull(arguments[1], NULL, 10) << 20,
		.event = (uint8_t)atoi(arguments[2]),
		.sources = 1 << PILOTLIGHT_SOURCE_CPU,
	};
	struct pilotlight_capture_answer answer;
	int socket_fd = take_socket(engine, CAPTURE_FD);

	if (send(socket_fd, &request, sizeof(request), 0) < 0)
		fail("a request");
	do
		(void)receive(socket_fd, &answer, sizeof(answer));
	while (answer.number != request_number);
	show(answer.result, -1);
}

static void set_path(struct pilotlight_broker_request *request, const char *path)
{
	if (strcmp(path, "-") == 0)
		return;
	request->has_path = 1;
	(void)snprintf(request->path, sizeof(request->path), "%s", path);
}

/* Returns false if the arguments are none of these. */
static bool fill(struct pilotlight_broker_request *request, int count, char **arguments)
{
	const char *kind = arguments[0];

	if (count == 2 && (strcmp(kind, "path") == 0 || strcmp(kind, "alternate") == 0)) {
		request->operation =
			*kind == 'p' ? PILOTLIGHT_BROKER_PATH : PILOTLIGHT_BROKER_ALTERNATE_FILE;
		set_path(request, arguments[1]);
	} else if (count == 3 && strcmp(kind, "debuglink") == 0) {
		request->operation = PILOTLIGHT_BROKER_DEBUGLINK;
		set_path(request, arguments[1]);
		request->has_name = 1;
		(void)snprintf(request->name, sizeof(request->name), "%s", arguments[2]);
	} else if (count == 5 && (strcmp(kind, "mapping") == 0 || strcmp(kind, "marker") == 0)) {
		request->operation = strcmp(kind, "mapping") == 0 ? PILOTLIGHT_BROKER_MAPPING
								  : PILOTLIGHT_BROKER_MARKER;
		request->pid = atoi(arguments[1]);
		request->range_start = strtoull(arguments[2], NULL, 16);
		request->range_end = strtoull(arguments[3], NULL, 16);
		set_path(request, arguments[4]);
	} else if (count == 3 && strcmp(kind, "map") == 0) {
		request->operation = PILOTLIGHT_BROKER_PERF_MAP;
		request->pid = atoi(arguments[1]);
		request->ns_pid = (uint32_t)atoi(arguments[2]);
	} else {
		return false;
	}
	return true;
}

static void execute(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long start;
	void *memory;

	if (fd < 0)
		fail(path);
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	start = (unsigned long)memory;
	(void)printf("%lx %lx\n", start, start + 4096);
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

int main(int argc, char **argv)
{
	struct pilotlight_broker_request request = { 0 };
	pid_t engine;

	if (argc == 3 && strcmp(argv[1], "execute") == 0)
		execute(argv[2]);
	engine = argc > 2 ? atoi(argv[1]) : 0;
	if (engine > 0 && argc == 6 && strcmp(argv[2], "capture") == 0) {
		ask_capture(engine, argv + 3);
	} else if (engine > 0 && fill(&request, argc - 2, argv + 2)) {
		ask_broker(engine, &request);
	} else {
		(void)fputs("usage: impostor ENGINE REQUEST... | execute FILE\n", stderr);
		return 2;
	}
	return kill(engine, SIGCONT) < 0;
}
