/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_request.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "capture/event_name.h"
#include "client/http_client.h"
#include "query/selection.h"
#include "tools/output_file.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TIME_FROM = 1,
	TIME_TO = 2,
	TIME_BYTES = 40,
	NAME_BYTES = 32,
	NUMBER_BYTES = 16,
	/* The service gives up on a query earlier than this, and knows better why. */
	TIMEOUT_S = 180,
	TERMINAL_ROWS = 30,
};

static const char *const time_names[HISTORY_TIMES] = { "last", "from", "to" };

/* --- options ---------------------------------------------------------------------------------- */

static void add_parameter(
	struct history_request *request, const char *name, bool is_against, const char *value)
{
	char parameter[NAME_BYTES];

	(void)snprintf(parameter, sizeof(parameter), "%s%s", is_against ? "against." : "", name);
	query_text_add(&request->query, parameter, value);
}

static int take_selector(void *invocation, const struct option_row *option, const char *value)
{
	struct history_request *request = invocation;

	request->against_count += request->is_against;
	add_parameter(request, option->name, request->is_against, value);
	return 0;
}

/* The service knows users by number alone. */
static int take_user(void *invocation, const struct option_row *option, const char *value)
{
	struct history_request *request = invocation;
	const struct passwd *user = getpwnam(value);
	char number[NUMBER_BYTES];

	if (!user && (!*value || value[strspn(value, "0123456789")]))
		return command_misuse(request->base.command,
			"there is no user '%s'; give a name or a number", value);
	if (user)
		(void)snprintf(number, sizeof(number), "%u", (unsigned)user->pw_uid);
	return take_selector(invocation, option, user ? number : value);
}

/* The history knows an event of perf by one name: "cs" is context-switches. But "cycles" are of CPU
 * time there, and not the event cpu-cycles. */
static void name_event(const char *value, char ret_name[PILOTLIGHT_EVENT_NAME_BYTES])
{
	struct pilotlight_counted_event event;
	uint64_t period;
	bool is_perfs = event_source_of(value) == &event_sources[PILOTLIGHT_SOURCE_COUNTED] &&
			event_name_find(value, EVENT_NAME_PMU, &event, &period, NULL) == 0;

	(void)snprintf(ret_name, PILOTLIGHT_EVENT_NAME_BYTES, "%s", is_perfs ? event.name : value);
}

static int take_event(void *invocation, const struct option_row *option, const char *value)
{
	struct history_request *request = invocation;
	char *name = request->event_names[request->is_against];

	if (strlen(value) < PILOTLIGHT_EVENT_NAME_BYTES) {
		name_event(value, name);
		value = name;
	}
	if (!request->is_against)
		request->event = value;
	return take_selector(invocation, option, value);
}

static int take_time(void *invocation, const struct option_row *option, const char *value)
{
	struct history_request *request = invocation;
	const char **time = request->times[request->is_against];
	size_t i = 0;

	while (strcmp(time_names[i], option->name) != 0)
		i++;
	if (time[i])
		return command_misuse(request->base.command, "--%s is given twice", option->name);
	time[i] = value;
	request->against_count += request->is_against;
	/* "from" and "to" are understood together, once both are known. */
	if (i != TIME_FROM && i != TIME_TO)
		add_parameter(request, option->name, request->is_against, value);
	return 0;
}

static int take_incident(void *invocation, const struct option_row *option, const char *value)
{
	struct history_request *request = invocation;

	if (request->incident || request->is_against)
		return command_misuse(
			request->base.command, "--incident is given once, before --against");
	request->incident = value;
	add_parameter(request, option->name, false, value);
	return 0;
}

#define TIME(name, argument, help)                                      \
	{                                                               \
		0, name, argument, help, OPTION_CALL, .take = take_time \
	}
#define SELECTOR(name, argument, help)                                      \
	{                                                                   \
		0, name, argument, help, OPTION_CALL, .take = take_selector \
	}

const struct option_row history_time_options[] = {
	TIME("last", "DURATION", "Up to now, or to --to: 10min (the default), 1h 30min, 2d."),
	TIME("from", "TIME",
		"\"2026-11-20 03:10\", \"yesterday 18:00\", -2h; \"03:12:07.250\" is exact."),
	TIME("to", "TIME", "Without it: now."),
	{ 0, "incident", "NUMBER",
		"The time around an incident; `pilotlight incidents` lists them.", OPTION_CALL,
		.take = take_incident },
	{ 0 },
};

