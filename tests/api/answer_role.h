/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stand-in for the process that makes answers: this test, started again with "answer", as the
 * program would be. What it is to do stands in the parameter "comm":
 *
 *   echo          answers with kind, times and parameters, "NAME=VALUE;" each
 *   many BYTES    answers with so many bytes
 *   refuse STATUS says so, with a text
 *   cover         says what is covered by an answer of nothing
 *   hang          says nothing for ever
 *   wait PATH     waits until a process opens the fifo at PATH for writing, then as echo
 *   exit STATUS, signal NUMBER
 *   lie WHAT      a reply that makes no sense
 */
#pragma once

#include "answer/answer_request.h"
#include "child/child_request.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static inline const char *role_parameter(const struct answer_request *request, const char *name)
{
	const char *at = request->parameters, *end = at + request->parameters_bytes;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return "";
}

static inline void role_write(struct answer_reply *reply, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(ANSWER_OUTPUT_FD, bytes, size);

		if (n <= 0)
			_exit(7);
		bytes += n;
		size -= (size_t)n;
		reply->bytes += (uint64_t)n;
	}
}

static inline void role_echo(const struct answer_request *request, struct answer_reply *reply)
{
	const char *at = request->parameters, *end = at + request->parameters_bytes;
	char text[2 * ANSWER_PATH_BYTES + 128];

	(void)snprintf(text, sizeof(text),
		"kind %u, scope %u, owner %u, history '%s', cache '%s', timeout %u, now %" PRIu64
		";",
		request->kind, request->scope, request->owner, request->history,
		request->symbol_cache, request->timeout_s, request->now_ns);
	role_write(reply, text, strlen(text));
	while (at < end) {
		const char *value = at + strlen(at) + 1;

		role_write(reply, at, strlen(at));
		role_write(reply, "=", 1);
		role_write(reply, value, strlen(value));
		role_write(reply, ";", 1);
		at = value + strlen(value) + 1;
	}
}

static inline void role_many(uint64_t bytes, struct answer_reply *reply)
{
	static char block[65536];

	memset(block, 'm', sizeof(block));
	while (reply->bytes < bytes) {
		uint64_t left = bytes - reply->bytes;

		role_write(reply, block, left < sizeof(block) ? (size_t)left : sizeof(block));
	}
}

static inline void role_lie(
	const char *what, const struct answer_request *request, struct answer_reply *reply)
{
	if (strcmp(what, "version") == 0)
		reply->version++;
	else if (strcmp(what, "status") == 0)
		reply->status = 302;
	else if (strcmp(what, "zero") == 0)
		reply->status = 0;
	else if (strcmp(what, "bytes") == 0)
		reply->bytes = request->bytes_max + 1;
	else if (strcmp(what, "type") == 0)
		memset(reply->content_type, 'x', sizeof(reply->content_type));
	else if (strcmp(what, "field") == 0)
		strcpy(reply->content_type, "a/b\r\nX: y");
	else if (strcmp(what, "empty") == 0)
		reply->content_type[0] = '\0';
	else if (strcmp(what, "text") == 0)
		memset(reply->text, 'x', sizeof(reply->text));
	else if (strcmp(what, "short") == 0)
		(void)send(CHILD_SOCKET_NUMBER, reply, sizeof(*reply) - 1, MSG_NOSIGNAL);
}

static inline void role_wait(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, &byte, 1) < 0)
		_exit(8);
	(void)close(fd);
}

static inline int answer_role(void)
{
	static struct answer_request request;
	struct answer_reply reply = {
		.version = ANSWER_VERSION, .status = 200, .content_type = "text/x-test"
	};
	const char *what, *more;

	if (child_request_receive(&request, sizeof(request)) < 0 ||
		request.version != ANSWER_VERSION)
		return 9;
	what = role_parameter(&request, "comm");
	more = strchr(what, ' ') ? strchr(what, ' ') + 1 : "";
	if (strncmp(what, "many ", 5) == 0)
		role_many(strtoull(more, NULL, 10), &reply);
	else if (strncmp(what, "refuse ", 7) == 0)
		reply.status = (uint16_t)atoi(more);
	else if (strncmp(what, "lie ", 4) == 0)
		role_lie(more, &request, &reply);
	else if (strncmp(what, "exit ", 5) == 0)
		return atoi(more);
	else if (strncmp(what, "signal ", 7) == 0) {
		(void)signal(atoi(more), SIG_DFL);
		(void)raise(atoi(more));
	} else if (strcmp(what, "hang") == 0)
		for (;;)
			(void)pause();
	else if (strncmp(what, "wait ", 5) == 0)
		role_wait(more);
	if (strncmp(what, "wait ", 5) == 0 || strcmp(what, "echo") == 0 || !*what)
		role_echo(&request, &reply);
	if (strcmp(what, "cover") == 0) {
		reply.covered_ns = 20000000000;
		reply.period_ns = 10101010;
	}
	if (reply.status != 200)
		strcpy(reply.text, "That is\x1b not to be had.");
	(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	/* The receiver of the answer kills it. */
	for (;;)
		(void)pause();
}
