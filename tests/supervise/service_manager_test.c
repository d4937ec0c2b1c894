/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manager is a socket of the test's own. */
#include "supervise/service_manager.h"

#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static int manager_fd;

static void expect(const char *expected)
{
	char message[2048] = "";
	ssize_t size = recv(manager_fd, message, sizeof(message) - 1, MSG_DONTWAIT);

	assert_true(size >= 0);
	assert_string_equal(message, expected);
}

/* With no file that can be opened. */
static int prepare_without_files(struct fault *fault)
{
	struct rlimit files, none;
	int r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ 0, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = service_manager_prepare(fault);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	return r;
}

/* Before any test that has loaded it. */
static void without_libsystemd_a_service_manager_is_an_error(void **state)
{
	static const char *const variables[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS" };
	const char *const manager = strdupa(getenv("NOTIFY_SOCKET"));
	struct fault fault = { 0 };

	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(prepare_without_files(&fault), 0);
	assert_int_equal(service_manager_take_sockets(&fault), 0);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		assert_int_equal(setenv(variables[i], "1", 1), 0);
		fault.text[0] = '\0';
		assert_int_equal(prepare_without_files(&fault), -ELIBACC);
		assert_non_null(strstr(fault.text, "cannot talk to the service manager: "));
		assert_non_null(strstr(fault.text, "apt-get install libsystemd0"));
		assert_int_equal(unsetenv(variables[i]), 0);
	}
	/* Without a manager the functions do nothing. */
	assert_int_equal(setenv("NOTIFY_SOCKET", manager, 1), 0);
	service_manager_ready();
	service_manager_reloading();
	service_manager_stopping();
	service_manager_progress();
	service_manager_status("text");
	assert_int_equal(service_manager_watchdog_ns(), 0);
	assert_true(recv(manager_fd, fault.text, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

static void libsystemd_is_loaded_for_a_service_manager(void **state)
{
	struct fault fault = { 0 };

	assert_int_equal(service_manager_prepare(&fault), 0);
	assert_string_equal(fault.text, "");
	/* It stays. */
	assert_int_equal(prepare_without_files(&fault), 0);
}

static void sockets_are_taken_once(void **state)
{
	struct fault fault = { 0 };
	char pid[32];
	int fd;

	assert_int_equal(service_manager_take_sockets(&fault), 0);
	/* Whatever has that number, or a descriptor of our own. */
	fd = fcntl(SERVICE_MANAGER_LISTEN_FD, F_GETFD) < 0
		     ? fcntl(manager_fd, F_DUPFD, SERVICE_MANAGER_LISTEN_FD)
		     : -1;
	assert_true(fd < 0 || fd == SERVICE_MANAGER_LISTEN_FD);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(setenv("LISTEN_PID", pid, 1), 0);
	assert_int_equal(setenv("LISTEN_FDS", "1", 1), 0);
	assert_int_equal(service_manager_take_sockets(&fault), 1);
	assert_true(fcntl(SERVICE_MANAGER_LISTEN_FD, F_GETFD) & FD_CLOEXEC);
	assert_null(getenv("LISTEN_FDS"));
	assert_int_equal(service_manager_take_sockets(&fault), 0);
	if (fd >= 0)
		(void)close(fd);
	/* Another process's, and what is no number. */
	(void)snprintf(pid, sizeof(pid), "%d", (int)getppid());
	assert_int_equal(setenv("LISTEN_PID", pid, 1), 0);
	assert_int_equal(setenv("LISTEN_FDS", "1", 1), 0);
	assert_int_equal(service_manager_take_sockets(&fault), 0);
	assert_int_equal(setenv("LISTEN_PID", "somebody", 1), 0);
	assert_int_equal(setenv("LISTEN_FDS", "1", 1), 0);
	assert_true(service_manager_take_sockets(&fault) < 0);
	assert_non_null(strstr(fault.text, "cannot take the sockets"));
	assert_int_equal(unsetenv("LISTEN_PID"), 0);
	assert_int_equal(unsetenv("LISTEN_FDS"), 0);
}

static void states_are_sent_to_systemd(void **state)
{
	service_manager_ready();
	expect("READY=1");
	service_manager_stopping();
	expect("STOPPING=1");
	service_manager_progress();
	expect("WATCHDOG=1");
}

static void a_reload_carries_its_time(void **state)
{
	const char prefix[] = "RELOADING=1\nMONOTONIC_USEC=";
	uint64_t before_us = clock_monotonic_ns() / 1000, sent_us;
	char message[256] = "";

	service_manager_reloading();
	assert_true(recv(manager_fd, message, sizeof(message) - 1, MSG_DONTWAIT) > 0);
	assert_memory_equal(message, prefix, strlen(prefix));
	sent_us = strtoull(message + strlen(prefix), NULL, 10);
	assert_in_range(sent_us, before_us, clock_monotonic_ns() / 1000);
}

static void a_status_is_one_line(void **state)
{
	char text[2000];

	service_manager_status("99 Hz, 0 lost");
	expect("STATUS=99 Hz, 0 lost");
	service_manager_status("");
	expect("STATUS=");
	service_manager_status("a\nMAINPID=1\n\xff%s%n");
	expect("STATUS=a\xef\xbf\xbdMAINPID=1\xef\xbf\xbd\xef\xbf\xbd%s%n");
	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	service_manager_status(text);
	assert_true(recv(manager_fd, text, sizeof(text), MSG_DONTWAIT) < 1100);
	assert_null(memchr(text, '\n', 1024));
}

static void the_watchdog_interval_is_read(void **state)
{
	char other[32];

	assert_int_equal(service_manager_watchdog_ns(), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
	assert_int_equal(service_manager_watchdog_ns(), 30ULL * NSEC_PER_SEC);
	/* Another process's. */
	(void)snprintf(other, sizeof(other), "%d", (int)getppid());
	assert_int_equal(setenv("WATCHDOG_PID", other, 1), 0);
	assert_int_equal(service_manager_watchdog_ns(), 0);
	assert_int_equal(unsetenv("WATCHDOG_PID"), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "much", 1), 0);
	assert_int_equal(service_manager_watchdog_ns(), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "18446744073709551", 1), 0);
	assert_int_equal(service_manager_watchdog_ns(), 18446744073709551000ULL);
	assert_int_equal(setenv("WATCHDOG_USEC", "18446744073709552", 1), 0);
	assert_int_equal(service_manager_watchdog_ns(), UINT64_MAX);
	assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
}

static void systemds_variables_are_removed_from_the_environment(void **state)
{
	assert_true(service_manager_is_own_variable("NOTIFY_SOCKET=@x"));
	assert_true(service_manager_is_own_variable("WATCHDOG_PID=1"));
	assert_true(service_manager_is_own_variable("LISTEN_FDS=2"));
	assert_false(service_manager_is_own_variable("NOTIFY_SOCKET_OTHER=@x"));
	assert_false(service_manager_is_own_variable("JOURNAL_STREAM=1:2"));
	assert_false(service_manager_is_own_variable("STATE_DIRECTORY=/var/lib/pilotlight"));
}

static void without_a_service_manager_nothing_is_sent(void **state)
{
	char byte;

	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	service_manager_ready();
	service_manager_status("text");
	assert_true(recv(manager_fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

static int set_up(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	char name[128];

	manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (manager_fd < 0 ||
		bind(manager_fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
		getsockname(manager_fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "@%.*s",
		(int)(size - offsetof(struct sockaddr_un, sun_path)) - 1, &address.sun_path[1]);
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	return setenv("NOTIFY_SOCKET", name, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_libsystemd_a_service_manager_is_an_error),
		cmocka_unit_test(libsystemd_is_loaded_for_a_service_manager),
		cmocka_unit_test(sockets_are_taken_once),
		cmocka_unit_test(states_are_sent_to_systemd),
		cmocka_unit_test(a_reload_carries_its_time),
		cmocka_unit_test(a_status_is_one_line),
		cmocka_unit_test(the_watchdog_interval_is_read),
		cmocka_unit_test(systemds_variables_are_removed_from_the_environment),
		cmocka_unit_test(without_a_service_manager_nothing_is_sent),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
