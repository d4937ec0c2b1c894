/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names as other tools give them: for thousands of addresses of programs built here and of programs
 * that the machine has, llvm-symbolizer names the function and nm lists the symbols. Whatever the
 * two tools and we do not agree on falls into one of the classes that disagreement() names, and is
 * checked against nm's list; all else is an error. Stubs of the procedure linkage table are
 * elf_plt_test.c's matter.
 */
#include "extract/elf_symbols.h"
#include "tests/extract/recorded_symbols.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESSES_SPREAD = 4000, ADDRESSES_MAX = 20000, SYMBOLS_MAX = 400000, PATH_BYTES = 512 };

struct known_symbol {
	uint64_t start, size;
	char *name; /* owned */
};

/* One file: what is asked of it and what the tools say. */
struct question {
	uint64_t vaddrs[ADDRESSES_MAX];
	size_t count;
	struct known_symbol *symbols; /* owned */
	size_t symbol_count, symbol_capacity;
	struct elf_file file; /* the one that is asked about */
	size_t named, aliases, stretched, enclosing, stubs;
};

static char folder[] = "/tmp/symbols_XXXXXX";

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A shell command; its complaints are of no interest. */
static bool run(const char *format, ...)
{
	char command[4 * PATH_BYTES];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, (int)sizeof(command) - 1);
	return system(command) == 0;
}

static bool has_tools(void)
{
	if (run("command -v llvm-symbolizer >/dev/null 2>&1 && command -v nm >/dev/null 2>&1"))
		return true;
	print_message("skipped: llvm-symbolizer or nm is not installed\n");
	return false;
}

static void question_free(struct question *question)
{
	for (size_t i = 0; i < question->symbol_count; i++)
		free(question->symbols[i].name);
	free(question->symbols);
	free(question);
}
DEFINE_CLEANUP(struct question, question_free);

/* "address [size] type name", the size only where it is known. */
static void read_symbols(struct question *question, const char *path, bool is_dynamic)
{
	_cleanup_free_ char *line = NULL;
	char command[PATH_BYTES], type, name[32768];
	size_t capacity = 0;
	FILE *nm;

	(void)snprintf(command, sizeof(command), "nm -S --defined-only %s '%s' 2>/dev/null",
		is_dynamic ? "-D" : "", path);
	nm = popen(command, "r");
	assert_non_null(nm);
	while (getline(&line, &capacity, nm) > 0) {
		struct known_symbol symbol = { 0 };

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %32767s", &symbol.start, &symbol.size,
			    &type, name) != 4) {
			symbol.size = 0;
			if (sscanf(line, "%" SCNx64 " %c %32767s", &symbol.start, &type, name) != 3)
				continue;
		}
		if (!strchr("tTwWiu", type))
			continue;
		if (strchr(name, '@') > name)
			*strchr(name, '@') = '\0';
		symbol.name = strdup(name);
		assert_non_null(symbol.name);
		assert_int_equal(ARRAY_RESERVE(question->symbols, &question->symbol_capacity,
					 question->symbol_count + 1, SYMBOLS_MAX),
			0);
		question->symbols[question->symbol_count++] = symbol;
	}
	assert_int_equal(pclose(nm), 0);
}

static int compare_vaddrs(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return *first < *second ? -1 : *first > *second;
}

static void add_address(struct question *question, const struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->segment_count; i++)
		if (vaddr >= image->segments[i].vaddr &&
			vaddr - image->segments[i].vaddr < image->segments[i].file_bytes &&
			question->count < ADDRESSES_MAX)
			question->vaddrs[question->count++] = vaddr;
}

