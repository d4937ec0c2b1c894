/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_sections.h"
#include "tests/dwarf/section_fixture.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>

#include <cmocka.h>

enum { INFO_BYTES = 150000, SCRATCH_BYTES = 64 << 20, PACKED_BYTES = 60 * 1000 };

static char info[INFO_BYTES]; /* what .debug_info unpacks to */

/* A section's contents as they are in the file. */
struct packed {
	uint8_t bytes[PACKED_BYTES];
	size_t size;
};

static void put(struct packed *packed, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(packed->bytes) - packed->size);
	memcpy(packed->bytes + packed->size, bytes, size);
	packed->size += size;
}

static void put_stream(struct packed *packed, const void *bytes, size_t size)
{
	uLongf length = sizeof(packed->bytes) - packed->size;

	assert_int_equal(compress(packed->bytes + packed->size, &length, bytes, size), Z_OK);
	packed->size += length;
}

/* Elf32_Chdr or Elf64_Chdr, in the order of the file. */
static void put_header(
	struct packed *packed, const struct fixture *like, uint32_t type, uint64_t size)
{
	struct fixture header = { .is_narrow = like->is_narrow, .is_swapped = like->is_swapped };

	fixture_put(&header, type, 4);
	if (!header.is_narrow)
		fixture_put(&header, 0, 4);
	fixture_put_word(&header, size);
	fixture_put_word(&header, 1);
	put(packed, header.bytes, header.size);
}

/* The answer of unpacking, and what came out. */
struct unpacked {
	struct scratch scratch;
	struct scratch_array array;
	int fd;
	int r;
};

static void unpacked_done(struct unpacked *unpacked)
{
	scratch_array_done(&unpacked->array);
	(void)close(unpacked->fd);
}

static void unpack_file(
	struct unpacked *unpacked, const struct elf_file *file, uint64_t limit_bytes)
{
	*unpacked = (struct unpacked){ .fd = memfd_create("scratch", MFD_CLOEXEC) };
	scratch_init(&unpacked->scratch, unpacked->fd, limit_bytes);
	assert_int_equal(
		scratch_array_init(&unpacked->array, &unpacked->scratch, 1, limit_bytes), 0);
	unpacked->r = elf_sections_unpack(file, &unpacked->array);
}

static int unpack_sections(struct unpacked *unpacked, struct fixture *fixture,
	const struct fixture_section *sections, size_t count, uint64_t limit_bytes)
{
	struct elf_file file;

	fixture_build_sections(fixture, sections, count);
	assert_int_equal(elf_file_init_memory(&file, fixture->bytes, fixture->size), 0);
	assert_true(elf_sections_are_compressed(&file));
	unpack_file(unpacked, &file, limit_bytes);
	return unpacked->r;
}

/* As libelf, which wants its bytes aligned, sees the file that was unpacked. */
static void assert_contents(
	const struct unpacked *unpacked, const char *name, const void *bytes, size_t size)
{
	Elf *elf = elf_memory(unpacked->array.items, unpacked->array.count);
	Elf_Scn *section = NULL;
	size_t names, found = 0;

	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr shdr;

		assert_non_null(gelf_getshdr(section, &shdr));
		assert_false(shdr.sh_flags & SHF_COMPRESSED);
		if (strcmp(elf_strptr(elf, names, shdr.sh_name), name) != 0)
			continue;
		found++;
		if (!bytes) {
			assert_int_equal(shdr.sh_type, SHT_NOBITS);
			continue;
		}
		assert_int_not_equal(shdr.sh_type, SHT_NOBITS);
		assert_int_equal(shdr.sh_size, size);
		assert_in_range(shdr.sh_offset, 1, unpacked->array.count - size);
		if (size > 0)
			assert_memory_equal(
				(const char *)unpacked->array.items + shdr.sh_offset, bytes, size);
	}
	assert_int_equal(found, 1);
	assert_int_equal(elf_end(elf), 0);
}

static void assert_all_contents(struct unpacked *unpacked)
{
	assert_contents(unpacked, ".debug_info", info, sizeof(info));
	assert_contents(unpacked, ".debug_line", "line", 4);
	assert_contents(unpacked, ".debug_str", "strings", 8);
	assert_contents(unpacked, ".debug_abbrev", "", 0);
	assert_contents(unpacked, ".debug_info.dwo", "split", 5);
	assert_contents(unpacked, ".symtab", "symbols", 8);
	assert_contents(unpacked, ".strtab", "names", 6);
	assert_contents(unpacked, ".text", NULL, 0);
	assert_contents(unpacked, ".debug_loc", NULL, 0);
	assert_contents(unpacked, ".bss", NULL, 0);
}

