/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through executable files: many, forged, huge, changing, or with paths that break lines.
 */
#include "abuse.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	RUNNING_MAX = 8,
	ROWS = 16 << 20,
	CIES = 1000000,
	CIE_BYTES = 24,
	DWARF_LEVELS = 100000,
	SYMBOLS = 1000000,
	LIBRARY_BYTES_MAX = 1 << 20,
	PATH_LEVELS = 15,
	PATH_NAME_BYTES = 250,
	PROGRAM_CODE_OFFSET = 0x400,
	FRESH_FILES = 64, /* a program may still be read after it has started */
};

static void close_and_run(struct abuse *abuse, int fd, const char *path, unsigned *running)
{
	(void)close(fd);
	elf_run(abuse, path, running);
	*running = abuse_reap(*running, RUNNING_MAX);
}

/* Executes new files all the time; each has been unlinked when its successor's successors run. */
static void run_fresh(struct abuse *abuse, const struct elf *pattern, bool is_unique)
{
	struct elf elf = *pattern;
	unsigned running = 0;
	char path[32];

	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		if (is_unique)
			abuse_draw_bytes(abuse, elf.build_id, BUILD_ID_BYTES);
		(void)snprintf(path, sizeof(path), "program%u", i % FRESH_FILES);
		(void)unlink(path);
		{
			int fd = abuse_create(path);

			elf_write(fd, &elf);
			close_and_run(abuse, fd, path, &running);
		}
		if (i % 2)
			(void)unlink(path);
	}
}

void elf_unique(struct abuse *abuse)
{
	run_fresh(abuse, &(struct elf){ 0 }, true);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	for (int i = 0;
		info->dlpi_name && strstr(info->dlpi_name, "libc.so") && i < info->dlpi_phnum;
		i++) {
		const char *note = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_NOTE &&
			((const Elf64_Nhdr *)(const void *)note)->n_type == NT_GNU_BUILD_ID) {
			memcpy(context, note + 16, BUILD_ID_BYTES);
			return 1;
		}
	}
	return 0;
}

void elf_forged(struct abuse *abuse)
{
	struct elf elf = { 0 };

	if (dl_iterate_phdr(find_libc, elf.build_id) != 1)
		abuse_skip("libc has no build-id");
	run_fresh(abuse, &elf, false);
}

/* Executes one large file with another build-id each time. */
static void run_renewed(struct abuse *abuse, struct elf *elf)
{
	int fd = abuse_create("program");

	abuse_draw_bytes(abuse, elf->build_id, BUILD_ID_BYTES);
	elf_write(fd, elf);
	(void)close(fd);
	while (abuse_goes_on(abuse)) {
		unsigned running = 0;

		/* Several runs, so that one of them is sampled. */
		for (unsigned i = 0; i < 8; i++)
			elf_run(abuse, "program", &running);
		(void)abuse_reap(running, 0);
		abuse_draw_bytes(abuse, elf->build_id, BUILD_ID_BYTES);
		fd = open("program", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			abuse_fail("program");
		elf_set_build_id(fd, elf->build_id);
		(void)close(fd);
	}
}

void elf_sparse(struct abuse *abuse)
{
	run_renewed(abuse, &(struct elf){ .gap_bytes = UINT64_C(8) << 30 });
}

static uint8_t *allocate(size_t size)
{
	uint8_t *bytes = calloc(1, size);

	if (!bytes)
		abuse_fail("calloc");
	return bytes;
}

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* A CIE of CIE_BYTES: version 1, no augmentation, code 1, data -8, return address 16, CFA rsp + 8.
 */
static void put_cie(uint8_t *at)
{
	static const uint8_t body[] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };

	put_u32(at, CIE_BYTES - 4);
	put_u32(at + 4, 0);
	memcpy(at + 8, body, sizeof(body));
}

