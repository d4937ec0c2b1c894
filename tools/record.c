/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: the process that the user has started. It keeps the privileges, the command, the
 * processes of -p, the output file and the signals, and serves an engine without any of that, which
 * reads what strangers have written (record_engine.h). It parses nothing but its arguments.
 */
#include "tools/record.h"

#include "base/clock.h"
#include "base/log.h"
#include "supervise/engine_servers.h"
#include "tools/exit_status.h"
#include "tools/output_file.h"
#include "tools/record_engine.h"
#include "tools/record_engine_process.h"
#include "tools/record_message.h"
#include "tools/record_options.h"
#include "tools/record_processes.h"
#include "tools/record_signals.h"
#include "tools/record_summary.h"
#include "tools/workload_command.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

enum { COMMAND_PATIENCE_MS = 5000 }; /* between SIGTERM and SIGKILL */

/* What is polled for. */
enum {
	FD_MESSAGE,
	FD_SIGNALS,
	FD_COMMAND,
	FD_PROCESSES,
	FD_SERVERS, /* the first of them */
	FDS = FD_SERVERS + ENGINE_SERVERS,
};

struct recording {
	struct record_options options;
	struct record_signals signals;
	struct record_processes *processes; /* of -p; NULL: none */
	struct workload_command *command;   /* NULL: none */
	struct output_file *file;
	struct record_engine_process *engine;
	struct engine_servers servers;
	uint64_t end_ns; /* CLOCK_MONOTONIC; UINT64_MAX: open */
	bool shows_progress;
	bool has_told;		  /* the engine, of what went wrong */
	bool has_started_command; /* from then on it is its user's */
	bool ended_with_command;  /* by itself, so that its exit status is ours */
};

static void recording_done(struct recording *recording)
{
	record_engine_process_free(recording->engine);
	engine_servers_done(&recording->servers);
	output_file_free(recording->file);
	workload_command_free(recording->command);
	record_processes_free(recording->processes);
	record_signals_done(&recording->signals);
}

static const char *sentence(const struct fault *fault, int error)
{
	return fault->text[0] ? fault->text : strerror(-error);
}

/* --- serving and hearing the engine ----------------------------------------------------------- */

static int tell(struct recording *recording, const struct record_message *message, int passed_fd)
{
	int r = record_message_send(recording->engine->message_fd, message, passed_fd);

	/* That it is gone shows where it is heard, and how it ended then, too. */
	return r == -EPIPE ? 0 : r;
}

static int tell_word(struct recording *recording, enum record_word word)
{
	return tell(recording, &(struct record_message){ .word = word }, -1);
}

static int take_end_of_engine(struct recording *recording, struct fault *fault)
{
	int r = record_engine_process_end(recording->engine, fault);

	return r == 0 ? fault_set(fault, -EPROTO, "the process that reads the samples has ended")
		      : r;
}

/*
 * Serves the engine, until it says something or anything of `fds` but its requests is there: 1 and
 * its message; 0: other things, which the caller looks for; or -errno with `fault`.
 */
static int serve(struct recording *recording, struct pollfd fds[FDS], int timeout_ms,
	struct record_message *ret_message, struct fault *fault)
{
	int r;

	fds[FD_MESSAGE].fd = recording->engine->message_fd;
	fds[FD_MESSAGE].events = POLLIN;
	engine_servers_want(&recording->servers, fds + FD_SERVERS);
	if (poll(fds, FDS, timeout_ms) < 0) {
		for (size_t i = 0; i < FDS; i++)
			fds[i].revents = 0;
		if (errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
	}
	engine_servers_run(&recording->servers, fds + FD_SERVERS);
	/* Whatever poll() has seen: what the engine has said before a signal came is before it. */
	r = record_message_receive(recording->engine->message_fd, ret_message, NULL);
	if (r == -EAGAIN)
		return 0;
	if (r == -EPIPE)
		return take_end_of_engine(recording, fault);
	if (r < 0)
		return fault_set(fault, r, "cannot follow the process that reads the samples: %s",
			strerror(-r));
	recording->has_told |= ret_message->word == RECORD_FAILED;
	return ret_message->word == RECORD_FAILED ? -ECANCELED : 1;
}

static int check_word(
	const struct record_message *message, enum record_word word, struct fault *fault)
{
	if (message->word == word)
		return 0;
	return fault_set(fault, -EPROTO,
		"the process that reads the samples has said %u where %u was to come",
		message->word, (unsigned)word);
}

/* Serves the engine until it says so. */
static int expect(struct recording *recording, enum record_word word,
	struct record_message *ret_message, struct fault *fault)
{
	struct pollfd fds[FDS] = {
		[FD_SIGNALS].fd = -1,
		[FD_COMMAND].fd = -1,
		[FD_PROCESSES].fd = -1,
	};
	int r;

