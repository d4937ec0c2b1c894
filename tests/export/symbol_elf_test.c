/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the file back with libelf. */
#include "export/symbol_elf.h"

#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct symbol_file_fixture fixture;
static char text[1024]; /* "value+size name;" of each symbol */

static int set_up(void **state)
{
	fixture = (struct symbol_file_fixture){ .identity = { 1, 2, 3 } };
	symbol_file_fixture_fill(&fixture);
	text[0] = '\0';
	return 0;
}

static int write_elf(struct output_memory *memory)
{
	static struct output output;
	struct symbol_file *file = NULL;
	int fd, r, error;

	symbol_file_fixture_build(&fixture);
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	(void)close(fd);
	*memory = (struct output_memory){ .limit_bytes = 1 << 20 };
	output_init(&output, output_to_memory, memory);
	r = symbol_elf_write(file, &output);
	error = output_finish(&output);
	symbol_file_free(file);
	return r < 0 ? r : error;
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	const Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	assert_non_null(data);
	assert_non_null(gelf_getsym((Elf_Data *)data, 0, &symbol));
	assert_int_equal(symbol.st_name, 0);
	for (int i = 1; gelf_getsym((Elf_Data *)data, i, &symbol); i++) {
		const size_t used = strlen(text);

		assert_int_equal(GELF_ST_TYPE(symbol.st_info), STT_FUNC);
		assert_int_not_equal(symbol.st_shndx, SHN_UNDEF);
		(void)snprintf(text + used, sizeof(text) - used, "%llx+%llx %s;",
			(unsigned long long)symbol.st_value, (unsigned long long)symbol.st_size,
			elf_strptr(elf, header->sh_link, symbol.st_name));
	}
}

static void read_elf(const struct output_memory *memory)
{
	Elf *elf;
	Elf_Scn *section = NULL;
	GElf_Ehdr header;
	GElf_Shdr section_header;
	size_t names, tables = 0, segments;

	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	elf = elf_memory(memory->bytes, memory->size);
	assert_non_null(elf);
	assert_non_null(gelf_getehdr(elf, &header));
	assert_int_equal(elf_getphdrnum(elf, &segments), 0);
	assert_int_equal(segments, 0);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		assert_non_null(gelf_getshdr(section, &section_header));
		assert_true(section_header.sh_offset + section_header.sh_size <= memory->size);
		name = elf_strptr(elf, names, section_header.sh_name);
		assert_string_equal(
			name, section_header.sh_type == SHT_SYMTAB ? ".symtab" : ".strtab");
		if (section_header.sh_type != SHT_SYMTAB)
			continue;
		read_symbols(elf, section, &section_header);
		tables++;
	}
	assert_int_equal(tables, 1);
	(void)elf_end(elf);
}

static void write_and_read(void)
{
	struct output_memory memory;

	assert_int_equal(write_elf(&memory), 0);
	read_elf(&memory);
	/* Of files and inlined functions no symbol has the name. */
	assert_null(memmem(memory.bytes, memory.size, "/src/", 5));
	assert_null(memmem(memory.bytes, memory.size, "inner", 5));
	free(memory.bytes);
}

/* One that others were inlined into is one symbol. */
static void functions_are_symbols(void **state)
{
	write_and_read();
	assert_string_equal(text, "401000+40 main;401040+20 cold;");
}

static void parts_of_a_function_are_symbols(void **state)
{
	static const struct pilotlight_symbol_boundary boundaries[] = {
		{ 0x00, 1 },
		{ 0x10, 4 },
		{ 0x20, 2 },
		{ 0x30, 0 },
		{ 0x50, 3 },
		{ 0x60, 0 },
	};

	fixture.boundaries = boundaries;
	write_and_read();
	assert_string_equal(text, "401000+10 main;401010+10 cold;401020+10 main;401050+10 main;");
}

static void places_are_no_names(void **state)
{
	static const struct symbol_file_fixture_frame frames[] = {
		{ 0, "[a.so function at +0x1000]", 0 },
		{ 1, "outer", 0 },
		{ 2, "inner", 0 },
		{ 0, "cold", 0 },
	};
	static const struct pilotlight_symbol_boundary boundaries[] = { { 0, 1 }, { 0x10, 0 } };
	struct output_memory memory;

	fixture.frames = frames;
	write_and_read();
	assert_string_equal(text, "401040+20 cold;");
	fixture.boundaries = boundaries;
	fixture.boundary_count = 2;
	assert_int_equal(write_elf(&memory), -ENODATA);
	assert_int_equal(memory.size, 0);
}

static void names_are_valid_text(void **state)
{
	static const struct symbol_file_fixture_frame frames[] = {
		{ 0, "m\xff\xc3\xa4in", 0 },
		{ 1, "outer", 0 },
		{ 2, "inner", 0 },
		{ 0, "cold\xc3", 0 },
	};

	fixture.frames = frames;
	write_and_read();
	assert_string_equal(text, "401000+40 m?\xc3\xa4in;401040+20 cold?;");
}

static void a_bound_is_an_error(void **state)
{
	static struct output output;
	struct output_memory memory = { .limit_bytes = 100 };
	struct symbol_file *file = NULL;
	int fd;

	symbol_file_fixture_build(&fixture);
	fd = symbol_file_fixture_fd(&fixture);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	(void)close(fd);
	output_init(&output, output_to_memory, &memory);
	assert_int_equal(symbol_elf_write(file, &output), 0);
	assert_int_equal(output_finish(&output), -E2BIG);
	symbol_file_free(file);
	free(memory.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(functions_are_symbols, set_up),
		cmocka_unit_test_setup(parts_of_a_function_are_symbols, set_up),
		cmocka_unit_test_setup(places_are_no_names, set_up),
		cmocka_unit_test_setup(names_are_valid_text, set_up),
		cmocka_unit_test_setup(a_bound_is_an_error, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
