/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stubs made by hand, and those of real programs as objdump names them, which knows the layouts of
 * the linkers rather than that of the instructions.
 */
#include "extract/elf_plt.h"
#include "tests/dwarf/section_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	PLT = 0x1000,
	PLT_SEC = 0x1100,
	PLT_GOT = 0x1200,
	GOT = 0x3000,
	STUBS_MAX = 8192,
	ENDBR64 = 1 << 0,
	BND = 1 << 1,
};

struct stub {
	uint64_t start, end;
	uint32_t symbol;
};

struct found {
	struct stub stubs[STUBS_MAX];
	size_t count;
	size_t refused; /* the one at which to stop; 0: none */
};

static int keep_stub(void *context, uint64_t start, uint64_t end, uint32_t symbol)
{
	struct found *found = context;

	assert_true(found->count < STUBS_MAX);
	found->stubs[found->count++] = (struct stub){ start, end, symbol };
	return found->count == found->refused ? -EPIPE : 0;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *first = a, *second = b;

	return first->start < second->start ? -1 : first->start > second->start;
}

static int find_stubs(struct found *found, const struct elf_file *file, uint64_t limit_bytes)
{
	_cleanup_close_ int fd = memfd_create("scratch", MFD_CLOEXEC);
	struct scratch scratch;
	int r;

	found->count = 0;
	scratch_init(&scratch, fd, limit_bytes, 0);
	r = elf_plt_each(file, &scratch, keep_stub, found);
	qsort(found->stubs, found->count, sizeof(found->stubs[0]), compare_stubs);
	return r;
}

/* Contents of the sections, and a file of them. */
struct parts {
	uint8_t plt[64], sec[64], got[48], rela_plt[5 * sizeof(Elf64_Rela)],
		rela_dyn[4 * sizeof(Elf64_Rela)];
	uint16_t machine;
	uint64_t rela_entry_bytes;
};

/* Puts a stub of the section at `section`, whose contents are `code`, to `at`. */
static void put_jump(
	uint8_t *code, uint64_t section, size_t at, unsigned int prefixes, uint64_t slot)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t distance;

	if (prefixes & ENDBR64) {
		memcpy(code + at, endbr64, sizeof(endbr64));
		at += sizeof(endbr64);
	}
	if (prefixes & BND)
		code[at++] = 0xf2;
	code[at++] = 0xff;
	code[at++] = 0x25;
	distance = slot - (section + at + 4);
	for (int i = 0; i < 4; i++)
		code[at++] = (uint8_t)(distance >> 8 * i);
}

static void put_rela(uint8_t *bytes, size_t index, uint64_t slot, uint32_t type, uint64_t symbol)
{
	struct fixture out = { 0 };

	fixture_put(&out, slot, 8);
	fixture_put(&out, symbol << 32 | type, 8);
	fixture_put(&out, 0x1234, 8);
	memcpy(bytes + index * sizeof(Elf64_Rela), out.bytes, sizeof(Elf64_Rela));
}

