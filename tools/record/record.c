/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: the process that the user has started. It keeps the privileges, the command, the
 * processes of -p, the output file and the signals. It serves an engine that has none of these and
 * reads what strangers have written (record_engine.h). The front parses only its arguments (I6). A
 * process without privileges reads the binary of a probe (record_probe.h).
 */
#include "tools/record/record.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "tools/output_file.h"
#include "tools/record/record_engine.h"
#include "tools/record/record_link.h"
#include "tools/record/record_options.h"
#include "tools/record/record_processes.h"
#include "tools/record/record_sandbox.h"
#include "tools/record/record_summary.h"
#include "tools/record/workload_command.h"
#include "tools/stop_signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_END_TIMEOUT_MS = 5000 }; /* between SIGTERM and SIGKILL */

enum {
	FD_SIGNALS,
	FD_COMMAND,
	FD_PROCESSES,
	FD_LINK,
	FDS = FD_LINK + RECORD_LINK_FDS,
};

struct recording {
	struct record_options options;
	struct stop_signals signals;
	struct record_processes *processes;			/* of -p; NULL: none */
	struct workload_command *command;			/* NULL: none */
	struct output_file *files[RECORD_OUTPUTS];		/* NULL: not written */
	struct capture_probe probes[PILOTLIGHT_COUNTED_EVENTS]; /* open, if they have places */
	struct record_link link;
	uint64_t end_ns; /* CLOCK_MONOTONIC; UINT64_MAX: open */
	bool shows_progress;
	bool has_started_command; /* from then on the command is the user's */
	bool is_interrupted;	  /* by a signal */
	bool ended_with_command;  /* the command ended by itself: its exit status is ours */
};

static void done(void *invocation)
{
	struct recording *recording = invocation;

	record_link_done(&recording->link);
	for (unsigned i = 0; i < RECORD_OUTPUTS; i++)
		output_file_free(recording->files[i]);
	for (size_t i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (recording->probes[i].count > 0)
			(void)close(recording->probes[i].fd);
	workload_command_free(recording->command);
	record_processes_free(recording->processes);
	stop_signals_done(&recording->signals);
}

/* --- before sampling -------------------------------------------------------------------------- */

/* To be called before this process has anything that the engine must not have. */
static int start_engine(struct recording *recording, struct fault *fault)
{
	const struct record_engine_options options = {
		.options = &recording->options,
		.shows_progress = recording->shows_progress,
	};

	return record_link_start(&recording->link, record_engine_run, &options, fault);
}

static int open_files(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	char room[PATH_MAX];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < RECORD_OUTPUTS; i++) {
		const char *path = record_options_path(options, i, room);

		if (!(options->outputs & 1U << i))
			continue;
		r = path ? output_file_open(path, &recording->files[i], fault)
			 : fault_set(fault, -ENAMETOOLONG, "the path '%.60s...' is too long",
				   options->path);
		if (r == 0 && record_options_has_default_path(options))
			output_file_keep_old(recording->files[i]);
	}
	return r;
}

static int open_probes(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (options->counted[i].kind == PILOTLIGHT_COUNTED_PROBE)
			r = record_probe_open(&options->probes[i], &recording->probes[i], fault);
	return r;
}

static int connect_engine(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	const struct capture_grant grant = {
		.probes = recording->probes,
		.sources = record_options_sources(options),
		.pids = options->pids,
		.pid_count = options->pid_count,
		.command = recording->command ? workload_command_pid(recording->command) : 0,
	};
	int r = record_link_connect(&recording->link, &grant, fault);

	if (r == 0)
		engine_servers_choose(&recording->link.servers, &options->choice);
	return r;
}

