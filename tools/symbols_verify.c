/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "tools/symbols_command.h"
#include "tools/symbols_text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight symbols verify [--remove] [--cache DIR] [--json]\n"
	"\n"
	"Reads every symbol file and compares it with its checksums. Names those that are\n"
	"damaged or cannot be read, and exits with 1 if there are any. Damaged files are never\n"
	"believed, verified or not; those of another version are only counted.\n"
	"\n"
	"  --remove      remove the damaged ones\n"
	"  --cache DIR   the symbol cache\n"
	"  --json        an object a symbol file, on a line\n"
	"  -h, --help    this\n";

enum { OPTION_REMOVE = 256 };

struct verification {
	struct symbols_options options;
	bool is_removing;
	struct symbol_cache *cache;
	struct symbols_progress progress;
	uint64_t count, bytes, damaged, unreadable, other_versions;
	struct output output;
	struct json json;
};

static void verification_free(struct verification *verification)
{
	symbol_cache_free(verification->cache);
	free(verification);
}
DEFINE_CLEANUP(struct verification, verification_free);

static enum symbols_parse parse(const struct symbols_command *command, int argc, char **argv,
	struct verification *verification)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "remove", no_argument, NULL, OPTION_REMOVE },
		{ 0 },
	};
	enum symbols_parse r = SYMBOLS_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option == OPTION_REMOVE)
			verification->is_removing = true;
		else
			r = symbols_take_option(command, option, &verification->options);
		if (r != SYMBOLS_PARSE_RUN)
			return r;
	}
	return symbols_check_arguments(command, argc, argv, 0, 0, "");
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

static void print_json(
	struct verification *verification, const struct symbol_cache_entry *entry, bool is_removed)
{
	struct json *json = &verification->json;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_begin_object(json);
	json_key(json, "identity");
	json_string(json, symbol_identity_format(&entry->identity, text));
	json_key(json, "path");
	json_string(json, entry->path);
	json_key(json, "bytes");
	json_u64(json, entry->bytes);
	json_key(json, "state");
	json_string(json, word_of(entry->error));
	json_key(json, "removed");
	json_bool(json, is_removed);
	json_end_object(json);
	json_end_line(json);
}

/* `removal` is 0, -errno, or 1 where it was not tried. */
static void print(
	struct verification *verification, const struct symbol_cache_entry *entry, int removal)
{
	struct output *output = &verification->output;
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	symbols_progress_clear(&verification->progress);
	if (verification->options.is_json) {
		print_json(verification, entry, removal == 0);
		return;
	}
	if (entry->error == 0 || entry->error == -EPROTONOSUPPORT)
		return;
	output_printf(output, "%s: ", symbol_identity_format(&entry->identity, text));
	if (entry->error == -EBADMSG && removal < 0)
		output_printf(output, "damaged, and cannot be removed: %s", strerror(-removal));
	else if (entry->error == -EBADMSG)
		output_string(output, removal == 0 ? "damaged, removed" : "damaged");
	else
		output_printf(output, "cannot be read: %s", strerror(-entry->error));
	output_string(output, " (");
	symbols_text_write(output, entry->path);
	output_string(output, ")\n");
}

static int visit(void *context, const struct symbol_cache_entry *entry)
{
	struct verification *verification = context;
	int removal = 1;

	if (entry->error == -EBADMSG) {
		verification->damaged++;
		if (verification->is_removing)
			removal = symbol_cache_remove(verification->cache, &entry->identity);
	} else if (entry->error == -EPROTONOSUPPORT) {
		verification->other_versions++;
	} else if (entry->error < 0) {
		verification->unreadable++;
	}
	verification->count++;
	verification->bytes += entry->bytes;
	print(verification, entry, removal);
	if (symbols_progress_is_due(&verification->progress))
		symbols_progress_show(&verification->progress,
			"%" PRIu64 " symbol files, %" PRIu64 " MiB", verification->count,
			verification->bytes >> 20);
	return verification->output.error;
}

static void print_sum(struct verification *verification)
{
	char bytes[SYMBOLS_TEXT_BYTES_BYTES];
	struct output *output = &verification->output;

	output_printf(output,
		"%" PRIu64 " symbol files of %s: %" PRIu64 " damaged, %" PRIu64 " unreadable",
		verification->count, symbols_text_bytes(verification->bytes, bytes),
		verification->damaged, verification->unreadable);
	if (verification->other_versions > 0)
		output_printf(
			output, ", %" PRIu64 " of another version", verification->other_versions);
	output_char(output, '\n');
}

static int verify(struct verification *verification, struct fault *fault)
{
	int r;

	r = symbols_open_cache(&verification->options, SYMBOL_CACHE_BYTES_DEFAULT, false,
		&verification->cache, fault);
	if (r < 0 && r != -ENOENT)
		return r;
	symbols_progress_init(&verification->progress);
	r = verification->cache ? symbol_cache_each(verification->cache, true, visit, verification)
				: 0;
	symbols_progress_clear(&verification->progress);
	if (r < 0 && verification->output.error == 0)
		return fault_set(fault, r, "cannot read the symbol cache '%s': %s",
			symbol_cache_directory(verification->cache), strerror(-r));
	if (!verification->options.is_json)
		print_sum(verification);
	return symbols_finish_output(&verification->output, fault);
}

static int run(const struct symbols_command *command, int argc, char **argv)
{
	_cleanup_(verification_freep) struct verification *verification =
		calloc(1, sizeof(*verification));
	struct fault fault = { 0 };
	enum symbols_parse parsed;
	int r;

	if (!verification)
		return symbols_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, verification);
	if (parsed != SYMBOLS_PARSE_RUN)
		return symbols_parse_status(parsed);
	output_init_fd(&verification->output, STDOUT_FILENO);
	json_init(&verification->json, &verification->output);
	r = verify(verification, &fault);
	if (r < 0)
		return symbols_fail(&fault, r);
	return verification->damaged || verification->unreadable ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct symbols_command symbols_verify = {
	"verify",
	"check every symbol file against its checksums",
	help,
	run,
};