	while ((r = serve(recording, fds, -1, ret_message, fault)) == 0)
		;
	return r < 0 ? r : check_word(ret_message, word, fault);
}

/* --- before sampling -------------------------------------------------------------------------- */

/* What only a process may have that was not told to read what strangers wrote comes after it. */
static int start_engine(struct recording *recording, struct fault *fault)
{
	const struct record_engine_options options = {
		.options = &recording->options,
		.shows_progress = recording->shows_progress,
	};

	return record_engine_process_start(record_engine_run, &options, &recording->engine, fault);
}

static int serve_engine(struct recording *recording, struct fault *fault)
{
	struct record_engine_process *engine = recording->engine;
	int r = engine_servers_init(&recording->servers);

	if (r == 0)
		r = engine_servers_connect(
			&recording->servers, &engine->broker_fd, &engine->capture_fd);
	return r < 0 ? fault_set(fault, r, "cannot serve the process that reads the samples: %s",
			       strerror(-r))
		     : 0;
}

static int open_recording(struct recording *recording, struct fault *fault)
{
	const struct record_options *options = &recording->options;
	int r;

	r = record_options_check_rate(
		options->rate_hz, "/proc/sys/kernel/perf_event_max_sample_rate", fault);
	if (r == 0)
		r = record_signals_init(&recording->signals, fault);
	if (r == 0)
		r = start_engine(recording, fault);
	if (r == 0 && options->pid_count > 0)
		r = record_processes_open(
			options->pids, options->pid_count, &recording->processes, fault);
	if (r == 0)
		r = output_file_open(options->path, &recording->file, fault);
	if (r == 0 && options->command)
		r = workload_command_fork(
			options->command, &recording->signals.original, &recording->command, fault);
	/* How children end is of interest, whatever our caller thought; the command has that. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* After the command, which is not to inherit a limit of ours. */
	return r == 0 ? serve_engine(recording, fault) : r;
}

/*
 * Whoever ended until now was followed as himself. That all have is how such a recording ends,
 * however early.
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

static int start_sampling(struct recording *recording, struct fault *fault)
{
	struct record_message message = { .word = RECORD_OPEN };
	int r;

	recording->end_ns = UINT64_MAX;
	if (recording->command)
		message.number = workload_command_pid(recording->command);
	r = tell(recording, &message, -1);
	if (r == 0)
		r = expect(recording, RECORD_PREPARED, &message, fault);
	if (r == 0)
		r = check_processes(recording, fault);
	if (r == 0)
		r = tell_word(recording, RECORD_START);
	if (r == 0)
		r = expect(recording, RECORD_SAMPLING, &message, fault);
	if (r == 0 && recording->command)
		r = workload_command_start(recording->command, fault);
	if (r < 0)
		return r;
	recording->has_started_command = recording->command;
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

/* Until a signal, the duration's end, or that of the command or the processes; or until the engine
 * cannot go on: `ret_sampled` is what it says of it then. */
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
	bool is_interrupted;
	int r;