static int open_recording(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	int r;

	r = record_options_check_rate(
		options->rate_hz, "/proc/sys/kernel/perf_event_max_sample_rate", fault);
	if (r == 0)
		r = stop_signals_init(&recording->signals, fault);
	if (r == 0)
		r = start_engine(recording, fault);
	if (r == 0 && options->pid_count > 0)
		r = record_processes_open(
			options->pids, options->pid_count, &recording->processes, fault);
	if (r == 0)
		r = open_files(recording, fault);
	if (r == 0)
		r = open_probes(recording, fault);
	if (r == 0 && options->command)
		r = workload_command_fork(
			options->command, &recording->signals.original, &recording->command, fault);
	/* Our caller may have ignored it, and then no child leaves a status. The command gets the
	 * caller's setting. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* After the command, which must not inherit our limit of descriptors, nor the filter. */
	if (r == 0)
		r = connect_engine(recording, fault);
	if (r == 0)
		record_sandbox_forbid_front();
	return r;
}

/*
 * A process that still lives was followed under its own PID. If all have ended, the recording is
 * over, however early.
 */
static int check_processes(struct recording *recording, struct fault *fault)
{
	if (!recording->processes)
		return 0;
	if (record_processes_count(recording->processes) > 0)
		return record_processes_check(recording->processes, fault);
	log_warning("every process of -p ended before it could be sampled");
	recording->end_ns = 0;
	return 0;
}

/* Waits for a message of the engine. The first signal ends the recording, the second the program.
 */
static int expect(struct recording *recording, enum record_message_type type,
	struct record_message *ret_message, struct fault *fault)
{
	struct stop_signals *signals = &recording->signals;
	struct fault interruption = { 0 };
	int r;

	if (!recording->is_interrupted) {
		r = record_link_expect(
			&recording->link, signals->fd, type, ret_message, &interruption);
		if (r != -EINTR)
			return r < 0 ? fault_set(fault, r, "%s", interruption.text) : 0;
		recording->is_interrupted = stop_signals_take(signals);
	}
	return record_link_expect(&recording->link, signals->fd, type, ret_message, fault);
}

/* What it costs the programs themselves, before it does. */
static void tell_cost(const struct record_options *options)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES && !options->is_quiet; i++)
		if (options->outputs & 1U << i && record_options_has_heaps(options) &&
			event_sources[i].cost)
			(void)fprintf(stderr, "%-10s costs %s\n", event_sources[i].name,
				event_sources[i].cost);
}

static int start_sampling(struct recording *recording, struct fault *fault)
{
	struct record_message message = { .type = RECORD_OPEN };
	int r;

	recording->end_ns = UINT64_MAX;
	if (recording->command)
		message.number = workload_command_pid(recording->command);
	r = record_link_send(&recording->link, &message, -1);
	if (r == 0)
		r = expect(recording, RECORD_PREPARED, &message, fault);
	if (r == 0)
		r = check_processes(recording, fault);
	record_cost_begin();
	if (r == 0)
		tell_cost(&recording->options);
	if (r == 0)
		r = record_link_send_type(&recording->link, RECORD_START);
	if (r == 0)
		r = expect(recording, RECORD_SAMPLING, &message, fault);
	if (r == 0 && recording->command)
		r = workload_command_start(recording->command, fault);
	if (r < 0)
		return r;
	recording->has_started_command = recording->command;
	if (recording->is_interrupted)
		recording->end_ns = 0;
	if (recording->options.duration_ns && recording->end_ns == UINT64_MAX)
		recording->end_ns = clock_monotonic_ns() + recording->options.duration_ns;
	return 0;
}

/* --- sampling --------------------------------------------------------------------------------- */

static int timeout_ms(const struct recording *recording)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (recording->end_ns == UINT64_MAX)
		return -1;
	if (recording->end_ns <= now_ns)
		return 0;
	if ((recording->end_ns - now_ns) / 1000000 >= INT_MAX)
		return INT_MAX;
	return (int)((recording->end_ns - now_ns) / 1000000) + 1;
}

static bool is_over(struct recording *recording, const struct pollfd fds[FDS])
{
	return clock_monotonic_ns() >= recording->end_ns || fds[FD_SIGNALS].revents ||
	       fds[FD_COMMAND].revents ||
	       (fds[FD_PROCESSES].revents && record_processes_count(recording->processes) == 0);
}

/* Until a signal, or the end of the duration, the command or the processes; or until the engine
 * fails: `ret_sampled` is its -errno, else 0. */
