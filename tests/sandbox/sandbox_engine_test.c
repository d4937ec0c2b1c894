/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each call is made by a process of its own, with the filter of an engine, a query, a fetcher
 * or a broker in force.
 */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "tests/sandbox/process_calls.h"
#include "tests/sandbox/sandbox_trial.h"

#include <stdlib.h>

/* The outcome of a call; FAILS: the kernel knows no such thing, whatever the filter says; UNTRIED:
 * it would work, and disturb the test. */
enum outcome { FAILS = -1, WORKS, REFUSED, KILLED, UNTRIED };

struct call {
	const char *name;
	long (*make)(void); /* -1 and errno, or anything else */
	enum outcome engine, query, fetcher, broker;
};

#define CALL(function, engine, query, fetcher, broker)              \
	{                                                           \
#function, function, engine, query, fetcher, broker \
	}

/* A broker's leak checker traces it. */
#define TRACED (SANDBOX_HAS_SANITIZER ? WORKS : KILLED)

static const struct call calls[] = {
	CALL(open_to_write, WORKS, REFUSED, WORKS, WORKS),
	CALL(open_to_read, WORKS, WORKS, WORKS, WORKS),
	CALL(open_to_append, WORKS, REFUSED, WORKS, WORKS),
	CALL(open_and_empty, WORKS, REFUSED, WORKS, WORKS),
	CALL(open_unnamed, WORKS, REFUSED, WORKS, WORKS),
	CALL(publish, WORKS, REFUSED, REFUSED, WORKS),
	CALL(make_folder, WORKS, REFUSED, WORKS, WORKS),
	CALL(remove_file, WORKS, REFUSED, WORKS, WORKS),
	CALL(list_folder, WORKS, WORKS, WORKS, WORKS),
	CALL(ask_of_files, WORKS, WORKS, WORKS, WORKS),
	CALL(lock_as_sqlite, WORKS, WORKS, WORKS, WORKS),
	CALL(write_and_sync, WORKS, WORKS, WORKS, WORKS),
	CALL(cut_by_name, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(change_mode, WORKS, REFUSED, REFUSED, WORKS),
	CALL(lend_rights, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(lend_rights_of_group, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(let_others_write, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(let_the_group_write, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(make_with_lent_rights, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_unnamed_with_lent_rights, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(open_with_any_mode, WORKS, WORKS, WORKS, WORKS),
	CALL(change_owner, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(map_shared, WORKS, WORKS, WORKS, WORKS),
	CALL(map_anonymous, WORKS, WORKS, WORKS, WORKS),
	CALL(map_code, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(map_writable_code, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(turn_into_code, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(turn_into_code_by_key, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_memory_file, WORKS, WORKS, WORKS, WORKS),
	CALL(send_descriptor, WORKS, WORKS, WORKS, WORKS),
	CALL(use_socket_options, WORKS, WORKS, WORKS, WORKS),
	CALL(accept_connection, WORKS, REFUSED, REFUSED, WORKS),
	CALL(make_pair, WORKS, REFUSED, REFUSED, WORKS),
	CALL(make_pair_elsewhere, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_socket, REFUSED, REFUSED, WORKS, WORKS),
	CALL(make_stream_pair, WORKS, REFUSED, WORKS, WORKS),
	CALL(make_datagram_pair, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_datagram_socket, REFUSED, REFUSED, WORKS, WORKS),
	CALL(make_socket_of_ipv6, REFUSED, REFUSED, WORKS, WORKS),
	CALL(make_raw_socket, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_packet_socket, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_echo_socket, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(make_multipath_socket, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(bind_socket, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(make_local_socket, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(make_netlink_socket, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(connect_elsewhere, REFUSED, REFUSED, FAILS, FAILS),
	CALL(connect_pair_elsewhere, REFUSED, REFUSED, FAILS, FAILS),
	CALL(wait_by_epoll, WORKS, REFUSED, REFUSED, WORKS),
	CALL(wait_for_time, WORKS, REFUSED, REFUSED, WORKS),
	CALL(wait_for_signals, WORKS, REFUSED, REFUSED, WORKS),
	CALL(poll_once, WORKS, WORKS, WORKS, WORKS),
	CALL(know_oneself, WORKS, WORKS, WORKS, WORKS),
	CALL(take_a_name, WORKS, WORKS, WORKS, WORKS),
	CALL(live_on, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(be_dumpable, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(write_map, WORKS, REFUSED, REFUSED, WORKS),
	CALL(read_map, WORKS, REFUSED, REFUSED, WORKS),
	CALL(make_map, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(find_map, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(freeze_map, REFUSED, REFUSED, REFUSED, FAILS),
	CALL(sample, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(make_process, REFUSED, REFUSED, REFUSED, UNTRIED),
	CALL(make_process_in_memory, REFUSED, REFUSED, REFUSED, UNTRIED),
	CALL(make_thread, REFUSED, REFUSED, FAILS, FAILS),
	CALL(signal_parent, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(signal_everybody, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(signal_a_strange_thread, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(signal_oneself, WORKS, WORKS, WORKS, WORKS),
	CALL(have_signals_sent, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(forge_input, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(change_user, REFUSED, REFUSED, REFUSED, WORKS),
	CALL(limit_another, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(move_another, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(slow_another, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(slow_the_disk_of_another, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(share_memory, REFUSED, REFUSED, REFUSED, REFUSED),
	CALL(execute, KILLED, KILLED, KILLED, WORKS),
	CALL(execute_open_file, KILLED, KILLED, KILLED, KILLED),
	CALL(trace, KILLED, KILLED, KILLED, TRACED),
	CALL(read_memory, KILLED, KILLED, KILLED, KILLED),
	CALL(write_memory, KILLED, KILLED, KILLED, KILLED),
	CALL(open_process, KILLED, KILLED, KILLED, WORKS),
	CALL(steal_descriptor, KILLED, KILLED, KILLED, KILLED),
	CALL(signal_by_descriptor, KILLED, KILLED, KILLED, FAILS),
	CALL(mount_something, KILLED, KILLED, KILLED, KILLED),
	CALL(open_tree_of_mounts, KILLED, KILLED, KILLED, KILLED),
	CALL(change_root, KILLED, KILLED, KILLED, KILLED),
	CALL(leave_namespace, KILLED, KILLED, KILLED, KILLED),
	CALL(enter_namespace, KILLED, KILLED, KILLED, KILLED),
	CALL(use_io_uring, KILLED, KILLED, KILLED, KILLED),
	CALL(use_userfaultfd, KILLED, KILLED, KILLED, KILLED),
	CALL(use_keys, KILLED, KILLED, KILLED, KILLED),
	CALL(load_module, KILLED, KILLED, KILLED, KILLED),
	CALL(open_by_handle, KILLED, KILLED, KILLED, KILLED),
};

static const struct call *tried;

static void try_call(void)
{
	long result;

	errno = 0;
	result = tried->make();
	if (result == -1)
		_exit(errno == EPERM ? 10 + REFUSED : 9);
	_exit(10 + WORKS);
}

static enum outcome outcome_of(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return KILLED;
	assert_true(WIFEXITED(status));
	/* Of a program that was executed. */
	if (WEXITSTATUS(status) == 0)
		return WORKS;
	return (enum outcome)(WEXITSTATUS(status) - 10);
}

static int set_up_files(void)
{
	int client;

	if (openat(folder_fd, "victim", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
		return -1;
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return client < 0 ? -1 : connect(client, (struct sockaddr *)&address, address_bytes);
}

static int tear_down_files(void)
{
	static const char *const names[] = { "new", "victim", "published", "renamed" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (unlinkat(folder_fd, names[i], 0) < 0 && errno != ENOENT)
			return -1;
	while (accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC) >= 0)
		;
	return 0;
}

static int become_engine(void)
{
	int r = sandbox_drop_privileges_to(getuid(), getgid());

	return r == 0 ? sandbox_forbid_engine() : r;
}

static int become_query(void)
{
	int r = sandbox_drop_privileges_to(getuid(), getgid());

	return r == 0 ? sandbox_forbid_query() : r;
}

static int become_fetcher(void)
{
	int r = sandbox_drop_privileges_to(getuid(), getgid());

	return r == 0 ? sandbox_forbid_fetcher() : r;
}

/* It keeps its privileges. */
static int become_broker(void)
{
	return sandbox_forbid_broker();
}

static int become_engine_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_engine();
}

static int become_query_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_query();
}

static int become_fetcher_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_fetcher();
}

static int become_broker_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_broker();
}

static void assert_outcomes(int (*prepare)(void), size_t column)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const enum outcome columns[] = { calls[i].engine, calls[i].query, calls[i].fetcher,
			calls[i].broker };
		enum outcome expected = columns[column], outcome;

		if (expected == UNTRIED)
			continue;
		tried = &calls[i];
		outcome = outcome_of(run_trial(prepare, try_call));
		assert_int_equal(tear_down_files(), 0);
		if (outcome == expected)
			continue;
		print_error("%s: %d instead of %d\n", calls[i].name, (int)outcome, (int)expected);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void calls_of_an_engine_are_filtered(void **state)
{
	assert_outcomes(become_engine_of_files, 0);
}

static void calls_of_a_query_are_filtered(void **state)
{
	assert_outcomes(become_query_of_files, 1);
}

static void calls_of_a_fetcher_are_filtered(void **state)
{
	assert_outcomes(become_fetcher_of_files, 2);
}

static void calls_of_a_broker_are_filtered(void **state)
{
	assert_outcomes(become_broker_of_files, 3);
}

static void clones_by_structure(void)
{
	char arguments[64] = { 0 };

	REQUIRE(syscall(SYS_clone3, arguments, sizeof(arguments)) < 0 && errno == ENOSYS);
}

static void clone3_fails_so_that_libraries_use_clone(void **state)
{
	assert_passes(become_engine, clones_by_structure);
	assert_passes(become_query, clones_by_structure);
	assert_passes(become_fetcher, clones_by_structure);
	assert_passes(become_broker, clones_by_structure);
}

static int become_engine_with_signals(void)
{
	(void)signal(SIGABRT, SIG_DFL);
	return become_engine();
}

static void abort_with_a_handler(void)
{
	(void)signal(SIGABRT, SIG_IGN);
	abort();
}

static void an_abort_ends_with_its_signal(void **state)
{
	static void (*const trials[])(void) = { abort, abort_with_a_handler };

	for (size_t i = 0; i < ARRAY_SIZE(trials); i++) {
		int status = run_trial(become_engine_with_signals, trials[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

/* A compiled filter of another architecture's calls would let these by. */
static void calls_as_a_32_bit_program(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
	(void)result;
#else
	(void)raise(SIGSYS);
#endif
}

static void calls_of_another_architecture_kill(void **state)
{
	assert_int_equal(outcome_of(run_trial(become_engine, calls_as_a_32_bit_program)), KILLED);
	assert_int_equal(outcome_of(run_trial(become_query, calls_as_a_32_bit_program)), KILLED);
	assert_int_equal(outcome_of(run_trial(become_fetcher, calls_as_a_32_bit_program)), KILLED);
	assert_int_equal(outcome_of(run_trial(become_broker, calls_as_a_32_bit_program)), KILLED);
}

static int make_map_if_allowed(void)
{
	return (int)make_map();
}

static int set_up(void **state)
{
	static char path[] = "/tmp/sandbox_engine_XXXXXX";

	*state = path;
	if (!mkdtemp(path))
		return -1;
	folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file_fd = openat(folder_fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file_fd < 0 || ftruncate(file_fd, 4096) < 0 ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -1;
	/* By the kernel's choice of an abstract name. */
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listen_fd < 0 ||
		bind(listen_fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
		listen(listen_fd, 8) < 0)
		return -1;
	address_bytes = sizeof(address);
	map_fd = make_map_if_allowed();
	return getsockname(listen_fd, (struct sockaddr *)&address, &address_bytes);
}

static int tear_down(void **state)
{
	if (unlinkat(folder_fd, "file", 0) < 0)
		return -1;
	return rmdir(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_an_engine_are_filtered),
		cmocka_unit_test(calls_of_a_query_are_filtered),
		cmocka_unit_test(calls_of_a_fetcher_are_filtered),
		cmocka_unit_test(calls_of_a_broker_are_filtered),
		cmocka_unit_test(clone3_fails_so_that_libraries_use_clone),
		cmocka_unit_test(an_abort_ends_with_its_signal),
		cmocka_unit_test(calls_of_another_architecture_kill),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
