/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the smallest programs that a profiler takes for real ones. */
#include "abuse.h"

#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	NOTE_OFFSET = 0x200,
	BUILD_ID_OFFSET = NOTE_OFFSET + 16,
	CODE_OFFSET = 0x400,
	DATA_OFFSET = 0x1000,
	BASE = 0x400000,
	HEADERS = ELF_SECTIONS_MAX + 2, /* the empty one, and the names */
	NAMES_BYTES = 256,
};

/* Counts to 10 million, then calls exit(0). */
static const uint8_t program[] = {
	0xb9, 0x80, 0x96, 0x98, 0x00, /* mov $10000000, %ecx */
	0x48, 0xff, 0xc9,	      /* dec %rcx */
	0x75, 0xfb,		      /* jnz to the dec */
	0xb8, 0x3c, 0x00, 0x00, 0x00, /* mov $60, %eax */
	0x31, 0xff,		      /* xor %edi, %edi */
	0x0f, 0x05,		      /* syscall */
};

struct elf_start {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t padding[NOTE_OFFSET - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	Elf64_Nhdr note;
	char owner[4];
	uint8_t build_id[BUILD_ID_BYTES];
};
_Static_assert(offsetof(struct elf_start, build_id) == BUILD_ID_OFFSET, "the note's place");

static void write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	if (pwrite(fd, bytes, size, (off_t)offset) != (ssize_t)size)
		abuse_fail("pwrite of a program");
}

/* Writes the sections' bytes; returns the offset behind them. */
static uint64_t write_sections(int fd, const struct elf *elf, Elf64_Shdr *headers, char *names)
{
	uint64_t offset = DATA_OFFSET;
	size_t name = 1;

	for (size_t i = 0; i < ELF_SECTIONS_MAX && elf->sections[i].name; i++) {
		const struct elf_section *section = &elf->sections[i];

		headers[i + 1] = (Elf64_Shdr){
			.sh_name = (uint32_t)name,
			.sh_type = section->type ? section->type : SHT_PROGBITS,
			.sh_flags = strcmp(section->name, ".eh_frame") == 0 ? SHF_ALLOC : 0,
			.sh_addr = BASE + offset,
			.sh_offset = offset,
			.sh_size = section->size,
			.sh_link = section->link,
			.sh_addralign = 8,
			.sh_entsize = section->entry_size,
		};
		strcpy(names + name, section->name);
		name += strlen(section->name) + 1;
		write_at(fd, section->bytes, section->size, offset);
		offset += (section->size + 7) & ~UINT64_C(7);
	}
	return offset;
}

void elf_write(int fd, const struct elf *elf)
{
	Elf64_Shdr headers[HEADERS] = { 0 };
	char names[NAMES_BYTES] = "";
	uint64_t end = write_sections(fd, elf, headers, names) + elf->gap_bytes;
	struct elf_start start = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_entry = BASE + CODE_OFFSET,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_shoff = end + NAMES_BYTES,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = HEADERS,
			.e_shstrndx = HEADERS - 1,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE, .p_paddr = BASE,
				.p_filesz = end, .p_memsz = end, .p_align = 0x1000 },
			{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = NOTE_OFFSET,
				.p_vaddr = BASE + NOTE_OFFSET, .p_filesz = 16 + BUILD_ID_BYTES,
				.p_memsz = 16 + BUILD_ID_BYTES, .p_align = 4 },
		},
		.note = { .n_namesz = 4, .n_descsz = BUILD_ID_BYTES, .n_type = NT_GNU_BUILD_ID },
		.owner = "GNU",
	};

#if !defined(__x86_64__)
	abuse_skip("there is no code for this machine");
#endif
	memcpy(start.build_id, elf->build_id, BUILD_ID_BYTES);
	headers[HEADERS - 1] =
		(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = end, .sh_size = NAMES_BYTES };
	write_at(fd, &start, sizeof(start), 0);
	write_at(fd, program, sizeof(program), CODE_OFFSET);
	write_at(fd, names, NAMES_BYTES, end);
	write_at(fd, headers, sizeof(headers), end + NAMES_BYTES);
}

void elf_set_build_id(int fd, const uint8_t *build_id)
{
	write_at(fd, build_id, BUILD_ID_BYTES, BUILD_ID_OFFSET);
}

void elf_run(struct abuse *abuse, const char *path, unsigned *running)
{
	pid_t pid = abuse_fork(abuse);

	if (pid == 0) {
		(void)execl(path, path, (char *)NULL);
		_exit(1);
	}
	*running += pid > 0;
}