/* Over all the text at even distances, and where symbols begin and end. */
static void choose_addresses(struct question *question, const struct elf_image *image)
{
	size_t stride = question->symbol_count / ((ADDRESSES_MAX - ADDRESSES_SPREAD) / 3) + 1;
	size_t kept = 0;

	for (size_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t step = segment->file_bytes / (ADDRESSES_SPREAD / image->segment_count) + 1;

		for (uint64_t at = 0; at < segment->file_bytes; at += step)
			add_address(question, image, segment->vaddr + at);
	}
	for (size_t i = 0; i < question->symbol_count; i += stride) {
		const struct known_symbol *symbol = &question->symbols[i];

		add_address(question, image, symbol->start);
		add_address(question, image, symbol->start + symbol->size - 1);
		add_address(question, image, symbol->start + symbol->size);
	}
	qsort(question->vaddrs, question->count, sizeof(question->vaddrs[0]), compare_vaddrs);
	for (size_t i = 0; i < question->count; i++)
		if (kept == 0 || question->vaddrs[kept - 1] != question->vaddrs[i])
			question->vaddrs[kept++] = question->vaddrs[i];
	question->count = kept;
}

/* A symbol of that name that contains the address, and begins where `alias_of` does if not NULL. */
static const struct known_symbol *find_symbol(const struct question *question, const char *name,
	uint64_t vaddr, const struct known_symbol *alias_of)
{
	for (size_t i = 0; i < question->symbol_count; i++) {
		const struct known_symbol *symbol = &question->symbols[i];

		if (symbol->start > vaddr || (alias_of && symbol->start != alias_of->start))
			continue;
		if (symbol->size > 0 && vaddr - symbol->start >= symbol->size)
			continue;
		if (strcmp(symbol->name, name) == 0)
			return symbol;
	}
	return NULL;
}

/* Does a section or a function end after the symbol's start and up to the address? */
static bool is_stretched(
	const struct question *question, const struct known_symbol *symbol, uint64_t vaddr)
{
	for (size_t i = 0; i < question->symbol_count; i++) {
		const struct known_symbol *other = &question->symbols[i];

		if (other->size > 0 && other->start + other->size > symbol->start &&
			other->start + other->size <= vaddr)
			return true;
	}
	for (uint32_t i = 1; i < question->file.shdr_count; i++) {
		Elf64_Shdr shdr;

		assert_int_equal(elf_file_read_shdr(&question->file, i, &shdr), 0);
		if ((shdr.sh_flags & SHF_EXECINSTR) && symbol->start >= shdr.sh_addr &&
			symbol->start <= shdr.sh_addr + shdr.sh_size &&
			vaddr >= shdr.sh_addr + shdr.sh_size)
			return true;
	}
	return false;
}

static bool is_stub(const char *name)
{
	size_t length = strlen(name);

	return length >= 4 && (strcmp(name, ".plt") == 0 || strcmp(name + length - 4, "@plt") == 0);
}

static bool is_beyond_its_section(const struct question *question, const char *name, uint64_t vaddr)
{
	const struct known_symbol *symbol = find_symbol(question, name, vaddr, NULL);

	return symbol && symbol->size == 0 && is_stretched(question, symbol, vaddr);
}

/* NULL where the answers agree or differ for a known reason; else what is wrong. */
static const char *disagreement(
	struct question *question, uint64_t vaddr, const char *ours, const char *theirs)
{
	const struct known_symbol *own, *other;

	if (!ours && !theirs)
		return NULL;
	if (ours)
		question->named++;
	if (ours && theirs && strcmp(ours, theirs) == 0)
		return NULL;
	if (ours && is_stub(ours) && (!theirs || is_beyond_its_section(question, theirs, vaddr))) {
		question->stubs++;
		return NULL;
	}
	own = ours ? find_symbol(question, ours, vaddr, NULL) : NULL;
	if (ours && !own)
		return "we give a name that nm does not have there";
	if (!ours) {
		/*
		 * llvm-symbolizer stretches a symbol without a size as far as the next symbol,
		 * beyond its section and beyond the end of the function that it is a label in.
		 */
		other = find_symbol(question, theirs, vaddr, NULL);
		if (!other || other->size > 0 || !is_stretched(question, other, vaddr))
			return "we miss a name";
		question->stretched++;
		return NULL;
	}
	if (!theirs) {
		/*
		 * It looks at the last symbol that begins before the address and at no other: not
		 * at a function that encloses it and goes on behind it.
		 */
		if (own->size == 0)
			return "we stretch a symbol";
		question->enclosing++;
		return NULL;
	}
	/* Which of several names for one place is shown is a matter of taste. */
	if (find_symbol(question, theirs, vaddr, own)) {
		question->aliases++;
		return NULL;
	}
	/* It prefers a label within a function, which has no size, to the function. */
	other = find_symbol(question, theirs, vaddr, NULL);
	if (other && other->size == 0 && own->size > 0) {
		question->enclosing++;
		return NULL;
	}
	return "the names differ";
}

