/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_symbols.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder that has a /proc and a /sys in it. */
struct tree {
	char root[64], proc[80], sys[80];
	struct broker *broker;
	struct kernel_symbols *symbols;
};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void write_bytes(const char *root, const char *name, const void *bytes, size_t size)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(close(fd), 0);
}

static void write_text(const char *root, const char *name, const char *text)
{
	write_bytes(root, name, text, strlen(text));
}

static void make_folder(const char *root, const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	struct broker_options options = { 0 };

	assert_non_null(tree);
	strcpy(tree->root, "/tmp/kernel_symbols_test.XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	(void)snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->root);
	(void)snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->root);
	make_folder(tree->root, "proc");
	make_folder(tree->root, "sys");
	make_folder(tree->sys, "kernel");
	make_folder(tree->sys, "module");
	make_folder(tree->sys, "module/ext4");
	make_folder(tree->sys, "module/ext4/notes");
	options.proc_root = tree->proc;
	options.sys_root = tree->sys;
	assert_int_equal(broker_new(&options, &tree->broker), 0);
	assert_int_equal(kernel_symbols_new(tree->broker, &tree->symbols), 0);
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	kernel_symbols_free(tree->symbols);
	broker_free(tree->broker);
	assert_int_equal(nftw(tree->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(tree);
	return 0;
}

static void parse(struct tree *tree, const char *text)
{
	assert_int_equal(kernel_symbols_parse(tree->symbols, text, strlen(text)), 0);
}

/* "image:name+offset" in hex, or "". */
static const char *at(const struct tree *tree, uint64_t ip)
{
	static char text[256];
	struct kernel_symbol symbol;
	struct kernel_image image;

	if (!kernel_symbols_find(tree->symbols, ip, &symbol))
		return "";
	kernel_symbols_image(tree->symbols, symbol.image, &image);
	(void)snprintf(text, sizeof(text), "%s:%s+%llx", image.name, symbol.name,
		(unsigned long long)symbol.image_offset);
	return text;
}

static const char kernel_text[] = "ffffffff81000000 T _text\n"
				  "ffffffff81000000 T _stext\n"
				  "ffffffff81000000 T start\n"
				  "ffffffff81001000 t local\n"
				  "ffffffff81002000 W weak\n"
				  "ffffffff81003000 T last\n"
				  "ffffffff81004000 T _etext\n"
				  "ffffffff82000000 D data\n"
				  "ffffffff83000000 T _sinittext\n"
				  "ffffffff83000000 t setup\n"
				  "ffffffff83001000 T _einittext\n";

static void kernel_addresses_are_found(void **state)
{
	struct tree *tree = *state;

	assert_string_equal(at(tree, 0xffffffff81000000), "");
	parse(tree, kernel_text);
	assert_string_equal(at(tree, 0xffffffff80ffffff), "");
	assert_string_equal(at(tree, 0xffffffff81000000), "[kernel.kallsyms]:start+0");
	assert_string_equal(at(tree, 0xffffffff81000fff), "[kernel.kallsyms]:start+fff");
	assert_string_equal(at(tree, 0xffffffff81001000), "[kernel.kallsyms]:local+1000");
	assert_string_equal(at(tree, 0xffffffff81002fff), "[kernel.kallsyms]:weak+2fff");
	assert_string_equal(at(tree, 0xffffffff81003fff), "[kernel.kallsyms]:last+3fff");
	assert_string_equal(at(tree, 0xffffffff81004000), "");
	assert_string_equal(at(tree, 0xffffffff81004001), "");
	assert_string_equal(at(tree, 0xffffffff82000000), "");
	assert_string_equal(at(tree, 0xffffffff83000010), "[kernel.kallsyms]:setup+2000010");
	assert_string_equal(at(tree, 0xffffffff83001000), "");
	assert_string_equal(at(tree, UINT64_MAX), "");
	assert_string_equal(at(tree, 0), "");
}

/* The same kernel at another address has the same identities. */
static void identity_does_not_depend_on_kaslr(void **state)
{
	struct tree *tree = *state;

	parse(tree,
		"ffffffff9a200000 T _text\nffffffff9a201000 t local\nffffffff9a202000 T _etext\n"
		"ffffffffc0400000 t mod_f\t[ext4]\nffffffffc0400100 t mod_g\t[ext4]\n"
		"ffffffffc0500000 t bpf_prog_0123456789abcdef_f\t[bpf]\n");
	assert_string_equal(at(tree, 0xffffffff9a201234), "[kernel.kallsyms]:local+1234");
	assert_string_equal(at(tree, 0xffffffffc0400104), "ext4:mod_g+104");
	assert_string_equal(at(tree, 0xffffffffc0500004),
		"bpf_prog_0123456789abcdef_f:bpf_prog_0123456789abcdef_f+4");
	parse(tree,
		"ffffffff81000000 T _text\nffffffff81001000 t local\nffffffff81002000 T _etext\n"
		"ffffffffc0300000 t bpf_prog_0123456789abcdef_f\t[bpf]\n"
		"ffffffffc0100000 t mod_f\t[ext4]\nffffffffc0100100 t mod_g\t[ext4]\n");
	assert_string_equal(at(tree, 0xffffffff81001234), "[kernel.kallsyms]:local+1234");
	assert_string_equal(at(tree, 0xffffffffc0100104), "ext4:mod_g+104");
	assert_string_equal(at(tree, 0xffffffffc0300004),
		"bpf_prog_0123456789abcdef_f:bpf_prog_0123456789abcdef_f+4");
}

static void the_kernel_begins_where_it_says(void **state)
{
	struct tree *tree = *state;

	/* arm64 has its head before _stext. */
	parse(tree, "ffff800008000000 T _text\nffff800008010000 T _stext\nffff800008010000 t f\n");
	assert_string_equal(at(tree, 0xffff800008010008), "[kernel.kallsyms]:f+10008");
	parse(tree, "ffff800008010000 T _stext\nffff800008010000 t f\nffff800008000000 t below\n");
	assert_string_equal(at(tree, 0xffff800008010008), "[kernel.kallsyms]:f+8");
	assert_string_equal(at(tree, 0xffff800008000000), "");
	parse(tree, "ffff800008010100 t g\nffff800008010000 t f");
	assert_string_equal(at(tree, 0xffff800008010108), "[kernel.kallsyms]:g+108");
}

static void one_of_several_names_is_chosen(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "1000 t a\n1000 T long_name\n", "long_name" },
		{ "1000 t a\n1000 W long_name\n", "long_name" },
		{ "1000 W a\n1000 T long_name\n", "long_name" },
		{ "1000 T _a\n1000 T long_name\n", "long_name" },
		{ "1000 T __x64_sys_read\n1000 T __se_sys_read\n", "__se_sys_read" },
		{ "1000 T abc\n1000 T ab\n1000 T abd\n", "ab" },
		{ "1000 T abd\n1000 T abc\n", "abc" },
		{ "1000 T __softirqentry_text_start\n1000 t local\n1000 T __kprobes_text_end\n",
			"local" },
		{ "1000 D data\n1000 t local\n", "local" },
		{ "1000 T _etext\n1000 t local\n", "local" },
		{ "1000 T __lock_text_start\n", "__lock_text_start" },
	};
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel_symbol symbol;

		parse(tree, cases[i].text);
		assert_true(kernel_symbols_find(tree->symbols, 0x1000, &symbol));
		assert_string_equal(symbol.name, cases[i].name);
	}
}

