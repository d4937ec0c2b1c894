/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline.h"
#include "tools/exit_status.h"
#include "tools/output_file.h"
#include "tools/record_options.h"
#include "tools/record_summary.h"
#include "tools/workload_command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum {
	MAP_BUDGET_BYTES = 20 << 20,
	PROFILE_BUDGET_BYTES = 24 << 20,
	PROGRESS_PERIOD_MS = 1000,
};

struct recording {
	struct record_options options;
	struct output_file *file;
	struct workload_command *command; /* NULL: none */
	struct pipeline *pipeline;
	int signal_fd;
	uint64_t end_ns; /* CLOCK_MONOTONIC; UINT64_MAX: open */
	uint64_t started_ns, next_progress_ns;
	bool shows_progress;
};

static void recording_done(struct recording *recording)
{
	pipeline_free(recording->pipeline);
	workload_command_free(recording->command);
	output_file_free(recording->file);
	if (recording->signal_fd >= 0)
		(void)close(recording->signal_fd);
}

/* Ctrl-C and its like end the recording, not the program. */
static int block_signals(struct recording *recording, struct fault *fault)
{
	sigset_t stops;

	(void)sigemptyset(&stops);
	(void)sigaddset(&stops, SIGINT);
	(void)sigaddset(&stops, SIGTERM);
	(void)sigaddset(&stops, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &stops, NULL);
	recording->signal_fd = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
	if (recording->signal_fd < 0)
		return fault_set(fault, -errno, "cannot receive signals: %s", strerror(errno));
	return 0;
}

/* A PID that is none, or a thread's, is a mistake that the user would rather hear of now. */
static int check_pid(pid_t pid, struct fault *fault)
{
	_cleanup_fclose_ FILE *status = NULL;
	char path[64], line[256];
	int tgid = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (tgid == 0)
		return fault_set(fault, -ESRCH,
			"no process has the PID %d, so there is nothing to sample; `ps -e` lists "
			"those "
			"there are",
			(int)pid);
	if (tgid != pid)
		return fault_set(fault, -ESRCH,
			"%d is a thread of process %d, and processes are what -p takes; use -p %d",
			(int)pid, tgid, tgid);
	return 0;
}

static int follow_processes(struct recording *recording, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; i < recording->options.pid_count && r == 0; i++)
		r = pipeline_follow(recording->pipeline, recording->options.pids[i], fault);
	if (r == 0 && recording->command && !recording->options.wants_all)
		r = pipeline_follow(
			recording->pipeline, workload_command_pid(recording->command), fault);
	return r;
}

static int prepare(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	struct pipeline_settings settings = {
		.capture = {
			.rate_hz = options->rate_hz,
			.wants_kernel = options->wants_kernel,
			.filters_processes = options->pid_count > 0 ||
					     (options->command && !options->wants_all),
			.map_budget_bytes = MAP_BUDGET_BYTES,
			.stack_slots = options->stack_slots,
		},
		.profile_budget_bytes = PROFILE_BUDGET_BYTES,
	};
	int r = 0;

	for (size_t i = 0; i < options->pid_count && r == 0; i++)
		r = check_pid(options->pids[i], fault);
	if (r == 0)
		r = output_file_open(options->path, &recording->file, fault);
	if (r == 0 && options->command)
		r = workload_command_fork(options->command, &recording->command, fault);
	if (r == 0)
		r = block_signals(recording, fault);
	if (r == 0)
		r = pipeline_open(&settings, &recording->pipeline, fault);
	if (r == 0)
		r = follow_processes(recording, fault);
	return r;
}

static int start(struct recording *recording, struct fault *fault)
{
	int r = pipeline_start(recording->pipeline, fault);

	if (r == 0 && recording->command)
		r = workload_command_start(recording->command, fault);
	recording->started_ns = clock_monotonic_ns();
	recording->next_progress_ns = recording->started_ns;
	recording->end_ns = recording->options.duration_ns
				    ? recording->started_ns + recording->options.duration_ns
				    : UINT64_MAX;
	return r;
}

