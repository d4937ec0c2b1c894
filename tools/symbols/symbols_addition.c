/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_addition.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "symbol/elf_image.h"
#include "symbolize/debug_files.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

static int read_image(const char *path, int fd, struct elf_image *ret_image, struct fault *fault)
{
	int r = elf_image_read(fd, ret_image);

	if (r == -ENOEXEC)
		return fault_set(fault, r,
			"'%s' is not an ELF file, or a damaged one; nothing was added", path);
	if (r < 0)
		return fault_set(
			fault, r, "cannot read the headers of '%s': %s", path, strerror(-r));
	return 0;
}

/* Opens the debug file given by --debug and compares its identity with the binary's. */
static int open_debug_file(
	const char *path, const struct elf_image *image, int *ret_fd, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	char expected[BUILD_ID_HEX_BYTES], found[BUILD_ID_HEX_BYTES];
	struct elf_image debug;
	int r;

	r = symbols_argument_open(path, &fd, fault);
	if (r == 0)
		r = read_image(path, fd, &debug, fault);
	if (r < 0)
		return r;
	if (image->build_id.size > 0 && debug.build_id.size > 0 &&
		!build_id_equal(&image->build_id, &debug.build_id))
		return fault_set(fault, -EINVAL,
			"'%s' belongs to another binary: its build-id is %s, and the binary's %s",
			path, build_id_format(&debug.build_id, found),
			build_id_format(&image->build_id, expected));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/*
 * The cached symbols are not good enough if they are empty, since an explicit `add` is a request to
 * try again; or if they were extracted without the debug file that is given now.
 */
static bool has_to_be_made(const struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, int fd)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	uint8_t rank;

	if (settings->is_forced || settings->debug_path)
		return true;
	if (symbol_cache_find(settings->cache, &addition->identity, &file) < 0)
		return false;
	rank = symbol_file_header(file)->rank;
	return rank == PILOTLIGHT_SYMBOL_RANK_NONE ||
	       (rank < PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE && debug_files_is_debug_file(fd));
}

static int request_symbols(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, const struct symbol_binary *binary,
	struct fault *fault)
{
	struct symbolizer_options options = {
		.cache = settings->cache,
		.broker = settings->broker,
		.workers = settings->workers,
		.is_forced = has_to_be_made(addition, settings, binary->fd),
		.takes_debug_files = true,
	};
	int r;

	options.workers.workers_max = 1;
	r = symbolizer_new(&options, &addition->symbolizer);
	if (r == 0) {
		symbolizer_hurry(addition->symbolizer);
		r = symbolizer_request(addition->symbolizer, binary);
	}
	if (r < 0)
		return fault_set(
			fault, r, "cannot begin with '%s': %s", addition->name, strerror(-r));
	return 0;
}

static int identify(struct symbols_addition *addition, const struct elf_image *image, int fd,
	struct fault *fault)
{
	int r;

	if (image->build_id.size == 0 && debug_files_is_debug_file(fd))
		return fault_set(fault, -ENODATA,
			"the debug file '%s' has no build-id, so name its binary: `pilotlight "
			"symbols add --debug '%s' BINARY`",
			addition->name, addition->name);
	r = symbol_identity_of_binary(fd, &image->build_id, &addition->identity);
	if (r < 0)
		return fault_set(fault, r, "cannot read '%s': %s", addition->name, strerror(-r));
	return 0;
}

/* The table may be the reason for --force; the next recording makes it again. */
static int remove_table(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct fault *fault)
{
	int r = symbols_unwind_remove(settings->cache, &addition->identity, fault);

	addition->has_removed_table = r > 0;
	return r < 0 ? r : 0;
}

static int start(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct fault *fault)
{
	_cleanup_free_ char *debug_path = NULL;
	_cleanup_close_ int fd = -1, debug_fd = -1;
	struct elf_image image;
	int r;

	r = symbols_argument_open(addition->name, &fd, fault);
	if (r == 0)
		r = read_image(addition->name, fd, &image, fault);
	if (r == 0)
		r = identify(addition, &image, fd, fault);
	if (r == 0 && settings->is_forced)
		r = remove_table(addition, settings, fault);
	if (r == 0 && settings->debug_path)
		r = open_debug_file(settings->debug_path, &image, &debug_fd, fault);
	if (r < 0)
		return r;
	/* Absolute, since its own links are relative to its folder; without it they are not found.
	 */
	if (settings->debug_path)
		debug_path = realpath(settings->debug_path, NULL);
	return request_symbols(addition, settings,
		&(struct symbol_binary){
			.build_id = image.build_id,
			.path = addition->path,
			.fd = fd,
			.debug_fd = debug_fd,
			.debug_path = debug_path,
		},
		fault);
}

int symbols_addition_start(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, const char *name, struct fault *fault)
{
	int r;

	*addition = (struct symbols_addition){
		.path = realpath(name, NULL),
		.name = name,
		.started_ns = clock_monotonic_ns(),
	};
	if (!addition->path)
		return fault_set(fault, -errno, "cannot open '%s': %s", name, strerror(errno));
	r = start(addition, settings, fault);
	if (r < 0)
		symbols_addition_done(addition);
	return r;
}

void symbols_addition_done(struct symbols_addition *addition)
{
	symbolizer_free(addition->symbolizer);
	addition->symbolizer = NULL;
	free(addition->path);
	addition->path = NULL;
}

int symbols_addition_poll_fd(const struct symbols_addition *addition)
{
	return symbolizer_poll_fd(addition->symbolizer);
}

