/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/kmem/kmem_sites.h"

#include "client/http_client.h"
#include "resolve/live_age.h"
#include "tools/history/history_request.h"
#include "tools/kmem/kmem_commands.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROWS_DEFAULT = 20,
	ANSWER_BYTES_MAX = 64 << 20,
	TIMEOUT_S = 60,
};

struct reporting {
	struct history_request history;
	const char *sort;
	uint32_t rows;
	struct kmem_sites sites;
	bool has[KMEM_COLUMNS]; /* was the event recorded? */
};

static void prepare(void *invocation)
{
	struct reporting *reporting = invocation;

	history_request_init(&reporting->history, "/api/v1/profile");
	reporting->sort = "allocated";
	reporting->rows = ROWS_DEFAULT;
}

static void done(void *invocation)
{
	struct reporting *reporting = invocation;

	kmem_sites_done(&reporting->sites);
}

/* --- input ------------------------------------------------------------------------------------ */

/* What a service or a file says is hostile (I8). `text` is changed. */
static int add_text(struct reporting *reporting, char *text, struct fault *fault)
{
	enum kmem_column column;
	int r = kmem_sites_add_text(&reporting->sites, text, &column);

	if (r == -EINVAL)
		return fault_set(fault, r,
			"this is no profile of kernel memory by call site: write it with "
			"`pilotlight record -e kmem:alloc -f sites`");
	if (r == 0)
		reporting->has[column] = true;
	return r;
}