static void show_progress(struct recording *recording, uint64_t now_ns)
{
	struct pipeline_report report;

	if (!recording->shows_progress || now_ns < recording->next_progress_ns)
		return;
	recording->next_progress_ns = now_ns + PROGRESS_PERIOD_MS * 1000000ULL;
	pipeline_report(recording->pipeline, &report);
	(void)fprintf(stderr, "\r%5.0f s  %" PRIu64 " samples, %" PRIu64 " lost%s\033[K",
		(double)(now_ns - recording->started_ns) / 1e9, accounts_stored(&report.accounts),
		accounts_lost(&report.accounts),
		recording->end_ns == UINT64_MAX && !recording->command ? "; Ctrl-C ends it" : "");
}

/* Until a signal, the duration's end or the command's. */
static int sample(struct recording *recording, struct fault *fault)
{
	struct pollfd fds[] = {
		{ .fd = pipeline_poll_fd(recording->pipeline), .events = POLLIN },
		{ .fd = recording->signal_fd, .events = POLLIN },
		{ .fd = recording->command ? workload_command_poll_fd(recording->command) : -1,
			.events = POLLIN },
	};
	int r = 0;

	while (r == 0) {
		uint64_t now_ns = clock_monotonic_ns();
		int timeout_ms = -1;

		show_progress(recording, now_ns);
		if (now_ns >= recording->end_ns)
			break;
		if (recording->end_ns - now_ns < 1000 * 1000000ULL)
			timeout_ms = (int)((recording->end_ns - now_ns) / 1000000) + 1;
		if (poll(fds, 3, timeout_ms) < 0 && errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		if (fds[1].revents || fds[2].revents)
			break;
		if (fds[0].revents)
			r = pipeline_run(recording->pipeline, fault);
	}
	if (recording->shows_progress)
		(void)fputs("\r\033[K", stderr);
	return r;
}

static int write_profile(struct recording *recording, struct fault *fault)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r, error;

	if (!output)
		return fault_set(fault, -ENOMEM, "out of memory");
	output_init_fd(output, output_file_fd(recording->file));
	r = recording->options.format->write(pipeline_profile(recording->pipeline), output);
	error = output_finish(output);
	if (r < 0 && error == 0)
		return fault_set(fault, r, "cannot draw the profile: %s", strerror(-r));
	return output_file_commit(recording->file, error, fault);
}

static int summarize(struct recording *recording, struct fault *fault)
{
	struct pipeline_report report;
	struct record_cost cost;
	int r;

	if (recording->options.is_quiet)
		return 0;
	pipeline_report(recording->pipeline, &report);
	record_cost_read(&cost);
	r = record_summary_print(stderr, pipeline_profile(recording->pipeline), &report, &cost);
	if (r < 0)
		return fault_set(fault, r, "cannot sum up the profile: %s", strerror(-r));
	if (strcmp(recording->options.path, "-") != 0)
		(void)fprintf(stderr, "written to %s\n", recording->options.path);
	return 0;
}

int record_main(int argc, char **argv)
{
	_cleanup_(recording_done) struct recording recording = { .signal_fd = -1 };
	struct fault fault = { 0 };
	int status = EXIT_SUCCESS, r;

	switch (record_options_parse(argc, argv, &recording.options)) {
	case RECORD_PARSE_RUN:
		break;
	case RECORD_PARSE_HELP:
		return EXIT_SUCCESS;
	case RECORD_PARSE_WRONG:
		return EXIT_USAGE;
	}
	if (recording.options.is_verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	recording.shows_progress = !recording.options.is_quiet && isatty(STDERR_FILENO);

	r = prepare(&recording, &fault);
	if (r == 0)
		r = start(&recording, &fault);
	if (r == 0)
		r = sample(&recording, &fault);
	if (r == 0)
		r = pipeline_finish(recording.pipeline, &fault);
	if (r == 0 && recording.command)
		status = workload_command_finish(recording.command);
	if (r == 0)
		r = write_profile(&recording, &fault);
	if (r == 0)
		r = summarize(&recording, &fault);
	if (r < 0) {
		log_error("%s", fault.text[0] ? fault.text : strerror(-r));
		return EXIT_FAILURE;
	}
	return status;
}
