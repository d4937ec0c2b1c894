/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_unwind.h"

#include "base/json.h"
#include "base/output.h"
#include "symbol/runtime_description.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char folder[] = "/" PILOTLIGHT_UNWIND_FOLDER;

int symbols_unwind_open(
	const struct symbol_cache *symbols, struct symbol_cache **ret_cache, struct fault *fault)
{
	const char *parent = symbol_cache_directory(symbols);
	size_t size = strlen(parent) + sizeof(folder);
	_cleanup_free_ char *directory = malloc(size);

	if (!directory)
		return -ENOMEM;
	(void)snprintf(directory, size, "%s%s", parent, folder);
	return symbols_open_folder(directory, SYMBOL_CACHE_BYTES_DEFAULT, false, ret_cache, fault);
}

int symbols_unwind_remove(const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	int r = symbols_unwind_open(symbols, &cache, fault);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_remove(cache, identity);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return fault_set(fault, r, "cannot remove the unwind table of %s: %s",
			symbol_identity_format(identity, text), strerror(-r));
	return 1;
}

int symbols_unwind_check(const char *path)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const struct pilotlight_runtime *runtime;
	struct unwind_table table;
	int r;

	if (fd < 0)
		return -errno;
	r = symbol_file_open(fd, &file);
	if (r < 0 || symbol_file_header(file)->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		return r;
	/* A symbol file in the place of a table is unusable, too. */
	if (unwind_table_init(&table, file) < 0)
		return -EBADMSG;
	r = runtime_description_find(file, &runtime);
	return r == -ENODATA ? 0 : r;
}

int symbols_unwind_find(struct symbols_unwind *unwind, const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r = symbols_unwind_open(symbols, &cache, fault);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_find(cache, identity, &unwind->file);
	if (r < 0)
		return r == -ENOENT ? 0
				    : fault_set(fault, r, "cannot read the unwind table: %s",
					      strerror(-r));
	if (symbol_file_header(unwind->file)->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		unwind->state = SYMBOLS_UNWIND_NONE;
	else
		unwind->state = unwind_table_init(&unwind->table, unwind->file) < 0
					? SYMBOLS_UNWIND_DAMAGED
					: SYMBOLS_UNWIND_TABLE;
	return 0;
}

void symbols_unwind_done(struct symbols_unwind *unwind)
{
	symbol_file_free(unwind->file);
	*unwind = (struct symbols_unwind){ 0 };
}

static double bytes_a_row(const struct unwind_table *table)
{
	uint32_t rows = table->summary->row_count;

	return rows > 0 ? (double)unwind_table_bytes(table) / rows : 0;
}

static bool keeps_frame_pointers(const struct unwind_table *table)
{
	return table->summary->flags & PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
}

static void write_table(const struct unwind_table *table, struct output *output)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint64_t bytes = unwind_table_bytes(table);
	char text[SHOWN_TEXT_BYTES_BYTES];

	output_printf(output, "unwinding  %" PRIu32 " functions", summary->function_count);
	if (summary->functions_failed > 0)
		output_printf(output, ", %" PRIu32 " left out", summary->functions_failed);
	output_printf(output,
		"\n  rows     %" PRIu32 " in %" PRIu32 " lines, %" PRIu32 " inferred, %" PRIu32
		" not supported"
		"\n  rules    %" PRIu32 ", rare ones in %" PRIu32 " rows"
		"\n  size     %s (%" PRIu64 " bytes)",
		summary->row_count, summary->line_count, summary->inferred_rows,
		summary->unsupported_rows, summary->rule_count, summary->escape_count,
		shown_text_bytes(bytes, text), bytes);
	if (summary->row_count > 0)
		output_printf(output, ", %.2f bytes a row", bytes_a_row(table));
	output_printf(output, "\n  frame pointers are %s\n",
		keeps_frame_pointers(table) ? "kept" : "not kept");
}

static const char *const anchor_words[PILOTLIGHT_RUNTIME_ANCHORS] = {
	[0] = "frame-pointer", /* of V8 */
	[PILOTLIGHT_RUNTIME_TLS] = "tls",
	[PILOTLIGHT_RUNTIME_TLS_SLOT] = "tls-slot",
	[PILOTLIGHT_RUNTIME_TLS_INDEX] = "tls-index",
	[PILOTLIGHT_RUNTIME_KEY] = "key",
	[PILOTLIGHT_RUNTIME_KEY_BEHIND] = "key-behind",
	[PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR] = "tls-descriptor",
	[PILOTLIGHT_RUNTIME_GLOBAL] = "global",
};

const char *symbols_unwind_refusal(uint32_t contents)
{
	if (contents & PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED)
		return "builds with compressed pointers are not supported";
	/* Other builds may be refused only because it is missing. */
	if (contents & PILOTLIGHT_SYMBOL_LACKS_DECODER)
		return "Zydis, which decodes its instructions, is not installed";
	if (contents & PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED)
		return "it is stripped and does not tell where V8's own functions are";
	return "this build is not understood";
}

