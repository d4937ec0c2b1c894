/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The results for one folder. */
struct sum {
	uint64_t count, bytes, damaged, unreadable, other_versions;
};

struct verification {
	struct symbols_invocation symbols;
	bool is_removing;
	struct symbol_cache *files, *tables; /* owned; NULL: there is none */
	struct symbols_progress progress;
	struct sum symbols_sum, tables_sum;
	bool is_at_tables; /* else at symbol files */
};

static void done(void *invocation)
{
	struct verification *verification = invocation;

	symbol_cache_free(verification->files);
	symbol_cache_free(verification->tables);
}

static const char *word_of(int error)
{
	switch (error) {
	case 0:
		return "ok";
	case -EBADMSG:
		return "damaged";
	case -EPROTONOSUPPORT:
		return "other-version";
	default:
		return "unreadable";
	}
}

static void print_json(struct verification *verification, const struct symbol_cache_entry *entry,
	int error, bool is_removed)
{
	struct json *json = &verification->symbols.base.json;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_member_string(json, "identity", symbol_identity_format(&entry->identity, text));
	json_member_string(json, "kind", verification->is_at_tables ? "unwind" : "symbols");
	json_member_string(json, "path", entry->path);
	json_member_u64(json, "bytes", entry->bytes);
	json_member_string(json, "state", word_of(error));
	json_member_bool(json, "removed", is_removed);
	json_end_object(json);
	json_end_line(json);
}

/* `removal` is 0, -errno, or 1 if it was not tried. */
static void print(struct verification *verification, const struct symbol_cache_entry *entry,
	int error, int removal)
{
	struct output *output = &verification->symbols.base.output;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	symbols_progress_clear(&verification->progress);
	if (verification->symbols.base.is_json) {
		print_json(verification, entry, error, removal == 0);
		return;
	}
	if (error == 0 || error == -EPROTONOSUPPORT)
		return;
	output_printf(output, "%s: ", symbol_identity_format(&entry->identity, text));
	if (error == -EBADMSG && removal < 0)
		output_printf(output, "damaged, and cannot be removed: %s", strerror(-removal));
	else if (error == -EBADMSG)
		output_string(output, removal == 0 ? "damaged, removed" : "damaged");
	else
		output_printf(output, "cannot be read: %s", strerror(-error));
	output_string(output, " (");
	shown_text_string(output, entry->path);
	output_string(output, ")\n");
}

static int visit(void *context, const struct symbol_cache_entry *entry)
{
	struct verification *verification = context;
	bool is_table = verification->is_at_tables;
	struct sum *sum = is_table ? &verification->tables_sum : &verification->symbols_sum;
	int error = entry->error, removal = 1;

	if (error == 0 && is_table)
		error = symbols_unwind_check(entry->path);
	if (error == -ENOMEM)
		return error;
	if (error == -ENOENT) /* removed meanwhile */
		return 0;
	if (error == -EBADMSG) {
		sum->damaged++;
		if (verification->is_removing)
			removal = symbol_cache_remove(
				is_table ? verification->tables : verification->files,
				&entry->identity);
	} else if (error == -EPROTONOSUPPORT) {
		sum->other_versions++;
	} else if (error < 0) {
		sum->unreadable++;
	}
	sum->count++;
	sum->bytes += entry->bytes;
	print(verification, entry, error, removal);
	if (symbols_progress_is_due(&verification->progress))
		symbols_progress_show(&verification->progress, "%" PRIu64 " %s, %" PRIu64 " MiB",
			sum->count, is_table ? "unwind tables" : "symbol files", sum->bytes >> 20);
	return verification->symbols.base.output.error;
}

static void print_sum(struct output *output, const char *what, const struct sum *sum)
{
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	output_printf(output, "%" PRIu64 " %s of %s: %" PRIu64 " damaged, %" PRIu64 " unreadable",
		sum->count, what, shown_text_bytes(sum->bytes, bytes), sum->damaged,
		sum->unreadable);
	if (sum->other_versions > 0)
		output_printf(output, ", %" PRIu64 " of another version", sum->other_versions);
	output_char(output, '\n');
}

static int verify_folder(
	struct verification *verification, struct symbol_cache *cache, struct fault *fault)
{
	int r;

	symbols_progress_init(&verification->progress);
	r = symbol_cache_each(cache, true, visit, verification);
	symbols_progress_clear(&verification->progress);
	if (r < 0 && verification->symbols.base.output.error == 0)
		return fault_set(fault, r, "cannot read the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	return 0;
}

static int open_folders(struct verification *verification, struct fault *fault)
{
	int r = symbols_open_cache(&verification->symbols, SYMBOL_CACHE_BYTES_DEFAULT, false,
		&verification->files, fault);

	if (r == 0)
		r = symbols_unwind_open(verification->files, &verification->tables, fault);
	return r == -ENOENT ? 0 : r;
}

static int verify(struct verification *verification)
{
	struct fault *fault = &verification->symbols.base.fault;
	int r = open_folders(verification, fault);

	if (r == 0 && verification->files)
		r = verify_folder(verification, verification->files, fault);
	verification->is_at_tables = true;
	if (r == 0 && verification->tables)
		r = verify_folder(verification, verification->tables, fault);
	if (r < 0)
		return r;
	if (!verification->symbols.base.is_json) {
		print_sum(&verification->symbols.base.output, "symbol files",
			&verification->symbols_sum);
		if (verification->tables)
			print_sum(&verification->symbols.base.output, "unwind tables",
				&verification->tables_sum);
	}
	return command_flush(&verification->symbols.base);
}

static bool has_found_damage(const struct verification *verification)
{
	return verification->symbols_sum.damaged || verification->symbols_sum.unreadable ||
	       verification->tables_sum.damaged || verification->tables_sum.unreadable;
}

static int run(void *invocation)
{
	struct verification *verification = invocation;
	int r = verify(verification);

	return r == 0 && has_found_damage(verification) ? EXIT_FAILURE : r;
}

static const struct option_row options[] = {
	{ 0, "remove", NULL, "Remove the damaged files.", OPTION_SET,
		.offset = offsetof(struct verification, is_removing) },
	{ 0 },
};

const struct command symbols_verify = {
	.name = "symbols verify",
	.summary = "check every symbol file and unwind table",
	.synopsis = "[OPTION...]",
	.description = "Compare every symbol file and unwind table with its checksums, and check "
		       "what each table contains. Print the damaged and the unreadable ones; the "
		       "exit status is 1 if there are any. Damaged files are never used, verified "
		       "or not. Files of another version are only counted.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.bytes = sizeof(struct verification),
	.run = run,
	.done = done,
};