static void make_parts(struct parts *parts)
{
	static const uint8_t first[] = { 0xff, 0x35, 1, 0, 0, 0, 0xff, 0x25, 2, 0, 0, 0 };
	static const uint8_t lazy[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xf2, 0xe9 };

	*parts = (struct parts){ .machine = EM_X86_64, .rela_entry_bytes = sizeof(Elf64_Rela) };
	memcpy(parts->plt, first, sizeof(first));
	put_jump(parts->plt, PLT, 16, 0, GOT + 0x18);
	put_jump(parts->plt, PLT, 32, 0, GOT + 0x20);
	memcpy(parts->plt + 48, lazy, sizeof(lazy));
	put_jump(parts->sec, PLT_SEC, 0, ENDBR64, GOT + 0x28);
	put_jump(parts->sec, PLT_SEC, 16, ENDBR64 | BND, GOT + 0x30);
	put_jump(parts->sec, PLT_SEC, 32, BND, GOT + 0x38);
	/* To where nothing is known of. */
	put_jump(parts->sec, PLT_SEC, 48, ENDBR64, GOT + 0x1000);
	put_jump(parts->got, PLT_GOT, 0, 0, GOT + 0x40);
	put_jump(parts->got, PLT_GOT, 8, 0, GOT + 0x48);
	put_jump(parts->got, PLT_GOT, 16, ENDBR64, GOT + 0x50);
	/* The slot of another stub. */
	put_jump(parts->got, PLT_GOT, 32, ENDBR64 | BND, GOT + 0x18);
	put_rela(parts->rela_plt, 0, GOT + 0x18, R_X86_64_JUMP_SLOT, 1);
	put_rela(parts->rela_plt, 1, GOT + 0x20, R_X86_64_IRELATIVE, 0);
	put_rela(parts->rela_plt, 2, GOT + 0x28, R_X86_64_JUMP_SLOT, 3);
	put_rela(parts->rela_plt, 3, GOT + 0x30, R_X86_64_JUMP_SLOT, 4);
	put_rela(parts->rela_plt, 4, GOT + 0x38, R_X86_64_JUMP_SLOT, 5);
	put_rela(parts->rela_dyn, 0, GOT + 0x40, R_X86_64_GLOB_DAT, 6);
	put_rela(parts->rela_dyn, 1, GOT + 0x48, R_X86_64_64, 7);
	put_rela(parts->rela_dyn, 2, GOT + 0x50, R_X86_64_GLOB_DAT, 8);
	put_rela(parts->rela_dyn, 3, 0x1234, R_X86_64_RELATIVE, 0);
}

static struct elf_file build_parts(struct fixture *fixture, const struct parts *parts)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	const struct fixture_section sections[] = {
		{ ".plt", SHT_PROGBITS, code, PLT, parts->plt, sizeof(parts->plt), 0, 0, 16,
			false },
		{ ".plt.sec", SHT_PROGBITS, code, PLT_SEC, parts->sec, sizeof(parts->sec), 0, 16,
			16, false },
		{ ".plt.got", SHT_PROGBITS, code, PLT_GOT, parts->got, sizeof(parts->got), 0, 8, 8,
			false },
		{ ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, parts->rela_dyn, sizeof(parts->rela_dyn), 0,
			parts->rela_entry_bytes, 8, false },
		{ ".rela.plt", SHT_RELA, SHF_ALLOC, 0, parts->rela_plt, sizeof(parts->rela_plt), 0,
			parts->rela_entry_bytes, 8, false },
	};
	struct elf_file file;

	fixture->machine = parts->machine;
	fixture_build_sections(fixture, sections, ARRAY_SIZE(sections));
	assert_int_equal(elf_file_init_memory(&file, fixture->bytes, fixture->size), 0);
	return file;
}

static void stubs_are_bound_through_their_slots(void **state)
{
	static const struct stub expected[] = { { PLT + 16, PLT + 32, 1 },
		{ PLT_SEC, PLT_SEC + 16, 3 }, { PLT_SEC + 16, PLT_SEC + 32, 4 },
		{ PLT_SEC + 32, PLT_SEC + 48, 5 }, { PLT_GOT, PLT_GOT + 8, 6 },
		{ PLT_GOT + 16, PLT_GOT + 32, 8 }, { PLT_GOT + 32, PLT_GOT + 48, 1 } };
	static struct found found;
	struct fixture fixture = { 0 };
	struct parts parts;
	struct elf_file file;

	make_parts(&parts);
	file = build_parts(&fixture, &parts);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), 0);
	assert_int_equal(found.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(found.stubs[i].start, expected[i].start);
		assert_int_equal(found.stubs[i].end, expected[i].end);
		assert_int_equal(found.stubs[i].symbol, expected[i].symbol);
	}
}

static void other_machines_have_none(void **state)
{
	static struct found found;
	struct fixture fixture = { 0 };
	struct parts parts;
	struct elf_file file;

	make_parts(&parts);
	parts.machine = EM_AARCH64;
	file = build_parts(&fixture, &parts);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), 0);
	assert_int_equal(found.count, 0);
}

