/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "export/gsym.h"
#include "tools/output_file.h"
#include "tools/symbols/symbols_command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: pilotlight symbols export --gsym -o FILE [--cache DIR] [--json] BUILD-ID\n"
	"\n"
	"Writes the symbols of a binary in a format of others: GSYM version 1, which\n"
	"llvm-gsymutil and LLVM's libraries read.\n"
	"\n"
	"  --gsym             the format\n"
	"  -o, --output FILE  where to; `-` is standard output\n"
	"  --cache DIR        the symbol cache\n"
	"  --json             say what was written as an object\n"
	"  -h, --help         this\n";

enum { OPTION_GSYM = 256 };

struct exporting {
	struct symbols_options options;
	bool is_gsym;
	const char *path;
	struct symbol_cache *cache;
	struct symbol_file *file;
	struct output_file *output_file;
	struct output output;
};

static void exporting_free(struct exporting *exporting)
{
	output_file_free(exporting->output_file);
	symbol_file_free(exporting->file);
	symbol_cache_free(exporting->cache);
	free(exporting);
}
DEFINE_CLEANUP(struct exporting, exporting_free);

static enum command_parse check(const struct command *command, const struct exporting *exporting)
{
	if (!exporting->is_gsym)
		return command_wrong(
			command, "a format is needed, of which there is one:", "--gsym");
	if (!exporting->path || !*exporting->path)
		return command_wrong(command, "a file to write to is needed:", "-o");
	if (exporting->options.is_json && strcmp(exporting->path, "-") == 0)
		return command_wrong(
			command, "--json needs standard output, which is taken by", "-o -");
	return COMMAND_PARSE_RUN;
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct exporting *exporting)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "gsym", no_argument, NULL, OPTION_GSYM },
		{ "output", required_argument, NULL, 'o' },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "ho:", long_options, NULL)) >= 0) {
		if (option == OPTION_GSYM)
			exporting->is_gsym = true;
		else if (option == 'o')
			exporting->path = optarg;
		else
			r = symbols_take_option(command, option, &exporting->options);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	r = command_check_arguments(command, argc, argv, 1, 1, "a build-id");
	return r == COMMAND_PARSE_RUN ? check(command, exporting) : r;
}

static int tell(struct exporting *exporting, uint64_t written_bytes, struct fault *fault)
{
	struct symbol_identity identity = symbol_file_identity(exporting->file);
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	struct json json;

	if (!exporting->options.is_json)
		return 0;
	output_init_fd(&exporting->output, STDOUT_FILENO);
	json_init(&json, &exporting->output);
	json_begin_object(&json);
	json_key(&json, "identity");
	json_string(&json, symbol_identity_format(&identity, text));
	json_key(&json, "format");
	json_string(&json, "gsym");
	json_key(&json, "file");
	json_string(&json, exporting->path);
	json_key(&json, "bytes");
	json_u64(&json, written_bytes);
	json_end_object(&json);
	json_end_line(&json);
	return command_finish_output(&exporting->output, fault);
}

static const char *explain(int error)
{
	switch (error) {
	case -ENODATA:
		return "there is no function in it";
	case -EBADMSG:
		return "its tables are out of order; `pilotlight symbols add --force` makes it "
		       "anew";
	case -EFBIG:
		return "it is more than the format holds";
	default:
		return strerror(-error);
	}
}

static int export_file(struct exporting *exporting, const char *text, struct fault *fault)
{
	uint64_t written_bytes;
	int r, error, fd;

	r = symbols_open(&exporting->options, text, &exporting->cache, &exporting->file, fault);
	if (r == 0)
		r = output_file_open(exporting->path, &exporting->output_file, fault);
	if (r == 0)
		r = output_file_begin(exporting->output_file, &fd, fault);
	if (r < 0)
		return r;
	output_init_fd(&exporting->output, fd);
	r = gsym_write(exporting->file, &exporting->output);
	error = output_finish(&exporting->output);
	written_bytes = exporting->output.written_bytes;
	if (r < 0 && error == 0)
		return fault_set(fault, r, "cannot write '%s' as GSYM: %s", text, explain(r));
	r = output_file_commit(exporting->output_file, error, fault);
	return r < 0 ? r : tell(exporting, written_bytes, fault);
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(exporting_freep) struct exporting *exporting = calloc(1, sizeof(*exporting));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!exporting)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, exporting);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	r = export_file(exporting, argv[optind], &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command symbols_export = {
	"symbols",
	"export",
	"write the symbols of a binary as GSYM",
	help,
	run,
};
