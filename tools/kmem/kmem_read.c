/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "kmemtrace/kmemtrace_merge.h"
#include "kmemtrace/kmemtrace_report.h"
#include "resolve/kernel_symbols.h"
#include "tools/kmem/kmem_commands.h"
#include "tools/shown_text.h"
#include "tools/stop_signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SYMBOLS_BYTES_MAX = 64 << 20,
	ROWS_DEFAULT = 20,
	CHECK_EVENTS = 4096, /* between two looks for Ctrl-C */
};

struct reading {
	struct invocation base;
	const char *symbols_path, *sort;
	uint32_t rows;
	bool is_live; /* it reads FIFOs: the writer runs, on this kernel */
	struct stop_signals signals;
	struct kmemtrace_merge *merge;
	struct kmemtrace_report *report;
	struct kernel_symbols *symbols; /* NULL: addresses only */
	int overruns_folder_fd;		/* the first folder that was given; -1: none */
	bool has_overruns;
	uint64_t overrun_bytes; /* as that folder says at the end */
};

static void prepare(void *invocation)
{
	struct reading *reading = invocation;

	reading->sort = "allocated";
	reading->rows = ROWS_DEFAULT;
	reading->signals.fd = reading->overruns_folder_fd = -1;
}

static void done(void *invocation)
{
	struct reading *reading = invocation;

	kernel_symbols_free(reading->symbols);
	kmemtrace_report_free(reading->report);
	kmemtrace_merge_free(reading->merge);
	if (reading->overruns_folder_fd >= 0)
		(void)close(reading->overruns_folder_fd);
	stop_signals_done(&reading->signals);
}

/* --- input ------------------------------------------------------------------------------------ */

static int add_stream(struct reading *reading, int folder_fd, const char *name, struct fault *fault)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), r;
	struct kmemtrace_stream *stream = NULL;
	struct stat status;

	if (fd < 0)
		return fault_set(fault, -errno, "cannot open '%s': %s", name, strerror(errno));
	if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode))
		reading->is_live = true;
	r = kmemtrace_stream_new(fd, name, &stream);
	if (r == 0)
		r = kmemtrace_merge_add(reading->merge, stream);
	if (r == -E2BIG)
		return fault_set(
			fault, r, "more than %d streams: give fewer", KMEMTRACE_STREAMS_MAX);
	return r;
}

/* cpu0, or cpu0.out. */
static bool is_stream_name(const char *name)
{
	size_t digits;

	if (strncmp(name, "cpu", 3) != 0)
		return false;
	name += 3;
	digits = strspn(name, "0123456789");
	return digits > 0 && (name[digits] == '\0' || strcmp(name + digits, ".out") == 0);
}