/* Reads one answer: the function, a source line that is not looked at, an empty line. */
static const char *read_answer(FILE *symbolizer, char **line, size_t *capacity)
{
	_cleanup_free_ char *rest = NULL;
	size_t rest_capacity = 0;
	char *version;

	assert_true(getline(line, capacity, symbolizer) > 0);
	while (getline(&rest, &rest_capacity, symbolizer) > 0 && rest[0] != '\n')
		continue;
	(*line)[strcspn(*line, "\n")] = '\0';
	if (strcmp(*line, "??") == 0)
		return NULL;
	version = strchr(*line, '@');
	if (version > *line)
		*version = '\0';
	return *line;
}

static void compare_answers(
	struct question *question, const char *path, const struct symbol_builder *builder)
{
	_cleanup_free_ char *line = NULL;
	char command[2 * PATH_BYTES], addresses[PATH_BYTES];
	size_t differences = 0, capacity = 0;
	FILE *file;

	(void)snprintf(addresses, sizeof(addresses), "%s/addresses", folder);
	file = fopen(addresses, "we");
	assert_non_null(file);
	for (size_t i = 0; i < question->count; i++)
		(void)fprintf(file, "0x%" PRIx64 "\n", question->vaddrs[i]);
	assert_int_equal(fclose(file), 0);

	(void)snprintf(command, sizeof(command),
		"llvm-symbolizer --obj='%s' --no-inlines --functions=linkage --no-demangle "
		"--debug-file-directory='%s' < '%s'",
		path, folder, addresses);
	file = popen(command, "r");
	assert_non_null(file);
	for (size_t i = 0; i < question->count; i++) {
		uint64_t vaddr = question->vaddrs[i];
		const struct recorded_symbol *symbol = recorded_symbols_find(builder, vaddr);
		const char *ours = symbol ? symbol->name : NULL;
		const char *theirs = read_answer(file, &line, &capacity);
		const char *wrong = disagreement(question, vaddr, ours, theirs);

		if (wrong && differences++ < 10)
			print_error("%s 0x%" PRIx64 ": %s: \"%s\", llvm-symbolizer \"%s\"\n", path,
				vaddr, wrong, ours ? ours : "", theirs ? theirs : "");
	}
	(void)pclose(file);
	print_message("%s: %zu addresses, %zu named; other alias %zu, stretched by "
		      "llvm-symbolizer %zu, enclosing %zu, stubs %zu\n",
		path, question->count, question->named, question->aliases, question->stretched,
		question->enclosing, question->stubs);
	assert_int_equal(differences, 0);
}

