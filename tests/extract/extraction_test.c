/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole extractions, of the files in tests/data/extract/: a shared object without its debug file,
 * with one by build-id (`stripped`), by .gnu_debuglink (`linked`), and one that shares its debug
 * information with others by dwz.
 */
#include "extract/extraction.h"

#include "base/cleanup.h"
#include "dwarf/elf_sections.h"
#include "extract/symbol_builder.h"
#include "symbol/symbol_file.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/extract/extraction_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void a_stripped_binary_has_symbols(void **state)
{
	const struct pilotlight_symbol_header *header;
	uint64_t vaddr = 0;

	assert_int_equal(extract(DATA "stripped", NULL, NULL), 0);
	header = symbol_file_header(file);
	assert_chain(0x2d0, "entry :0:0");
	assert_chain(0x2a0, "entry@plt :0:0");
	assert_int_equal(header->rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(
		header->contents, PILOTLIGHT_SYMBOL_HAS_DYNSYM | PILOTLIGHT_SYMBOL_HAS_PLT);
	assert_int_equal(header->machine, EM_X86_64);
	assert_string_equal(header->origin, "/usr/lib/origin");
	assert_memory_equal(header->identity, request.identity, sizeof(request.identity));
	assert_int_equal(header->identity_bytes, 20);
	assert_int_equal(report.output_bytes, header->file_bytes);
	assert_int_equal(report.units_failed, 0);
	assert_false(report.has_taken_debug);
	assert_true(report.cpu_ns > 0);
	assert_true(symbol_file_find_vaddr(file, 0x2d0, &vaddr));
	assert_int_equal(vaddr, 0x2d0);
	/* There is no code in the headers. */
	assert_false(symbol_file_find_vaddr(file, 0, &vaddr));
}

static void assert_debug_taken(uint64_t entry)
{
	const struct pilotlight_symbol_header *header = symbol_file_header(file);
	bool is_found = false;

	for (uint64_t vaddr = entry; vaddr < entry + 0x70; vaddr++)
		is_found = is_found || strcmp(look_up(vaddr), "outer /src/c.c:6:20 < entry "
							      "/src/c.c:9:44") == 0;
	assert_true(is_found);
	assert_int_equal(header->rank, request.debug_rank);
	assert_int_equal(report.rank, request.debug_rank);
	assert_true(header->contents & PILOTLIGHT_SYMBOL_HAS_DWARF);
	assert_true(header->contents & PILOTLIGHT_SYMBOL_HAS_SYMTAB);
	assert_true(report.has_taken_debug);
}

static void assert_debug_not_taken(void)
{
	assert_false(report.has_taken_debug);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(symbol_file_header(file)->rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_false(symbol_file_header(file)->contents & PILOTLIGHT_SYMBOL_HAS_DWARF);
}

static void a_debug_file_is_known_by_its_build_id(void **state)
{
	assert_int_equal(extract(DATA "stripped", DATA "stripped.debug", NULL), 0);
	assert_debug_taken(0x2d0);
	assert_chain(0x2a0, "entry@plt :0:0");
	assert_int_equal(extract(DATA "stripped", CORPUS "gcc-c-dwarf4", NULL), 0);
	assert_debug_not_taken();
	assert_int_equal(extract(DATA "stripped", DATA "linked.debug", NULL), 0);
	assert_debug_not_taken();
}

static uint64_t entry_of(const char *path)
{
	struct symbol_line line;

	assert_int_equal(extract(path, NULL, NULL), 0);
	for (uint64_t vaddr = 0; vaddr < 0x1000; vaddr++)
		if (symbol_file_find_chain(file, vaddr, &line, 1) == 1 &&
			strcmp(line.function, "entry") == 0)
			return vaddr;
	fail_msg("%s has no entry()", path);
	return 0;
}

static void a_debug_file_is_known_by_its_crc(void **state)
{
	uint64_t entry = entry_of(DATA "linked");

	assert_int_equal(extract(DATA "linked", DATA "linked.debug", NULL), 0);
	assert_debug_taken(entry);
	assert_int_equal(extract(DATA "linked", DATA "stripped.debug", NULL), 0);
	assert_debug_not_taken();
}

static void a_debug_file_alone_needs_the_identity(void **state)
{
	struct symbol_identity identity;
	_cleanup_close_ int fd = open_data(DATA "stripped.debug");
	uint64_t vaddr;

	assert_int_equal(extract(NULL, DATA "stripped.debug", NULL), -ENODATA);
	assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
	memcpy(request.identity, identity.id.bytes, sizeof(request.identity));
	assert_int_equal(extract(NULL, DATA "stripped.debug", NULL), 0);
	assert_debug_taken(0x2d0);
	/* Its offsets are not the binary's. */
	assert_false(symbol_file_find_vaddr(file, 0x2d0, &vaddr));
	request.identity_kind = PILOTLIGHT_SYMBOL_HTLHASH;
	assert_int_equal(extract(NULL, DATA "stripped.debug", NULL), -ENODATA);
}

static bool is_anywhere(const char *expected)
{
	for (uint64_t vaddr = 0; vaddr < 0x4000; vaddr++)
		if (strstr(look_up(vaddr), expected))
			return true;
	return false;
}

static void an_alternate_file_names_functions(void **state)
{
	static const char named[] = "operator() /src/p.cpp:10:42 < use /src/p.cpp:12:7";

	assert_int_equal(extract(DATA "dwz_program", NULL, DATA "dwz_alternate"), 0);
	assert_true(report.has_taken_alternate);
	assert_true(symbol_file_header(file)->contents & PILOTLIGHT_SYMBOL_HAS_ALTERNATE);
	assert_true(is_anywhere(named));
	assert_int_equal(extract(DATA "dwz_program", NULL, NULL), 0);
	assert_false(report.has_taken_alternate);
	assert_false(is_anywhere(named));
	/* Another file is not it. */
	assert_int_equal(extract(DATA "dwz_program", NULL, DATA "stripped.debug"), 0);
	assert_false(report.has_taken_alternate);
	assert_false(is_anywhere(named));
}

/* Runs a command in `folder`. */
static int run_in(const char *folder, const char *command)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "cd %s && %s", folder, command);
	return system(line);
}

