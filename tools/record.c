/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record.h"

#include "base/clock.h"
#include "base/log.h"
#include "export/profile_format.h"
#include "pipeline.h"
#include "symbol/symbol_cache.h"
#include "tools/exit_status.h"
#include "tools/output_file.h"
#include "tools/record_options.h"
#include "tools/record_processes.h"
#include "tools/record_signals.h"
#include "tools/record_summary.h"
#include "tools/workload_command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum {
	UNWIND_BUDGET_BYTES = 16 << 20,
	MAP_BUDGET_BYTES = 28 << 20,
	PROFILE_BUDGET_BYTES = 24 << 20,
	PROGRESS_PERIOD_MS = 1000,
	COMMAND_PATIENCE_MS = 5000, /* between SIGTERM and SIGKILL */
	SYMBOL_PATIENCE_S = 60,	    /* for symbols that are not ready when sampling ends */
};

struct recording {
	struct record_options options;
	struct record_signals signals;
	struct record_processes *processes; /* of -p; NULL: none */
	struct workload_command *command;   /* NULL: none */
	struct output_file *file;
	struct pipeline *pipeline;
	uint64_t end_ns; /* CLOCK_MONOTONIC; UINT64_MAX: open */
	uint64_t started_ns, next_progress_ns;
	bool shows_progress;
	bool ended_with_command; /* by itself, so that its exit status is ours */
};

static void recording_done(struct recording *recording)
{
	pipeline_free(recording->pipeline);
	output_file_free(recording->file);
	workload_command_free(recording->command);
	record_processes_free(recording->processes);
	record_signals_done(&recording->signals);
}

static int follow_processes(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	int r = 0;

	for (size_t i = 0; i < options->pid_count && r == 0; i++)
		r = pipeline_follow(recording->pipeline, options->pids[i], fault);
	if (r == 0 && recording->processes)
		r = record_processes_check(recording->processes, fault);
	if (r == 0 && recording->command && !options->wants_all)
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
			.unwind_budget_bytes = options->wants_tables ? UNWIND_BUDGET_BYTES : 0,
		},
		.capture_fd = -1,
		.profile_budget_bytes = PROFILE_BUDGET_BYTES,
		.debuginfod_urls = getenv("DEBUGINFOD_URLS"),
	};
	_cleanup_free_ char *symbol_cache = NULL;
	int r;

	r = symbol_cache_default_directory(&symbol_cache);
	if (r < 0)
		log_warning("there is no home folder for a symbol cache (%s), continuing without; "
			    "PILOTLIGHT_SYMBOL_CACHE names one",
			strerror(-r));
	settings.symbol_cache = symbol_cache;

	r = record_options_check_rate(
		options->rate_hz, "/proc/sys/kernel/perf_event_max_sample_rate", fault);
	if (r == 0 && options->pid_count > 0)
		r = record_processes_open(
			options->pids, options->pid_count, &recording->processes, fault);
	if (r == 0)
		r = record_signals_init(&recording->signals, fault);
	if (r == 0)
		r = output_file_open(options->path, &recording->file, fault);
	if (r == 0 && options->command)
		r = workload_command_fork(
			options->command, &recording->signals.original, &recording->command, fault);
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
		recording->end_ns == UINT64_MAX && !recording->command && !recording->processes
			? "; Ctrl-C ends it"
			: "");
}

/* How long to wait for events at most: until the end, or what is to be shown. */
static int poll_timeout_ms(uint64_t now_ns, uint64_t end_ns)
{
	uint64_t left_ms = PROGRESS_PERIOD_MS;

	if (end_ns - now_ns < left_ms * 1000000)
		left_ms = (end_ns - now_ns) / 1000000 + 1;
	return (int)left_ms;
}

static int sample_until_end(struct recording *recording, struct fault *fault)
{
	struct record_processes *processes = recording->processes;
	struct pollfd fds[] = {
		{ .fd = pipeline_poll_fd(recording->pipeline), .events = POLLIN },
		{ .fd = recording->signals.fd, .events = POLLIN },
		{ .fd = recording->command ? workload_command_poll_fd(recording->command) : -1,
			.events = POLLIN },
		{ .fd = processes ? record_processes_poll_fd(processes) : -1, .events = POLLIN },
	};
	int r = 0;

	while (r == 0) {
		uint64_t now_ns = clock_monotonic_ns();

		show_progress(recording, now_ns);
		if (now_ns >= recording->end_ns)
			return 0;
		if (poll(fds, 4, poll_timeout_ms(now_ns, recording->end_ns)) < 0) {
			if (errno != EINTR)
				return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
			continue;
		}
		if (fds[1].revents || fds[2].revents)
			return 0;
		if (fds[3].revents && record_processes_count(processes) == 0)
			return 0;
		if (fds[0].revents)
			r = pipeline_run(recording->pipeline, fault);
	}
	return r;
}