static int sample(struct recording *recording, int *ret_sampled, struct fault *fault)
{
	struct record_processes *processes = recording->processes;
	struct pollfd fds[FDS] = {
		[FD_SIGNALS] = { .fd = recording->signals.fd, .events = POLLIN },
		[FD_COMMAND] = { .fd = recording->command
					       ? workload_command_poll_fd(recording->command)
					       : -1,
			.events = POLLIN },
		[FD_PROCESSES] = { .fd = processes ? record_processes_poll_fd(processes) : -1,
			.events = POLLIN },
	};
	struct record_message message;
	int r;

	do
		r = record_link_serve(
			&recording->link, fds, FD_LINK, timeout_ms(recording), &message, fault);
	while (r == 0 && !is_over(recording, fds));
	if (r < 0)
		return r;
	recording->is_interrupted |= stop_signals_take(&recording->signals);
	/* Ctrl-C also reaches the command, which then has not ended by itself. */
	recording->ended_with_command = !recording->is_interrupted && recording->command &&
					!workload_command_is_running(recording->command);
	if (r > 0) {
		r = record_link_check(&message, RECORD_SAMPLED, fault);
	} else {
		r = record_link_send_type(&recording->link, RECORD_STOP);
		if (r == 0)
			r = expect(recording, RECORD_SAMPLED, &message, fault);
	}
	if (r < 0)
		return r;
	recording->link.has_reported |= message.number < 0;
	*ret_sampled = message.number;
	return 0;
}

/* --- after sampling --------------------------------------------------------------------------- */

/* Serves the engine while it waits for symbols; a signal ends that wait. */
static int wait_for_symbols(struct recording *recording, struct fault *fault)
{
	struct pollfd fds[FDS] = {
		[FD_SIGNALS] = { .fd = recording->signals.fd, .events = POLLIN },
		[FD_COMMAND].fd = -1,
		[FD_PROCESSES].fd = -1,
	};
	struct record_message message;
	bool skips_symbols = false;
	int r;

	while ((r = record_link_serve(&recording->link, fds, FD_LINK, -1, &message, fault)) == 0) {
		if (!fds[FD_SIGNALS].revents)
			continue;
		/* The engine does not obey. The second signal stays pending and ends the program.
		 */
		if (skips_symbols)
			return fault_set(fault, -EINTR,
				"interrupted while waiting for symbols; nothing is written");
		(void)stop_signals_take(&recording->signals);
		skips_symbols = true;
		(void)record_link_send_type(&recording->link, RECORD_SKIP_SYMBOLS);
	}
	return r < 0 ? r : record_link_check(&message, RECORD_NAMING, fault);
}

static int write_file(struct recording *recording, struct output_file *file, struct fault *fault)
{
	struct record_message message = { .type = RECORD_WRITE };
	int r, fd;

	r = record_link_expect(&recording->link, -1, RECORD_NAMED, &message, fault);
	if (r == 0)
		r = output_file_begin(file, &fd, fault);
	if (r == 0)
		r = record_link_send(
			&recording->link, &(struct record_message){ .type = RECORD_WRITE }, fd);
	if (r == 0)
		r = record_link_expect(&recording->link, -1, RECORD_WRITTEN, &message, fault);
	if (r < 0)
		return r;
	return output_file_commit(file, message.number, fault);
}

/* The engine writes them in the same order. */
static int write_profiles(struct recording *recording, struct fault *fault)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < RECORD_OUTPUTS; i++)
		if (recording->files[i])
			r = write_file(recording, recording->files[i], fault);
	return r;
}

static void report_files(const struct recording *recording)
{
	char room[PATH_MAX];

	if (strcmp(recording->options.path, "-") == 0)
		return;
	for (unsigned i = 0; i < RECORD_OUTPUTS; i++)
		if (recording->files[i])
			output_file_report(recording->files[i],
				record_options_path(&recording->options, i, room));
}