/* Makes `name` in a new `folder` by a command. False: this machine cannot, and the folder is gone.
 */
static bool is_made(char *folder, const char *command)
{
	if (mkdtemp(folder) && run_in(folder, command) == 0)
		return true;
	(void)run_in(folder, "rm -f *");
	(void)rmdir(folder);
	return false;
}

/* Holds the names of all code in .text against what nm says of the binary itself. */
static void assert_named_as_by_nm(const char *folder)
{
	unsigned long long start, size;
	char command[128], name[64];
	size_t found = 0;
	FILE *stream;

	(void)snprintf(command, sizeof(command), "nm -S %s/whole | grep ' T '", folder);
	stream = popen(command, "r");
	assert_non_null(stream);
	while (fscanf(stream, "%llx %llx T %63s", &start, &size, name) == 3) {
		struct symbol_line line;

		for (uint64_t vaddr = start; vaddr < start + size; vaddr++) {
			assert_true(symbol_file_find_chain(file, vaddr, &line, 1) == 1);
			assert_string_equal(line.function, name);
			assert_true(line.place.line > 0);
		}
		found++;
	}
	assert_int_equal(pclose(stream), 0);
	assert_int_equal(found, 2);
}

/* The code's segment begins with the first function, and is longer than headers are. */
static void a_debug_file_alone_has_all_of_the_code(void **state)
{
	char folder[] = "/tmp/debug-alone-XXXXXX", path[64];
	struct symbol_identity identity;

	if (!is_made(folder, "printf 'int first(int a) { return a * 3; }\n"
			     "int second(int *p) { return *p + 1; }\n' >a.c && "
			     "gcc -O2 -g -falign-functions=2048 -fPIC -shared -nostdlib "
			     "-Wl,-z,separate-code -Wl,--build-id "
			     "a.c -o whole && objcopy --only-keep-debug whole whole.debug")) {
		print_message("gcc and objcopy cannot make a debug file here\n");
		skip();
	}
	(void)snprintf(path, sizeof(path), "%s/whole.debug", folder);
	{
		_cleanup_close_ int fd = open_data(path);

		assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
	}
	memcpy(request.identity, identity.id.bytes, sizeof(request.identity));
	assert_int_equal(extract(NULL, path, NULL), 0);
	assert_named_as_by_nm(folder);
	assert_int_equal(run_in(folder, "rm *"), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void files_that_are_not_elf_are_refused(void **state)
{
	_cleanup_close_ int empty = memfd_create("empty", MFD_CLOEXEC);

	assert_int_equal(extract(NULL, NULL, NULL), -ENODATA);
	assert_int_equal(extract_fds(dup(empty), -1, -1), -ENOEXEC);
	assert_int_equal(extract_fds(-1, dup(empty), -1), -ENOEXEC);
	assert_int_equal(extract("tests/extract/extraction_test.c", NULL, NULL), -ENOEXEC);
	/* What is wrong with the debug file or the alternate is not the binary's fault. */
	assert_int_equal(extract_fds(open_data(DATA "stripped"), dup(empty), dup(empty)), 0);
	assert_debug_not_taken();
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

/* A copy of a file of the corpus in which the header of a section is changed. */
static int damaged_copy(const char *path, const char *section, uint64_t offset)
{
	static uint8_t bytes[64 * 1024];
	_cleanup_close_ int fd = open_data(path);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	Elf64_Ehdr header;
	Elf64_Shdr shdr, names;

	assert_true(size > 0);
	memcpy(&header, bytes, sizeof(header));
	memcpy(&names, bytes + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
	for (size_t i = 1; i < header.e_shnum; i++) {
		uint8_t *position = bytes + header.e_shoff + i * sizeof(shdr);

		memcpy(&shdr, position, sizeof(shdr));
		if (strcmp((char *)bytes + names.sh_offset + shdr.sh_name, section) != 0)
			continue;
		shdr.sh_offset += offset;
		memcpy(position, &shdr, sizeof(shdr));
		return file_of(bytes, (size_t)size);
	}
	fail_msg("%s has no %s", path, section);
	return -1;
}

static void symbols_remain_of_damaged_dwarf(void **state)
{
	assert_int_equal(
		extract_fds(damaged_copy(CORPUS "gcc-c-dwarf5", ".debug_info", 3), -1, -1), 0);
	assert_true(is_anywhere("entry"));
	assert_false(is_anywhere("outer"));
	assert_true(report.units_failed > 0);
	assert_int_equal(symbol_file_header(file)->units_failed, report.units_failed);
	/* Compressed sections too, and an alternate file. */
	assert_int_equal(
		extract_fds(damaged_copy(CORPUS "gcc-c-compressed", ".debug_info", 3), -1, -1), 0);
	assert_true(is_anywhere("entry"));
	assert_false(is_anywhere("outer"));
	assert_true(report.units_failed > 0);
}

static void assert_debug_incomplete(uint8_t rank)
{
	assert_true(report.has_taken_debug);
	assert_true(report.units_failed > 0);
	assert_int_equal(report.rank, rank);
	assert_int_equal(symbol_file_header(file)->rank, rank);
}

/* Whatever else knows its DWARF is better. */
static void a_debug_file_without_its_dwarf_has_a_low_rank(void **state)
{
	struct symbol_identity identity;
	_cleanup_close_ int fd = open_data(DATA "stripped.debug");

	assert_int_equal(extract_fds(open_data(DATA "stripped"),
				 damaged_copy(DATA "stripped.debug", ".debug_info", 3), -1),
		0);
	assert_debug_incomplete(PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
	memcpy(request.identity, identity.id.bytes, sizeof(request.identity));
	assert_int_equal(
		extract_fds(-1, damaged_copy(DATA "stripped.debug", ".debug_info", 3), -1), 0);
	assert_debug_incomplete(PILOTLIGHT_SYMBOL_RANK_DEBUGLINK);
}

static void damaged_compression_has_a_low_rank(void **state)
{
	struct symbol_identity identity;
	_cleanup_close_ int fd = open_data(CORPUS "gcc-c-compressed");

	assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
	memcpy(request.identity, identity.id.bytes, sizeof(request.identity));
	request.identity_kind = (uint8_t)identity.kind;
	assert_int_equal(extract(CORPUS "gcc-c-compressed", CORPUS "gcc-c-compressed", NULL), 0);
	assert_int_equal(report.rank, request.debug_rank);
	assert_int_equal(extract_fds(open_data(CORPUS "gcc-c-compressed"),
				 damaged_copy(CORPUS "gcc-c-compressed", ".debug_info", 3), -1),
		0);
	assert_debug_incomplete(PILOTLIGHT_SYMBOL_RANK_BINARY);
}

/* With the alternate file, or without: it heals when that appears. */
static void a_debug_file_without_its_alternate_has_a_low_rank(void **state)
{
	assert_int_equal(extract(DATA "dwz_program", DATA "dwz_program", DATA "dwz_alternate"), 0);
	assert_true(report.has_taken_debug && report.has_taken_alternate);
	assert_int_equal(report.units_failed, 0);
	assert_int_equal(report.rank, request.debug_rank);
	assert_int_equal(extract(DATA "dwz_program", DATA "dwz_program", NULL), 0);
	assert_debug_incomplete(PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_false(report.has_taken_alternate);
}

static void a_file_without_code_has_nothing(void **state)
{
	static struct fixture elf;
	const struct fixture_section section = { ".text", SHT_PROGBITS, .bytes = "x", .size = 1 };

	fixture_build_sections(&elf, &section, 1);
	assert_int_equal(extract_fds(file_of(elf.bytes, elf.size), -1, -1), -ENODATA);
}

static void too_many_segments_are_too_many(void **state)
{
	static uint8_t bytes[64 * 1024];
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	Elf64_Phdr phdr = { .p_type = PT_LOAD, .p_flags = PF_X | PF_R, .p_memsz = 16 };

	for (unsigned int count = 16; count <= 300; count += count < 17 ? 1 : 283) {
		header.e_phnum = (uint16_t)count;
		memcpy(bytes, &header, sizeof(header));
		for (unsigned int i = 0; i < count; i++) {
			phdr.p_vaddr = phdr.p_offset = 0x1000 + 0x10 * (uint64_t)i;
			memcpy(bytes + sizeof(header) + i * sizeof(phdr), &phdr, sizeof(phdr));
		}
		assert_int_equal(extract_fds(file_of(bytes, sizeof(bytes)), -1, -1),
			count <= SYMBOL_BUILDER_SEGMENTS_MAX ? -ENODATA : -EFBIG);
	}
}

static void the_scratch_has_a_limit(void **state)
{
	request.scratch_bytes_max = 4096;
	assert_int_equal(extract(CORPUS "gcc-c-dwarf5", NULL, NULL), -EFBIG);
}

static void an_output_that_cannot_be_written_is_an_error(void **state)
{
	_cleanup_close_ int binary = open_data(DATA "stripped");
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = open("/dev/full", O_RDWR | O_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		.scratch_fd = scratch,
		.output_fd = output,
	};

	assert_int_equal(extraction_run(&files, &request, &report), -ENOSPC);
	assert_int_equal(report.error, -ENOSPC);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	for (n = 0;; n++) {
		_cleanup_close_ int binary = open_data(DATA "stripped");
		_cleanup_close_ int debug = open_data(DATA "stripped.debug");
		_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
		_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
		const struct extraction_files files = {
			.binary_fd = binary,
			.debug_fd = debug,
			.alternate_fd = -1,
			.package_fd = -1,
			.scratch_fd = scratch,
			.output_fd = output,
		};

		fail_allocation(n);
		r = extraction_run(&files, &request, &report);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stripped_binary_has_symbols),
		TEST(a_debug_file_is_known_by_its_build_id),
		TEST(a_debug_file_is_known_by_its_crc),
		TEST(a_debug_file_alone_needs_the_identity),
		TEST(an_alternate_file_names_functions),
		TEST(a_debug_file_alone_has_all_of_the_code),
		TEST(files_that_are_not_elf_are_refused),
		TEST(symbols_remain_of_damaged_dwarf),
		TEST(a_debug_file_without_its_dwarf_has_a_low_rank),
		TEST(damaged_compression_has_a_low_rank),
		TEST(a_debug_file_without_its_alternate_has_a_low_rank),
		TEST(a_file_without_code_has_nothing),
		TEST(too_many_segments_are_too_many),
		TEST(the_scratch_has_a_limit),
		TEST(an_output_that_cannot_be_written_is_an_error),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
