/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_request.h"

#include "base/array.h"
#include "base/clock.h"
#include "tools/output_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_BYTES_MAX (1UL << 30)

enum { TERMINAL_ROWS = 30 };

/* --- options --- */

static int take_parameter(void *invocation, const struct option_row *option, const char *value)
{
	struct fleet_request *request = invocation;
	struct fleet_parameters *side =
		&request->sides[request->is_against ? DIFFERENCE_BASE : DIFFERENCE_COMPARED];

	if (side->count == FLEET_PARAMETERS_MAX)
		return command_misuse(request->server.base.command,
			"more than %d values are given; use a glob for several",
			FLEET_PARAMETERS_MAX);
	side->items[side->count++] =
		(struct fleet_parameter){ .name = option->name, .value = value };
	return 0;
}

#define SELECTOR(letter, name, argument, help)                                    \
	{                                                                         \
		letter, name, argument, help, OPTION_CALL, .take = take_parameter \
	}

const struct option_row fleet_select_options[] = {
	SELECTOR(
		0, "last", "DURATION", "Up to now, or to --to: 10min (the default), 1h 30min, 2d."),
	SELECTOR(0, "from", "TIME", "\"2026-11-20 03:10\", \"yesterday 18:00\", -2h."),
	SELECTOR(0, "to", "TIME", "Without it: now."),
	SELECTOR(0, "host", "NAME", "Only this host."),
	SELECTOR(
		0, "service", "NAME", "Only this service: a unit without `.service`, a container."),
	SELECTOR(0, "unit", "NAME", "Only this systemd unit: nginx.service."),
	SELECTOR(0, "container", "ID", "Only this container; the start of its ID is enough."),
	SELECTOR(0, "pod", "UID", "Only this pod; the start of its UID is enough."),
	SELECTOR(0, "exe", "PATH", "Only processes of this program."),
	SELECTOR(0, "comm", "NAME", "Only threads of this name; --thread is the same."),
	SELECTOR(0, "thread", "NAME", NULL),
	SELECTOR(0, "trace", "ID", "Only this trace of OpenTelemetry: 32 hexadecimal digits."),
	SELECTOR(0, "span", "ID", "Only this span: 16 hexadecimal digits."),
	SELECTOR('e', "event", "NAME",
		"What was sampled: cpu (the default), offcpu, runqueue, their sum, wall, or "
		"faults."),
	{ 0 },
};

const struct option_row fleet_output_options[] = {
	{ 0, "lines", NULL, "Keep the lines of a function apart.", OPTION_SET,
		.offset = offsetof(struct fleet_request, is_by_line) },
	{ 'n', "rows", "N",
		"List the first N rows of a table; 0: all. Without it: 30 on a terminal, else all.",
		OPTION_NUMBER, .offset = offsetof(struct fleet_request, rows), .max = 999999 },
	{ 'q', "quiet", NULL, "Print errors only.", OPTION_SET,
		.offset = offsetof(struct fleet_request, is_quiet) },
	{ 0 },
};

void fleet_request_init(struct fleet_request *request)
{
	request->rows = FLEET_ROWS_UNSET;
}

/* --- a selection --- */

static bool is_like(const char *name, const char *other)
{
	return strcmp(name, other) == 0 || (selection_is_time(name) && selection_is_time(other));
}

static bool has_parameter(const struct fleet_parameters *side, const char *name)
{
	for (size_t i = 0; i < side->count; i++)
		if (is_like(side->items[i].name, name))
			return true;
	return false;
}

static int add_name(const char ***names, size_t *count, const char *value)
{
	const char **longer = reallocarray(*names, *count + 1, sizeof(**names));

	if (!longer)
		return -ENOMEM;
	*names = longer;
	longer[(*count)++] = value;
	return 0;
}

static int add_parameter(struct fleet_selection *selection, const struct fleet_parameter *parameter,
	struct fault *fault)
{
	if (strcmp(parameter->name, "host") == 0)
		return add_name(&selection->hosts, &selection->host_count, parameter->value);
	if (strcmp(parameter->name, "service") == 0)
		return add_name(&selection->services, &selection->service_count, parameter->value);
	return selection_add(selection->selection, parameter->name, parameter->value, fault);
}