/* All symbols of the files at `paths`, some of which may be NULL. */
static void gather(struct symbol_builder *builder, const char *const *paths, size_t count)
{
	_cleanup_(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	FILE *temporary = tmpfile();
	int fds[ELF_SYMBOLS_FILES_MAX];
	struct scratch scratch;

	assert_non_null(temporary);
	scratch_init(&scratch, fileno(temporary), 1 << 30, 0);
	assert_int_equal(elf_symbols_new(builder, &scratch, &symbols), 0);
	for (size_t i = 0; i < count; i++) {
		struct elf_file file;

		fds[i] = paths[i] ? open(paths[i], O_RDONLY | O_CLOEXEC) : -1;
		if (!paths[i])
			continue;
		assert_true(fds[i] >= 0);
		assert_int_equal(elf_file_init(&file, fds[i]), 0);
		assert_int_equal(elf_symbols_add_file(symbols, &file), 0);
	}
	assert_int_equal(elf_symbols_finish(symbols), 0);
	assert_int_equal(builder->losses[SYMBOL_LOSS_SYMBOLS], 0);
	assert_int_equal(builder->losses[SYMBOL_LOSS_NAME], 0);
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	(void)fclose(temporary);
}

/*
 * Asks about `path`, with the separate debug file `debug` if not NULL, and compares with what the
 * tools say of `oracle`. Returns the number of names.
 */
static size_t compare(const char *path, const char *debug, const char *oracle)
{
	_cleanup_(question_freep) struct question *question = calloc(1, sizeof(*question));
	_cleanup_(recorded_symbols_done) struct symbol_builder builder = { .code_end = UINT64_MAX };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *const paths[] = { path, debug };
	struct elf_image image;

	assert_non_null(question);
	assert_true(fd >= 0);
	assert_int_equal(elf_image_read(fd, &image), 0);
	assert_true(image.segment_count > 0);
	assert_int_equal(elf_file_init(&question->file, fd), 0);
	read_symbols(question, oracle, false);
	if (run("test -n \"$(nm -D '%s' 2>/dev/null)\"", path))
		read_symbols(question, path, true);
	assert_true(question->symbol_count > 0);
	choose_addresses(question, &image);
	gather(&builder, paths, ARRAY_SIZE(paths));
	compare_answers(question, oracle, &builder);
	return question->named;
}

static const char c_source[] =
	"#include <stdio.h>\n"
	"static int __attribute__((noinline)) local(int n) { return n * 3; }\n"
	"int __attribute__((noinline)) exported(int n) { return local(n) + 1; }\n"
	"int aliased(int n) __attribute__((alias(\"exported\")));\n"
	"int weak_alias(int n) __attribute__((weak, alias(\"exported\")));\n"
	"int _underscored(int n) __attribute__((alias(\"exported\")));\n"
	"int picked(int n);\n"
	"static int fast(int n) { return n + 7; }\n"
	"static int (*pick(void))(int) { return fast; }\n"
	"int picked(int n) __attribute__((ifunc(\"pick\")));\n"
	"__asm__(\".text\\n.globl bare\\nbare: nop\\nnop\\nret\\n\");\n"
	"int main(int argc, char **argv)\n"
	"{ (void) argv; printf(\"%d\", exported(argc) + picked(argc)); }\n";

static const char cplus_source[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"namespace outer { template <class T> struct holder {\n"
	"  std::vector<T> all; std::map<std::string, T> by_name;\n"
	"  __attribute__((noinline)) holder() : all(3) {}\n"
	"  __attribute__((noinline)) ~holder() {}\n"
	"  __attribute__((noinline)) void sort()\n"
	"  { std::sort(all.begin(), all.end(), [](const T &a, const T &b) { return b < a; }); }\n"
	"  template <class... A> __attribute__((noinline)) void add(const A &...more)\n"
	"  { (all.push_back(more), ...); by_name[\"x\"] = all.back(); } }; }\n"
	"int main() { outer::holder<int> i; i.add(1, 2, 3); i.sort();\n"
	"  outer::holder<std::string> s; s.add(std::string(\"a\")); s.sort(); }\n";

static void write_source(const char *name, const char *text)
{
	char path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Builds folder/name, or says that it cannot be built here. */
static bool build(const char *name, const char *compiler)
{
	if (run("cd '%s' && %s -o %s 2>/dev/null", folder, compiler, name))
		return true;
	print_message("not compared: \"%s\" does not work here\n", compiler);
	return false;
}

static void programs_built_here_agree(void **state)
{
	static const char *const builds[][2] = {
		{ "static_address", "gcc -O1 -no-pie -fno-pie c.c" },
		{ "pie", "gcc -O1 -pie -fPIE c.c" },
		{ "id_none", "gcc -O1 -Wl,--build-id=none c.c" },
		{ "id_md5", "gcc -O1 -Wl,--build-id=md5 c.c" },
		{ "id_8", "gcc -O1 -Wl,--build-id=0x0123456789abcdef c.c" },
		{ "shared", "gcc -O1 -shared -fPIC c.c" },
		{ "cold", "g++ -O2 -freorder-functions -ffunction-sections cplus.cc" },
		{ "cplus", "g++ -O1 cplus.cc" },
		{ "whole", "gcc -O1 -static c.c" },
		/* p_vaddr is not p_offset there. */
		{ "lld", "clang -O1 -fuse-ld=lld -Wl,--build-id c.c" },
	};
	char path[PATH_BYTES];
	size_t built = 0;

	if (!has_tools())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		if (!build(builds[i][0], builds[i][1]))
			continue;
		built++;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, builds[i][0]);
		assert_true(compare(path, NULL, path) > 10);
	}
	if (built == 0)
		skip();
}

/* Builds folder/name, a copy without symbols, and a debug file; or says that it cannot be done. */
static bool build_stripped(const char *name, const char *compiler)
{
	if (run("cd '%s' && %s -o %s 2>/dev/null && objcopy --only-keep-debug %s %s.debug && "
		"strip -o %s.stripped %s",
		    folder, compiler, name, name, name, name, name))
		return true;
	print_message("not compared: \"%s\", objcopy or strip does not work here\n", compiler);
	return false;
}

static void stripped_programs_agree(void **state)
{
	char whole[PATH_BYTES], stripped[PATH_BYTES], debug[PATH_BYTES];
	size_t exported, all;

	if (!has_tools() || !build_stripped("part", "g++ -O1 -g -rdynamic cplus.cc"))
		skip();
	(void)snprintf(whole, sizeof(whole), "%s/part", folder);
	(void)snprintf(stripped, sizeof(stripped), "%s/part.stripped", folder);
	(void)snprintf(debug, sizeof(debug), "%s/part.debug", folder);
	exported = compare(stripped, NULL, stripped);
	assert_true(exported > 10);
	all = compare(stripped, debug, whole);
	assert_true(all > exported);
}

/* As Fedora's find-debuginfo makes it: the functions that .dynsym does not have. */
static void programs_with_debugdata_agree(void **state)
{
	char whole[PATH_BYTES], mini[PATH_BYTES];
	size_t exported, all;

	if (!has_tools() || !build_stripped("mini", "g++ -O1 -g -rdynamic cplus.cc"))
		skip();
	if (!run("cd '%s' && nm -D mini --format=posix --defined-only | "
		 "awk '{ print $1 }' | sort > exported && "
		 "nm mini --format=posix --defined-only | "
		 "awk '$2 ~ /[TtDWw]/ { print $1 }' | sort > functions && "
		 "comm -13 exported functions > keep && "
		 "objcopy -S --remove-section .gdb_index --remove-section .comment "
		 "--keep-symbols=keep mini.debug mini.inner && xz -f mini.inner && "
		 "objcopy --add-section .gnu_debugdata=mini.inner.xz mini.stripped mini.fedora",
		    folder)) {
		print_message("skipped: nm, objcopy or xz does not work here\n");
		skip();
	}
	(void)snprintf(whole, sizeof(whole), "%s/mini", folder);
	(void)snprintf(mini, sizeof(mini), "%s/mini.stripped", folder);
	exported = compare(mini, NULL, mini);
	(void)snprintf(mini, sizeof(mini), "%s/mini.fedora", folder);
	all = compare(mini, NULL, whole);
	assert_true(all > exported);
}

static void programs_of_the_machine_agree(void **state)
{
	static const char *const paths[] = { "/bin/bash", "/usr/bin/python3", "/usr/bin/perl",
		"/usr/bin/git", "/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libstdc++.so.6" };
	size_t compared = 0;

	if (!has_tools())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (access(paths[i], R_OK) < 0)
			continue;
		(void)compare(paths[i], NULL, paths[i]);
		compared++;
	}
	if (compared == 0) {
		print_message("skipped: none of the programs is on this machine\n");
		skip();
	}
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	write_source("c.c", c_source);
	write_source("cplus.cc", cplus_source);
	return 0;
}

static int tear_down(void **state)
{
	return run("rm -rf '%s'", folder) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_built_here_agree),
		cmocka_unit_test(stripped_programs_agree),
		cmocka_unit_test(programs_with_debugdata_agree),
		cmocka_unit_test(programs_of_the_machine_agree),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