static void errors_are_reported(void **state)
{
	static struct found found;
	struct fixture fixture = { 0 };
	struct parts parts;
	struct elf_file file;

	make_parts(&parts);
	file = build_parts(&fixture, &parts);
	found.refused = 2;
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -EPIPE);
	assert_int_equal(found.count, 2);
	found.refused = 0;
	assert_int_equal(find_stubs(&found, &file, 4096), -EFBIG);
	/* A piece for the stubs and none to sort them. */
	assert_int_equal(find_stubs(&found, &file, 64 * 1024), -EFBIG);

	/* Relocations of a size that is none, outside of the file, or endless. */
	parts.rela_entry_bytes = 23;
	file = build_parts(&fixture, &parts);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -ENOEXEC);
	parts.rela_entry_bytes = 24;
	file = build_parts(&fixture, &parts);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 4, sh_offset), UINT64_MAX - 7, 8);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -ENOEXEC);
	file = build_parts(&fixture, &parts);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 4, sh_size), UINT64_MAX, 8);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -ENOEXEC);
	/* Code at the end of all addresses, or not in the file. */
	file = build_parts(&fixture, &parts);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_addr), UINT64_MAX - 8, 8);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -ENOEXEC);
	file = build_parts(&fixture, &parts);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_offset), 1 << 30, 8);
	assert_int_equal(find_stubs(&found, &file, 1 << 20), -ENOEXEC);
}

static void jumps_at_the_end_are_not_read_beyond_it(void **state)
{
	static struct found found;
	struct fixture fixture = { 0 };
	struct parts parts;
	struct elf_file file;

	make_parts(&parts);
	for (uint64_t size = 0; size < sizeof(parts.got); size++) {
		file = build_parts(&fixture, &parts);
		fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 3, sh_size), size, 8);
		assert_int_equal(find_stubs(&found, &file, 1 << 20), 0);
		/* Of the last only what is there; six bytes of jump are enough. */
		for (size_t i = 0; i < found.count; i++)
			assert_true(found.stubs[i].end <= PLT_GOT + size ||
				    found.stubs[i].start < PLT_GOT);
		assert_int_equal(found.count, 4 + (size >= 6) + (size >= 26) + (size >= 43));
	}
}

/* A real program, and where a dynamic symbol's name is in it. */
struct program {
	struct elf_file file;
	Elf64_Shdr symbols, strings;
};

static bool open_program(struct program *program, int fd)
{
	return elf_file_init(&program->file, fd) == 0 &&
	       elf_sections_find(&program->file, ".dynsym", &program->symbols) == 0 &&
	       elf_sections_find(&program->file, ".dynstr", &program->strings) == 0;
}

static void read_symbol_name(
	const struct program *program, uint32_t symbol, char *name, size_t size)
{
	uint8_t bytes[sizeof(Elf64_Sym)];
	uint64_t offset;

	assert_true(symbol < program->symbols.sh_size / sizeof(bytes));
	assert_int_equal(
		elf_file_read(&program->file, program->symbols.sh_offset + symbol * sizeof(bytes),
			bytes, sizeof(bytes)),
		0);
	offset = elf_file_decode_symbol(&program->file, bytes).st_name;
	if (size > program->strings.sh_size - offset)
		size = program->strings.sh_size - offset;
	assert_int_equal(
		elf_file_read(&program->file, program->strings.sh_offset + offset, name, size), 0);
	name[size - 1] = '\0';
}