/* All else of the headers is as it was. */
static void assert_headers(struct unpacked *unpacked, size_t sections)
{
	struct elf_file file;
	Elf64_Shdr section;

	assert_int_equal(
		elf_file_init_memory(&file, unpacked->array.items, unpacked->array.count), 0);
	assert_int_equal(file.machine, EM_X86_64);
	assert_int_equal(file.type, ET_DYN);
	assert_int_equal(file.phdr_count, 0);
	assert_int_equal(file.shdr_count, sections + 2);
	assert_false(elf_sections_are_compressed(&file));
	assert_int_equal(elf_sections_find(&file, ".symtab", &section), 0);
	assert_int_equal(section.sh_link, 9);
	assert_int_equal(elf_file_read_shdr(&file, 1, &section), 0);
	assert_int_equal(section.sh_addr, 0x1000);
	assert_int_equal(section.sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_int_equal(elf_sections_find(&file, ".debug_str", &section), 0);
	assert_int_equal(section.sh_entsize, 1);
}

static void files_of_all_classes_are_unpacked(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };
		struct packed info_bytes = { 0 }, line_bytes = { 0 };
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };

		put_header(&info_bytes, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
		put_stream(&info_bytes, info, sizeof(info));
		put(&line_bytes, "ZLIB\0\0\0\0\0\0\0\4", 12);
		put_stream(&line_bytes, "line", 4);
		const struct fixture_section sections[] = {
			{ .name = ".text",
				.type = SHT_PROGBITS,
				.flags = SHF_ALLOC | SHF_EXECINSTR,
				.vaddr = 0x1000,
				.bytes = "code",
				.size = 4 },
			{ .name = ".debug_info",
				.type = SHT_PROGBITS,
				.flags = SHF_COMPRESSED,
				.bytes = info_bytes.bytes,
				.size = info_bytes.size,
				.alignment = 8 },
			{ .name = ".zdebug_line",
				.type = SHT_PROGBITS,
				.bytes = line_bytes.bytes,
				.size = line_bytes.size,
				.alignment = 1 },
			{ .name = ".debug_str",
				.type = SHT_PROGBITS,
				.flags = SHF_MERGE | SHF_STRINGS,
				.bytes = "strings",
				.size = 8,
				.entry_bytes = 1,
				.alignment = 1 },
			{ .name = ".debug_abbrev", .type = SHT_PROGBITS },
			{ .name = ".debug_loc",
				.type = SHT_PROGBITS,
				.bytes = "places",
				.size = 6 },
			{ .name = ".debug_info.dwo",
				.type = SHT_PROGBITS,
				.bytes = "split",
				.size = 5 },
			{ .name = ".symtab",
				.type = SHT_SYMTAB,
				.bytes = "symbols",
				.size = 8,
				.link = 9 },
			{ .name = ".strtab", .type = SHT_STRTAB, .bytes = "names", .size = 6 },
			{ .name = ".bss", .type = SHT_NOBITS, .is_empty_in_file = true },
		};

		assert_int_equal(unpack_sections(&unpacked, &fixture, sections,
					 ARRAY_SIZE(sections), SCRATCH_BYTES),
			0);
		assert_all_contents(&unpacked);
		assert_headers(&unpacked, ARRAY_SIZE(sections));
	}
}

static void files_without_compression_are_told(void **state)
{
	static const struct fixture_section sections[] = {
		{ .name = ".debug_info", .type = SHT_PROGBITS, .bytes = "info", .size = 4 },
		{ .name = ".zdebug_line",
			.type = SHT_NOBITS,
			.size = 20,
			.is_empty_in_file = true },
		/* Compressed, but none of ours. */
		{ .name = ".other",
			.type = SHT_PROGBITS,
			.flags = SHF_COMPRESSED,
			.bytes = "x",
			.size = 1 },
	};
	struct fixture fixture = { 0 };
	struct elf_file file;

	(void)state;
	fixture_build_sections(&fixture, sections, ARRAY_SIZE(sections));
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	assert_false(elf_sections_are_compressed(&file));
}

/* Unpacks a file whose only section is .debug_info with these contents. */
static int unpack_info(struct unpacked *unpacked, struct packed *packed, uint64_t limit_bytes)
{
	const struct fixture_section section = { .name = ".debug_info",
		.type = SHT_PROGBITS,
		.flags = SHF_COMPRESSED,
		.bytes = packed->bytes,
		.size = packed->size };
	struct fixture fixture = { 0 };

	return unpack_sections(unpacked, &fixture, &section, 1, limit_bytes);
}

