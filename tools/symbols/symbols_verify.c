/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_command.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight symbols verify [--remove] [--cache DIR] [--json]\n"
	"\n"
	"Reads every symbol file and unwind table and compares it with its checksums, and what\n"
	"a table says with what one may say. Names those that are damaged or cannot be read, and\n"
	"exits with 1 if there are any. Damaged files are never believed, verified or not; those\n"
	"of another version are only counted.\n"
	"\n"
	"  --remove      remove the damaged ones\n"
	"  --cache DIR   the symbol cache\n"
	"  --json        an object a file, on a line\n"
	"  -h, --help    this\n";

enum { OPTION_REMOVE = 256 };

/* What has been found in one folder. */
struct sum {
	uint64_t count, bytes, damaged, unreadable, other_versions;
};

struct verification {
	struct symbols_options options;
	bool is_removing;
	struct symbol_cache *symbols, *tables; /* owned; NULL: there is none */
	struct symbols_progress progress;
	struct sum symbols_sum, tables_sum;
	bool is_at_tables; /* else at symbol files */
	struct output output;
	struct json json;
};

static void verification_free(struct verification *verification)
{
	symbol_cache_free(verification->symbols);
	symbol_cache_free(verification->tables);
	free(verification);
}
DEFINE_CLEANUP(struct verification, verification_free);

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct verification *verification)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "remove", no_argument, NULL, OPTION_REMOVE },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option == OPTION_REMOVE)
			verification->is_removing = true;
		else
			r = symbols_take_option(command, option, &verification->options);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 0, 0, "");
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
	struct json *json = &verification->json;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_key(json, "identity");
	json_string(json, symbol_identity_format(&entry->identity, text));
	json_key(json, "kind");
	json_string(json, verification->is_at_tables ? "unwind" : "symbols");
	json_key(json, "path");
	json_string(json, entry->path);
	json_key(json, "bytes");
	json_u64(json, entry->bytes);
	json_key(json, "state");
	json_string(json, word_of(error));
	json_key(json, "removed");
	json_bool(json, is_removed);
	json_end_object(json);
	json_end_line(json);
}

/* `removal` is 0, -errno, or 1 where it was not tried. */
static void print(struct verification *verification, const struct symbol_cache_entry *entry,
	int error, int removal)
{
	struct output *output = &verification->output;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	symbols_progress_clear(&verification->progress);
	if (verification->options.is_json) {
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
	if (error == -ENOENT) /* it has gone meanwhile */
		return 0;
	if (error == -EBADMSG) {
		sum->damaged++;
		if (verification->is_removing)
			removal = symbol_cache_remove(
				is_table ? verification->tables : verification->symbols,
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
	return verification->output.error;
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
	if (r < 0 && verification->output.error == 0)
		return fault_set(fault, r, "cannot read the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	return 0;
}

static int open_folders(struct verification *verification, struct fault *fault)
{
	int r = symbols_open_cache(&verification->options, SYMBOL_CACHE_BYTES_DEFAULT, false,
		&verification->symbols, fault);

	if (r == 0)
		r = symbols_unwind_open(verification->symbols, &verification->tables, fault);
	return r == -ENOENT ? 0 : r;
}

static int verify(struct verification *verification, struct fault *fault)
{
	int r = open_folders(verification, fault);

	if (r == 0 && verification->symbols)
		r = verify_folder(verification, verification->symbols, fault);
	verification->is_at_tables = true;
	if (r == 0 && verification->tables)
		r = verify_folder(verification, verification->tables, fault);
	if (r < 0)
		return r;
	if (!verification->options.is_json) {
		print_sum(&verification->output, "symbol files", &verification->symbols_sum);
		if (verification->tables)
			print_sum(
				&verification->output, "unwind tables", &verification->tables_sum);
	}
	return command_finish_output(&verification->output, fault);
}

static bool has_found_damage(const struct verification *verification)
{
	return verification->symbols_sum.damaged || verification->symbols_sum.unreadable ||
	       verification->tables_sum.damaged || verification->tables_sum.unreadable;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(verification_freep) struct verification *verification =
		calloc(1, sizeof(*verification));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!verification)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, verification);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	output_init_fd(&verification->output, STDOUT_FILENO);
	json_init(&verification->json, &verification->output);
	r = verify(verification, &fault);
	if (r < 0)
		return command_fail(&fault, r);
	return has_found_damage(verification) ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command symbols_verify = {
	"symbols",
	"verify",
	"check every symbol file and unwind table",
	help,
	run,
};
