/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table before a broker that can look for nothing at first. */
#include "resolve/binary_table.h"

#include "base/clock.h"
#include "broker/broker_server.h"
#include "process/process_scan.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* More than there are attempts to open a file. */
enum { REFUSALS = 8 };

/* But for poll(), which takes no more than there may be. */
static struct rlimit forbid_descriptors(void)
{
	struct rlimit before, none;

	if (getrlimit(RLIMIT_NOFILE, &before) < 0)
		_exit(2);
	none = before;
	none.rlim_cur = 1;
	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		_exit(2);
	return before;
}

/* A server that can have no process to open files in until it has refused so many. */
static _Noreturn void serve(int fd)
{
	const struct broker_options options = { .request_timeout_ns = 3600ULL * NSEC_PER_SEC };
	struct broker_server *server;
	struct rlimit before;
	int r;

	if (broker_server_new(fd, &options, &server) < 0)
		_exit(1);
	before = forbid_descriptors();
	do {
		struct pollfd waited = { .fd = broker_server_poll_fd(server), .events = POLLIN };

		if (broker_server_counters(server)->refusals[BROKER_REFUSAL_EXHAUSTED] == REFUSALS)
			(void)setrlimit(RLIMIT_NOFILE, &before);
		if (poll(&waited, 1, -1) < 0 && errno != EINTR)
			_exit(3);
		r = broker_server_run(server);
	} while (r == 0);
	broker_server_free(server);
	_exit(r == -EPIPE ? 0 : 4);
}

static pid_t connect_server(struct broker **ret_broker)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(pair[0]);
		serve(pair[1]);
	}
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(broker_connect(pair[0], ret_broker), 0);
	return pid;
}

static void assert_opened_after_refusals(
	struct process_table *processes, const struct process_mapping *mapping)
{
	const struct broker_process self = { .pid = getpid() };
	struct broker *broker;
	struct binary_table *table;
	struct binary binary;
	pid_t server = connect_server(&broker);
	uint32_t number;
	int status;

	assert_int_equal(
		binary_table_new(&binary_table_default_limits, broker, processes, &table), 0);
	for (int i = 0; i < REFUSALS; i++) {
		assert_int_equal(
			binary_table_find_mapping(table, &self, 2000, mapping, &number), 0);
		binary_table_get(table, number, &binary);
		assert_null(binary.image);
	}
	assert_int_equal(binary_table_find_mapping(table, &self, 2000, mapping, &number), 0);
	binary_table_get(table, number, &binary);
	assert_non_null(binary.image);
	binary_table_free(table);
	broker_free(broker);
	assert_int_equal(waitpid(server, &status, 0), server);
	assert_int_equal(status, 0);
}

/* It was no attempt: the file may open as well as any. */
static void a_file_that_nobody_looked_for_is_asked_for_again(void **state)
{
	struct process_table *processes;
	struct process_mapping mapping;
	struct mapped_file file;
	struct broker *broker;

	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &processes), 0);
	assert_int_equal(process_scan_one(broker, processes, getpid(), 1000), 0);
	assert_true(process_table_find(
		processes, getpid(), 2000, (uint64_t)(uintptr_t)connect_server, &mapping));
	/* By its inode, and then by the build-id that was found. */
	process_table_file(processes, mapping.file, &file);
	assert_int_equal(file.build_id.size, 0);
	assert_opened_after_refusals(processes, &mapping);
	process_table_file(processes, mapping.file, &file);
	assert_true(file.build_id.size > 0);
	assert_opened_after_refusals(processes, &mapping);
	process_table_free(processes);
	broker_free(broker);
}

/* Long paths of one user leave room for the binaries of others. */
static void long_paths_are_shortened_when_half_of_the_room_is_used(void **state)
{
	static const struct binary_table_limits limits = {
		.binaries_max = 100, .descriptors_max = 1, .path_bytes_max = 100 * 96
	};
	char path[2000], *name = path + sizeof(path) - sizeof("/the_name");
	const struct kernel_image description = { .name = path };
	struct binary_table *table;
	struct binary binary;
	uint32_t id;

	memset(path, '/', sizeof(path));
	(void)strcpy(name, "/the_name");
	assert_int_equal(binary_table_new(&limits, NULL, NULL, &table), 0);
	for (uint32_t image = 0; image < limits.binaries_max; image++)
		assert_int_equal(
			binary_table_find_kernel_image(table, image, &description, &id), 0);
	binary_table_get(table, 0, &binary);
	assert_string_equal(binary.path, path);
	binary_table_get(table, 99, &binary);
	assert_string_equal(binary.path, "the_name");
	binary_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_nobody_looked_for_is_asked_for_again),
		cmocka_unit_test(long_paths_are_shortened_when_half_of_the_room_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