/* At the end: the writer puts the last number there before it closes its streams. */
static void read_overruns(struct reading *reading)
{
	int fd = openat(
		reading->overruns_folder_fd, "total_overruns", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		(void)close(fd);
	reading->has_overruns = file && fscanf(file, "%" SCNu64, &reading->overrun_bytes) == 1;
}

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

static int add_folder(struct reading *reading, const char *path, struct fault *fault)
{
	_cleanup_(close_folder) DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t count = 0;
	int r = 0;

	if (!folder)
		return fault_set(
			fault, -errno, "cannot open the folder '%s': %s", path, strerror(errno));
	while (r == 0 && (entry = readdir(folder))) {
		if (!is_stream_name(entry->d_name))
			continue;
		r = add_stream(reading, dirfd(folder), entry->d_name, fault);
		count++;
	}
	if (r == 0 && count == 0)
		return fault_set(fault, -ENOENT,
			"the folder '%s' has no streams: no cpu0 and no cpu0.out", path);
	if (r == 0 && reading->overruns_folder_fd < 0)
		reading->overruns_folder_fd = fcntl(dirfd(folder), F_DUPFD_CLOEXEC, 3);
	return r;
}

static int add_inputs(struct reading *reading, struct fault *fault)
{
	int r = kmemtrace_merge_new(&reading->merge);

	for (int i = 0; r == 0 && i < reading->base.argument_count; i++) {
		const char *path = reading->base.arguments[i];
		struct stat status;

		if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
			r = add_folder(reading, path, fault);
		else
			r = add_stream(reading, AT_FDCWD, path, fault);
	}
	return r;
}

/* Without --kallsyms only a trace of the running kernel gets names: elsewhere they would be wrong.
 */
static int read_symbols(struct reading *reading, struct fault *fault)
{
	const char *path = reading->symbols_path;
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	if (!path && !reading->is_live)
		return 0;
	file = fopen(path ? path : "/proc/kallsyms", "re");
	if (!file && !path)
		return 0;
	if (!file)
		return fault_set(fault, -errno, "cannot open '%s': %s", path, strerror(errno));
	text = malloc(SYMBOLS_BYTES_MAX);
	if (!text)
		return -ENOMEM;
	size = fread(text, 1, SYMBOLS_BYTES_MAX, file);
	r = kernel_symbols_new(NULL, &reading->symbols);
	if (r == 0)
		r = kernel_symbols_parse(reading->symbols, text, size);
	if (r < 0 && path)
		return fault_set(fault, r,
			"'%s' has no addresses of kernel symbols: copy /proc/kallsyms as root",
			path);
	if (r < 0) {
		kernel_symbols_free(reading->symbols);
		reading->symbols = NULL;
	}
	return r == -ENOMEM ? r : 0;
}

static int read_events(struct reading *reading, struct fault *fault)
{
	struct kmemtrace_event event;
	uint64_t count = 0;
	int r;

	while ((r = kmemtrace_merge_next(reading->merge, reading->signals.fd, &event)) > 0) {
		r = kmemtrace_report_add(reading->report, &event);
		if (r < 0)
			return r;
		if (++count % CHECK_EVENTS == 0 && stop_signals_take(&reading->signals))
			return 0;
	}
	if (r == -EINTR)
		return 0;
	return r < 0 ? fault_set(fault, r, "cannot read a stream: %s", strerror(-r)) : 0;
}

/* --- output ----------------------------------------------------------------------------------- */

static enum kmemtrace_order order_of(const char *name)
{
	static const char *const names[KMEMTRACE_ORDERS] = {
		[KMEMTRACE_BY_ALLOCATED] = "allocated",
		[KMEMTRACE_BY_LIVE] = "live",
		[KMEMTRACE_BY_WASTE] = "waste",
		[KMEMTRACE_BY_COUNT] = "count",
	};
	enum kmemtrace_order order = KMEMTRACE_BY_ALLOCATED;

	for (int i = 0; i < KMEMTRACE_ORDERS; i++)
		if (strcmp(name, names[i]) == 0)
			order = (enum kmemtrace_order)i;
	return order;
}

/* Call sites are return addresses, so the call is in the function one byte before. */
static bool find_symbol(
	const struct reading *reading, uint64_t address, struct kernel_symbol *ret_symbol)
{
	return reading->symbols && address > 0 &&
	       kernel_symbols_find(reading->symbols, address - 1, ret_symbol);
}

static void print_site(struct reading *reading, const struct kmemtrace_site *site)
{
	struct output *output = &reading->base.output;
	char allocated[SHOWN_TEXT_BYTES_BYTES], waste[SHOWN_TEXT_BYTES_BYTES];
	char live[SHOWN_TEXT_BYTES_BYTES];
	struct kernel_symbol symbol;

	output_printf(output,
		"%10" PRIu64 "  %10" PRIu64 "  %10s  %10s  %10" PRIu64 "  %10s  %-7s  ",
		site->allocations, site->frees, shown_text_bytes(site->allocated_bytes, allocated),
		shown_text_bytes(site->allocated_bytes - site->requested_bytes, waste), site->live,
		shown_text_bytes(site->live_bytes, live), kmemtrace_type_name(site->type_id));
	if (site->address == 0)
		output_string(output, "(all other call sites)");
	else if (find_symbol(reading, site->address, &symbol))
		shown_text_string(output, symbol.name);
	else
		output_printf(output, "0x%" PRIx64, site->address);
	output_char(output, '\n');
}

static void print_json_site(struct reading *reading, const struct kmemtrace_site *site)
{
	struct json *json = &reading->base.json;
	struct kernel_symbol symbol;

	json_begin_object(json);
	json_member_hex(json, "call_site", site->address);
	if (find_symbol(reading, site->address, &symbol))
		json_member_string(json, "function", symbol.name);
	json_member_string(json, "type", kmemtrace_type_name(site->type_id));
	json_member_u64(json, "allocations", site->allocations);
	json_member_u64(json, "frees", site->frees);
	json_member_u64(json, "requested_bytes", site->requested_bytes);
	json_member_u64(json, "allocated_bytes", site->allocated_bytes);
	json_member_u64(json, "live", site->live);
	json_member_u64(json, "live_bytes", site->live_bytes);
	json_end_object(json);
}

/* How complete the table is. */
static void print_accounts(struct reading *reading)
{
	struct output *output = &reading->base.output;
	const struct kmemtrace_stream *stream;
	struct kmemtrace_merge_counters counters;
	struct kmemtrace_totals totals;
	uint64_t offset;

	kmemtrace_merge_counters(reading->merge, &counters);
	kmemtrace_report_totals(reading->report, &totals);
	output_printf(output,
		"%" PRIu64 " events: %" PRIu64 " allocations of %" PRIu64 " bytes (%" PRIu64
		" requested), %" PRIu64 " frees; live: %" PRIu64 " of %" PRIu64 " bytes\n",
		counters.events, totals.allocations, totals.allocated_bytes, totals.requested_bytes,
		totals.frees, totals.live, totals.live_bytes);
	output_printf(output,
		"not seen: %" PRIu64 " events missing, %" PRIu64
		" frees of unknown allocations, %" PRIu64 " frees missed\n",
		counters.missing, totals.unknown_frees, totals.missed_frees);
	if (reading->has_overruns)
		output_printf(output, "the writer dropped %" PRIu64 " bytes of events\n",
			reading->overrun_bytes);
	if (totals.untracked > 0)
		output_printf(output,
			"live memory is incomplete: more than %d allocations at once, %" PRIu64
			" not tracked\n",
			KMEMTRACE_POINTERS_MAX, totals.untracked);
	for (size_t i = 0; (stream = kmemtrace_merge_stream(reading->merge, i)); i++)
		if (kmemtrace_stream_is_damaged(stream, &offset)) {
			shown_text_string(output, kmemtrace_stream_name(stream));
			output_printf(output,
				": no event at byte %" PRIu64 ", the rest is not read\n", offset);
		}
}

static void print_json_accounts(struct reading *reading)
{
	struct json *json = &reading->base.json;
	struct kmemtrace_merge_counters counters;
	struct kmemtrace_totals totals;
	const struct kmemtrace_stream *stream;
	uint64_t offset;

	kmemtrace_merge_counters(reading->merge, &counters);
	kmemtrace_report_totals(reading->report, &totals);
	json_member_u64(json, "events", counters.events);
	json_member_u64(json, "missing", counters.missing);
	json_member_u64(json, "late", counters.late);
	json_member_u64(json, "allocations", totals.allocations);
	json_member_u64(json, "frees", totals.frees);
	json_member_u64(json, "requested_bytes", totals.requested_bytes);
	json_member_u64(json, "allocated_bytes", totals.allocated_bytes);
	json_member_u64(json, "live", totals.live);
	json_member_u64(json, "live_bytes", totals.live_bytes);
	json_member_u64(json, "failed", totals.failed);
	json_member_u64(json, "null_frees", totals.null_frees);
	json_member_u64(json, "unknown_frees", totals.unknown_frees);
	json_member_u64(json, "missed_frees", totals.missed_frees);
	json_member_u64(json, "untracked", totals.untracked);
	json_member_u64(json, "other_events", totals.other_events);
	json_member_u64(json, "wrong_events", totals.wrong_events);
	if (reading->has_overruns)
		json_member_u64(json, "overrun_bytes", reading->overrun_bytes);
	json_key(json, "damaged");
	json_begin_array(json);
	for (size_t i = 0; (stream = kmemtrace_merge_stream(reading->merge, i)); i++)
		if (kmemtrace_stream_is_damaged(stream, &offset)) {
			json_begin_object(json);
			json_member_string(json, "stream", kmemtrace_stream_name(stream));
			json_member_u64(json, "offset", offset);
			json_end_object(json);
		}
	json_end_array(json);
}

static int print(struct reading *reading)
{
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	struct json *json = &reading->base.json;
	size_t count;
	int r;

	r = kmemtrace_report_sites(reading->report, order_of(reading->sort), &sites, &count);
	if (r < 0)
		return r;
	if (reading->rows > 0 && count > reading->rows)
		count = reading->rows;
	if (reading->base.is_json) {
		json_begin_object(json);
		print_json_accounts(reading);
		json_key(json, "call_sites");
		json_begin_array(json);
		for (size_t i = 0; i < count; i++)
			print_json_site(reading, &sites[i]);
		json_end_array(json);
		json_end_object(json);
		json_end_line(json);
		return command_flush(&reading->base);
	}
	output_printf(&reading->base.output, "%10s  %10s  %10s  %10s  %10s  %10s  %-7s  %s\n",
		"ALLOCATED", "FREED", "BYTES", "WASTE", "LIVE", "LIVE BYTES", "TYPE", "CALL SITE");
	for (size_t i = 0; i < count; i++)
		print_site(reading, &sites[i]);
	print_accounts(reading);
	return command_flush(&reading->base);
}

static int run(void *invocation)
{
	struct reading *reading = invocation;
	struct fault *fault = &reading->base.fault;
	int r = add_inputs(reading, fault);

	if (r == 0)
		r = kmemtrace_report_new(&reading->report);
	if (r == 0)
		r = read_symbols(reading, fault);
	if (r == 0)
		r = stop_signals_init(&reading->signals, fault);
	if (r == 0)
		r = read_events(reading, fault);
	if (r < 0)
		return r;
	read_overruns(reading);
	return print(reading);
}

static const struct option_row options[] = {
	{ 0, "kallsyms", "FILE",
		"Take names from FILE, a copy of /proc/kallsyms of the kernel that was traced. "
		"FIFOs take them from /proc/kallsyms.",
		OPTION_STRING, .offset = offsetof(struct reading, symbols_path) },
	{ 0, "sort", "allocated|live|waste|count", "Sort call sites by this (allocated).",
		OPTION_CHOICE, .offset = offsetof(struct reading, sort) },
	{ 'n', "rows", "N", "Print N call sites (20); 0: all.", OPTION_NUMBER,
		.offset = offsetof(struct reading, rows), .max = UINT32_MAX },
	{ 0 },
};

const struct command kmem_read = {
	.name = "kmem read",
	.summary = "read kmemtrace streams and report call sites",
	.synopsis = "[OPTION...] DIR|FILE...",
	.description = "Read streams in the binary format of kmemtrace, from files or FIFOs, put "
		       "their events in order and sum them by call site. DIR is a folder with "
		       "cpu0, cpu1, ... or cpu0.out, cpu1.out, ... FIFOs are read until their "
		       "writer ends, or until Ctrl-C.",
	.options = { options },
	.has_json = true,
	.arguments_min = 1,
	.arguments_max = INT32_MAX,
	.argument = "a folder or a stream",
	.bytes = sizeof(struct reading),
	.prepare = prepare,
	.run = run,
	.done = done,
};