static void the_last_symbol_of_an_image_has_a_bounded_size(void **state)
{
	struct tree *tree = *state;

	parse(tree, "100000 T f\n120000 T g\n"
		    "200000 t mod_f\t[ext4]\n210000 d mod_data\t[ext4]\n"
		    "300000 t mod_g\t[xfs]\n"
		    "400000 t ftrace_trampoline\t[__builtin__ftrace]\n"
		    "401000 t kprobe_insn_page\t[__builtin__kprobes]\n");
	/* Between two symbols of one image it may be any length. */
	assert_string_equal(at(tree, 0x11ffff), "[kernel.kallsyms]:f+1ffff");
	assert_string_equal(at(tree, 0x12ffff), "[kernel.kallsyms]:g+2ffff");
	assert_string_equal(at(tree, 0x130000), "");
	assert_string_equal(at(tree, 0x20ffff), "ext4:mod_f+ffff");
	assert_string_equal(at(tree, 0x210000), "");
	assert_string_equal(at(tree, 0x30ffff), "xfs:mod_g+ffff");
	assert_string_equal(at(tree, 0x310000), "");
	assert_string_equal(at(tree, 0x400fff), "ftrace_trampoline:ftrace_trampoline+fff");
	assert_string_equal(at(tree, 0x401000), "kprobe_insn_page:kprobe_insn_page+0");
	assert_string_equal(at(tree, 0x410fff), "kprobe_insn_page:kprobe_insn_page+ffff");
	assert_string_equal(at(tree, 0x411000), "");
}