static void write_runtime(const struct symbol_file *file, struct output *output)
{
	const struct pilotlight_runtime *runtime;
	uint32_t contents = symbol_file_header(file)->contents;
	char release[RUNTIME_RELEASE_BYTES];

	if (runtime_description_find(file, &runtime) == 0 &&
		runtime->language == PILOTLIGHT_RUNTIME_THREAD_CONTEXT)
		output_printf(output, "context    of OpenTelemetry, threads by %s\n",
			anchor_words[runtime->anchor]);
	else if (runtime_description_find(file, &runtime) == 0)
		output_printf(output, "runtime    %s %s, threads by %s\n",
			runtime_description_language(runtime),
			runtime_description_release(runtime, release),
			anchor_words[runtime->anchor]);
	else if (symbol_file_count(file, PILOTLIGHT_SYMBOL_RUNTIME) > 0)
		output_string(output, "runtime    none: the description is damaged\n");
	else if (contents & PILOTLIGHT_SYMBOL_LACKS_RUNTIME)
		output_printf(output, "runtime    none: %s\n", symbols_unwind_refusal(contents));
}

/* For symbols, the most common reason has another text. */
static const char *failure_text(const struct symbol_file *file)
{
	uint8_t failure = symbol_file_header(file)->failure;

	return failure == PILOTLIGHT_SYMBOL_NOTHING ? "it has no unwind information"
						    : symbols_text_failure(failure);
}

void symbols_unwind_write(const struct symbols_unwind *unwind, struct output *output)
{
	switch (unwind->state) {
	case SYMBOLS_UNWIND_UNKNOWN:
		output_string(output, "unwinding  no table in the cache\n");
		break;
	case SYMBOLS_UNWIND_NONE:
		output_printf(output, "unwinding  none: %s\n", failure_text(unwind->file));
		break;
	case SYMBOLS_UNWIND_DAMAGED:
		output_string(output, "unwinding  none: the table is damaged\n");
		break;
	case SYMBOLS_UNWIND_TABLE:
		write_table(&unwind->table, output);
		write_runtime(unwind->file, output);
		break;
	}
}

static void json_table(const struct unwind_table *table, struct json *json)
{
	const struct pilotlight_unwind_summary *summary = table->summary;

	json_member_u64(json, "functions", summary->function_count);
	json_member_u64(json, "functions_failed", summary->functions_failed);
	json_member_u64(json, "rows", summary->row_count);
	json_member_u64(json, "rows_inferred", summary->inferred_rows);
	json_member_u64(json, "rows_unsupported", summary->unsupported_rows);
	json_member_u64(json, "lines", summary->line_count);
	json_member_u64(json, "rules", summary->rule_count);
	json_member_u64(json, "escapes", summary->escape_count);
	json_member_u64(json, "bytes", unwind_table_bytes(table));
	json_key(json, "bytes_per_row");
	json_seconds(json, bytes_a_row(table));
	json_member_bool(json, "keeps_frame_pointers", keeps_frame_pointers(table));
}

static void json_runtime(const struct symbol_file *file, struct json *json)
{
	const struct pilotlight_runtime *runtime;
	char release[RUNTIME_RELEASE_BYTES];

	json_key(json, "runtime");
	if (runtime_description_find(file, &runtime) < 0) {
		json_null(json);
		return;
	}
	json_begin_object(json);
	json_member_string(json, "language", runtime_description_word(runtime));
	if (runtime->language == PILOTLIGHT_RUNTIME_PYTHON ||
		runtime->language == PILOTLIGHT_RUNTIME_RUBY ||
		runtime->language == PILOTLIGHT_RUNTIME_PHP ||
		runtime->language == PILOTLIGHT_RUNTIME_PERL)
		json_member_string(json, "release", runtime_description_release(runtime, release));
	json_member_string(json, "anchor", anchor_words[runtime->anchor]);
	json_end_object(json);
}

void symbols_unwind_json(const struct symbols_unwind *unwind, struct json *json)
{
	const struct pilotlight_symbol_header *header;

	if (unwind->state == SYMBOLS_UNWIND_UNKNOWN) {
		json_null(json);
		return;
	}
	header = symbol_file_header(unwind->file);
	json_begin_object(json);
	if (unwind->state == SYMBOLS_UNWIND_TABLE) {
		json_member_string(json, "source", symbols_text_rank_word(header->rank));
		json_table(&unwind->table, json);
		json_runtime(unwind->file, json);
	} else {
		json_member_string(json, "source", "none");
		json_member_string(json, "reason",
			symbols_text_failure_word(unwind->state == SYMBOLS_UNWIND_DAMAGED
							  ? PILOTLIGHT_SYMBOL_DAMAGED
							  : header->failure));
	}
	json_end_object(json);
}