/* One FDE, whose rows differ from byte to byte. */
void elf_rows(struct abuse *abuse)
{
	const size_t size = CIE_BYTES + 24 + (size_t)ROWS * 3 + 4;
	uint8_t *bytes = allocate(size), *fde = bytes + CIE_BYTES;

	put_cie(bytes);
	put_u32(fde, 20 + ROWS * 3);
	put_u32(fde + 4, CIE_BYTES + 4);
	memcpy(fde + 8, &(uint64_t){ 0x400000 }, 8);
	memcpy(fde + 16, &(uint64_t){ ROWS }, 8);
	for (size_t i = 0; i < ROWS; i++) {
		fde[24 + i * 3] = 0x41;			      /* DW_CFA_advance_loc 1 */
		fde[25 + i * 3] = 0x0e;			      /* DW_CFA_def_cfa_offset */
		fde[26 + i * 3] = (uint8_t)(8 + 8 * (i % 8)); /* from 8 to 64 */
	}
	run_renewed(abuse,
		&(struct elf){
			.sections = { { .name = ".eh_frame", .bytes = bytes, .size = size } } });
}

void elf_cies(struct abuse *abuse)
{
	const size_t size = (size_t)CIES * CIE_BYTES + 4;
	uint8_t *bytes = allocate(size);

	for (size_t i = 0; i < CIES; i++)
		put_cie(bytes + i * CIE_BYTES);
	run_renewed(abuse,
		&(struct elf){
			.sections = { { .name = ".eh_frame", .bytes = bytes, .size = size } } });
}

/* A unit of DWARF 4: inlined calls, each within the one before, all made from themselves. */
void elf_dwarf(struct abuse *abuse)
{
	static const uint8_t abbreviations[] = { 1, 0x11, 1, 0, 0, /* compile unit with children */
		2, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0,
		0, /* inlined: origin, low, high */
		3, 0x2e, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0, /* subprogram: the same */
		0 };
	enum { DIE_BYTES = 17, HEADER_BYTES = 11 };
	const size_t size =
		HEADER_BYTES + 1 + (size_t)(DWARF_LEVELS + 1) * DIE_BYTES + DWARF_LEVELS + 2;
	uint8_t *bytes = allocate(size), *at = bytes + HEADER_BYTES;

	put_u32(bytes, (uint32_t)size - 4);
	bytes[4] = 4;
	bytes[10] = 8;
	*at++ = 1;
	for (unsigned i = 0; i <= DWARF_LEVELS; i++, at += DIE_BYTES) {
		at[0] = i == 0 ? 3 : 2;
		put_u32(at + 1, (uint32_t)(at - bytes));
		memcpy(at + 5, &(uint64_t){ 0x400400 }, 8);
		put_u32(at + 13, 19);
	}
	run_renewed(abuse,
		&(struct elf){ .sections = {
				       { .name = ".debug_info", .bytes = bytes, .size = size },
				       { .name = ".debug_abbrev",
					       .bytes = abbreviations,
					       .size = sizeof(abbreviations) },
			       } });
}

void elf_symbols(struct abuse *abuse)
{
	enum { NAME_BYTES = 60000 };
	Elf64_Sym *symbols = (void *)allocate(SYMBOLS * sizeof(*symbols));
	char *names = (char *)allocate(NAME_BYTES);

	memset(names + 1, 's', NAME_BYTES - 2);
	for (size_t i = 0; i < SYMBOLS; i++)
		symbols[i] = (Elf64_Sym){ .st_name = (uint32_t)(1 + i % (NAME_BYTES - 2)),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = 0x400400 - i % 1000,
			.st_size = 2000 + i };
	run_renewed(abuse, &(struct elf){ .sections = {
						  { .name = ".symtab",
							  .type = SHT_SYMTAB,
							  .bytes = symbols,
							  .size = SYMBOLS * sizeof(*symbols),
							  .link = 2,
							  .entry_size = sizeof(*symbols) },
						  { .name = ".strtab",
							  .type = SHT_STRTAB,
							  .bytes = names,
							  .size = NAME_BYTES },
					  } });
}

/* The code runs from a mapping, since the kernel refuses to truncate a file that was executed. */
static void run_mapped(int fd)
{
	uint8_t *start = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		_exit(1);
	(void)signal(SIGBUS, SIG_DFL);
	((void (*)(void))(void *)(start + PROGRAM_CODE_OFFSET))();
	_exit(1);
}

