/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/debug_elf.h"

#include "dwarf/elf_sections.h"

#include <errno.h>
#include <sys/mman.h>

static int map(struct debug_elf *elf, const struct elf_file *file)
{
	if (file->size_bytes > SIZE_MAX)
		return -EFBIG;
	elf->mapping = mmap(NULL, file->size_bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (elf->mapping == MAP_FAILED) {
		elf->mapping = NULL;
		return -errno;
	}
	elf->mapping_bytes = file->size_bytes;
	elf->elf = elf_memory(elf->mapping, elf->mapping_bytes);
	return 0;
}

static int unpack(struct debug_elf *elf, const struct elf_file *file, struct scratch *scratch)
{
	int r = 0;

	if (!elf->is_unpacked)
		r = scratch_array_init(&elf->unpacked, scratch, 1, scratch->limit_bytes);
	if (r < 0)
		return r;
	elf->is_unpacked = true;
	r = elf_sections_unpack(file, &elf->unpacked);
	if (r < 0)
		return r;
	elf->elf = elf_memory(elf->unpacked.items, elf->unpacked.count);
	return 0;
}

/* What a file was unpacked to stays, for the next one. */
static void close_file(struct debug_elf *elf)
{
	(void)elf_end(elf->elf);
	elf->elf = NULL;
	if (elf->mapping)
		(void)munmap(elf->mapping, elf->mapping_bytes);
	elf->mapping = NULL;
	elf->unpacked.count = 0;
}

int debug_elf_reopen(struct debug_elf *elf, const struct elf_file *file, struct scratch *scratch)
{
	int r;

	close_file(elf);
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	r = elf_sections_are_compressed(file) ? unpack(elf, file, scratch) : map(elf, file);
	if (r == 0 && (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF))
		r = -ENOEXEC;
	if (r < 0)
		close_file(elf);
	return r;
}

int debug_elf_open(struct debug_elf *ret_elf, const struct elf_file *file, struct scratch *scratch)
{
	struct debug_elf elf = { .elf = NULL };
	int r = debug_elf_reopen(&elf, file, scratch);

	if (r < 0) {
		debug_elf_done(&elf);
		return r;
	}
	*ret_elf = elf;
	return 0;
}

void debug_elf_done(struct debug_elf *elf)
{
	close_file(elf);
	if (elf->is_unpacked)
		scratch_array_done(&elf->unpacked);
	*elf = (struct debug_elf){ 0 };
}