const struct option_row history_select_options[] = {
	{ 'p', "pid", "PID", "Only this process.", OPTION_CALL, .take = take_selector },
	SELECTOR("tid", "TID", "Only this thread."),
	{ 0, "user", "USER", "Only processes of this user, by name or number.", OPTION_CALL,
		.take = take_user },
	SELECTOR("comm", "NAME", "Only threads of this name; --thread is the same."),
	SELECTOR("thread", "NAME", NULL),
	SELECTOR("exe", "PATH", "Only processes of this program."),
	SELECTOR("unit", "NAME", "Only this systemd unit: nginx.service."),
	SELECTOR("slice", "NAME", "Only this systemd slice and those in it."),
	SELECTOR("cgroup", "PATH", "Only this cgroup and those below it."),
	SELECTOR("container", "ID", "Only this container; the start of its ID is enough."),
	SELECTOR("pod", "UID", "Only this pod; the start of its UID is enough."),
	SELECTOR("service", "NAME", "Only programs that call their service so (OpenTelemetry)."),
	SELECTOR("trace", "ID", "Only this trace of OpenTelemetry: 32 hexadecimal digits."),
	SELECTOR("span", "ID", "Only this span of OpenTelemetry: 16 hexadecimal digits."),
	SELECTOR("build-id", "HEX", "Only stacks with code of this binary."),
	{ 'e', "event", "NAME",
		"What was sampled: cpu (the default), or another name that `pilotlight events` "
		"lists.",
		OPTION_CALL, .take = take_event },
	{ 0 },
};

const struct option_row history_socket_options[] = {
	{ 0, "socket", "PATH",
		"Ask the service at PATH ($PILOTLIGHT_SOCKET, or /run/pilotlight/api.sock).",
		OPTION_STRING, .offset = offsetof(struct history_request, socket_path) },
	{ 0 },
};

void history_request_init(struct history_request *request, const char *path)
{
	request->socket_path = http_client_default_socket();
	request->rows = HISTORY_ROWS_UNSET;
	query_text_init(&request->query, path);
}

/* Reads the times as the service would if it were in our zone. */
static int read_times(
	const char *const *times, uint64_t *ret_start_ns, uint64_t *ret_end_ns, struct fault *fault)
{
	_cleanup_(selection_freep) struct selection *selection = NULL;
	struct store_selection period;
	int r = selection_new(&selection);

	for (size_t i = 0; r == 0 && i < HISTORY_TIMES; i++)
		if (times[i])
			r = selection_add(selection, time_names[i], times[i], fault);
	if (r == 0)
		r = selection_finish(selection, clock_realtime_ns(), fault);
	if (r < 0)
		return r;
	selection_store(selection, &period);
	*ret_start_ns = period.start_ns;
	*ret_end_ns = period.end_ns;
	return 0;
}

/*
 * The service does not see how the times were written, so it is told whether they are exact. The
 * other side of a comparison has its own times.
 */
static void add_windows(struct history_request *request, bool is_against)
{
	const char *const *times = request->times[is_against];
	const bool is_exact =
		selection_has_fraction(times[TIME_FROM]) || selection_has_fraction(times[TIME_TO]);

	if (is_exact)
		add_parameter(request, "windows", is_against, "exact");
	else if (is_against && request->is_exact)
		add_parameter(request, "windows", is_against, "overlapping");
	request->is_exact |= is_exact;
}

static int add_times(struct history_request *request, bool is_against)
{
	const char *const *times = request->times[is_against];
	uint64_t ns[HISTORY_TIMES];
	char text[TIME_BYTES];
	struct fault fault = { 0 };
	int r;

	/* A duration is the same in every zone. */
	if (!times[TIME_FROM] && !times[TIME_TO]) {
		if (times[0])
			add_windows(request, is_against);
		return 0;
	}
	r = read_times(times, &ns[TIME_FROM], &ns[TIME_TO], &fault);
	if (r < 0)
		return r == -ENOMEM ? r : command_misuse(request->base.command, "%s", fault.text);
	for (size_t i = TIME_FROM; i <= TIME_TO; i++) {
		if (!times[i])
			continue;
		(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, ns[i] / NSEC_PER_SEC,
			ns[i] % NSEC_PER_SEC);
		add_parameter(request, time_names[i], is_against, text);
	}
	add_windows(request, is_against);
	return 0;
}

int history_request_check(struct history_request *request)
{
	int r = add_times(request, false);

	return r == 0 ? add_times(request, true) : r;
}

/* --- the answer ------------------------------------------------------------------------------- */

struct transfer {
	struct output_file *file;
	int fd;	   /* borrowed from the file; -1: not begun */
	int error; /* of writing */
	struct fault fault;
	bool shows_progress, has_shown;
	uint64_t started_ns, shown_ns;
	bool is_terminal; /* once begun */
	struct shown_lines lines;
};

static void clear_progress(struct transfer *transfer)
{
	if (transfer->has_shown)
		(void)fputs("\r\033[K", stderr);
	transfer->has_shown = false;
}