	do
		r = serve(recording, fds, timeout_ms(recording), &message, fault);
	while (r == 0 && !is_over(recording, fds));
	if (r < 0)
		return r;
	is_interrupted = record_signals_take(&recording->signals);
	/* A Ctrl-C ends the command as well, and that is then no end of its own. */
	recording->ended_with_command = !is_interrupted && recording->command &&
					!workload_command_is_running(recording->command);
	if (r > 0) {
		r = check_word(&message, RECORD_SAMPLED, fault);
	} else {
		r = tell_word(recording, RECORD_STOP);
		if (r == 0)
			r = expect(recording, RECORD_SAMPLED, &message, fault);
	}
	if (r < 0)
		return r;
	recording->has_told |= message.number < 0;
	*ret_sampled = message.number;
	return 0;
}

/* --- after sampling --------------------------------------------------------------------------- */

/* Until symbols are not waited for any more; a signal is why they should not be. */
static int wait_for_symbols(struct recording *recording, struct fault *fault)
{
	struct pollfd fds[FDS] = {
		[FD_SIGNALS] = { .fd = recording->signals.fd, .events = POLLIN },
		[FD_COMMAND].fd = -1,
		[FD_PROCESSES].fd = -1,
	};
	struct record_message message;
	int r;

	while ((r = serve(recording, fds, -1, &message, fault)) == 0)
		if (record_signals_take(&recording->signals))
			r = tell_word(recording, RECORD_HURRY);
	return r < 0 ? r : check_word(&message, RECORD_NAMING, fault);
}

static int write_profile(struct recording *recording, struct fault *fault)
{
	struct record_message message = { .word = RECORD_WRITE };
	int r, fd;

	r = expect(recording, RECORD_NAMED, &message, fault);
	if (r == 0)
		r = output_file_begin(recording->file, &fd, fault);
	if (r == 0)
		r = tell(recording, &(struct record_message){ .word = RECORD_WRITE }, fd);
	if (r == 0)
		r = expect(recording, RECORD_WRITTEN, &message, fault);
	if (r < 0)
		return r;
	return output_file_commit(recording->file, message.number, fault);
}

static int summarize(struct recording *recording, struct fault *fault)
{
	struct record_message message = { .word = RECORD_SUM_UP };
	struct record_cost cost;
	int r;

	if (recording->options.is_quiet)
		return 0;
	record_cost_read(&cost);
	message.cpu_ns = cost.cpu_ns;
	message.memory_bytes = cost.peak_rss_bytes;
	r = tell(recording, &message, -1);
	if (r == 0)
		r = expect(recording, RECORD_SUMMED_UP, &message, fault);
	if (r == 0 && strcmp(recording->options.path, "-") != 0)
		(void)fprintf(stderr, "written to %s\n", recording->options.path);
	return r;
}

/* It puts away what it has; as long as that takes it may need us. */
static int part_with_engine(struct recording *recording, struct fault *fault)
{
	struct record_message message;
	struct fault ignored = { 0 };
	int r = expect(recording, RECORD_WORDS, &message, &ignored);

	if (recording->engine->pid > 0)
		return fault_set(fault, r, "%s", sentence(&ignored, r));
	return 0;
}

static int record(struct recording *recording, struct fault *fault)
{
	int sampled = 0;
	int r = sample(recording, &sampled, fault);

	if (r == 0)
		r = wait_for_symbols(recording, fault);
	/* From here on Ctrl-C ends the program. */
	record_signals_release(&recording->signals);
	if (r == 0)
		r = write_profile(recording, fault);
	if (r == 0)
		r = summarize(recording, fault);
	if (r == 0)
		r = part_with_engine(recording, fault);
	return r < 0 ? r : sampled;
}

/* After a failure of ours the command is not ours to end. */
static void leave_command(struct recording *recording)
{
	if (recording->has_started_command && workload_command_is_running(recording->command))
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

	r = open_recording(&recording, &fault);
	if (r == 0)
		r = start_sampling(&recording, &fault);
	if (r == 0)
		r = record(&recording, &fault);
	if (r < 0 && recording.shows_progress)
		(void)fputs("\r\033[K", stderr);
	if (r < 0 && (fault.text[0] || !recording.has_told))
		log_error("%s", sentence(&fault, r));
	if (r < 0) {
		leave_command(&recording);
		return EXIT_FAILURE;
	}
	return recording.command ? finish_command(&recording) : EXIT_SUCCESS;
}