static void broken_lines_are_passed_over(void **state)
{
	static const char *const broken[] = {
		"",
		" ",
		"2000",
		"2000 T",
		"2000 T ",
		"2000 Tf",
		"2000T f",
		"x000 T f",
		"2000  f",
		"12345678123456780 T f",
		"2000 T a b",
		"2000 T \t[m]",
		"2000 T f\t",
		"2000 T f\t[]",
		"2000 T f\t[m",
		"2000 T f\tm]",
	};
	struct tree *tree = *state;
	char text[256];

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		(void)snprintf(text, sizeof(text), "1000 T before\n%s\n3000 T behind\n", broken[i]);
		parse(tree, text);
		assert_string_equal(at(tree, 0x2fff), "[kernel.kallsyms]:before+1fff");
		assert_string_equal(at(tree, 0x3000), "[kernel.kallsyms]:behind+2000");
	}
	assert_int_equal(kernel_symbols_parse(tree->symbols, "1000 T a\n2000 T b\0c\n", 18), 0);
	assert_string_equal(at(tree, 0x2fff), "[kernel.kallsyms]:a+1fff");
}

static void data_alone_has_no_names(void **state)
{
	struct tree *tree = *state;

	parse(tree, "1000 D one\n1000 D other\n2000 b mod_data\t[ext4]\n");
	assert_string_equal(at(tree, 0x1000), "");
	assert_string_equal(at(tree, 0x2000), "");
}

static void hidden_addresses_are_a_missing_privilege(void **state)
{
	struct tree *tree = *state;
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t f\t[ext4]\n";

	parse(tree, kernel_text);
	assert_int_equal(kernel_symbols_parse(tree->symbols, hidden, strlen(hidden)), -EPERM);
	assert_int_equal(kernel_symbols_parse(tree->symbols, "", 0), -EPERM);
	/* What was there stays. */
	assert_string_equal(at(tree, 0xffffffff81001000), "[kernel.kallsyms]:local+1000");
	assert_int_equal(kernel_symbols_renew(tree->symbols), -ENOENT);
	assert_string_equal(at(tree, 0xffffffff81001000), "[kernel.kallsyms]:local+1000");
	write_text(tree->proc, "kallsyms", hidden);
	assert_int_equal(kernel_symbols_renew(tree->symbols), -EPERM);
}

/* A note of another kind, then a build-id of `size` bytes from 1 on. */
static size_t make_notes(uint8_t notes[64], uint32_t size, uint8_t first)
{
	const uint32_t head[] = { 6, 2, 0x100, 4, size, 3 };

	memset(notes, 0, 64);
	memcpy(notes, head, 12);
	memcpy(notes + 12, "Linux", 6);
	memcpy(notes + 24, head + 3, 12);
	memcpy(notes + 36, "GNU", 4);
	for (uint32_t i = 0; i < size && i < 24; i++)
		notes[40 + i] = (uint8_t)(first + i);
	return 40 + size;
}

static uint32_t image_at(const struct tree *tree, uint64_t ip, char hex[BUILD_ID_HEX_BYTES])
{
	struct kernel_symbol symbol;
	struct kernel_image image;

	assert_true(kernel_symbols_find(tree->symbols, ip, &symbol));
	kernel_symbols_image(tree->symbols, symbol.image, &image);
	(void)build_id_format(&image.build_id, hex);
	return symbol.image;
}