static int make_selection(const struct fleet_request *request, enum difference_side side,
	struct fleet_selection *selection, struct fault *fault)
{
	const struct fleet_parameters *own = &request->sides[side];
	const struct fleet_parameters *other = &request->sides[DIFFERENCE_COMPARED];
	int r = selection_new(&selection->selection);

	for (size_t i = 0; r == 0 && i < own->count; i++)
		r = add_parameter(selection, &own->items[i], fault);
	for (size_t i = 0; r == 0 && own != other && i < other->count; i++)
		if (!has_parameter(own, other->items[i].name))
			r = add_parameter(selection, &other->items[i], fault);
	return r < 0 ? r : selection_finish(selection->selection, clock_realtime_ns(), fault);
}

/* --- the answer --- */

static void write_title(const struct fleet_selection *selection, const struct fleet_found *found,
	char title[FLEET_TITLE_BYTES])
{
	const double error = host_estimate_error(&found->estimate);
	size_t used = (size_t)snprintf(title, FLEET_TITLE_BYTES, "%" PRIu64 " host%s", found->hosts,
		found->hosts == 1 ? "" : "s");

	if (error > 0)
		used += (size_t)snprintf(title + used, FLEET_TITLE_BYTES - used,
			" of a larger fleet, estimated to ±%.2g %% (at 95 %%)",
			100 * error / found->estimate.total);
	for (size_t i = 0; i < selection->service_count && used < FLEET_TITLE_BYTES; i++)
		used += (size_t)snprintf(title + used, FLEET_TITLE_BYTES - used, "%s%s",
			i == 0 ? ", service " : " or ", selection->services[i]);
	for (size_t i = 0; i < selection->host_count && used < FLEET_TITLE_BYTES; i++)
		used += (size_t)snprintf(title + used, FLEET_TITLE_BYTES - used, "%s%s",
			i == 0 ? ", host " : " or ", selection->hosts[i]);
	if (used < FLEET_TITLE_BYTES)
		(void)snprintf(title + used, FLEET_TITLE_BYTES - used, ": %s",
			selection_text(selection->selection));
}

int fleet_request_read(struct fleet_request *request, struct clickhouse_client *client,
	enum difference_side side, struct profile **ret_profile, char title[FLEET_TITLE_BYTES])
{
	_cleanup_(fleet_selection_done) struct fleet_selection selection = { 0 };
	struct invocation *base = &request->server.base;
	struct fleet_found found;
	struct fault fault = { 0 };
	int r = make_selection(request, side, &selection, &fault);

	if (r < 0)
		return r == -ENOMEM ? r : command_misuse(base->command, "%s", fault.text);
	r = fleet_query_profile(
		client, &selection, PROFILE_BYTES_MAX, ret_profile, &found, &base->fault);
	if (r == 0)
		write_title(&selection, &found, title);
	return r;
}

/* --- output --- */

size_t fleet_request_rows(const struct fleet_request *request, const char *path)
{
	if (request->rows != FLEET_ROWS_UNSET)
		return request->rows;
	return strcmp(path, "-") == 0 && isatty(STDOUT_FILENO) ? TERMINAL_ROWS : 0;
}

int fleet_request_write(struct fleet_request *request, const char *path,
	int (*write)(void *context, struct output *output), void *context)
{
	_cleanup_(output_file_freep) struct output_file *file = NULL;
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct fault *fault = &request->server.base.fault;
	int fd, r, error;

	if (!output)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = output_file_open(path, &file, fault);
	if (r < 0)
		return r;
	if (!request->path)
		output_file_keep_old(file);
	r = output_file_begin(file, &fd, fault);
	if (r < 0)
		return r;
	output_init_fd(output, fd);
	r = write(context, output);
	error = output_finish(output);
	if (error == -EPIPE)
		return error;
	if (r < 0 && error == 0)
		return fault_set(fault, r, "cannot draw the profile: %s", strerror(-r));
	r = output_file_commit(file, error, fault);
	if (r == 0 && !request->is_quiet && strcmp(path, "-") != 0)
		output_file_report(file, path);
	return r;
}
