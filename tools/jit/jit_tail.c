/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "jit/jitdump_reader.h"
#include "tools/jit/jit_command.h"
#include "tools/jit/jit_map_lines.h"
#include "tools/jit/jit_process_file.h"
#include "tools/jit/jit_text.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight jit tail [-n all] [--json] PID\n"
	"\n"
	"Shows each new symbol of a process as it is written to its jitdump file, or where\n"
	"it has none to its perf map: time, address, size and name, numbers in\n"
	"hexadecimal. Ends with the process, or by Ctrl-C.\n"
	"\n"
	"  -n all      what has been written before, too\n"
	"  --json      an object a line\n"
	"  -h, --help  this\n";

enum {
	PERIOD_MS = 100,
	STEPS = 1 << 16,
};

struct tailing {
	bool is_json, is_all;
	bool is_silent; /* goes through what was there before */
	pid_t pid;
	int pidfd;
	struct jit_process_file file;
	struct jitdump_reader *reader; /* of a jitdump file */
	struct jit_map_lines lines;    /* of a perf map */
	enum jitdump_fault told;
	struct output output;
	struct json json;
};

static void tailing_free(struct tailing *tailing)
{
	jitdump_reader_free(tailing->reader);
	jit_process_file_done(&tailing->file);
	closep(&tailing->pidfd);
	free(tailing);
}
DEFINE_CLEANUP(struct tailing, tailing_free);

static void write_symbol(struct tailing *tailing, const char *time, uint64_t address, uint64_t size,
	const char *name, size_t name_size)
{
	struct output *output = &tailing->output;

	output_printf(output, "%s %" PRIx64 " %" PRIx64 " ", time, address, size);
	shown_text_write(output, name, name_size);
	output_char(output, '\n');
}

static int visit_record(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	struct tailing *tailing = context;
	char time[JIT_TEXT_TIME_BYTES], from[64];

	if (tailing->is_silent || error < 0)
		return 0;
	if (record->id != PILOTLIGHT_JITDUMP_LOAD && record->id != PILOTLIGHT_JITDUMP_MOVE)
		return 0;
	(void)jit_text_time(record->timestamp, time);
	if (tailing->is_json) {
		jit_text_json_record(&tailing->json, file_offset, header, record, 0);
	} else if (record->id == PILOTLIGHT_JITDUMP_LOAD) {
		write_symbol(tailing, time, record->load.address, record->load.size,
			record->load.name, record->load.name_size);
	} else {
		(void)snprintf(from, sizeof(from), "(moved from %" PRIx64 ")", record->move.from);
		write_symbol(tailing, time, record->move.to, record->move.size, from, strlen(from));
	}
	return tailing->output.error;
}

static int visit_line(void *context, const struct perf_map_line *line)
{
	struct tailing *tailing = context;
	struct json *json = &tailing->json;

	if (!tailing->is_json) {
		write_symbol(tailing, "-", line->address, line->size, line->name, line->name_size);
		return tailing->output.error;
	}
	json_begin_object(json);
	json_key(json, "address");
	json_hex(json, line->address);
	json_key(json, "size");
	json_u64(json, line->size);
	json_key(json, "name");
	json_string_bytes(json, line->name, line->name_size);
	json_end_object(json);
	json_end_line(json);
	return tailing->output.error;
}

/* Once for each trouble: the file may be written anew. */
static void tell_fault(struct tailing *tailing)
{
	struct jitdump_reader_state state;

	jitdump_reader_state(tailing->reader, &state);
	if (state.fault != tailing->told && state.fault != JITDUMP_FAULT_NONE &&
		state.fault != JITDUMP_FAULT_NO_HEADER)
		log_warning("'%s' cannot be read beyond byte %" PRIu64
			    ", waiting for it to be written anew: %s",
			tailing->file.path, state.fault_offset, jitdump_fault_name(state.fault));
	tailing->told = state.fault;
}