void elf_truncated(struct abuse *abuse)
{
	struct elf elf = { 0 };
	unsigned running = 0;

	while (abuse_goes_on(abuse)) {
		int fd = abuse_create("truncated");
		pid_t pid;

		abuse_draw_bytes(abuse, elf.build_id, BUILD_ID_BYTES);
		elf_write(fd, &elf);
		pid = abuse_fork(abuse);
		if (pid == 0)
			run_mapped(fd);
		abuse_work((unsigned)abuse_draw(abuse, 4000));
		if (ftruncate(fd, (off_t)abuse_draw(abuse, 4096)) < 0)
			abuse_fail("ftruncate");
		(void)close(fd);
		running = abuse_reap(running + (pid > 0), RUNNING_MAX);
	}
}

void elf_memfd(struct abuse *abuse)
{
	struct elf elf = { 0 };
	unsigned running = 0;

	while (abuse_goes_on(abuse)) {
		int fd = memfd_create("a memory file", 0);
		pid_t pid;

		if (fd < 0)
			abuse_fail("memfd_create");
		abuse_draw_bytes(abuse, elf.build_id, BUILD_ID_BYTES);
		elf_write(fd, &elf);
		pid = abuse_fork(abuse);
		if (pid == 0) {
			char path[32], *const arguments[] = { path, NULL };

			(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			(void)execv(path, arguments);
			_exit(1);
		}
		(void)close(fd);
		running = abuse_reap(running + (pid > 0), RUNNING_MAX);
	}
}

void elf_dlopen(struct abuse *abuse)
{
	uint8_t *bytes = allocate(LIBRARY_BYTES_MAX), *note;
	int fd = open("/lib/x86_64-linux-gnu/libdl.so.2", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, bytes, LIBRARY_BYTES_MAX);

	note = size > 0 ? memmem(bytes, (size_t)size, "\x14\0\0\0\x03\0\0\0GNU", 12) : NULL;
	if (!note)
		abuse_skip("no small library with a build-id");
	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		char path[32];
		void *library;

		(void)snprintf(path, sizeof(path), "./library%u.so", i % 1000);
		(void)unlink(path);
		fd = abuse_create(path);
		abuse_draw_bytes(abuse, note + 12, BUILD_ID_BYTES);
		abuse_write(fd, bytes, (size_t)size);
		(void)close(fd);
		library = dlopen(path, RTLD_NOW);
		if (!library)
			abuse_fail(path);
		abuse_work(20);
		(void)dlclose(library);
	}
}

/* Descends, because no path longer than PATH_MAX can be given to a call. */
void elf_paths(struct abuse *abuse)
{
	char name[PATH_NAME_BYTES + 1] = "";

	memset(name, 'p', PATH_NAME_BYTES);
	for (unsigned i = 0; i < PATH_LEVELS; i++)
		if ((mkdir(name, 0755) < 0 && errno != EEXIST) || chdir(name) < 0)
			abuse_fail("mkdir");
	run_fresh(abuse, &(struct elf){ 0 }, true);
}

void elf_escapes(struct abuse *abuse)
{
	static const char *const names[] = {
		"one\ntwo\n00400000-00401000 r-xp 00000000 00:00 0 stack",
		"\033]0;title\007\033[2J", "name (deleted)", "back\\slash\\012", "\xff\xfe\xc0\x80",
		"\xe2\x80\xaegnp", "<script>alert(1)<script>", "a;b;c 100000", "\"],[\"", " ",
		"[kernel]", "[vdso]"
	};
	struct elf elf = { 0 };
	unsigned running = 0;

	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		const char *path = names[i % (sizeof(names) / sizeof(names[0]))];
		int fd;

		(void)unlink(path);
		fd = abuse_create(path);
		abuse_draw_bytes(abuse, elf.build_id, BUILD_ID_BYTES);
		elf_write(fd, &elf);
		close_and_run(abuse, fd, path, &running);
	}
}
