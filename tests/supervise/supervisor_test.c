/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/supervisor.h"

#include "base/clock.h"
#include "capture/capture_session.h"
#include "tests/harness/failing_allocation.h"
#include "tests/supervise/engine_roles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

enum {
	REPORTS = 0,	/* the test's side */
	TIMEOUT_S = 60, /* a test that waits longer fails */
};

/* A supervisor's process, its messages to the manager, and its engines' reports. */
struct service {
	char runs[32];
	pid_t pid;
	int notify_fd, reports[2];
};

static void wait_at_most(int fd)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
}

/* Binds to an abstract name that the kernel chooses, written as sd_notify(3) expects it. */
static int open_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	char name[128];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(name, sizeof(name), "@%.*s",
		(int)(size - offsetof(struct sockaddr_un, sun_path)) - 1, &address.sun_path[1]);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	wait_at_most(fd);
	return fd;
}

/* Counts the reads in memory that the service's process shares with the test; NULL: no limits. */
static uint32_t *limits_read;

/* At first there is none, later a low rate. */
static int read_limits(void *context, struct capture_limits *ret_limits, int *ret_config_fd)
{
	const uint32_t count = __atomic_add_fetch((uint32_t *)context, 1, __ATOMIC_SEQ_CST);

	if (count == 1)
		return -EINVAL;
	*ret_limits = (struct capture_limits){ .rate_hz = 99, .map_bytes = 1 << 20 };
	*ret_config_fd = 0;
	return 0;
}

static int run(const char *roles, const int *listen_fd)
{
	char *const arguments[] = { "pilotlight", "engine", (char *)roles, NULL };
	const struct supervisor_options options = {
		.engine_arguments = arguments,
		.listen_fds = listen_fd,
		.listen_count = 1,
		.read_limits = limits_read ? read_limits : NULL,
		.limits_context = limits_read,
	};
	struct fault fault = { 0 };
	int r = supervisor_run(&options, &fault);

	assert_true((r == 0) == (fault.text[0] == '\0'));
	return r;
}

/* Makes a file that counts engines. */
static void open_runs(struct service *service)
{
	int fd;

	(void)snprintf(service->runs, sizeof(service->runs), "/tmp/supervisor_test.XXXXXX");
	fd = mkstemp(service->runs);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	(void)close(fd);
	assert_int_equal(setenv("ENGINE_RUNS", service->runs, 1), 0);
}

static void start_with_watchdog(
	struct service *service, const char *roles, const char *watchdog_usec)
{
	service->notify_fd = open_manager();
	open_runs(service);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, service->reports), 0);
	wait_at_most(service->reports[REPORTS]);
	if (watchdog_usec)
		assert_int_equal(setenv("WATCHDOG_USEC", watchdog_usec, 1), 0);
	else
		assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
	service->pid = fork();
	assert_true(service->pid >= 0);
	if (service->pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
		_exit(-run(roles, &service->reports[1]));
}

static void start(struct service *service, const char *roles)
{
	start_with_watchdog(service, roles, NULL);
}

/* Returns the supervisor's errno; 0: success. */
static int wait_for_end(struct service *service)
{
	int status;

	/* First, because the supervisor waits for a manager that does not read. */
	(void)close(service->notify_fd);
	assert_int_equal(waitpid(service->pid, &status, 0), service->pid);
	(void)unlink(service->runs);
	assert_int_equal(unsetenv("ENGINE_RUNS"), 0);
	assert_true(WIFEXITED(status));
	(void)close(service->reports[0]);
	(void)close(service->reports[1]);
	return WEXITSTATUS(status);
}

static struct engine_report next_engine(struct service *service)
{
	struct engine_report report;

	assert_int_equal(
		recv(service->reports[REPORTS], &report, sizeof(report), 0), sizeof(report));
	return report;
}

static void next_message(struct service *service, char message[1024])
{
	ssize_t size = recv(service->notify_fd, message, 1023, 0);

	assert_true(size > 0);
	message[size] = '\0';
}

/* The next message to the manager must begin with `expected`. */
static void expect(struct service *service, const char *expected)
{
	char message[1024];

	next_message(service, message);
	assert_memory_equal(message, expected, strlen(expected));
}

static void wait_for(struct service *service, const char *expected)
{
	char message[1024];

	do
		next_message(service, message);
	while (strncmp(message, expected, strlen(expected)) != 0);
}

static void stop(struct service *service)
{
	assert_int_equal(kill(service->pid, SIGTERM), 0);
	wait_for(service, "STOPPING=1");
	assert_int_equal(wait_for_end(service), 0);
}

static void an_engine_inherits_only_what_it_needs(void **state)
{
	struct engine_report report;
	struct service service;

	start(&service, "sound");
	report = next_engine(&service);
	assert_int_equal(report.run, 1);
	assert_int_equal(report.session, report.pid);
	assert_int_equal(report.user, getuid());
	assert_int_equal(report.group, getgid());
	assert_int_equal(report.open, 0x7f);
	assert_int_equal(report.blocked, 0);
	assert_int_equal(report.ignored, 0);
	assert_int_equal(report.capabilities, 0);
	assert_false(report.has_own_variables);
	expect(&service, "READY=1");
	stop(&service);
}

