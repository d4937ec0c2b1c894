/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kallsyms_line.h"
#include "resolve/kernel_symbols.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up(const struct kernel_symbols *symbols, uint64_t ip)
{
	struct kernel_symbol symbol;
	struct kernel_image image;

	if (!kernel_symbols_find(symbols, ip, &symbol))
		return;
	kernel_symbols_image(symbols, symbol.image, &image);
	assert(strlen(symbol.name) > 0 && !strpbrk(symbol.name, " \t\n"));
	assert(strlen(image.name) > 0);
	assert(symbol.image_offset <= ip);
}

/* Looks up each address of the text and its neighbours. */
static void look_up_all(const struct kernel_symbols *symbols, const char *text, size_t size)
{
	while (size > 0) {
		const char *newline = memchr(text, '\n', size);
		size_t line_size = newline ? (size_t)(newline - text) : size;
		size_t used = newline ? line_size + 1 : line_size;
		struct kallsyms_line line;

		if (kallsyms_line_parse(text, line_size, &line) == 0) {
			look_up(symbols, line.address - 1);
			look_up(symbols, line.address);
			look_up(symbols, line.address + 65536);
		}
		if (modules_line_parse(text, line_size, &line) == 0)
			assert(line.name_size > 0 && line.name_size < line_size);
		text += used;
		size -= used;
	}
}

/* The second half of the input replaces the first. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	struct kernel_symbols *symbols;

	/* Nothing is looked up here. */
	if (kernel_symbols_new(NULL, &symbols) < 0)
		return 0;
	(void)kernel_symbols_parse(symbols, text, size / 2);
	look_up_all(symbols, text, size);
	(void)kernel_symbols_parse(symbols, text + size / 2, size - size / 2);
	look_up_all(symbols, text, size);
	kernel_symbols_free(symbols);
	return 0;
}
