/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ROWS_MAX = 1 << 16, /* the bound of sorting by use: 13 MiB (I4) */
	ORIGIN_BYTES = sizeof((struct pilotlight_symbol_header){ 0 }.origin),
};

struct row {
	struct symbol_identity identity;
	uint64_t bytes, used_s;
	int error; /* -errno: the members below are not set */
	uint8_t rank, failure;
	uint64_t frames, lines;
	char origin[ORIGIN_BYTES + 1];
};

struct listing {
	struct symbols_invocation symbols;
	const char *order; /* "used" or "name" */
	bool has_title;
	struct row *rows; /* to sort; NULL: entries are printed at once */
	size_t count, capacity;
};

static void done(void *invocation)
{
	struct listing *listing = invocation;

	free(listing->rows);
}

/*
 * Reads only the section table, since checking whole files would read the whole cache. A file that
 * was replaced meanwhile is listed as the new one.
 */
static void read_counts(const char *path, const struct pilotlight_symbol_header *header,
	uint64_t *ret_frames, uint64_t *ret_lines)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct pilotlight_symbol_section sections[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
	size_t count = header->section_count, size = count * sizeof(sections[0]);

	*ret_frames = *ret_lines = 0;
	if (fd < 0 || count > ARRAY_SIZE(sections) ||
		pread(fd, sections, size, sizeof(*header)) != (ssize_t)size)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t entries =
			sections[i].entry_bytes ? sections[i].bytes / sections[i].entry_bytes : 0;

		if (sections[i].id == PILOTLIGHT_SYMBOL_FRAMES && entries > 0)
			*ret_frames = entries - 1; /* the first is none */
		if (sections[i].id == PILOTLIGHT_SYMBOL_ROWS)
			*ret_lines = entries;
	}
}

static void print_json(struct listing *listing, const struct row *row)
{
	struct json *json = &listing->symbols.base.json;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_member_string(json, "identity", symbol_identity_format(&row->identity, text));
	json_member_u64(json, "bytes", row->bytes);
	json_member_u64(json, "used_s", row->used_s);
	if (row->error < 0) {
		json_member_string(
			json, "error", row->error == -EBADMSG ? "damaged" : strerror(-row->error));
	} else {
		json_member_string(json, "source", symbols_text_rank_word(row->rank));
		if (row->rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
			json_member_string(json, "reason", symbols_text_failure_word(row->failure));
		}
		json_member_u64(json, "frames", row->frames);
		json_member_u64(json, "lines", row->lines);
		json_member_string(json, "origin", row->origin);
	}
	json_end_object(json);
	json_end_line(json);
}

static void print(struct listing *listing, const struct row *row)
{
	char id[SYMBOL_IDENTITY_TEXT_BYTES], bytes[SHOWN_TEXT_BYTES_BYTES];
	char used[SYMBOLS_TEXT_TIME_BYTES], source[32];
	struct output *output = &listing->symbols.base.output;

	if (listing->symbols.base.is_json) {
		print_json(listing, row);
		return;
	}
	if (!listing->has_title)
		output_printf(output, "%-46s  %-12s %8s  %10s  %-16s  %s\n", "BUILD-ID", "SOURCE",
			"FRAMES", "SIZE", "LAST USED", "ORIGIN");
	listing->has_title = true;
	if (row->error < 0)
		(void)strcpy(source, "(unreadable)");
	else if (row->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		(void)snprintf(
			source, sizeof(source), "-%s", symbols_text_failure_word(row->failure));
	else
		(void)strcpy(source, symbols_text_rank_word(row->rank));
	output_printf(output, "%-46s  %-12s %8" PRIu64 "  %10s  %-16s  ",
		symbol_identity_format(&row->identity, id), source, row->frames,
		shown_text_bytes(row->bytes, bytes), symbols_text_time(row->used_s, used));
	if (row->error < 0)
		output_string(output, row->error == -EBADMSG ? "damaged" : strerror(-row->error));
	else
		shown_text_string(output, row->origin);
	output_char(output, '\n');
}

static int keep(struct listing *listing, const struct row *row)
{
	int r = ARRAY_RESERVE(listing->rows, &listing->capacity, listing->count + 1, ROWS_MAX);

	if (r == 0)
		listing->rows[listing->count++] = *row;
	return r;
}

static int visit(void *context, const struct symbol_cache_entry *entry)
{
	struct listing *listing = context;
	struct row row = {
		.identity = entry->identity,
		.bytes = entry->bytes,
		.used_s = entry->used_s,
		.error = entry->error,
	};

	if (entry->error == 0) {
		row.rank = entry->header.rank;
		row.failure = entry->header.failure;
		memcpy(row.origin, entry->header.origin, ORIGIN_BYTES);
		read_counts(entry->path, &entry->header, &row.frames, &row.lines);
	}
	if (strcmp(listing->order, "used") == 0)
		return keep(listing, &row);
	print(listing, &row);
	return listing->symbols.base.output.error;
}

static int compare_use(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->used_s != y->used_s)
		return x->used_s < y->used_s ? 1 : -1;
	return memcmp(x->identity.id.bytes, y->identity.id.bytes, sizeof(x->identity.id.bytes));
}

static int run(void *invocation)
{
	struct listing *listing = invocation;
	struct fault *fault = &listing->symbols.base.fault;
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r = symbols_open_cache(
		&listing->symbols, SYMBOL_CACHE_BYTES_DEFAULT, false, &cache, fault);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_each(cache, false, visit, listing);
	if (r == -E2BIG)
		return fault_set(fault, r,
			"there are more than %d symbol files in '%s', too many to sort by use; try "
			"--sort name",
			ROWS_MAX, symbol_cache_directory(cache));
	if (r < 0 && listing->symbols.base.output.error == 0)
		return fault_set(fault, r, "cannot list the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	if (listing->count > 0)
		qsort(listing->rows, listing->count, sizeof(*listing->rows), compare_use);
	for (size_t i = 0; i < listing->count; i++)
		print(listing, &listing->rows[i]);
	return command_flush(&listing->symbols.base);
}

static void prepare(void *invocation)
{
	struct listing *listing = invocation;

	listing->order = "used";
}

static const struct option_row options[] = {
	{ 0, "sort", "used|name", "The last used first (the default), or by build-id.",
		OPTION_CHOICE, .offset = offsetof(struct listing, order) },
	{ 0 },
};

const struct command symbols_list = {
	.name = "symbols list",
	.summary = "list the symbol files in the cache",
	.synopsis = "[OPTION...]",
	.description = "List the symbol files in the cache: build-id, source of the symbols, "
		       "functions with their inlined instances, size, time of the last use (to the "
		       "minute), and the path of the binary or debug file.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.bytes = sizeof(struct listing),
	.prepare = prepare,
	.run = run,
	.done = done,
};