static void the_engines_status_is_forwarded(void **state)
{
	struct service service;

	start(&service, "talkative");
	expect(&service, "READY=1");
	/* Control characters of the text are replaced, so it stays one assignment. */
	expect(&service, "STATUS=one\xef\xbf\xbdREADY=1\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd two");
	expect(&service, "WATCHDOG=1");
	stop(&service);
}

static void the_servers_answer(void **state)
{
	struct service service;

	start(&service, "asks");
	expect(&service, "READY=1");
	stop(&service);
}

static void a_reload_is_passed_on(void **state)
{
	struct service service;

	start(&service, "sound");
	expect(&service, "READY=1");
	assert_int_equal(kill(service.pid, SIGHUP), 0);
	expect(&service, "RELOADING=1\nMONOTONIC_USEC=");
	expect(&service, "READY=1");
	stop(&service);
}

/* Before each engine and each reload. Engines never get more than the configuration allows. */
static void limits_of_capture_are_read_again(void **state)
{
	struct service service;

	limits_read = mmap(NULL, sizeof(*limits_read), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(limits_read, MAP_FAILED);
	start(&service, "greedy,greedy");
	wait_for(&service, "READY=1");
	assert_int_equal(*limits_read, 1);
	assert_int_equal(kill(next_engine(&service).pid, SIGKILL), 0);
	wait_for(&service, "READY=1");
	assert_int_equal(*limits_read, 2);
	assert_int_equal(kill(service.pid, SIGHUP), 0);
	wait_for(&service, "RELOADING=1");
	assert_int_equal(*limits_read, 3);
	assert_int_equal(kill(service.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&service), 0);
	assert_int_equal(munmap(limits_read, sizeof(*limits_read)), 0);
	limits_read = NULL;
}

static void a_reload_waits_for_the_engine(void **state)
{
	struct service service;

	start(&service, "late");
	(void)next_engine(&service);
	assert_int_equal(kill(service.pid, SIGHUP), 0);
	/* Only now does the engine block the signal and become ready. */
	assert_int_equal(send(service.reports[REPORTS], "x", 1, 0), 1);
	expect(&service, "READY=1");
	expect(&service, "RELOADING=1\nMONOTONIC_USEC=");
	expect(&service, "READY=1");
	stop(&service);
}

static void an_engine_that_dies_is_restarted(void **state)
{
	struct engine_report report;
	struct service service;
	uint64_t killed_ns;

	start(&service, "sound");
	for (uint32_t run_number = 1; run_number <= 3; run_number++) {
		report = next_engine(&service);
		assert_int_equal(report.run, run_number);
		expect(&service, "READY=1");
		assert_int_equal(kill(report.pid, SIGKILL), 0);
		killed_ns = clock_monotonic_ns();
		expect(&service, "STATUS=the engine ended by signal 9, Killed, after ");
	}
	expect(&service, "READY=1");
	print_message("back %.0f ms after the third of three kills at once\n",
		(double)(clock_monotonic_ns() - killed_ns) / 1e6);
	stop(&service);
}

static void a_crash_is_logged_and_survived(void **state)
{
	struct service service;

	start(&service, "crash,exit 3,exit 75,sound");
	expect(&service, "STATUS=the engine ended by signal 9, Killed, after ");
	expect(&service, "STATUS=the engine ended with status 3 after ");
	/* A renewal within a second gets a pause, too. */
	expect(&service, "STATUS=the engine ended with status 75 after ");
	expect(&service, "READY=1");
	stop(&service);
}

static void a_reload_ends_with_the_next_engine(void **state)
{
	struct engine_report report;
	struct service service;

	start(&service, "naked,sound");
	report = next_engine(&service);
	expect(&service, "READY=1");
	/* This engine has no handler for SIGHUP. */
	assert_int_equal(kill(service.pid, SIGHUP), 0);
	assert_true(report.pid > 0);
	expect(&service, "STATUS=the engine ended by signal 1, Hangup, after ");
	expect(&service, "RELOADING=1\nMONOTONIC_USEC=");
	expect(&service, "READY=1");
	stop(&service);
}

static void exit_statuses_of_an_engine_end_the_service(void **state)
{
	struct service service;

	start(&service, "exit 1");
	assert_int_equal(wait_for_end(&service), ECANCELED);
	start(&service, "exit 2");
	assert_int_equal(wait_for_end(&service), EBADMSG);
	start(&service, "crash,exit 1");
	assert_int_equal(wait_for_end(&service), ECANCELED);
}

static void a_later_engine_that_fails_is_restarted(void **state)
{
	struct engine_report report;
	struct service service;

	start(&service, "sound,exit 1,exit 1,sound");
	report = next_engine(&service);
	expect(&service, "READY=1");
	assert_int_equal(kill(report.pid, SIGKILL), 0);
	expect(&service, "STATUS=the engine ended by signal 9, Killed, after ");
	for (int i = 0; i < 2; i++) {
		expect(&service, "WATCHDOG=1");
		expect(&service, "STATUS=the engine ended with status 1 after ");
	}
	expect(&service, "READY=1");
	stop(&service);
}

/* The engine ends as on a stop, but the service goes on. */
static void an_engine_killed_by_others_is_restarted(void **state)
{
	struct engine_report report;
	struct service service;

	start(&service, "sound");
	report = next_engine(&service);
	expect(&service, "READY=1");
	assert_int_equal(kill(report.pid, SIGTERM), 0);
	report = next_engine(&service);
	assert_int_equal(report.run, 2);
	/* If the engine did not run for long, a message about the pause comes first. */
	wait_for(&service, "READY=1");
	stop(&service);
}

static void an_engine_without_progress_is_killed(void **state)
{
	static const char *const roles[] = { "hang,sound", "deaf,sound" };
	static const char *const ends[] = { "STATUS=the engine ended by signal 6, Aborted, after ",
		"STATUS=the engine ended by signal 9, Killed, after " };
	struct service service;

	for (size_t i = 0; i < 2; i++) {
		/* Long enough for an engine to start on a busy machine. */
		start_with_watchdog(&service, roles[i], "4000000");
		expect(&service, "READY=1");
		expect(&service, ends[i]);
		expect(&service, "READY=1");
		assert_int_equal(kill(service.pid, SIGTERM), 0);
		assert_int_equal(wait_for_end(&service), 0);
	}
}

static void malformed_notices_are_ignored(void **state)
{
	struct service service;

	start(&service, "malformed");
	expect(&service, "READY=1");
	stop(&service);
}

static void a_flood_of_notices_is_limited(void **state)
{
	struct service service;
	char message[1024];
	uint64_t began_ns, now_ns;
	unsigned int count = 0;

	start(&service, "flood");
	expect(&service, "READY=1");
	began_ns = now_ns = clock_monotonic_ns();
	/* Three seconds' worth: they take at least two seconds. */
	for (; count < 3 * 64; count++) {
		next_message(&service, message);
		assert_string_equal(message, "STATUS=much");
	}
	now_ns = clock_monotonic_ns();
	assert_true(now_ns - began_ns > NSEC_PER_SEC);
	stop(&service);
}

static void the_service_waits_for_a_silent_engine(void **state)
{
	struct service service;

	start(&service, "silent");
	expect(&service, "READY=1");
	stop(&service);
}

static void a_second_signal_does_not_wait(void **state)
{
	struct service service;

	start(&service, "deaf");
	expect(&service, "READY=1");
	assert_int_equal(kill(service.pid, SIGINT), 0);
	expect(&service, "STOPPING=1");
	assert_int_equal(kill(service.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&service), 0);
}

static void the_service_ends_between_two_engines(void **state)
{
	struct service service;

	start(&service, "crash,crash,crash,crash,sound");
	for (int i = 0; i < 4; i++)
		expect(&service, "STATUS=the engine ended by signal 9");
	/* The pause is 800 ms now. */
	stop(&service);
}

static void a_program_that_cannot_start_is_an_error(void **state)
{
	char *const arguments[] = { "pilotlight", NULL };
	const struct supervisor_options options = {
		.engine_arguments = arguments,
		.program = "/nonexistent/pilotlight",
	};
	struct fault fault = { 0 };

	assert_int_equal(supervisor_run(&options, &fault), -ENOENT);
	assert_string_equal(fault.text, "cannot start the engine: No such file or directory");
}

static void failing_allocations_are_reported(void **state)
{
	const uint64_t before = blocked_signals();
	int reports[2];

	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports), 0);
	assert_true(
		FAIL_EACH_ALLOCATION(run("exit 1", &reports[1]), -ENOMEM, true, -ECANCELED) >= 3);
	assert_int_equal(blocked_signals(), before);
	(void)close(reports[0]);
	(void)close(reports[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_inherits_only_what_it_needs),
		cmocka_unit_test(the_engines_status_is_forwarded),
		cmocka_unit_test(the_servers_answer),
		cmocka_unit_test(a_reload_is_passed_on),
		cmocka_unit_test(limits_of_capture_are_read_again),
		cmocka_unit_test(a_reload_waits_for_the_engine),
		cmocka_unit_test(a_reload_ends_with_the_next_engine),
		cmocka_unit_test(an_engine_that_dies_is_restarted),
		cmocka_unit_test(a_crash_is_logged_and_survived),
		cmocka_unit_test(exit_statuses_of_an_engine_end_the_service),
		cmocka_unit_test(a_later_engine_that_fails_is_restarted),
		cmocka_unit_test(an_engine_killed_by_others_is_restarted),
		cmocka_unit_test(an_engine_without_progress_is_killed),
		cmocka_unit_test(malformed_notices_are_ignored),
		cmocka_unit_test(a_flood_of_notices_is_limited),
		cmocka_unit_test(the_service_waits_for_a_silent_engine),
		cmocka_unit_test(a_second_signal_does_not_wait),
		cmocka_unit_test(the_service_ends_between_two_engines),
		cmocka_unit_test(a_program_that_cannot_start_is_an_error),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	if (argc > 1 && strcmp(argv[1], "engine") == 0)
		return engine_role_main(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