static void renewal_reads_starts_and_build_ids(void **state)
{
	struct tree *tree = *state;
	char hex[BUILD_ID_HEX_BYTES];
	uint8_t notes[64];
	uint32_t before, after;

	write_text(tree->proc, "kallsyms",
		"ffffffff81000000 T _text\nffffffff81000000 t f\n"
		"ffffffffc0000400 t early\t[ext4]\nffffffffc0001400 t ext4_f\t[ext4]\n"
		"ffffffffc0101400 t xfs_f\t[xfs]\n");
	write_text(tree->proc, "modules",
		"ext4 1000 2 jbd2,mbcache, Live 0xffffffffc0001000 (E)\n"
		"nonsense\n"
		"xfs 1000 0 - Live 0x0000000000000000\n");
	write_bytes(tree->sys, "kernel/notes", notes, make_notes(notes, 20, 1));
	write_bytes(tree->sys, "module/ext4/notes/.note.gnu.build-id", notes,
		make_notes(notes, 16, 0x31));
	assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
	assert_string_equal(at(tree, 0xffffffffc0001400), "ext4:ext4_f+400");
	assert_string_equal(at(tree, 0xffffffffc0101404), "xfs:xfs_f+4");
	assert_string_equal(at(tree, 0xffffffffc0000400), "");
	assert_int_equal(image_at(tree, 0xffffffff81000000, hex), 0);
	assert_string_equal(hex, "0102030405060708090a0b0c0d0e0f1011121314");
	(void)image_at(tree, 0xffffffffc0101404, hex);
	assert_string_equal(hex, "");
	before = image_at(tree, 0xffffffffc0001400, hex);
	assert_string_equal(hex, "3132333435363738393a3b3c3d3e3f40");

	/* It comes back the same, then as another one. */
	assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
	assert_int_equal(image_at(tree, 0xffffffffc0001400, hex), before);
	write_bytes(tree->sys, "module/ext4/notes/.note.gnu.build-id", notes,
		make_notes(notes, 16, 0x41));
	assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
	after = image_at(tree, 0xffffffffc0001400, hex);
	assert_int_not_equal(after, before);
	assert_string_equal(hex, "4142434445464748494a4b4c4d4e4f50");
	assert_string_equal(at(tree, 0xffffffffc0001400), "ext4:ext4_f+400");
	assert_int_equal(image_at(tree, 0xffffffff81000000, hex), 0);
}

static void broken_notes_are_no_build_id(void **state)
{
	static const uint32_t lies[][3] = {
		{ 4, 0xffffffff, 3 },
		{ 0xffffffff, 20, 3 },
		{ 0xffffffff, 0xffffffff, 3 },
		{ 4, 0, 3 },
		{ 4, 21, 3 },
		{ 5, 20, 3 },
		{ 0, 0, 0 },
	};
	struct tree *tree = *state;
	char hex[BUILD_ID_HEX_BYTES];
	uint8_t notes[64];

	write_text(tree->proc, "kallsyms", kernel_text);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		(void)make_notes(notes, 20, 1);
		memcpy(notes + 24, lies[i], sizeof(lies[i]));
		write_bytes(tree->sys, "kernel/notes", notes, 60);
		assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
		(void)image_at(tree, 0xffffffff81000000, hex);
		assert_string_equal(hex, "");
	}
	for (size_t size = 0; size < 60; size++) {
		write_bytes(tree->sys, "kernel/notes", notes, make_notes(notes, 20, 1) - 60 + size);
		assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
		(void)image_at(tree, 0xffffffff81000000, hex);
		assert_string_equal(hex, "");
	}
}

/* BPF programs come and go for ever; the rest keeps its names. */
static void images_are_bounded(void **state)
{
	struct tree *tree = *state;
	size_t bytes = 0;
	char text[256];

	for (unsigned int i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text),
			"1000 T f\n2000 t mod_f\t[ext4]\n3000 t bpf_prog_%u\t[bpf]\n", i);
		parse(tree, text);
		if (i == 9000)
			bytes = kernel_symbols_bytes(tree->symbols);
	}
	assert_string_equal(at(tree, 0x1000), "[kernel.kallsyms]:f+0");
	assert_string_equal(at(tree, 0x2000), "ext4:mod_f+0");
	assert_string_equal(at(tree, 0x3000), "");
	assert_int_equal(kernel_symbols_bytes(tree->symbols), bytes);
	parse(tree, "1000 T f\n2000 t mod_f\t[late]\n3000 t bpf_prog_0\t[bpf]\n");
	assert_string_equal(at(tree, 0x2000), "late:mod_f+0");
	assert_string_equal(at(tree, 0x3000), "bpf_prog_0:bpf_prog_0+0");
	assert_true(bytes < 1 << 20);
}