/* Until a signal, the duration's end, or that of the command or the processes. */
static int sample(struct recording *recording, struct fault *fault)
{
	int r = sample_until_end(recording, fault);
	bool is_interrupted = record_signals_take(&recording->signals);

	/* A Ctrl-C ends the command as well, and that is then no end of its own. */
	recording->ended_with_command = !is_interrupted && recording->command &&
					!workload_command_is_running(recording->command);
	if (recording->shows_progress)
		(void)fputs("\r\033[K", stderr);
	return r;
}

static void show_waiting(const struct recording *recording, size_t pending)
{
	if (recording->shows_progress)
		(void)fprintf(stderr,
			"\rreading symbols of %zu binaries; Ctrl-C goes on without them\033[K",
			pending);
}

/* For what is still being extracted; until a signal, or for as long as anyone's patience lasts. */
static int wait_for_symbols(struct recording *recording, struct fault *fault)
{
	uint64_t end_ns = clock_monotonic_ns() + SYMBOL_PATIENCE_S * (uint64_t)NSEC_PER_SEC;
	struct pollfd fds[] = {
		{ .fd = pipeline_symbols_poll_fd(recording->pipeline), .events = POLLIN },
		{ .fd = recording->signals.fd, .events = POLLIN },
	};
	size_t pending;
	int r = 0;

	while (r == 0 && (pending = pipeline_symbols_pending(recording->pipeline)) > 0) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= end_ns || record_signals_take(&recording->signals)) {
			log_warning("symbols of %zu binaries were not waited for, continuing "
				    "without them",
				pending);
			break;
		}
		show_waiting(recording, pending);
		if (poll(fds, 2, poll_timeout_ms(now_ns, end_ns)) < 0 && errno != EINTR)
			r = fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		else
			r = pipeline_symbols_run(recording->pipeline, fault);
	}
	if (recording->shows_progress)
		(void)fputs("\r\033[K", stderr);
	return r;
}

static int write_profile(struct recording *recording, struct fault *fault)
{
	const struct profile_format_options options = {
		.by_line = recording->options.wants_lines,
	};
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r, error, fd;

	if (!output)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = output_file_begin(recording->file, &fd, fault);
	if (r < 0)
		return r;
	output_init_fd(output, fd);
	r = recording->options.format->write(
		pipeline_profile(recording->pipeline), &options, output);
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

static const char *sentence(const struct fault *fault, int error)
{
	return fault->text[0] ? fault->text : strerror(-error);
}

/* What went wrong is said here, since it may be two things. */
static int record(struct recording *recording)
{
	struct fault sampling = { 0 }, finishing = { 0 };
	int sampled, r;

	sampled = sample(recording, &sampling);
	if (sampled < 0)
		log_error("%s, continuing with what was recorded until then",
			sentence(&sampling, sampled));
	r = pipeline_finish(recording->pipeline, &finishing);
	if (r == 0)
		r = wait_for_symbols(recording, &finishing);
	/* From here on Ctrl-C ends the program. */
	record_signals_release(&recording->signals);
	if (r == 0)
		r = pipeline_name(recording->pipeline, &finishing);
	if (r == 0)
		r = write_profile(recording, &finishing);
	if (r == 0)
		r = summarize(recording, &finishing);
	if (r < 0)
		log_error("%s", sentence(&finishing, r));
	return sampled < 0 ? sampled : r;
}

/* After a failure of ours the command is not ours to end. */
static void leave_command(struct recording *recording)
{
	if (recording->command && workload_command_is_running(recording->command))
		log_warning("'%s' goes on as process %d", recording->options.command[0],
			(int)workload_command_pid(recording->command));
}

static int finish_command(struct recording *recording)
{
	const char *name = recording->options.command[0];
	int pid = (int)workload_command_pid(recording->command);
	enum workload_end end;

	if (recording->ended_with_command)
		return workload_command_status(recording->command);
	record_signals_hold(&recording->signals);
	end = workload_command_end(recording->command, recording->signals.fd, COMMAND_PATIENCE_MS);
	/* One that has hurried us has been heard, and is not to end us as well. */
	(void)record_signals_take(&recording->signals);
	switch (end) {
	case WORKLOAD_END_DONE:
		break;
	case WORKLOAD_END_KILLED:
		log_warning("'%s' (process %d) did not end within %d s of SIGTERM and was killed",
			name, pid, COMMAND_PATIENCE_MS / 1000);
		break;
	case WORKLOAD_END_HURRIED:
		log_warning("'%s' (process %d) was killed before it ended", name, pid);
		break;
	case WORKLOAD_END_IMPOSSIBLE:
		log_warning("'%s' (process %d) cannot be ended and goes on", name, pid);
		break;
	}
	return EXIT_SUCCESS;
}

int record_main(int argc, char **argv)
{
	_cleanup_(recording_done) struct recording recording = { .signals.fd = -1 };
	struct fault fault = { 0 };
	int r;

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
	if (r < 0) {
		log_error("%s", sentence(&fault, r));
		return EXIT_FAILURE;
	}
	if (record(&recording) < 0) {
		leave_command(&recording);
		return EXIT_FAILURE;
	}
	return recording.command ? finish_command(&recording) : EXIT_SUCCESS;
}