static int summarize(struct recording *recording, struct fault *fault)
{
	struct record_message message = { .type = RECORD_SUMMARIZE };
	struct record_cost cost;
	int r;

	if (recording->options.is_quiet)
		return 0;
	record_cost_read(&cost);
	message.cpu_ns = cost.cpu_ns;
	/* The engine counts the pages of the program, which both processes share. */
	message.memory_bytes = cost.peak_rss_bytes - cost.file_bytes;
	r = record_link_send(&recording->link, &message, -1);
	if (r == 0)
		r = record_link_expect(&recording->link, -1, RECORD_SUMMARIZED, &message, fault);
	if (r == 0)
		report_files(recording);
	return r;
}

static int record(struct recording *recording, struct fault *fault)
{
	int sampled = 0;
	int r = sample(recording, &sampled, fault);

	if (r == 0)
		r = wait_for_symbols(recording, fault);
	/* From here on Ctrl-C ends the program. */
	if (r == 0)
		stop_signals_release(&recording->signals);
	if (r == 0)
		r = write_profiles(recording, fault);
	if (r == 0)
		r = summarize(recording, fault);
	if (r == 0)
		r = record_link_finish(&recording->link, fault);
	return r < 0 ? r : sampled;
}

/* A failure of ours does not end the user's command. */
static void leave_command(struct recording *recording)
{
	if (recording->has_started_command && workload_command_is_running(recording->command))
		log_warning("the command '%s' is still running as process %d",
			recording->options.command[0],
			(int)workload_command_pid(recording->command));
}

static int finish_command(struct recording *recording)
{
	const char *name = recording->options.command[0];
	int pid = (int)workload_command_pid(recording->command);
	enum workload_end end;

	if (recording->ended_with_command)
		return workload_command_status(recording->command);
	stop_signals_hold(&recording->signals);
	end = workload_command_end(
		recording->command, recording->signals.fd, COMMAND_END_TIMEOUT_MS);
	/* A signal that cut the wait short has done its work. */
	(void)stop_signals_take(&recording->signals);
	switch (end) {
	case WORKLOAD_END_DONE:
		break;
	case WORKLOAD_END_KILLED:
		log_warning("'%s' (process %d) did not end within %d s of SIGTERM and was killed",
			name, pid, COMMAND_END_TIMEOUT_MS / 1000);
		break;
	case WORKLOAD_END_INTERRUPTED:
		log_warning("'%s' (process %d) was killed before it ended", name, pid);
		break;
	case WORKLOAD_END_IMPOSSIBLE:
		log_warning("'%s' (process %d) cannot be killed and is still running", name, pid);
		break;
	}
	return EXIT_SUCCESS;
}

static void prepare(void *invocation)
{
	struct recording *recording = invocation;

	record_options_prepare(&recording->options);
	recording->signals.fd = -1;
	record_link_init(&recording->link);
}

static int run(void *invocation)
{
	struct recording *recording = invocation;
	struct fault *fault = &recording->options.base.fault;
	int r = record_options_check(&recording->options);

	if (r != 0)
		return r;
	if (recording->options.is_verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	recording->shows_progress = !recording->options.is_quiet && isatty(STDERR_FILENO);

	r = open_recording(recording, fault);
	if (r == 0)
		r = start_sampling(recording, fault);
	if (r == 0)
		r = record(recording, fault);
	if (r == 0)
		return recording->command ? finish_command(recording) : EXIT_SUCCESS;
	if (recording->shows_progress)
		(void)fputs("\r\033[K", stderr);
	leave_command(recording);
	/* The engine has told the user why it failed. */
	return !fault->text[0] && recording->link.has_reported ? EXIT_FAILURE : r;
}

const struct command record_command = {
	.name = "record",
	.summary = "profile now: this machine, some processes, or a command",
	.synopsis = "[OPTION...] [--] [COMMAND [ARGUMENT...]]",
	.description =
		"Sample every CPU and draw a flame graph: until Ctrl-C, for the time of -d, or "
		"until COMMAND or every PID has ended. With COMMAND or -p, only those processes "
		"and their children are sampled. A COMMAND that outlives -d or Ctrl-C is ended.",
	.notes = "Idle CPUs may stop their timers, so that fewer samples fire than expected.",
	.has_own_command = true,
	.options = { record_option_rows },
	.arguments_max = INT_MAX,
	.bytes = sizeof(struct recording),
	.prepare = prepare,
	.run = run,
	.done = done,
};