int symbols_addition_run(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct fault *fault)
{
	struct symbol_cache_counters before, after;
	struct symbolizer_outcome outcome;
	int r;

	symbol_cache_counters(settings->cache, &before);
	r = symbolizer_run(addition->symbolizer);
	symbol_cache_counters(settings->cache, &after);
	addition->was_refused |= after.refused > before.refused;
	if (r == 0)
		r = symbolizer_outcome(addition->symbolizer, &addition->identity, &outcome);
	if (r < 0)
		return fault_set(fault, r, "cannot wait for the worker of '%s': %s", addition->name,
			strerror(-r));
	return outcome.is_pending ? 0 : 1;
}

static int explain(const struct symbols_addition *addition,
	const struct symbolizer_outcome *outcome, struct fault *fault)
{
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	bool has_error =
		outcome->error < 0 && (outcome->failure == PILOTLIGHT_SYMBOL_UNREADABLE ||
					      outcome->failure == PILOTLIGHT_SYMBOL_NO_SPACE);

	(void)symbol_identity_format(&addition->identity, text);
	return fault_set(fault, -ENODATA, "no symbols of '%s' (%s): %s%s%s; %s", addition->name,
		text, symbols_text_failure((uint8_t)outcome->failure), has_error ? ": " : "",
		has_error ? strerror(-outcome->error) : "",
		symbols_text_remedy((uint8_t)outcome->failure));
}

int symbols_added_read(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbols_added *ret_added)
{
	struct symbols_added added = { 0 };
	int r;

	r = symbol_cache_find(cache, identity, &added.file);
	if (r == 0 && symbol_file_header(added.file)->rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
		symbol_file_free(added.file);
		r = -ENOENT;
	}
	if (r < 0)
		return r;
	symbols_text_count_frames(added.file, &added.functions, &added.inlined);
	added.lines = symbol_file_count(added.file, PILOTLIGHT_SYMBOL_ROWS);
	*ret_added = added;
	return 0;
}

void symbols_added_done(struct symbols_added *added)
{
	symbol_file_free(added->file);
	added->file = NULL;
}

void symbols_added_write_json(struct json *json, const struct symbols_added *added)
{
	const struct pilotlight_symbol_header *header = symbol_file_header(added->file);
	struct symbol_identity identity = symbol_file_identity(added->file);
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	json_member_string(json, "identity", symbol_identity_format(&identity, text));
	json_member_string(json, "source", symbols_text_rank_word(header->rank));
	json_key(json, "contents");
	symbols_text_json_contents(json, header->contents);
	json_member_u64(json, "functions", added->functions);
	json_member_u64(json, "inlined", added->inlined);
	json_member_u64(json, "lines", added->lines);
	json_member_u64(json, "bytes", header->file_bytes);
	symbols_text_json_losses(json, header);
	json_key(json, "seconds");
	json_seconds(json, (double)added->elapsed_ns / 1e9);
	json_key(json, "cpu_seconds");
	json_seconds(json, (double)added->worker_cpu_ns / 1e9);
}

void symbols_added_write(struct output *output, const struct symbols_added *added)
{
	const struct pilotlight_symbol_header *header = symbol_file_header(added->file);
	struct symbol_identity identity = symbol_file_identity(added->file);
	char text[SYMBOL_IDENTITY_TEXT_BYTES], bytes[SHOWN_TEXT_BYTES_BYTES];

	output_printf(output,
		"%s, %s from %s: %" PRIu64 " functions, %" PRIu64 " inlined, %" PRIu64 " lines, %s",
		symbol_identity_format(&identity, text),
		added->result == SYMBOLS_ADDITION_ADDED ? "added" : "kept what was there",
		symbols_text_rank(header->rank), added->functions, added->inlined, added->lines,
		shown_text_bytes(header->file_bytes, bytes));
	if (added->result == SYMBOLS_ADDITION_ADDED)
		output_printf(output, ", in %.2f s", (double)added->elapsed_ns / 1e9);
	if (symbols_text_has_losses(header)) {
		output_string(output, "; left out: ");
		symbols_text_write_losses(output, header);
	}
}

int symbols_addition_finish(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct symbols_added *ret_added,
	enum pilotlight_symbol_failure *ret_failure, struct fault *fault)
{
	struct symbolizer_outcome outcome;
	struct symbols_added added;
	int r;

	r = symbolizer_outcome(addition->symbolizer, &addition->identity, &outcome);
	if (r < 0)
		return fault_set(
			fault, r, "nothing is known of '%s': %s", addition->name, strerror(-r));
	if (outcome.failure != PILOTLIGHT_SYMBOL_OK) {
		*ret_failure = outcome.failure;
		return explain(addition, &outcome, fault);
	}
	r = symbols_added_read(settings->cache, &addition->identity, &added);
	if (r < 0) {
		*ret_failure = PILOTLIGHT_SYMBOL_UNREADABLE;
		return fault_set(fault, r,
			"the symbols of '%s' could not be kept in '%s'; is there space, and may "
			"you write to it?",
			addition->name, symbol_cache_directory(settings->cache));
	}
	added.result = outcome.was_cached || addition->was_refused ? SYMBOLS_ADDITION_KEPT
								   : SYMBOLS_ADDITION_ADDED;
	added.elapsed_ns = clock_monotonic_ns() - addition->started_ns;
	added.worker_cpu_ns = outcome.worker_cpu_ns;
	*ret_added = added;
	return 0;
}
