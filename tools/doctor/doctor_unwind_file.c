/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor_unwind_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEGMENTS_MAX = 64,
	/* The bytes read of each segment: enough to decide. */
	CODE_BYTES_MAX = 1 << 20,
	/* Code that keeps frame pointers has a prologue in much less code than this; other code has
	 * one in ten times as much. */
	CODE_BYTES_A_PROLOGUE = 2048,
	/* Call frame information is about a tenth of the code. The start files of the C library
	 * alone have much less, except in the smallest programs. */
	CODE_BYTES_A_FRAME_BYTE = 128,
};

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
/* mov %rsp, %rbp: the push comes before it, but not always directly. */
static const uint8_t prologue[] = { 0x48, 0x89, 0xe5 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
/* mov x29, sp */
static const uint8_t prologue[] = { 0xfd, 0x03, 0x00, 0x91 };
#else
enum { MACHINE = EM_NONE };
static const uint8_t prologue[] = { 0 };
#endif

struct sight {
	uint64_t code_bytes;  /* of all executable segments */
	uint64_t frame_bytes; /* of call frame information */
	uint64_t read_bytes, prologues;
	bool is_go; /* Go keeps frame pointers, and needs no check */
};

static int visit_section(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	static const char *const go_sections[] = { ".gopclntab", ".data.rel.ro.gopclntab",
		".note.go.buildid" };
	struct sight *sight = context;

	(void)index;
	for (size_t i = 0; i < ARRAY_SIZE(go_sections); i++)
		if (!strcmp(name, go_sections[i]))
			sight->is_go = true;
	if (section->sh_type == SHT_NOBITS ||
		(strcmp(name, ".eh_frame") && strcmp(name, ".debug_frame") &&
			strcmp(name, ".zdebug_frame")))
		return 0;
	if (__builtin_add_overflow(sight->frame_bytes, section->sh_size, &sight->frame_bytes))
		sight->frame_bytes = UINT64_MAX;
	return 0;
}

static int count_prologues(
	const struct elf_file *file, const Elf64_Phdr *segment, uint8_t *code, struct sight *sight)
{
	size_t size =
		segment->p_filesz < CODE_BYTES_MAX ? (size_t)segment->p_filesz : CODE_BYTES_MAX;
	const uint8_t *at = code;
	int r = elf_file_read(file, segment->p_offset, code, size);

	if (r < 0)
		return r;
	sight->read_bytes += size;
	while ((at = memmem(at, size - (size_t)(at - code), prologue, sizeof(prologue)))) {
		sight->prologues++;
		at += sizeof(prologue);
	}
	return 0;
}

static int look_at_segments(const struct elf_file *file, struct sight *sight)
{
	_cleanup_free_ uint8_t *code = malloc(CODE_BYTES_MAX);
	bool has_frame_header = false;

	if (!code)
		return -ENOMEM;
	if (file->phdr_count > SEGMENTS_MAX)
		return -ENOEXEC;
	for (uint32_t i = 0; i < file->phdr_count; i++) {
		Elf64_Phdr segment;
		int r = elf_file_read_phdr(file, i, &segment);

		if (r == 0 && segment.p_type == PT_LOAD && segment.p_flags & PF_X) {
			sight->code_bytes += segment.p_filesz < file->size_bytes ? segment.p_filesz
										 : file->size_bytes;
			r = count_prologues(file, &segment, code, sight);
		}
		if (r < 0)
			return r;
		if (segment.p_type == PT_GNU_EH_FRAME && segment.p_filesz > 0)
			has_frame_header = true;
	}
	/* Without section headers its size is unknown. */
	if (has_frame_header && file->shdr_count == 0)
		sight->frame_bytes = UINT64_MAX;
	return 0;
}

int doctor_unwind_file(int fd, enum doctor_unwinding *ret_unwinding)
{
	struct sight sight = { 0 };
	struct elf_file file;
	int r = elf_file_init(&file, fd);

	if (r < 0)
		return r;
	if (file.machine != MACHINE || !file.is_64 || file.is_swapped)
		return -ENODATA;
	r = look_at_segments(&file, &sight);
	if (r == 0)
		r = elf_sections_each(&file, visit_section, &sight);
	if (r < 0)
		return r;
	if (sight.code_bytes == 0)
		return -ENODATA;
	if (sight.frame_bytes > sight.code_bytes / CODE_BYTES_A_FRAME_BYTE)
		*ret_unwinding = DOCTOR_UNWINDING_FRAMES;
	else if (sight.is_go || sight.prologues > sight.read_bytes / CODE_BYTES_A_PROLOGUE)
		*ret_unwinding = DOCTOR_UNWINDING_FRAME_POINTERS;
	else
		*ret_unwinding = DOCTOR_UNWINDING_NONE;
	return 0;
}