/* An output_function onto the file. */
static int write_exactly(void *context, const void *bytes, size_t size)
{
	struct transfer *transfer = context;
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = write(transfer->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return transfer->error = -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int begin(struct transfer *transfer)
{
	if (transfer->fd >= 0 || transfer->error < 0)
		return transfer->error;
	transfer->error = output_file_begin(transfer->file, &transfer->fd, &transfer->fault);
	transfer->is_terminal = transfer->error == 0 && isatty(transfer->fd);
	shown_lines_init(&transfer->lines, write_exactly, transfer);
	return transfer->error;
}

/* Files and pipes get the exact bytes. */
static int write_part(void *context, const void *bytes, size_t size)
{
	struct transfer *transfer = context;
	int r = begin(transfer);

	if (r < 0)
		return r;
	clear_progress(transfer);
	return transfer->is_terminal ? shown_lines_write(&transfer->lines, bytes, size)
				     : write_exactly(transfer, bytes, size);
}

/* Signals are held while the file has a temporary name (output_file.h). They end the request. */
static bool is_interrupted(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

static int show_progress(void *context, uint64_t received_bytes)
{
	struct transfer *transfer = context;
	uint64_t now_ns = clock_monotonic_ns();
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	if (is_interrupted())
		return 1;
	if (!transfer->shows_progress || now_ns - transfer->shown_ns < NSEC_PER_SEC)
		return 0;
	transfer->shown_ns = now_ns;
	transfer->has_shown = true;
	if (received_bytes > 0)
		(void)fprintf(
			stderr, "\r%s received\033[K", shown_text_bytes(received_bytes, bytes));
	else
		(void)fprintf(stderr, "\rwaiting for pilotlightd: %" PRIu64 " s\033[K",
			(now_ns - transfer->started_ns) / NSEC_PER_SEC);
	return 0;
}

static int receive(struct history_request *request, const char *target, struct transfer *transfer)
{
	const struct http_client_options options = {
		.socket_path = request->socket_path,
		.timeout_s = TIMEOUT_S,
		.accepts_gzip = true,
		.progress = show_progress,
		.context = transfer,
	};
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	struct fault *fault = &request->base.fault, http = { 0 };
	struct http_reply reply;
	int r = http_client_new(&options, &client, fault);

	if (r < 0)
		return r;
	r = http_client_get(client, target, write_part, transfer, &reply, &http);
	clear_progress(transfer);
	request->increase = r == 0 ? reply.increase : 0;
	/* An empty answer makes an empty file. */
	if (r == 0)
		r = begin(transfer);
	if (r == 0)
		r = shown_lines_finish(&transfer->lines);
	if (transfer->error == -EPIPE)
		return -EPIPE;
	if (transfer->fault.text[0])
		return fault_set(fault, transfer->error, "%s", transfer->fault.text);
	/* It names the file in the fault. */
	if (transfer->error < 0)
		return output_file_commit(transfer->file, transfer->error, fault);
	return r < 0 ? fault_set(fault, r, "%s", http.text) : 0;
}

static void add_rows(struct query_text *query, const struct history_request *request,
	const char *format, const char *path)
{
	const bool is_shown = strcmp(path, "-") == 0 && isatty(STDOUT_FILENO);
	uint32_t rows = request->rows;
	char number[NUMBER_BYTES];

	if (!format || strcmp(format, "txt") != 0)
		return;
	if (rows == HISTORY_ROWS_UNSET)
		rows = is_shown ? TERMINAL_ROWS : 0;
	if (rows == 0)
		return;
	(void)snprintf(number, sizeof(number), "%" PRIu32, rows);
	query_text_add(query, "rows", number);
}

int history_request_write(struct history_request *request, const char *format, const char *path)
{
	_cleanup_(output_file_freep) struct output_file *file = NULL;
	struct query_text query = request->query;
	struct transfer transfer = {
		.fd = -1,
		.shows_progress = !request->is_quiet && isatty(STDERR_FILENO),
		.started_ns = clock_monotonic_ns(),
	};
	const char *target;
	int r;

	if (format)
		query_text_add(&query, "format", format);
	add_rows(&query, request, format, path);
	if (query_text_finish(&query, &target) < 0)
		return command_misuse(request->base.command,
			"the selection is longer than a request may be; select less at once");
	transfer.shown_ns = transfer.started_ns;
	/* The file first, as the query may take long. */
	r = output_file_open(path, &file, &request->base.fault);
	if (r < 0)
		return r;
	if (!request->path)
		output_file_keep_old(file);
	transfer.file = file;
	r = receive(request, target, &transfer);
	if (r == 0)
		r = output_file_commit(file, 0, &request->base.fault);
	if (r == 0 && !request->is_quiet && strcmp(path, "-") != 0)
		output_file_report(file, path);
	return r;
}