static int read_file(struct reporting *reporting, const char *path, struct fault *fault)
{
	_cleanup_fclose_ FILE *file =
		strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re");
	_cleanup_free_ char *text = malloc(ANSWER_BYTES_MAX);
	size_t size;
	int r;

	if (!file)
		return fault_set(fault, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (!text)
		return -ENOMEM;
	size = fread(text, 1, ANSWER_BYTES_MAX - 1, file);
	text[size] = '\0';
	r = add_text(reporting, text, fault);
	return r < 0 && r != -ENOMEM
		       ? fault_set(fault, r, "cannot read '%s': %s", path, fault->text)
		       : r;
}

/* -ENODATA: the service has no such event in this time. */
static int ask(struct reporting *reporting, struct http_client *client, enum kmem_column column,
	struct fault *fault)
{
	struct output_memory answer = { .limit_bytes = ANSWER_BYTES_MAX };
	struct query_text query = reporting->history.query;
	struct http_reply reply = { 0 };
	const char *target;
	int r;

	if (!reporting->history.event)
		query_text_add(&query, "event", kmem_column_events[column]);
	query_text_add(&query, "format", "sites");
	r = query_text_finish(&query, &target);
	if (r < 0)
		return fault_set(fault, r, "the selection is too long");
	r = http_client_get(client, target, output_to_memory, &answer, &reply, fault);
	if (r == -EREMOTEIO && reply.status == 404)
		r = -ENODATA;
	if (r == 0)
		r = output_to_memory(&answer, "", 1);
	if (r == 0)
		r = add_text(reporting, answer.bytes, fault);
	free(answer.bytes);
	return r;
}

static bool is_asked(const struct reporting *reporting, enum kmem_column column)
{
	const char *event = reporting->history.event;

	return !event || strcmp(event, kmem_column_events[column]) == 0;
}

static int ask_service(struct reporting *reporting, struct fault *fault)
{
	const struct http_client_options options = {
		.socket_path = reporting->history.socket_path,
		.timeout_s = TIMEOUT_S,
		.limit_bytes = ANSWER_BYTES_MAX - 1,
	};
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	bool has_any = false;
	int r = http_client_new(&options, &client, fault);

	for (enum kmem_column i = 0; r == 0 && i < KMEM_COLUMNS; i++) {
		if (!is_asked(reporting, i))
			continue;
		r = ask(reporting, client, i, fault);
		has_any |= r == 0;
		if (r == -ENODATA)
			r = 0;
	}
	if (r == 0 && !has_any)
		return fault_set(fault, -ENODATA,
			"the history has no kernel memory of this time; set KernelMemory=yes in "
			"pilotlight.conf, or record it: `pilotlight record -e "
			"kmem:alloc,kmem:live,kmem:waste -f sites -o memory.sites`");
	return r;
}

/* --- output ----------------------------------------------------------------------------------- */

static void print_amount(const struct reporting *reporting, struct output *output,
	const struct kmem_site *site, enum kmem_column column)
{
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	output_printf(output, "%10s  ",
		reporting->has[column] ? shown_text_bytes(site->bytes[column], bytes) : "-");
}

static void print_site(struct reporting *reporting, const struct kmem_site *site)
{
	struct output *output = &reporting->history.base.output;
	char calls[24] = "-", oldest[16] = "-";

	if (site->object_bytes > 0)
		(void)snprintf(calls, sizeof(calls), "%" PRIu64, kmem_site_calls(site));
	print_amount(reporting, output, site, KMEM_ALLOC);
	output_printf(output, "%10s  ", calls);
	print_amount(reporting, output, site, KMEM_LIVE);
	print_amount(reporting, output, site, KMEM_WASTE);
	if (site->oldest > 0)
		(void)snprintf(oldest, sizeof(oldest), "> %s", live_age_least(site->oldest - 1));
	output_printf(output, "%8s  ", oldest);
	shown_text_string(output, site->memory);
	output_printf(output, "%*s  ",
		strlen(site->memory) < KMEM_MEMORY_WIDTH
			? (int)(KMEM_MEMORY_WIDTH - strlen(site->memory))
			: 0,
		"");
	shown_text_string(output, site->caller);
	output_char(output, '\n');
}

static void print_json_site(struct reporting *reporting, const struct kmem_site *site)
{
	static const char *const names[KMEM_COLUMNS] = {
		[KMEM_ALLOC] = "allocated_bytes",
		[KMEM_LIVE] = "live_bytes",
		[KMEM_WASTE] = "waste_bytes",
	};
	struct json *json = &reporting->history.base.json;

	json_begin_object(json);
	json_member_string(json, "call_site", site->caller);
	json_member_string(json, "memory", site->memory);
	for (enum kmem_column i = 0; i < KMEM_COLUMNS; i++)
		if (reporting->has[i])
			json_member_u64(json, names[i], site->bytes[i]);
	if (site->object_bytes > 0)
		json_member_u64(json, "calls", kmem_site_calls(site));
	if (site->oldest > 0)
		json_member_u64(json, "oldest_s", live_age_least_s(site->oldest - 1));
	json_end_object(json);
	json_end_line(json);
}

static int print(struct reporting *reporting)
{
	struct kmem_sites *sites = &reporting->sites;
	struct output *output = &reporting->history.base.output;
	size_t count = sites->count;

	if (reporting->rows > 0 && count > reporting->rows)
		count = reporting->rows;
	if (reporting->history.base.is_json) {
		for (size_t i = 0; i < count; i++)
			print_json_site(reporting, &sites->items[i]);
		return command_flush(&reporting->history.base);
	}
	output_printf(output, "%10s  %10s  %10s  %10s  %8s  %-*s  %s\n", "ALLOCATED", "CALLS",
		"LIVE", "WASTE", "OLDEST", KMEM_MEMORY_WIDTH, "MEMORY", "CALL SITE");
	for (size_t i = 0; i < count; i++)
		print_site(reporting, &sites->items[i]);
	if (count < sites->count)
		output_printf(output, "%zu more\n", sites->count - count);
	return command_flush(&reporting->history.base);
}

static int check(struct reporting *reporting)
{
	bool has_column = false;

	for (enum kmem_column i = 0; i < KMEM_COLUMNS; i++)
		has_column |= is_asked(reporting, i);
	if (!has_column)
		return command_misuse(reporting->history.base.command,
			"-e takes kmem:alloc, kmem:live or kmem:waste, not '%s'",
			reporting->history.event);
	return history_request_check(&reporting->history);
}

static int run(void *invocation)
{
	struct reporting *reporting = invocation;
	struct invocation *base = &reporting->history.base;
	int r = check(reporting);

	if (r != 0)
		return r;
	for (int i = 0; r == 0 && i < base->argument_count; i++)
		r = read_file(reporting, base->arguments[i], &base->fault);
	if (r == 0 && base->argument_count == 0)
		r = ask_service(reporting, &base->fault);
	if (r < 0)
		return r;
	kmem_sites_find_sizes(&reporting->sites, "/proc/slabinfo");
	kmem_sites_sort(&reporting->sites, reporting->sort);
	return print(reporting);
}

static const struct option_row options[] = {
	{ 0, "sort", "allocated|live|waste|calls|oldest", "Sort call sites by this (allocated).",
		OPTION_CHOICE, .offset = offsetof(struct reporting, sort) },
	{ 'n', "rows", "N", "Print N call sites (20); 0: all.", OPTION_NUMBER,
		.offset = offsetof(struct reporting, rows), .max = UINT32_MAX },
	{ 0 },
};

const struct command kmem_report = {
	.name = "kmem report",
	.summary = "list who allocates kernel memory, and what lives",
	.synopsis = "[SELECT...] [OPTION...] [FILE...]",
	.description = "List the functions of the kernel that allocate memory, by call site and "
		       "cache: bytes allocated, about how many calls, what lives at the end and "
		       "how old the oldest of it is, and what the allocator gave beyond the "
		       "requested bytes. From the history that "
		       "pilotlightd keeps with KernelMemory=yes, or from FILEs that `pilotlight "
		       "record -e kmem:alloc,kmem:live,kmem:waste -f sites` has written.",
	.options = { history_time_options, history_select_options, options,
		history_socket_options },
	.has_json = true,
	.arguments_min = 0,
	.arguments_max = INT32_MAX,
	.argument = "a file",
	.bytes = sizeof(struct reporting),
	.prepare = prepare,
	.run = run,
	.done = done,
};
