/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "jit/jitdump_reader.h"
#include "jit/perf_map_reader.h"
#include "tools/jit/jit_commands.h"
#include "tools/jit/jit_process_file.h"
#include "tools/jit/jit_text.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PERIOD_MS = 100,
	STEPS = 1 << 16,
};

struct tailing {
	struct invocation base;
	const char *count; /* of -n: "all"; NULL: not given */
	bool is_silent;	   /* reads records that existed before */
	pid_t pid;
	int pidfd;
	struct jit_process_file file;
	struct jitdump_reader *reader; /* of a jitdump file; else: */
	struct perf_map_reader *map;
	enum jitdump_fault reported;
};

static void done(void *invocation)
{
	struct tailing *tailing = invocation;

	jitdump_reader_free(tailing->reader);
	perf_map_reader_free(tailing->map);
	jit_process_file_done(&tailing->file);
	closep(&tailing->pidfd);
}

static void write_symbol(struct tailing *tailing, const char *time, uint64_t address, uint64_t size,
	const char *name, size_t name_size)
{
	struct output *output = &tailing->base.output;

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
	if (tailing->base.is_json) {
		jit_text_json_record(&tailing->base.json, file_offset, header, record, 0);
	} else if (record->id == PILOTLIGHT_JITDUMP_LOAD) {
		write_symbol(tailing, time, record->load.address, record->load.size,
			record->load.name, record->load.name_size);
	} else {
		(void)snprintf(from, sizeof(from), "(moved from %" PRIx64 ")", record->move.from);
		write_symbol(tailing, time, record->move.to, record->move.size, from, strlen(from));
	}
	return tailing->base.output.error;
}

static int visit_line(void *context, const struct perf_map_line *line)
{
	struct tailing *tailing = context;
	struct json *json = &tailing->base.json;

	if (tailing->is_silent)
		return 0;
	if (!tailing->base.is_json) {
		write_symbol(tailing, "-", line->address, line->size, line->name, line->name_size);
		return tailing->base.output.error;
	}
	json_begin_object(json);
	json_member_hex(json, "address", line->address);
	json_member_u64(json, "size", line->size);
	json_key(json, "name");
	json_string_bytes(json, line->name, line->name_size);
	json_end_object(json);
	json_end_line(json);
	return tailing->base.output.error;
}

/* Report each error once: the file may be rewritten. */
static void warn_of_fault(struct tailing *tailing)
{
	struct jitdump_reader_state state;

	jitdump_reader_state(tailing->reader, &state);
	if (state.fault != tailing->reported && state.fault != JITDUMP_FAULT_NONE &&
		state.fault != JITDUMP_FAULT_NO_HEADER)
		log_warning("'%s' cannot be read beyond byte %" PRIu64
			    ", waiting for it to be written anew: %s",
			tailing->file.path, state.fault_offset, jitdump_fault_name(state.fault));
	tailing->reported = state.fault;
}

/* Prints new symbols. Returns 0 or -errno. */
static int read_on(struct tailing *tailing, bool is_final)
{
	int64_t left;

	do
		left = tailing->map ? perf_map_reader_run(tailing->map, NULL, is_final, STEPS)
				    : jitdump_reader_run(tailing->reader, NULL, STEPS);
	while (left == 0);
	if (left < 0)
		return (int)left;
	if (tailing->reader)
		warn_of_fault(tailing);
	return 0;
}

/* Waits for new data. Returns 1 when the process has ended, 0, or -errno. */
static int wait_for_more(struct tailing *tailing)
{
	struct pollfd fds[] = {
		{ .fd = tailing->pidfd, .events = POLLIN },
		{ .fd = STDOUT_FILENO }, /* reports when its reader goes away */
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
	options.path = tailing->file.path;
	r = tailing->file.is_jitdump
		    ? jitdump_reader_new(TAKE_FD(tailing->file.fd), &options, &tailing->reader)
		    : perf_map_reader_new(TAKE_FD(tailing->file.fd), &tailing->map);
	if (r < 0)
		return r;
	if (tailing->reader)
		jitdump_reader_set_watcher(tailing->reader, visit_record, tailing);
	else
		perf_map_reader_set_watcher(tailing->map, visit_line, tailing);
	tailing->is_silent = !tailing->count;
	if (tailing->is_silent)
		r = read_on(tailing, false);
	tailing->is_silent = false;
	return r;
}

static int run(void *invocation)
{
	struct tailing *tailing = invocation;
	struct fault *fault = &tailing->base.fault;
	const char *pid = tailing->base.arguments[0];
	uint64_t number;
	int r, has_ended = 0;

	if (command_parse_number(pid, 1, INT_MAX, &number) < 0)
		return command_misuse(tailing->base.command,
			"jit tail needs the PID of a process, not '%s'", pid);
	tailing->pid = (pid_t)number;
	r = begin(tailing, fault);
	while (r == 0) {
		r = read_on(tailing, has_ended);
		if (r < 0 && tailing->base.output.error == 0)
			return fault_set(
				fault, r, "cannot read '%s': %s", tailing->file.path, strerror(-r));
		/* Flush each symbol at once, so that Ctrl-C loses none. */
		r = command_flush(&tailing->base);
		if (r < 0 || has_ended)
			return r;
		has_ended = wait_for_more(tailing);
		if (has_ended < 0)
			r = has_ended;
	}
	return r;
}

static void prepare(void *invocation)
{
	struct tailing *tailing = invocation;

	tailing->pidfd = tailing->file.fd = -1;
}

static const struct option_row options[] = {
	{ 'n', NULL, "all", "Begin with what was written before.", OPTION_CHOICE,
		.offset = offsetof(struct tailing, count) },
	{ 0 },
};

const struct command jit_tail = {
	.name = "jit tail",
	.summary = "follow the new symbols of a process",
	.synopsis = "[OPTION...] PID",
	.description = "Print each new symbol of a process when it is written to its jitdump file, "
		       "or to its perf map if it has no jitdump file: time, address, size and "
		       "name, numbers in hexadecimal. Ends with the process, or by Ctrl-C.",
	.has_json = true,
	.options = { options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "the PID of a process",
	.bytes = sizeof(struct tailing),
	.prepare = prepare,
	.run = run,
	.done = done,
};