static void the_size_in_the_header_is_not_trusted(void **state)
{
	static const struct {
		uint64_t told;
		size_t size;
	} cases[] = { { 0, 0 }, { 1, 1 }, { INFO_BYTES - 1, INFO_BYTES - 1 },
		{ INFO_BYTES, INFO_BYTES }, { INFO_BYTES + 1, INFO_BYTES },
		{ SCRATCH_BYTES / 2, INFO_BYTES } };
	struct fixture fixture = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		struct packed packed = { 0 };

		put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, cases[i].told);
		put_stream(&packed, info, sizeof(info));
		assert_int_equal(unpack_info(&unpacked, &packed, SCRATCH_BYTES), 0);
		assert_contents(&unpacked, ".debug_info", info, cases[i].size);
	}
}

static void streams_may_follow_each_other(void **state)
{
	_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };

	(void)state;
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, INFO_BYTES);
	put_stream(&packed, info, INFO_BYTES / 2);
	put_stream(&packed, "", 0);
	put_stream(&packed, info + INFO_BYTES / 2, INFO_BYTES - INFO_BYTES / 2);
	assert_int_equal(unpack_info(&unpacked, &packed, SCRATCH_BYTES), 0);
	assert_contents(&unpacked, ".debug_info", info, INFO_BYTES);
}

static void damage_is_refused(void **state)
{
	struct fixture fixture = { 0 };
	struct packed whole = { 0 };

	(void)state;
	put_header(&whole, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
	put_stream(&whole, info, sizeof(info));
	for (size_t size = 0; size < whole.size; size += 1 + size / 3) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		struct packed packed = whole;

		packed.size = size;
		assert_int_equal(unpack_info(&unpacked, &packed, SCRATCH_BYTES), -ENOEXEC);
	}
	for (size_t i = sizeof(Elf64_Chdr); i < sizeof(Elf64_Chdr) + 3; i++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		struct packed packed = whole;

		packed.bytes[i] ^= 0x55;
		assert_int_equal(unpack_info(&unpacked, &packed, SCRATCH_BYTES), -ENOEXEC);
	}
	for (uint32_t type = 2; type < 4; type++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		struct packed packed = { 0 };

		put_header(&packed, &fixture, type, 4);
		put_stream(&packed, "info", 4);
		assert_int_equal(unpack_info(&unpacked, &packed, SCRATCH_BYTES), -ENOTSUP);
	}
}

static void damage_of_the_old_style_is_refused(void **state)
{
	static const char *const contents[] = { "ZLIB\0\0\0\0\0\0\0", "GZIP\0\0\0\0\0\0\0\4",
		"ZLIB\0\0\0\0\0\0\0\4" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		const struct fixture_section section = { .name = ".zdebug_info",
			.type = SHT_PROGBITS,
			.bytes = contents[i],
			.size = i == 0 ? 11 : 12 };
		struct fixture fixture = { 0 };

		assert_int_equal(
			unpack_sections(&unpacked, &fixture, &section, 1, SCRATCH_BYTES), -ENOEXEC);
	}
}

/* A thousand times as much as there is in the file, and then more than there may be: that is not
 * begun with. */
static void bombs_end_at_the_limit(void **state)
{
	enum { ZEROS = 50 * 1000 * 1000 };
	_cleanup_(unpacked_done) struct unpacked large = { .fd = -1 }, small = { .fd = -1 },
						 lying = { .fd = -1 };
	_cleanup_free_ char *zeros = calloc(1, ZEROS);
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };

	(void)state;
	assert_non_null(zeros);
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, ZEROS);
	put_stream(&packed, zeros, ZEROS);
	assert_int_equal(unpack_info(&large, &packed, SCRATCH_BYTES), 0);
	assert_contents(&large, ".debug_info", zeros, ZEROS);
	assert_int_equal(unpack_info(&small, &packed, ZEROS / 4), -EFBIG);
	assert_true(small.scratch.used_bytes <= ZEROS / 8);

	packed.size = 0;
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, UINT64_MAX);
	put_stream(&packed, "info", 4);
	assert_int_equal(unpack_info(&lying, &packed, SCRATCH_BYTES), -EFBIG);
}

static void sections_outside_the_file_are_refused(void **state)
{
	static const struct fixture_section sections[] = {
		{ .name = ".debug_str", .type = SHT_PROGBITS, .bytes = "strings", .size = 8 },
		{ .name = ".zdebug_info", .type = SHT_PROGBITS, .bytes = "", .size = 1 },
	};
	_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
	struct fixture fixture = { 0 };
	struct elf_file file;

	(void)state;
	fixture_build_sections(&fixture, sections, ARRAY_SIZE(sections));
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_offset), UINT64_MAX - 3, 8);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	unpack_file(&unpacked, &file, SCRATCH_BYTES);
	assert_int_equal(unpacked.r, -ENOEXEC);
}