/* What has been added. Returns 0 or -errno. */
static int read_on(struct tailing *tailing, bool is_final)
{
	int64_t left;

	if (!tailing->reader)
		return jit_map_lines_run(&tailing->lines, is_final, visit_line, tailing);
	do
		left = jitdump_reader_run(tailing->reader, NULL, STEPS);
	while (left == 0);
	if (left < 0)
		return (int)left;
	tell_fault(tailing);
	return 0;
}

/* Until something may be there to read. Returns 1 when the process has ended, 0, or -errno. */
static int wait_for_more(struct tailing *tailing)
{
	struct pollfd fds[] = {
		{ .fd = tailing->pidfd, .events = POLLIN },
		{ .fd = STDOUT_FILENO }, /* whoever reads it may go away */
	};

	if (poll(fds, 2, PERIOD_MS) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[1].revents & (POLLERR | POLLHUP))
		return -EPIPE;
	return fds[0].revents ? 1 : 0;
}

static int begin(struct tailing *tailing, struct fault *fault)
{
	struct jitdump_reader_options options = { 0 };
	int r;

	tailing->pidfd = (int)syscall(SYS_pidfd_open, tailing->pid, 0);
	if (tailing->pidfd < 0) {
		r = -errno;
		return fault_set(
			fault, r, "cannot follow process %d: %s", (int)tailing->pid, strerror(-r));
	}
	r = jit_process_file_open(tailing->pid, &tailing->file, fault);
	if (r < 0)
		return r;
	if (!tailing->file.is_jitdump)
		return jit_map_lines_init(&tailing->lines, tailing->file.fd, tailing->is_all);
	options.path = tailing->file.path;
	r = jitdump_reader_new(TAKE_FD(tailing->file.fd), &options, &tailing->reader);
	if (r < 0)
		return r;
	jitdump_reader_set_watcher(tailing->reader, visit_record, tailing);
	tailing->is_silent = !tailing->is_all;
	if (tailing->is_silent)
		r = read_on(tailing, false);
	tailing->is_silent = false;
	return r;
}

static int follow(struct tailing *tailing, struct fault *fault)
{
	int r, has_ended = 0;

	r = begin(tailing, fault);
	while (r == 0) {
		r = read_on(tailing, has_ended);
		if (r < 0 && tailing->output.error == 0)
			return fault_set(
				fault, r, "cannot read '%s': %s", tailing->file.path, strerror(-r));
		/* Each symbol is shown when it is there: Ctrl-C loses none. */
		r = command_finish_output(&tailing->output, fault);
		if (r < 0 || has_ended)
			return r;
		has_ended = wait_for_more(tailing);
		if (has_ended < 0)
			r = has_ended;
	}
	return r;
}

static enum command_parse take_pid(
	const struct command *command, const char *text, struct tailing *tailing)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || *end || end == text || pid < 1 || pid > INT_MAX)
		return command_wrong(command, "a process is needed, not", text);
	tailing->pid = (pid_t)pid;
	return COMMAND_PARSE_RUN;
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct tailing *tailing)
{
	static const struct option long_options[] = { COMMAND_OPTIONS, { 0 } };
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "hn:", long_options, NULL)) >= 0) {
		if (option != 'n')
			r = command_take_option(command, option, &tailing->is_json);
		else if (strcmp(optarg, "all") == 0)
			tailing->is_all = true;
		else
			r = command_wrong(command, "-n takes all, not", optarg);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	r = command_check_arguments(command, argc, argv, 1, 1, "a process");
	return r == COMMAND_PARSE_RUN ? take_pid(command, argv[optind], tailing) : r;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(tailing_freep) struct tailing *tailing = calloc(1, sizeof(*tailing));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!tailing)
		return command_fail(&fault, -ENOMEM);
	tailing->pidfd = tailing->file.fd = -1;
	parsed = parse(command, argc, argv, tailing);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&tailing->output, STDOUT_FILENO);
	json_init(&tailing->json, &tailing->output);
	r = follow(tailing, &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command jit_tail = {
	"jit",
	"tail",
	"each new symbol of a process as it is written",
	help,
	run,
};
