/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight record` around a pipeline that fails, and is interrupted, where a test wants it to.
 * The pipeline is in the engine's process: that is left its privileges here, so that it can do what
 * the tests want, and what it has done is in memory that both share.
 */
#include "engine/pipeline.h"
#include "tests/render/example_profile.h"
#include "tools/record/record.h"
#include "tools/record/record_sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct pipeline {
	struct profile *profile;
	int fd; /* always readable */
};

/* What the pipeline does and has done. */
static struct script {
	int (*run)(void);
	int (*finish)(void);
	int (*run_symbols)(void);
	int (*name)(void);
	int (*follow)(pid_t pid);
	int (*open)(void);
	int (*drop)(void);
	size_t symbols_pending; /* one fewer each time they run */
	bool has_interrupted;
	pid_t watched[2];
	unsigned started, finished, named, confined;
} * script;

/* In the engine's process, which is none of cmocka's. */
static void must(bool condition)
{
	if (!condition)
		abort();
}

static char folder[] = "/tmp/record-test.XXXXXX";

int record_sandbox_drop_privileges(int socket_fd, bool *ret_keeps_privileges, struct fault *fault)
{
	(void)socket_fd;
	(void)fault;
	*ret_keeps_privileges = false;
	return script->drop ? script->drop() : 0;
}

void record_sandbox_confine(const char *symbol_cache)
{
	(void)symbol_cache;
	script->confined++;
}

int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault)
{
	struct pipeline *pipeline;
	int r = script->open ? script->open() : 0;

	if (r < 0)
		return fault_set(fault, r, "opening failed");
	pipeline = calloc(1, sizeof(*pipeline));
	must(pipeline);
	/* The front has the rest. */
	must(settings->broker);
	must(settings->capture_fd >= 0);
	pipeline->profile = example_machine(false);
	pipeline->fd = eventfd(1, EFD_CLOEXEC);
	*ret_pipeline = pipeline;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	profile_free(pipeline->profile);
	(void)close(pipeline->fd);
	free(pipeline);
}

int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault)
{
	(void)pipeline;
	(void)fault;
	return script->follow ? script->follow(pid) : 0;
}

int pipeline_start(struct pipeline *pipeline, struct fault *fault)
{
	(void)pipeline;
	(void)fault;
	script->started++;
	return 0;
}

int pipeline_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->fd;
}

int pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->run ? script->run() : 0;

	(void)pipeline;
	return r < 0 ? fault_set(fault, r, "running failed") : 0;
}

int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->finish ? script->finish() : 0;

	(void)pipeline;
	script->finished++;
	return r < 0 ? fault_set(fault, r, "finishing failed") : 0;
}

size_t pipeline_symbols_pending(const struct pipeline *pipeline)
{
	(void)pipeline;
	return script->symbols_pending;
}

int pipeline_symbols_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->fd;
}

int pipeline_symbols_run(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->run_symbols ? script->run_symbols() : 0;

	(void)pipeline;
	if (!script->run_symbols)
		script->symbols_pending--;
	return r < 0 ? fault_set(fault, r, "following the workers failed") : 0;
}

int pipeline_name(struct pipeline *pipeline, struct fault *fault)
{
	int r = script->name ? script->name() : 0;

	(void)pipeline;
	script->named++;
	return r < 0 ? fault_set(fault, r, "naming failed") : 0;
}

const struct profile *pipeline_profile(const struct pipeline *pipeline)
{
	return pipeline->profile;
}

void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report)
{
	const struct pipeline_report report = { .accounts = pipeline->profile->accounts,
		.elapsed_ns = 1000000000 };

	*ret_report = report;
}

static int enter_folder(void **state)
{
	(void)state;
	memset(script, 0, sizeof(*script));
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	char command[sizeof(folder) + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static size_t count_files(void)
{
	DIR *listing = opendir(".");
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(listing);
	while ((entry = readdir(listing)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count++;
	(void)closedir(listing);
	return count;
}

static bool is_whole(const char *path)
{
	char command[128];

	(void)snprintf(
		command, sizeof(command), "tail -c 20 %s 2>/dev/null | grep -q '</svg>'", path);
	return system(command) == 0;
}

static int record(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	optind = 0;
	return command_main(&record_command, argc, argv);
}

#define RECORD(...) record((char *[]){ "record", __VA_ARGS__, NULL })

static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	return pid;
}

/* By whoever may; whoever is its parent waits for it. */
static void end_process(pid_t pid)
{
	struct pollfd fd = { .fd = pidfd_open(pid, 0), .events = POLLIN };

	must(fd.fd >= 0);
	must(kill(pid, SIGKILL) == 0);
	must(poll(&fd, 1, -1) == 1);
	(void)close(fd.fd);
}

static int fail_at_once(void)
{
	return -EIO;
}

/* The front, as a terminal does: the engine has the signal blocked. */
static int interrupt(void)
{
	(void)kill(getppid(), SIGINT);
	return 0;
}

/* However often it is called before the front has heard of it. */
static int interrupt_once(void)
{
	if (!script->has_interrupted)
		(void)interrupt();
	script->has_interrupted = true;
	return 0;
}

static int die(void)
{
	(void)raise(SIGKILL);
	return 0;
}

static void a_duration_ends_the_recording(void **state)
{
	(void)state;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 0);
	assert_true(is_whole("x.svg"));
	assert_int_equal(script->finished, 1);
	assert_int_equal(count_files(), 1);
}

static void a_signal_ends_the_recording(void **state)
{
	(void)state;
	script->run = interrupt_once;
	assert_int_equal(RECORD("-q", "-o", "x.svg"), 0);
	assert_true(is_whole("x.svg"));
}

static void a_failure_while_sampling_keeps_what_there_is(void **state)
{
	(void)state;
	script->run = fail_at_once;
	assert_int_equal(RECORD("-q", "-o", "x.svg"), 1);
	assert_int_equal(script->finished, 1);
	assert_true(is_whole("x.svg"));
	assert_int_equal(count_files(), 1);
}

static void a_failure_to_finish_leaves_nothing(void **state)
{
	(void)state;
	script->run = fail_at_once;
	script->finish = fail_at_once;
	assert_int_equal(RECORD("-q", "-o", "x.svg"), 1);
	assert_int_equal(script->finished, 1);
	assert_int_equal(count_files(), 0);
}

static void a_failure_to_write_is_told(void **state)
{
	(void)state;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-f", "svg", "-o", "/dev/full"), 1);
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "missing/x.svg"), 1);
	assert_int_equal(script->started, 1);
	assert_int_equal(count_files(), 0);
}

static void symbols_are_waited_for(void **state)
{
	(void)state;
	script->symbols_pending = 3;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 0);
	assert_int_equal(script->symbols_pending, 0);
	assert_int_equal(script->named, 1);
	assert_true(is_whole("x.svg"));
}

/* With symbols that are never ready. */
static void a_signal_ends_the_wait_for_symbols(void **state)
{
	(void)state;
	script->symbols_pending = 3;
	script->run_symbols = interrupt_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 0);
	assert_int_equal(script->symbols_pending, 3);
	assert_int_equal(script->named, 1);
	assert_true(is_whole("x.svg"));
}

static void failures_after_sampling_leave_nothing(void **state)
{
	(void)state;
	script->symbols_pending = 3;
	script->run_symbols = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 1);
	assert_int_equal(script->named, 0);
	assert_int_equal(count_files(), 0);
	script->run_symbols = NULL;
	script->name = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 1);
	assert_int_equal(script->named, 1);
	assert_int_equal(count_files(), 0);
}

/* Ctrl-C while names are looked up. */
static void a_signal_while_naming_ends_the_program(void **state)
{
	int wait_status;
	pid_t child;

	(void)state;
	script->run = interrupt_once;
	script->name = interrupt;
	child = fork();
	if (child == 0)
		_exit(RECORD("-q", "-o", "x.svg"));
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT);
	assert_int_equal(count_files(), 0);
}

static bool has_signals_to_take(pid_t pid)
{
	unsigned long long pending = 0;
	char path[64], line[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	must(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "ShdPnd: %llx", &pending) == 1)
			break;
	(void)fclose(file);
	return pending != 0;
}

/* Until the front has heard of it. */
static int interrupt_and_wait(void)
{
	(void)interrupt();
	while (has_signals_to_take(getppid()))
		(void)sched_yield();
	return 0;
}

static int interrupt_and_hang(void)
{
	(void)interrupt_and_wait();
	(void)interrupt();
	while (pause() < 0)
		;
	return 0;
}

/* While it starts, and once it was told to stop. */
static void a_signal_ends_the_program_where_the_engine_hangs(void **state)
{
	int (**const hangs[])(void) = { &script->drop, &script->open, &script->finish };
	int wait_status;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < sizeof(hangs) / sizeof(hangs[0]); i++) {
		memset(script, 0, sizeof(*script));
		script->run = interrupt_once;
		*hangs[i] = interrupt_and_hang;
		child = fork();
		if (child == 0)
			_exit(RECORD("-q", "-o", "x.svg"));
		assert_int_equal(waitpid(child, &wait_status, 0), child);
		assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT);
		assert_int_equal(count_files(), 0);
	}
}

static void a_first_signal_at_the_start_ends_the_recording(void **state)
{
	(void)state;
	script->open = interrupt_and_wait;
	assert_int_equal(RECORD("-q", "-o", "x.svg"), 0);
	assert_int_equal(script->started, 1);
	assert_true(is_whole("x.svg"));
}

static void a_first_signal_at_the_end_loses_nothing(void **state)
{
	(void)state;
	script->finish = interrupt_and_wait;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg"), 0);
	assert_true(is_whole("x.svg"));
}

static void a_commands_own_status_is_passed_on(void **state)
{
	(void)state;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c", "exit 7"), 7);
	assert_int_equal(RECORD("-q", "-o", "x.svg", "sh", "-c", "kill -TERM $$"), 143);
	assert_true(is_whole("x.svg"));
}

static void a_command_that_we_end_is_no_failure(void **state)
{
	(void)state;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "sleep", "1000"), 0);
	script->run = interrupt_once;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sleep", "1000"), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static int interrupt_when_the_command_runs(void)
{
	return access("ready", F_OK) == 0 ? interrupt_once() : 0;
}

/* The command is asked to end, and has Ctrl-C pressed then. */
static void a_second_signal_hurries_and_is_no_failure(void **state)
{
	(void)state;
	script->run = interrupt_when_the_command_runs;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c",
				 "trap 'kill -INT $PPID' TERM; : >ready; while :; do :; done"),
		0);
	assert_true(is_whole("x.svg"));
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static int fail_when_the_command_runs(void)
{
	return access("pid", F_OK) == 0 ? -EIO : 0;
}

static void a_failure_of_ours_leaves_the_command_alone(void **state)
{
	FILE *file;
	int pid = 0;

	(void)state;
	script->run = fail_when_the_command_runs;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c",
				 "echo $$ >new; mv new pid; exec sleep 1000"),
		1);
	file = fopen("pid", "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	(void)fclose(file);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	end_process(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_command_that_cannot_run_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "/nonexistent/command"), 1);
	assert_int_equal(count_files(), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static int end_watched(void)
{
	for (size_t i = 0; i < 2; i++) {
		if (!script->watched[i])
			continue;
		end_process(script->watched[i]);
		script->watched[i] = 0;
		break;
	}
	return 0;
}

static int end_followed(pid_t pid)
{
	end_process(pid);
	return 0;
}

static void the_recording_ends_with_its_processes(void **state)
{
	char first[16], second[16];

	(void)state;
	for (size_t i = 0; i < 2; i++)
		script->watched[i] = start_process();
	(void)snprintf(first, sizeof(first), "%d", (int)script->watched[0]);
	(void)snprintf(second, sizeof(second), "%d", (int)script->watched[1]);
	script->run = end_watched;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "-p", first, "-p", second), 0);
	assert_int_equal(script->watched[1], 0);
	assert_true(is_whole("x.svg"));
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

static pid_t ended_early;

static int end_early(pid_t pid)
{
	if (pid == ended_early)
		end_process(pid);
	return 0;
}

static void a_process_that_ends_before_sampling_is_an_error(void **state)
{
	pid_t other = start_process();
	char first[16], second[16];

	(void)state;
	ended_early = start_process();
	(void)snprintf(first, sizeof(first), "%d", (int)ended_early);
	(void)snprintf(second, sizeof(second), "%d", (int)other);
	script->follow = end_early;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "-p", first, "-p", second), 1);
	assert_int_equal(script->started, 0);
	assert_int_equal(count_files(), 0);
	end_process(other);
	assert_int_equal(waitpid(ended_early, NULL, 0), ended_early);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

/* However early it is. */
static void the_end_of_all_processes_is_that_of_the_recording(void **state)
{
	pid_t pid = start_process();
	char number[16];

	(void)state;
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	script->follow = end_followed;
	assert_int_equal(RECORD("-q", "-d", "1h", "-o", "x.svg", "-p", number), 0);
	assert_int_equal(script->started, 1);
	assert_true(is_whole("x.svg"));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void an_engine_that_cannot_begin_leaves_nothing(void **state)
{
	(void)state;
	script->drop = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "touch", "ran"), 1);
	assert_int_equal(script->confined, 0);
	script->drop = NULL;
	script->open = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "touch", "ran"), 1);
	assert_int_equal(script->confined, 1);
	assert_int_equal(script->started, 0);
	assert_int_equal(count_files(), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static void an_engine_that_dies_is_an_error_and_leaves_nothing(void **state)
{
	int (**const deaths[])(void) = {
		&script->drop,
		&script->open,
		&script->run,
		&script->finish,
		&script->run_symbols,
		&script->name,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		memset(script, 0, sizeof(*script));
		script->symbols_pending = 1;
		*deaths[i] = die;
		assert_int_equal(RECORD("-q", "-d", "0.2", "-o", "x.svg"), 1);
		assert_int_equal(count_files(), 0);
		assert_int_equal(waitpid(-1, NULL, 0), -1);
	}
}

static int die_when_the_command_runs(void)
{
	return access("pid", F_OK) == 0 ? die() : 0;
}

static void an_engine_that_dies_leaves_the_command_alone(void **state)
{
	FILE *file;
	int pid = 0;

	(void)state;
	script->run = die_when_the_command_runs;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c",
				 "echo $$ >new; mv new pid; exec sleep 1000"),
		1);
	file = fopen("pid", "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	(void)fclose(file);
	assert_int_equal(count_files(), 1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	end_process(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_duration_ends_the_recording),
		TEST(a_signal_ends_the_recording),
		TEST(a_failure_while_sampling_keeps_what_there_is),
		TEST(a_failure_to_finish_leaves_nothing),
		TEST(a_failure_to_write_is_told),
		TEST(symbols_are_waited_for),
		TEST(a_signal_ends_the_wait_for_symbols),
		TEST(failures_after_sampling_leave_nothing),
		TEST(a_signal_while_naming_ends_the_program),
		TEST(a_signal_ends_the_program_where_the_engine_hangs),
		TEST(a_first_signal_at_the_start_ends_the_recording),
		TEST(a_first_signal_at_the_end_loses_nothing),
		TEST(a_commands_own_status_is_passed_on),
		TEST(a_command_that_we_end_is_no_failure),
		TEST(a_second_signal_hurries_and_is_no_failure),
		TEST(a_failure_of_ours_leaves_the_command_alone),
		TEST(a_command_that_cannot_run_leaves_nothing),
		TEST(the_recording_ends_with_its_processes),
		TEST(a_process_that_ends_before_sampling_is_an_error),
		TEST(the_end_of_all_processes_is_that_of_the_recording),
		TEST(an_engine_that_cannot_begin_leaves_nothing),
		TEST(an_engine_that_dies_is_an_error_and_leaves_nothing),
		TEST(an_engine_that_dies_leaves_the_command_alone),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	script = mmap(
		NULL, sizeof(*script), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (script == MAP_FAILED)
		return EXIT_FAILURE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
