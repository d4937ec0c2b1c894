/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_symbols.h"

#include "base/line_reader.h"
#include "resolve/kallsyms_line.h"
#include "resolve/kernel_images.h"
#include "resolve/symbol_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Symbol names have at most 512 bytes, but a line of /proc/modules also lists all users of
	   the module. */
	LINE_BYTES_MAX = 64 * 1024,
	TEXT_BYTES_MAX = 64 << 20,
};

struct kernel_symbols {
	struct broker *broker;
	struct kernel_images images;
	struct symbol_snapshot snapshot;
};

/* Handles one line of a file. Returns 0, or -errno to stop reading. */
typedef int (*line_function)(struct kernel_symbols *symbols, struct symbol_snapshot *snapshot,
	const char *line, size_t size);

int kernel_symbols_new(struct broker *broker, struct kernel_symbols **ret_symbols)
{
	_cleanup_free_ struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	int r;

	if (!symbols)
		return -ENOMEM;
	symbols->broker = broker;
	r = kernel_images_init(&symbols->images);
	if (r < 0)
		return r;
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	symbol_snapshot_done(&symbols->snapshot);
	kernel_images_done(&symbols->images);
	free(symbols);
}

static int read_lines(struct kernel_symbols *symbols, struct symbol_snapshot *snapshot,
	enum broker_kernel_file file, line_function take_line)
{
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	_cleanup_close_ int fd = -1;
	const char *line;
	size_t size;
	int r = broker_open_kernel_file(symbols->broker, file, &fd);

	if (r < 0)
		return r;
	r = line_reader_init(&reader, fd, LINE_BYTES_MAX, TEXT_BYTES_MAX);
	if (r < 0)
		return r;
	while ((r = line_reader_next(&reader, &line, &size)) > 0) {
		r = take_line(symbols, snapshot, line, size);
		if (r < 0)
			return r;
	}
	return r;
}

static int take_module(struct kernel_symbols *symbols, struct symbol_snapshot *snapshot,
	const char *text, size_t size)
{
	struct kallsyms_line line;
	uint32_t image;
	int r;

	if (modules_line_parse(text, size, &line) < 0)
		return 0;
	r = kernel_images_intern(
		&symbols->images, KERNEL_IMAGE_MODULE, line.name, line.name_size, &image);
	if (r == 0)
		r = kernel_images_read_build_id(&symbols->images, symbols->broker, &image);
	if (r == 0)
		r = symbol_snapshot_set_start(snapshot, image, line.address);
	return r == -E2BIG ? 0 : r;
}

static int take_symbol(struct kernel_symbols *symbols, struct symbol_snapshot *snapshot,
	const char *text, size_t size)
{
	return symbol_snapshot_add(snapshot, &symbols->images, text, size);
}

static int replace_snapshot(struct kernel_symbols *symbols, struct symbol_snapshot *snapshot)
{
	int r = symbol_snapshot_seal(snapshot);

	if (r < 0)
		return r;
	symbol_snapshot_done(&symbols->snapshot);
	symbols->snapshot = *snapshot;
	*snapshot = (struct symbol_snapshot){ 0 };
	return 0;
}

int kernel_symbols_renew(struct kernel_symbols *symbols)
{
	_cleanup_(symbol_snapshot_done) struct symbol_snapshot snapshot = { 0 };
	uint32_t kernel = 0;
	int r = kernel_images_read_build_id(&symbols->images, symbols->broker, &kernel);

	if (r < 0)
		return r;
	r = symbol_snapshot_expect(&snapshot, &symbols->snapshot);
	if (r < 0)
		return r;
	/* A kernel without modules lacks this file. Without it a module starts at its lowest
	 * symbol.
	 */
	r = read_lines(symbols, &snapshot, BROKER_MODULES, take_module);
	if (r == -ENOMEM)
		return r;
	r = read_lines(symbols, &snapshot, BROKER_KALLSYMS, take_symbol);
	if (r < 0)
		return r;
	return replace_snapshot(symbols, &snapshot);
}

int kernel_symbols_parse(struct kernel_symbols *symbols, const char *text, size_t size)
{
	_cleanup_(symbol_snapshot_done) struct symbol_snapshot snapshot = { 0 };
	int r;

	if (size > TEXT_BYTES_MAX)
		return -E2BIG;
	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t line_size = newline ? (size_t)(newline - text) : size;
		size_t used = newline ? line_size + 1 : line_size;

		r = line_size <= LINE_BYTES_MAX ? take_symbol(symbols, &snapshot, text, line_size)
						: 0;
		if (r < 0)
			return r;
		text += used;
		size -= used;
	}
	return replace_snapshot(symbols, &snapshot);
}

bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t ip, struct kernel_symbol *ret_symbol)
{
	struct kernel_symbol symbol;

	if (!symbol_snapshot_find(
		    &symbols->snapshot, ip, &symbol.name, &symbol.image, &symbol.image_offset))
		return false;
	*ret_symbol = symbol;
	return true;
}

void kernel_symbols_image(
	const struct kernel_symbols *symbols, uint32_t image, struct kernel_image *ret_image)
{
	*ret_image = (struct kernel_image){
		.name = kernel_images_name(&symbols->images, image),
		.build_id = *kernel_images_build_id(&symbols->images, image),
	};
}

size_t kernel_symbols_bytes(const struct kernel_symbols *symbols)
{
	return sizeof(*symbols) + kernel_images_bytes(&symbols->images) +
	       symbol_snapshot_bytes(&symbols->snapshot);
}