static void symbols_are_bounded(void **state)
{
	enum { LINES = (1 << 20) + 1, LINE_BYTES = 11 };
	struct tree *tree = *state;
	char *text = malloc(LINES * LINE_BYTES + 1);

	assert_non_null(text);
	for (size_t i = 0; i < LINES; i++)
		(void)snprintf(text + i * LINE_BYTES, LINE_BYTES + 1, "%06zx T f\n", i + 1);
	assert_int_equal(
		kernel_symbols_parse(tree->symbols, text, (size_t)LINES * LINE_BYTES), -E2BIG);
	assert_int_equal(
		kernel_symbols_parse(tree->symbols, text, (size_t)(LINES - 1) * LINE_BYTES), 0);
	assert_string_equal(at(tree, 0x100000), "[kernel.kallsyms]:f+fffff");
	assert_int_equal(kernel_symbols_parse(tree->symbols, text, (64 << 20) + 1), -E2BIG);
	free(text);
}

static void failing_allocations_leave_the_old_snapshot(void **state)
{
	struct tree *tree = *state;
	size_t n;
	int r;

	write_text(tree->proc, "kallsyms", kernel_text);
	write_text(tree->proc, "modules", "ext4 1000 2 - Live 0xffffffffc0001000\n");
	for (n = 0;; n++) {
		struct kernel_symbols *symbols = NULL;
		struct kernel_symbol symbol;
		bool failed;

		fail_allocation(n);
		r = kernel_symbols_new(tree->broker, &symbols);
		if (r == 0)
			r = kernel_symbols_renew(symbols);
		failed = allocation_failed();
		if (failed) {
			assert_int_equal(r, -ENOMEM);
			if (symbols)
				assert_false(
					kernel_symbols_find(symbols, 0xffffffff81001000, &symbol));
		}
		kernel_symbols_free(symbols);
		if (!failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_true(n >= 10);
	kernel_symbols_free(NULL);
}

static void failing_renewals_leave_the_old_snapshot(void **state)
{
	struct tree *tree = *state;
	bool failed = true;
	size_t n;

	write_text(tree->proc, "kallsyms", kernel_text);
	assert_int_equal(kernel_symbols_renew(tree->symbols), 0);
	for (n = 0; failed; n++) {
		int r;

		fail_allocation(n);
		r = kernel_symbols_renew(tree->symbols);
		failed = allocation_failed();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_string_equal(at(tree, 0xffffffff81001000), "[kernel.kallsyms]:local+1000");
	}
	assert_true(n >= 6);
}

static void the_running_kernel_has_names(void **state)
{
	struct kernel_symbols *symbols;
	struct kernel_symbol symbol;
	struct kernel_image image;
	struct broker *broker;
	int r;

	assert_int_equal(broker_new(NULL, &broker), 0);
	assert_int_equal(kernel_symbols_new(broker, &symbols), 0);
	r = kernel_symbols_renew(symbols);
	if (r < 0) {
		kernel_symbols_free(symbols);
		broker_free(broker);
		print_message("skipped: /proc/kallsyms: %s\n", strerror(-r));
		skip();
	}
	kernel_symbols_image(symbols, 0, &image);
	assert_string_equal(image.name, "[kernel.kallsyms]");
	assert_false(kernel_symbols_find(symbols, 0, &symbol));
	assert_false(kernel_symbols_find(symbols, UINT64_MAX, &symbol));
	assert_true(kernel_symbols_bytes(symbols) < 12 << 20);
	kernel_symbols_free(symbols);
	broker_free(broker);
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(kernel_addresses_are_found),
		IN_TREE(identity_does_not_depend_on_kaslr),
		IN_TREE(the_kernel_begins_where_it_says),
		IN_TREE(one_of_several_names_is_chosen),
		IN_TREE(the_last_symbol_of_an_image_has_a_bounded_size),
		IN_TREE(broken_lines_are_passed_over),
		IN_TREE(data_alone_has_no_names),
		IN_TREE(hidden_addresses_are_a_missing_privilege),
		IN_TREE(renewal_reads_starts_and_build_ids),
		IN_TREE(broken_notes_are_no_build_id),
		IN_TREE(images_are_bounded),
		IN_TREE(symbols_are_bounded),
		IN_TREE(failing_allocations_leave_the_old_snapshot),
		IN_TREE(failing_renewals_leave_the_old_snapshot),
		cmocka_unit_test(the_running_kernel_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
