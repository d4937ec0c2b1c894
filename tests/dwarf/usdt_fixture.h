/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file with notes of probes: code at 0x1000 in the file is at 0x401000, data at 0x2000 at
 * 0x602000. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	USDT_FIXTURE_NOTES = 0x400,
	USDT_FIXTURE_BYTES = 0x3000,
	USDT_FIXTURE_CODE = 0x401000,
	USDT_FIXTURE_DATA = 0x602000,
	USDT_FIXTURE_BASE = 0x402345, /* where .stapsdt.base is now */
};

struct usdt_fixture {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[2];
	Elf64_Shdr shdrs[4];
	char names[64];
	_Alignas(8) uint8_t bytes[USDT_FIXTURE_BYTES - 4 * sizeof(Elf64_Shdr) -
				  2 * sizeof(Elf64_Phdr) - sizeof(Elf64_Ehdr) - 64];
};
_Static_assert(sizeof(struct usdt_fixture) == USDT_FIXTURE_BYTES, "the file");

static inline void usdt_fixture_init(struct usdt_fixture *fixture)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

	*fixture = (struct usdt_fixture){
		.ehdr = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				  EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct usdt_fixture, phdrs),
			.e_shoff = offsetof(struct usdt_fixture, shdrs),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
			.e_shstrndx = 3 },
		.phdrs = { { .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_offset = 0x1000,
				   .p_vaddr = USDT_FIXTURE_CODE,
				   .p_filesz = 0x1000,
				   .p_memsz = 0x1000 },
			{ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_offset = 0x2000,
				.p_vaddr = USDT_FIXTURE_DATA,
				.p_filesz = 0x1000,
				.p_memsz = 0x1000 } },
		.shdrs = { { 0 },
			{ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = USDT_FIXTURE_NOTES },
			{ .sh_name = 15,
				.sh_type = SHT_PROGBITS,
				.sh_addr = USDT_FIXTURE_BASE,
				.sh_offset = 0x1345,
				.sh_size = 1 },
			{ .sh_name = 29,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct usdt_fixture, names),
				.sh_size = sizeof(names) } },
	};
	memcpy(fixture->names, names, sizeof(names));
}

/* Appends a note: three addresses, provider, name and arguments. */
static inline void usdt_fixture_add_with(struct usdt_fixture *fixture, uint64_t code, uint64_t base,
	uint64_t semaphore, const char *provider, const char *name, const char *arguments)
{
	const uint64_t addresses[] = { code, base, semaphore };
	uint8_t *notes = (uint8_t *)fixture + USDT_FIXTURE_NOTES;
	uint8_t *at = notes + fixture->shdrs[1].sh_size;
	size_t names = strlen(provider) + strlen(name) + 2;
	size_t texts = names + strlen(arguments) + 1;
	const uint32_t head[] = { sizeof("stapsdt"), (uint32_t)(sizeof(addresses) + texts), 3 };

	memcpy(at, head, sizeof(head));
	memcpy(at + 12, "stapsdt", sizeof("stapsdt"));
	memcpy(at + 20, addresses, sizeof(addresses));
	memcpy(at + 44, provider, strlen(provider) + 1);
	memcpy(at + 45 + strlen(provider), name, strlen(name) + 1);
	memcpy(at + 44 + names, arguments, strlen(arguments) + 1);
	fixture->shdrs[1].sh_size += (44 + texts + 3) / 4 * 4;
}

/* A note without arguments. */
static inline void usdt_fixture_add(struct usdt_fixture *fixture, uint64_t code, uint64_t base,
	uint64_t semaphore, const char *provider, const char *name)
{
	usdt_fixture_add_with(fixture, code, base, semaphore, provider, name, "");
}
