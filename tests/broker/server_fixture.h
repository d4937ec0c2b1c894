/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server whose client is the test, in one process, so that each step is taken by the test. */
#pragma once

#include "broker/broker_server.h"
#include "broker/broker_socket.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/broker_messages.h"
#include "tests/harness/files.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* With a folder that stands for /proc, with one process: 77. */
struct setting {
	size_t descriptors; /* that were open before */
	char proc[64];
	int client; /* the other end of the server's socket; -1: closed */
	struct broker_server *server;
};

static inline int set_up(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	struct broker_options options = { 0 };
	int pair[2];

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	strcpy(setting->proc, "/tmp/broker_server_test.XXXXXX");
	assert_non_null(mkdtemp(setting->proc));
	assert_int_equal(chmod(setting->proc, 0755), 0);
	make_folder(setting->proc, "77");
	write_file(setting->proc, "77/maps", "the maps\n");
	make_pair(pair);
	options.proc_root = setting->proc;
	assert_int_equal(broker_server_new(pair[1], &options, &setting->server), 0);
	setting->client = pair[0];
	*state = setting;
	return 0;
}

static inline void hang_up(struct setting *setting)
{
	assert_int_equal(close(setting->client), 0);
	setting->client = -1;
}

static inline int tear_down(void **state)
{
	struct setting *setting = *state;

	broker_server_free(setting->server);
	if (setting->client >= 0)
		hang_up(setting);
	assert_int_equal(open_descriptors(), setting->descriptors);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	remove_folder(setting->proc);
	free(setting);
	return 0;
}

static inline struct pilotlight_broker_request request_of(uint64_t number, int32_t pid)
{
	struct pilotlight_broker_request request;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_BROKER_VERSION;
	request.operation = PILOTLIGHT_BROKER_MAPS;
	request.number = number;
	request.pid = pid;
	return request;
}

static inline void ask(struct setting *setting, uint64_t number, int32_t pid)
{
	const struct pilotlight_broker_request request = request_of(number, pid);

	send_message(setting->client, &request, sizeof(request), -1, 0);
}

static inline void run(struct setting *setting)
{
	assert_int_equal(broker_server_run(setting->server), 0);
}

/* Returns whether there is an answer, and its descriptors, which come with success only. */
static inline bool take_message(struct setting *setting,
	struct pilotlight_broker_answer *ret_answer, struct broker_message *ret_message)
{
	if (broker_socket_receive(setting->client, ret_answer, sizeof(*ret_answer),
		    BROKER_SOCKET_FDS_MAX, ret_message) < 0)
		return false;
	assert_int_equal(ret_message->size, sizeof(*ret_answer));
	assert_false(ret_message->has_lost_fds);
	assert_int_equal(ret_answer->version, PILOTLIGHT_BROKER_VERSION);
	assert_int_equal(ret_message->fd_count > 0, ret_answer->result == 0);
	return true;
}

/* The same for an answer with at most one descriptor; -1: none came. */
static inline bool take_answer(
	struct setting *setting, struct pilotlight_broker_answer *ret_answer, int *ret_fd)
{
	struct broker_message message;

	if (!take_message(setting, ret_answer, &message))
		return false;
	assert_true(message.fd_count <= 1);
	*ret_fd = message.fd_count > 0 ? message.fds[0] : -1;
	return true;
}

static inline void assert_answered(struct setting *setting, uint64_t number, int result)
{
	struct pilotlight_broker_answer answer;
	int fd;

	assert_true(take_answer(setting, &answer, &fd));
	assert_int_equal(answer.number, number);
	assert_int_equal(answer.result, result);
	if (fd >= 0)
		assert_int_equal(close(fd), 0);
}

static inline void assert_no_answer(struct setting *setting)
{
	struct pilotlight_broker_answer answer;
	int fd;

	assert_false(take_answer(setting, &answer, &fd));
}

static inline uint64_t sum(const uint64_t *counters, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += counters[i];
	return total;
}

/* Every request counts once, and every refusal has a reason. */
static inline void assert_counted(const struct setting *setting, uint64_t opened, uint64_t refused)
{
	const struct broker_server_counters *counters = broker_server_counters(setting->server);

	assert_int_equal(sum(counters->opened, PILOTLIGHT_BROKER_OPERATIONS), opened);
	assert_int_equal(sum(counters->refused, PILOTLIGHT_BROKER_OPERATIONS), refused);
	assert_int_equal(sum(counters->refusals, BROKER_REFUSALS), refused);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
