/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight record` with a pipeline that fails, dies or is interrupted where a test's script
 * says. The pipeline runs in the engine's process, which keeps its privileges here. The script is
 * in memory that the engine and the front share.
 */
#include "tests/tools/record/scripted_pipeline.h"
#include "tests/tools/test_folder.h"
#include "tools/record/record.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int enter_folder(void **state)
{
	memset(script, 0, sizeof(*script));
	return test_folder_enter(state);
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

/* Kills a process and waits for its end; its parent still has to reap it. */
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

/* Signals the front, as Ctrl-C does: the engine has SIGINT blocked. */
static int interrupt(void)
{
	(void)kill(getppid(), SIGINT);
	return 0;
}

/* Signals once, however often it is called before the front reacts. */
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

static void a_failure_to_write_is_reported(void **state)
{
	assert_int_equal(RECORD("-q", "-d", "0.001", "-f", "svg", "-o", "/dev/full"), 1);
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "missing/x.svg"), 1);
	assert_int_equal(script->started, 1);
	assert_int_equal(test_folder_count_files(), 0);
}

static bool has_text(const char *path, const char *text)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "grep -qF '%s' %s 2>/dev/null", text, path);
	return system(command) == 0;
}

static void each_event_is_a_file(void **state)
{
	assert_int_equal(RECORD("-d", "0.001", "-e", "offcpu,cpu", "-e", "wall", "-o", "x.svg"), 0);
	assert_true(is_whole("x.cpu.svg") && is_whole("x.offcpu.svg") && is_whole("x.wall.svg"));
	assert_int_equal(test_folder_count_files(), 3);
	assert_true(has_text("x.cpu.svg", "cpu-clock at 99 Hz"));
	assert_true(has_text("x.offcpu.svg", "offcpu (time off CPU) in samples of 1 ms"));
	assert_true(has_text("x.wall.svg", "in samples of 1 to 10.101 ms"));
	/* One alone has the name that was given. */
	assert_int_equal(RECORD("-q", "-d", "0.001", "-e", "runqueue", "-o", "y.folded"), 0);
	assert_int_equal(test_folder_count_files(), 4);
	assert_true(has_text("y.folded", "sshd;"));
}

static void a_file_that_cannot_be_written_stops_before_sampling(void **state)
{
	assert_int_equal(mkdir("x.wall.svg", 0700), 0);
	assert_int_equal(RECORD("-q", "-d", "0.001", "-e", "cpu,wall", "-o", "x.svg"), 1);
	assert_int_equal(script->started, 0);
	assert_int_equal(rmdir("x.wall.svg"), 0);
	assert_int_equal(test_folder_count_files(), 0);
}

static bool has_pending_signals(pid_t pid)
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

/* Returns once the front has received the signal. */
static int interrupt_and_wait(void)
{
	(void)interrupt();
	while (has_pending_signals(getppid()))
		(void)sched_yield();
	return 0;
}

/* Well after the time in which a signal counts as the first one (SAME_SIGNAL_MS of stop_signals.c),
 * whose end no event shows. */
enum { SECOND_SIGNAL_MS = 500 };

static int interrupt_and_hang(void)
{
	(void)interrupt_and_wait();
	(void)poll(NULL, 0, SECOND_SIGNAL_MS);
	(void)interrupt();
	while (pause() < 0)
		;
	return 0;
}

/* How recordings end, by what the pipeline does. Cases are tests of their own. */
static const struct ending {
	const char *name;
	struct script script;
	bool has_duration;
	int status;
	unsigned started, finished, named;
	size_t symbols_pending, files;
} endings[] = {
	{ "a_duration_ends_the_recording", { 0 }, true, 0, 1, 1, 1, 0, 1 },
	{ "a_signal_ends_the_recording", { .run = interrupt_once }, false, 0, 1, 1, 1, 0, 1 },
	{ "a_failure_while_sampling_keeps_the_samples", { .run = fail_at_once }, false, 1, 1, 1, 1,
		0, 1 },
	{ "a_failure_to_finish_leaves_no_file", { .run = fail_at_once, .finish = fail_at_once },
		false, 1, 1, 1, 0, 0, 0 },
	{ "pending_symbols_delay_the_end", { .symbols_pending = 3 }, true, 0, 1, 1, 1, 0, 1 },
	{ "a_signal_ends_the_wait_for_symbols",
		{ .symbols_pending = 3, .run_symbols = interrupt_once }, true, 0, 1, 1, 1, 3, 1 },
	{ "a_failure_of_symbol_workers_leaves_no_file",
		{ .symbols_pending = 3, .run_symbols = fail_at_once }, true, 1, 1, 1, 0, 3, 0 },
	{ "a_failure_to_name_leaves_no_file", { .name = fail_at_once }, true, 1, 1, 1, 1, 0, 0 },
	{ "a_first_signal_at_the_start_ends_the_recording", { .open = interrupt_and_wait }, false,
		0, 1, 1, 1, 0, 1 },
	{ "a_first_signal_at_the_end_loses_nothing", { .finish = interrupt_and_wait }, true, 0, 1,
		1, 1, 0, 1 },
};

static int enter_ending(void **state)
{
	const struct ending *ending = *state;

	*script = ending->script;
	return test_folder_enter(state);
}

static void check_ending(void **state)
{
	const struct ending *ending = *state;

	assert_int_equal(ending->has_duration ? RECORD("-q", "-d", "0.001", "-o", "x.svg")
					      : RECORD("-q", "-o", "x.svg"),
		ending->status);
	assert_int_equal(script->started, ending->started);
	assert_int_equal(script->finished, ending->finished);
	assert_int_equal(script->named, ending->named);
	assert_int_equal(script->symbols_pending, ending->symbols_pending);
	assert_int_equal(test_folder_count_files(), ending->files);
	assert_int_equal(is_whole("x.svg"), ending->files == 1);
}

/* An engine that hangs while it starts or stops, or that names frames, does not stop the signal. */
static void a_second_signal_ends_the_program(void **state)
{
	static const struct script cases[] = {
		{ .run = interrupt_once, .name = interrupt },
		{ .drop = interrupt_and_hang },
		{ .open = interrupt_and_hang },
		{ .run = interrupt_once, .finish = interrupt_and_hang },
	};
	int wait_status;
	pid_t child;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*script = cases[i];
		child = fork();
		if (child == 0)
			_exit(RECORD("-q", "-o", "x.svg"));
		assert_int_equal(waitpid(child, &wait_status, 0), child);
		assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT);
		assert_int_equal(test_folder_count_files(), 0);
	}
}

static void the_exit_status_of_the_command_is_returned(void **state)
{
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c", "exit 7"), 7);
	assert_int_equal(RECORD("-q", "-o", "x.svg", "sh", "-c", "kill -TERM $$"), 143);
	assert_true(is_whole("x.svg"));
}

static void ending_the_command_is_no_failure(void **state)
{
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "sleep", "1000"), 0);
	script->run = interrupt_once;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sleep", "1000"), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static int interrupt_when_the_command_runs(void)
{
	return access("ready", F_OK) == 0 ? interrupt_once() : 0;
}

/* The command gets SIGTERM and sends Ctrl-C then. */
static void a_second_signal_while_the_command_ends_is_no_failure(void **state)
{
	script->run = interrupt_when_the_command_runs;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c",
				 "trap 'kill -INT $PPID' TERM; : >ready; while :; do :; done"),
		0);
	assert_true(is_whole("x.svg"));
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static void a_command_that_cannot_run_leaves_no_file(void **state)
{
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "/nonexistent/command"), 1);
	assert_int_equal(test_folder_count_files(), 0);
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

static pid_t survivor;

static int end_unless_survivor(pid_t pid)
{
	if (pid != survivor)
		end_process(pid);
	return 0;
}

static void the_recording_ends_with_its_processes(void **state)
{
	char first[16], second[16];

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

static void a_process_that_ends_before_sampling_is_an_error(void **state)
{
	pid_t ended = start_process();
	char first[16], second[16];

	survivor = start_process();
	(void)snprintf(first, sizeof(first), "%d", (int)ended);
	(void)snprintf(second, sizeof(second), "%d", (int)survivor);
	script->follow = end_unless_survivor;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "-p", first, "-p", second), 1);
	assert_int_equal(script->started, 0);
	assert_int_equal(test_folder_count_files(), 0);
	end_process(survivor);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	assert_int_equal(waitpid(survivor, NULL, 0), survivor);
}

/* Even if all end before sampling starts. */
static void the_recording_ends_with_processes_that_end_early(void **state)
{
	pid_t pid = start_process();
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	survivor = 0;
	script->follow = end_unless_survivor;
	assert_int_equal(RECORD("-q", "-d", "1h", "-o", "x.svg", "-p", number), 0);
	assert_int_equal(script->started, 1);
	assert_true(is_whole("x.svg"));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void an_engine_that_cannot_start_leaves_no_file(void **state)
{
	script->drop = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "touch", "ran"), 1);
	assert_int_equal(script->confined, 0);
	script->drop = NULL;
	script->open = fail_at_once;
	assert_int_equal(RECORD("-q", "-d", "0.001", "-o", "x.svg", "--", "touch", "ran"), 1);
	assert_int_equal(script->confined, 1);
	assert_int_equal(script->started, 0);
	assert_int_equal(test_folder_count_files(), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static void an_engine_that_dies_is_an_error_and_leaves_no_file(void **state)
{
	int (**const deaths[])(void) = {
		&script->drop,
		&script->open,
		&script->run,
		&script->finish,
		&script->run_symbols,
		&script->name,
	};

	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		memset(script, 0, sizeof(*script));
		script->symbols_pending = 1;
		*deaths[i] = die;
		assert_int_equal(RECORD("-q", "-d", "0.2", "-o", "x.svg"), 1);
		assert_int_equal(test_folder_count_files(), 0);
		assert_int_equal(waitpid(-1, NULL, 0), -1);
	}
}

static int fail_when_the_command_runs(void)
{
	return access("pid", F_OK) == 0 ? fail_at_once() : 0;
}

static int die_when_the_command_runs(void)
{
	return access("pid", F_OK) == 0 ? die() : 0;
}

static void check_that_the_command_lives_on(int (*run)(void), ssize_t files)
{
	FILE *file;
	int pid = 0;

	script->run = run;
	assert_int_equal(RECORD("-q", "-o", "x.svg", "--", "sh", "-c",
				 "echo $$ >new; mv new pid; exec sleep 1000"),
		1);
	file = fopen("pid", "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	(void)fclose(file);
	assert_int_equal(test_folder_count_files(), files);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	end_process(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_command_outlives_a_failure_of_ours(void **state)
{
	check_that_the_command_lives_on(fail_when_the_command_runs, 2);
}

static void the_command_outlives_an_engine_that_dies(void **state)
{
	check_that_the_command_lives_on(die_when_the_command_runs, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, test_folder_leave)

int main(void)
{
	struct CMUnitTest ending_tests[sizeof(endings) / sizeof(endings[0])];
	const struct CMUnitTest tests[] = {
		TEST(each_event_is_a_file),
		TEST(a_file_that_cannot_be_written_stops_before_sampling),
		TEST(a_failure_to_write_is_reported),
		TEST(a_second_signal_ends_the_program),
		TEST(the_exit_status_of_the_command_is_returned),
		TEST(ending_the_command_is_no_failure),
		TEST(a_second_signal_while_the_command_ends_is_no_failure),
		TEST(the_command_outlives_a_failure_of_ours),
		TEST(a_command_that_cannot_run_leaves_no_file),
		TEST(the_recording_ends_with_its_processes),
		TEST(a_process_that_ends_before_sampling_is_an_error),
		TEST(the_recording_ends_with_processes_that_end_early),
		TEST(an_engine_that_cannot_start_leaves_no_file),
		TEST(an_engine_that_dies_is_an_error_and_leaves_no_file),
		TEST(the_command_outlives_an_engine_that_dies),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	script = mmap(
		NULL, sizeof(*script), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (script == MAP_FAILED)
		return EXIT_FAILURE;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		ending_tests[i] = (struct CMUnitTest){
			.name = endings[i].name,
			.test_func = check_ending,
			.setup_func = enter_ending,
			.teardown_func = test_folder_leave,
			.initial_state = (void *)&endings[i],
		};
	return cmocka_run_group_tests(ending_tests, NULL, NULL) +
	       cmocka_run_group_tests(tests, NULL, NULL);
}
