/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/usdt_probe.h"

#include "base/cleanup.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOTES_BYTES_MAX = 4 << 20,
	NOTE_HEAD_BYTES = 12,
	NOTE_ALIGNMENT = 4,
	STAPSDT_TYPE = 3,
	PHDRS_MAX = 256,
	ADDRESSES = 3, /* of code, of .stapsdt.base, of the semaphore */
};

static const char owner[] = "stapsdt";

struct notes {
	const struct elf_file *file;
	const char *provider, *name; /* what is searched for */
	uint64_t base;		     /* where .stapsdt.base is; 0: there is none */
	struct usdt_place *places;
	size_t count;
};

/* The offset in the file of a vaddr. Code must be in an executable segment. */
static int find_offset(
	const struct elf_file *file, uint64_t vaddr, uint32_t flags, uint64_t *ret_offset)
{
	Elf64_Phdr phdr;

	for (uint32_t i = 0; i < file->phdr_count && i < PHDRS_MAX; i++) {
		int r = elf_file_read_phdr(file, i, &phdr);

		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || (phdr.p_flags & flags) != flags ||
			vaddr < phdr.p_vaddr || vaddr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		if (__builtin_add_overflow(vaddr - phdr.p_vaddr, phdr.p_offset, ret_offset) ||
			*ret_offset >= file->size_bytes)
			return -ENOEXEC;
		return 0;
	}
	return -ENOEXEC;
}

static int add_place(
	struct notes *notes, const uint64_t addresses[ADDRESSES], const char *arguments)
{
	const uint64_t moved = notes->base && addresses[1] ? notes->base - addresses[1] : 0;
	struct usdt_place place = { .semaphore = 0 };
	int r = find_offset(notes->file, addresses[0] + moved, PF_X, &place.code);

	if (r == 0 && addresses[2])
		r = find_offset(notes->file, addresses[2] + moved, PF_W, &place.semaphore);
	if (r < 0)
		return r;
	if (notes->count == USDT_PLACES_MAX)
		return -E2BIG;
	usdt_arguments_parse(arguments, place.arguments);
	notes->places[notes->count++] = place;
	return 0;
}

/* The text at `*at`, which moves behind its NUL; NULL: there is none. */
static const char *take_text(const uint8_t *bytes, size_t size, size_t *at)
{
	const char *text = (const char *)bytes + *at;
	size_t length = strnlen(text, size - *at);

	if (length == size - *at)
		return NULL;
	*at += length + 1;
	return text;
}

static int read_note(struct notes *notes, const uint8_t *bytes, size_t size)
{
	const size_t word_bytes = elf_file_word_bytes(notes->file);
	uint64_t addresses[ADDRESSES];
	const char *provider, *name, *arguments;
	size_t at = 0;

	if (size < ADDRESSES * word_bytes)
		return -ENOEXEC;
	for (size_t i = 0; i < ADDRESSES; i++, at += word_bytes)
		addresses[i] = elf_file_decode_word(notes->file, bytes + at);
	provider = take_text(bytes, size, &at);
	name = provider ? take_text(bytes, size, &at) : NULL;
	if (!name)
		return -ENOEXEC;
	if (strcmp(provider, notes->provider) != 0 || strcmp(name, notes->name) != 0)
		return 0;
	arguments = take_text(bytes, size, &at);
	return add_place(notes, addresses, arguments ? arguments : "");
}

static uint64_t align(uint64_t size)
{
	return (size + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
}

static int read_notes(struct notes *notes, const uint8_t *bytes, uint64_t size)
{
	uint64_t at = 0;

	while (size - at >= NOTE_HEAD_BYTES) {
		uint64_t owner_bytes = elf_file_decode_u32(notes->file, bytes + at);
		uint64_t note_bytes = elf_file_decode_u32(notes->file, bytes + at + 4);
		uint32_t type = elf_file_decode_u32(notes->file, bytes + at + 8);
		uint64_t text = at + NOTE_HEAD_BYTES, note = text + align(owner_bytes);
		int r = 0;

		if (note > size || note_bytes > size - note)
			return -ENOEXEC;
		if (type == STAPSDT_TYPE && owner_bytes == sizeof(owner) &&
			memcmp(bytes + text, owner, sizeof(owner)) == 0)
			r = read_note(notes, bytes + note, note_bytes);
		if (r < 0)
			return r;
		at = note + align(note_bytes);
		if (at > size)
			break;
	}
	return 0;
}

static int find_base(const struct elf_file *file, uint64_t *ret_base)
{
	Elf64_Shdr section;
	int r = elf_sections_find(file, ".stapsdt.base", &section);

	if (r == 0)
		*ret_base = section.sh_addr;
	return r == -ENODATA ? 0 : r;
}

int usdt_probe_find(const struct elf_file *file, const char *provider, const char *name,
	struct usdt_place ret_places[USDT_PLACES_MAX], size_t *ret_count)
{
	struct notes notes = {
		.file = file, .provider = provider, .name = name, .places = ret_places
	};
	_cleanup_free_ uint8_t *bytes = NULL;
	Elf64_Shdr section;
	int r = elf_sections_find(file, ".note.stapsdt", &section);

	if (r == 0)
		r = find_base(file, &notes.base);
	if (r < 0)
		return r;
	if (section.sh_size > NOTES_BYTES_MAX)
		return -EFBIG;
	bytes = malloc(section.sh_size);
	if (!bytes)
		return -ENOMEM;
	r = elf_file_read(file, section.sh_offset, bytes, section.sh_size);
	if (r == 0)
		r = read_notes(&notes, bytes, section.sh_size);
	if (r < 0)
		return r;
	if (notes.count == 0)
		return -ENODATA;
	*ret_count = notes.count;
	return 0;
}
