/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_file.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 40, ROUNDS = 2, LINES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Reads all bytes, so that the sanitizer checks them. */
static size_t touch(const char *text)
{
	return strlen(text);
}

static void walk(const struct symbol_file *file, uint32_t frame, uint64_t place)
{
	uint32_t parent;

	for (; frame > 0; frame = parent) {
		(void)touch(symbol_file_frame_name(file, frame));
		(void)touch(symbol_file_place(file, place).file);
		parent = symbol_file_frame_parent(file, frame, &place);
		if (parent >= frame)
			abort();
	}
}

/* Looks up addresses near boundaries and elsewhere. */
static uint64_t make_vaddr(const struct symbol_file *file, uint64_t *state)
{
	const struct pilotlight_symbol_boundary *boundaries =
		symbol_file_entries(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	uint64_t base = symbol_file_header(file)->base_vaddr;

	*state = *state * 6364136223846793005U + 1442695040888963407U;
	if (count > 0 && *state >> 63)
		return base + boundaries[(*state >> 20) % count].offset + (*state >> 60) - 4;
	return base + (*state >> (*state % 64));
}

static void look_up(const struct symbol_file *file)
{
	uint64_t vaddrs[BATCH], places[BATCH], state = 1;
	struct symbol_line lines[LINES_MAX];
	uint32_t frames[BATCH];

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BATCH; i++)
			vaddrs[i] = make_vaddr(file, &state);
		symbol_file_find(file, vaddrs, BATCH, frames, places);
		for (size_t i = 0; i < BATCH; i++) {
			size_t count = symbol_file_find_chain(file, vaddrs[i], lines, LINES_MAX);
			uint64_t vaddr;

			if (frames[i] > 0 &&
				frames[i] >= symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES))
				abort();
			if ((count > 0) != (frames[i] > 0 || places[i] > 0))
				abort();
			for (size_t j = 0; j < count; j++)
				(void)(touch(lines[j].function) + touch(lines[j].place.file));
			walk(file, frames[i], places[i]);
			(void)symbol_file_find_vaddr(file, vaddrs[i], &vaddr);
		}
	}
}

static void try(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("symbols", MFD_CLOEXEC);
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return;
	if (symbol_file_open(fd, &file) < 0)
		return;
	look_up(file);
}

/* The input is the file, first unchanged, then with its length and hashes corrected. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_symbol_header header;
	uint8_t *sealed;

	try(bytes, size);
	if (size < sizeof(header))
		return 0;
	sealed = malloc(size);
	if (!sealed)
		return 0;
	memcpy(sealed, bytes, size);
	memcpy(&header, sealed, sizeof(header));
	header.file_bytes = size;
	memcpy(sealed, &header, sizeof(header));
	symbol_file_fixture_seal(sealed, size);
	try(sealed, size);
	free(sealed);
	return 0;
}