static void a_file_without_sections_is_refused(void **state)
{
	_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
	struct fixture fixture = { 0 };
	struct elf_file file;

	(void)state;
	fixture_build_sections(&fixture, NULL, 0);
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	assert_false(elf_sections_are_compressed(&file));
	unpack_file(&unpacked, &file, SCRATCH_BYTES);
	assert_int_equal(unpacked.r, -ENOEXEC);
}

/* Whatever it is called: without it no section has a name. */
static void the_names_are_copied_under_any_name(void **state)
{
	static const char *const names[] = { ".debug_in", ".zdebug_str", ".debug_str" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct fixture_section sections[] = {
			{ .name = ".debug_info", .type = SHT_PROGBITS, .bytes = "info", .size = 4 },
			{ .name = names[i] },
		};
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		struct fixture fixture = { 0 };
		struct elf_file file;

		fixture_build_sections(&fixture, sections, ARRAY_SIZE(sections));
		/* The second section's name comes after the first's. */
		fixture_put_name(&fixture, 3, 1 + sizeof(".debug_info"));
		fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 3, sh_flags), SHF_COMPRESSED, 8);
		assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
		unpack_file(&unpacked, &file, SCRATCH_BYTES);
		assert_int_equal(unpacked.r, 0);
		assert_contents(&unpacked, ".debug_info", "info", 4);
	}
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture fixture = { 0 };
	struct packed packed = { 0 };
	size_t n;
	int r;

	(void)state;
	put_header(&packed, &fixture, ELFCOMPRESS_ZLIB, sizeof(info));
	put_stream(&packed, info, sizeof(info));
	for (n = 0;; n++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };

		fail_allocation(n);
		r = unpack_info(&unpacked, &packed, SCRATCH_BYTES);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 2);
}

/* Objcopy packs what the compiler wrote, in both styles; unpacked it is the same again. */
static void what_objcopy_packs_is_unpacked(void **state)
{
	static const char *const styles[] = { "zlib-gabi", "zlib-gnu" };
	static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_line",
		".debug_str" };
	char folder[] = "/tmp/unpack_XXXXXX", command[512], path[64];
	bool is_built;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(command, sizeof(command),
		"cd %s && printf '#include <stdio.h>\\nint main(void) { return puts(\"x\"); }' > "
		"c.c && gcc -g -O1 c.c -o plain 2>/dev/null && "
		"objcopy --compress-debug-sections=zlib-gabi plain zlib-gabi 2>/dev/null && "
		"objcopy --compress-debug-sections=zlib-gnu plain zlib-gnu 2>/dev/null",
		folder);
	is_built = system(command) == 0;
	for (size_t i = 0; is_built && i < ARRAY_SIZE(styles); i++) {
		_cleanup_(unpacked_done) struct unpacked unpacked = { .fd = -1 };
		_cleanup_close_ int plain_fd = -1, fd = -1;
		struct elf_file plain, file;

		(void)snprintf(path, sizeof(path), "%s/plain", folder);
		plain_fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(elf_file_init(&plain, plain_fd), 0);
		assert_false(elf_sections_are_compressed(&plain));
		(void)snprintf(path, sizeof(path), "%s/%s", folder, styles[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(elf_file_init(&file, fd), 0);
		assert_true(elf_sections_are_compressed(&file));
		unpack_file(&unpacked, &file, SCRATCH_BYTES);
		assert_int_equal(unpacked.r, 0);
		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			_cleanup_free_ char *bytes = NULL;
			Elf64_Shdr section;

			assert_int_equal(elf_sections_find(&plain, names[j], &section), 0);
			bytes = malloc(section.sh_size);
			assert_non_null(bytes);
			assert_int_equal(
				elf_file_read(&plain, section.sh_offset, bytes, section.sh_size),
				0);
			assert_contents(&unpacked, names[j], bytes, section.sh_size);
		}
	}
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	if (!is_built) {
		print_message("skipped: gcc or objcopy does not work here\n");
		skip();
	}
}

static int set_up(void **state)
{
	(void)state;
	srandom(1);
	for (size_t i = 0; i < sizeof(info); i++)
		info[i] = (char)(random() % 4);
	return elf_version(EV_CURRENT) == EV_NONE ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_all_classes_are_unpacked),
		cmocka_unit_test(files_without_compression_are_told),
		cmocka_unit_test(the_size_in_the_header_is_not_trusted),
		cmocka_unit_test(streams_may_follow_each_other),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(damage_of_the_old_style_is_refused),
		cmocka_unit_test(bombs_end_at_the_limit),
		cmocka_unit_test(sections_outside_the_file_are_refused),
		cmocka_unit_test(a_file_without_sections_is_refused),
		cmocka_unit_test(the_names_are_copied_under_any_name),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(what_objcopy_packs_is_unpacked),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