/* Each stub that objdump names is ours, and each of ours is objdump's. Returns how many. */
static size_t compare(const char *path)
{
	static struct found found;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *line = NULL;
	struct program program;
	char command[512], name[4096], theirs[4096];
	size_t capacity = 0, matched = 0;
	FILE *objdump;

	if (!open_program(&program, fd))
		return 0;
	assert_int_equal(find_stubs(&found, &program.file, 1 << 26), 0);
	(void)snprintf(command, sizeof(command),
		"objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null", path);
	objdump = popen(command, "r");
	assert_non_null(objdump);
	while (getline(&line, &capacity, objdump) > 0) {
		uint64_t start;

		/* Without a symbol: an indirect function of this file itself. */
		if (sscanf(line, "%" SCNx64 " <%4000[^@>]@plt>:", &start, theirs) != 2 ||
			!strstr(line, "@plt>:") || strchr(theirs, '*'))
			continue;
		if (matched == found.count || found.stubs[matched].start != start)
			print_error("%s: %s@plt at %" PRIx64 "\n", path, theirs, start);
		assert_true(matched < found.count);
		assert_int_equal(found.stubs[matched].start, start);
		read_symbol_name(&program, found.stubs[matched].symbol, name, sizeof(name));
		assert_string_equal(name, theirs);
		matched++;
	}
	(void)pclose(objdump);
	print_message("%s: %zu stubs\n", path, matched);
	assert_int_equal(matched, found.count);
	return matched;
}

static bool has_objdump(void)
{
	if (system("command -v objdump >/dev/null 2>&1") == 0)
		return true;
	print_message("skipped: objdump is not installed\n");
	return false;
}

static void stubs_of_the_machines_programs_agree(void **state)
{
	static const char *const paths[] = { "/bin/bash", "/usr/bin/python3", "/usr/bin/perl",
		"/usr/bin/git", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3" };
	size_t total = 0;

	if (!has_objdump())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (access(paths[i], R_OK) == 0)
			total += compare(paths[i]);
	if (total == 0) {
		print_message("skipped: no program with stubs of x86-64\n");
		skip();
	}
}

static void stubs_of_all_linkers_agree(void **state)
{
	static const char *const builds[] = { "gcc -O1 c.c", "gcc -O1 -no-pie -fno-pie c.c",
		"gcc -O1 -Wl,-z,now c.c", "gcc -O1 -fcf-protection -Wl,-z,ibtplt c.c",
		"gcc -O1 -fcf-protection -Wl,-z,ibtplt -Wl,-z,now c.c",
		"gcc -O1 -fno-plt -Wl,-z,lazy c.c", "gcc -O1 -shared -fPIC c.c",
		"gcc -O1 -fuse-ld=gold c.c", "clang -O1 -fuse-ld=lld c.c",
		"clang -O1 -fuse-ld=lld -no-pie -Wl,-z,now c.c",
		"clang -O1 -fuse-ld=lld -fcf-protection=full -Wl,-z,force-ibt c.c" };
	char folder[] = "/tmp/plt_XXXXXX", command[512], path[64];
	size_t total = 0;

	if (!has_objdump())
		skip();
	assert_non_null(mkdtemp(folder));
	(void)snprintf(command, sizeof(command),
		"cd %s && printf '#include <stdio.h>\\n#include <stdlib.h>\\n"
		"int main(int n, char **a) { void *volatile p = (void *)strtol; "
		"return printf(\"%%%%s\", getenv(a[n / 2])) + (p == malloc(puts(a[0]))); }' > c.c",
		folder);
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		(void)snprintf(command, sizeof(command), "cd %s && %s -o program%zu 2>/dev/null",
			folder, builds[i], i);
		if (system(command) != 0) {
			print_message("not compared: \"%s\" does not work here\n", builds[i]);
			continue;
		}
		(void)snprintf(path, sizeof(path), "%s/program%zu", folder, i);
		print_message("%s: ", builds[i]);
		total += compare(path);
	}
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	if (total == 0) {
		print_message("skipped: no compiler for x86-64\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_are_bound_through_their_slots),
		cmocka_unit_test(other_machines_have_none),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(jumps_at_the_end_are_not_read_beyond_it),
		cmocka_unit_test(stubs_of_the_machines_programs_agree),
		cmocka_unit_test(stubs_of_all_linkers_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
