/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/output.h"
#include "base/string_pool.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_command.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: pilotlight symbols list [--sort used|name] [--cache DIR] [--json]\n"
	"\n"
	"What the cache has: build-id, what the symbols were made of, functions with their\n"
	"inlined instances, bytes, when it was last used (to the minute), and the path of the\n"
	"binary or debug file. The last used comes first, or with --sort name the first\n"
	"build-id.\n"
	"\n"
	"  --sort ORDER  used or name\n"
	"  --cache DIR   the symbol cache\n"
	"  --json        an object a line\n"
	"  -h, --help    this\n";

enum {
	OPTION_SORT = 256,
	/* To be sorted by use: 5 MiB of them, and of origins 8 MiB at most. */
	ROWS_MAX = 1 << 16,
	ORIGIN_BYTES = sizeof((struct pilotlight_symbol_header){ 0 }.origin),
	ORIGINS_BYTES_MAX = 1 + ROWS_MAX * ORIGIN_BYTES,
};

struct row {
	struct symbol_identity identity;
	uint64_t bytes, used_s;
	int error; /* -errno: what follows is not known */
	uint8_t rank, failure;
	uint32_t origin; /* in `origins`, once it is kept */
	uint64_t frames, lines;
};

struct listing {
	struct symbols_options options;
	bool is_by_name;
	bool has_title;
	struct row *rows; /* sorted later; NULL where they are printed as they come */
	size_t count, capacity;
	struct string_pool origins;
	struct output output;
	struct json json;
};

static void listing_free(struct listing *listing)
{
	free(listing->rows);
	string_pool_done(&listing->origins);
	free(listing);
}
DEFINE_CLEANUP(struct listing, listing_free);

/*
 * Only the section table is read, since checking each file as a whole would take as long as reading
 * the whole cache. A file that was replaced meanwhile is told as the new one is.
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

static void print_json(struct listing *listing, const struct row *row, const char *origin)
{
	struct json *json = &listing->json;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_key(json, "identity");
	json_string(json, symbol_identity_format(&row->identity, text));
	json_key(json, "bytes");
	json_u64(json, row->bytes);
	json_key(json, "used_s");
	json_u64(json, row->used_s);
	if (row->error < 0) {
		json_key(json, "error");
		json_string(json, row->error == -EBADMSG ? "damaged" : strerror(-row->error));
	} else {
		json_key(json, "source");
		json_string(json, symbols_text_rank_word(row->rank));
		if (row->rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
			json_key(json, "reason");
			json_string(json, symbols_text_failure_word(row->failure));
		}
		json_key(json, "frames");
		json_u64(json, row->frames);
		json_key(json, "lines");
		json_u64(json, row->lines);
		json_key(json, "origin");
		json_string(json, origin);
	}
	json_end_object(json);
	json_end_line(json);
}

static void print(struct listing *listing, const struct row *row, const char *origin)
{
	char id[SYMBOL_IDENTITY_TEXT_BYTES], bytes[SHOWN_TEXT_BYTES_BYTES];
	char used[SYMBOLS_TEXT_TIME_BYTES], source[32];
	struct output *output = &listing->output;

	if (listing->options.is_json) {
		print_json(listing, row, origin);
		return;
	}
	if (!listing->has_title)
		output_printf(output, "%-40s  %-12s %8s  %10s  %-16s  %s\n", "BUILD-ID", "SOURCE",
			"FRAMES", "SIZE", "LAST USED", "ORIGIN");
	listing->has_title = true;
	if (row->error < 0)
		(void)strcpy(source, "(unreadable)");
	else if (row->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		(void)snprintf(
			source, sizeof(source), "-%s", symbols_text_failure_word(row->failure));
	else
		(void)strcpy(source, symbols_text_rank_word(row->rank));
	output_printf(output, "%-40s  %-12s %8" PRIu64 "  %10s  %-16s  ",
		symbol_identity_format(&row->identity, id), source, row->frames,
		shown_text_bytes(row->bytes, bytes), symbols_text_time(row->used_s, used));
	if (row->error < 0)
		output_string(output, row->error == -EBADMSG ? "damaged" : strerror(-row->error));
	else
		shown_text_string(output, origin);
	output_char(output, '\n');
}

static int keep(struct listing *listing, struct row *row, const char *origin)
{
	int r;

	r = ARRAY_RESERVE(listing->rows, &listing->capacity, listing->count + 1, ROWS_MAX);
	if (r == 0)
		r = string_pool_intern(&listing->origins, origin, strlen(origin), &row->origin);
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
	char origin[ORIGIN_BYTES + 1] = "";

	if (entry->error == 0) {
		row.rank = entry->header.rank;
		row.failure = entry->header.failure;
		memcpy(origin, entry->header.origin, ORIGIN_BYTES);
		read_counts(entry->path, &entry->header, &row.frames, &row.lines);
	}
	if (!listing->is_by_name)
		return keep(listing, &row, origin);
	print(listing, &row, origin);
	return listing->output.error;
}

static int compare_use(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->used_s != y->used_s)
		return x->used_s < y->used_s ? 1 : -1;
	return memcmp(x->identity.id.bytes, y->identity.id.bytes, sizeof(x->identity.id.bytes));
}

static int list(struct listing *listing, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r;

	r = symbols_open_cache(&listing->options, SYMBOL_CACHE_BYTES_DEFAULT, false, &cache, fault);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_each(cache, false, visit, listing);
	if (r == -E2BIG)
		return fault_set(fault, r,
			"there are more than %d symbol files in '%s', too many to sort by use; try "
			"--sort name",
			ROWS_MAX, symbol_cache_directory(cache));
	if (r < 0 && listing->output.error == 0)
		return fault_set(fault, r, "cannot list the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	if (listing->count > 0)
		qsort(listing->rows, listing->count, sizeof(*listing->rows), compare_use);
	for (size_t i = 0; i < listing->count; i++)
		print(listing, &listing->rows[i],
			string_pool_get(&listing->origins, listing->rows[i].origin));
	return command_finish_output(&listing->output, fault);
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct listing *listing)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "sort", required_argument, NULL, OPTION_SORT },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option != OPTION_SORT)
			r = symbols_take_option(command, option, &listing->options);
		else if (strcmp(optarg, "name") == 0 || strcmp(optarg, "used") == 0)
			listing->is_by_name = strcmp(optarg, "name") == 0;
		else
			r = command_wrong(command, "--sort takes used or name, not", optarg);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 0, 0, "");
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(listing_freep) struct listing *listing = calloc(1, sizeof(*listing));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!listing)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, listing);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	r = string_pool_init(&listing->origins, ORIGINS_BYTES_MAX);
	if (r < 0)
		return command_fail(&fault, r);
	output_init_fd(&listing->output, STDOUT_FILENO);
	json_init(&listing->json, &listing->output);
	r = list(listing, &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command symbols_list = {
	"symbols",
	"list",
	"what the cache has",
	help,
	run,
};
