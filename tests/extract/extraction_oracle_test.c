/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extractions of all that the fuzzer starts with, held against llvm-symbolizer. */
#include "dwarf/elf_sections.h"
#include "extract/demangle.h"
#include "tests/extract/extraction_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

/* As llvm-symbolizer prints it, but demangled by us. The stream stands at an address's block. */
static void read_block(FILE *stream, char *block, size_t size)
{
	char function[4096], place[4096];
	size_t used = 0;

	block[0] = '\0';
	while (fgets(function, sizeof(function), stream) && function[0] != '\n') {
		_cleanup_free_ char *demangled = NULL;

		assert_non_null(fgets(place, sizeof(place), stream));
		function[strcspn(function, "\n")] = place[strcspn(place, "\n")] = '\0';
		demangled = demangle(function);
		used += (size_t)snprintf(block + used, size - used, "%s%s %s",
			used > 0 ? " < " : "", demangled ? demangled : function, place);
		assert_true(used < size);
	}
}

/* What we say, with llvm-symbolizer's marks for what is not known. */
static void format_block(uint64_t vaddr, char *block, size_t size)
{
	struct symbol_line lines[64];
	size_t count = symbol_file_find_chain(file, vaddr, lines, 64), used = 0;

	for (size_t i = 0; i < count || i == 0; i++) {
		const char *function = count > 0 ? lines[i].function : "";
		const char *path = count > 0 ? lines[i].place.file : "";

		used += (size_t)snprintf(block + used, size - used, "%s%s %s:%u:%u",
			i > 0 ? " < " : "", *function ? function : "??", *path ? path : "??",
			count > 0 ? lines[i].place.line : 0, count > 0 ? lines[i].place.column : 0);
		assert_true(used < size);
	}
}

/* Of what has no lines llvm-symbolizer names the file that a local symbol came from. */
static bool is_symbols_file(const char *expected, const char *found)
{
	const char *place = strrchr(expected, ' ');
	size_t length = place ? (size_t)(place - expected) : 0;

	return place && strncmp(expected, found, length) == 0 &&
	       strcmp(found + length, " ??:0:0") == 0 &&
	       strcmp(place + strlen(place) - 4, ":0:0") == 0;
}

/* Every byte of .text: of what else lies in the segment it names variables. */
static void compare_with_symbolizer(const char *path)
{
	_cleanup_close_ int fd = open_data(path);
	char command[512], expected[8192], found[8192];
	struct elf_file elf;
	Elf64_Shdr section;
	FILE *stream;

	assert_int_equal(elf_file_init(&elf, fd), 0);
	assert_int_equal(elf_sections_find(&elf, ".text", &section), 0);
	(void)snprintf(command, sizeof(command),
		"for a in $(seq %llu %llu); do printf '0x%%x\\n' $a; done | "
		"llvm-symbolizer --no-demangle --obj=%s",
		(unsigned long long)section.sh_addr,
		(unsigned long long)(section.sh_addr + section.sh_size - 1), path);
	stream = popen(command, "r");
	assert_non_null(stream);
	for (uint64_t i = 0; i < section.sh_size; i++) {
		uint64_t vaddr = section.sh_addr + i;

		read_block(stream, expected, sizeof(expected));
		format_block(vaddr, found, sizeof(found));
		if (strcmp(found, expected) != 0 && !is_symbols_file(expected, found))
			fail_msg("%s at %#llx: \"%s\" and not \"%s\"", path,
				(unsigned long long)vaddr, found, expected);
	}
	assert_int_equal(pclose(stream), 0);
}

static void answers_are_those_of_llvm_symbolizer(void **state)
{
	struct dirent **entries;
	size_t compared = 0;
	char path[512];
	int count;

	if (system("command -v llvm-symbolizer >/dev/null") != 0) {
		print_message("llvm-symbolizer is not installed\n");
		skip();
	}
	count = scandir(CORPUS, &entries, NULL, alphasort);
	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), CORPUS "%s", entries[i]->d_name);
		/* Those whose names begin with a compiler's are whole. */
		if (strncmp(entries[i]->d_name, "gcc-", 4) == 0 ||
			strncmp(entries[i]->d_name, "clang-", 6) == 0) {
			assert_int_equal(extract(path, NULL, NULL), 0);
			compare_with_symbolizer(path);
			compared++;
		}
		free(entries[i]);
	}
	free(entries);
	assert_true(compared >= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			answers_are_those_of_llvm_symbolizer, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
