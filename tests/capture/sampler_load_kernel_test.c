/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler loads on kernels without a maple tree of mappings (before Linux 6.1), where it does
 * not walk stacks. Kernels before 6.8 also verify global functions that nothing calls.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/sampler_programs.h"
#include "sampler.skel.h"
#include "tests/harness/privilege.h"

#include <bpf/libbpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TYPES_BYTES_MAX = 64 << 20 };

/* Each is a whole name. */
static void rename_all(char *bytes, size_t size, const char *name)
{
	size_t length = strlen(name) + 2;
	char wanted[64] = { 0 };
	char *found = bytes;
	unsigned count = 0;

	assert_true(length <= sizeof(wanted));
	(void)strcpy(wanted + 1, name);
	while ((found = memmem(found, size - (size_t)(found - bytes), wanted, length))) {
		found[1] = '-';
		count++;
	}
	/* This kernel may have none itself. */
	assert_int_equal(count > 0, sampler_programs_can_walk());
}

/* The running kernel's types, without those of the tree. */
static void write_types(int fd)
{
	static const char *const names[] = { "maple_range_64", "maple_arange_64", "mm_mt" };
	_cleanup_fclose_ FILE *file = fopen("/sys/kernel/btf/vmlinux", "re");
	_cleanup_free_ char *bytes = malloc(TYPES_BYTES_MAX);
	size_t size;

	assert_non_null(file);
	assert_non_null(bytes);
	size = fread(bytes, 1, TYPES_BYTES_MAX, file);
	assert_in_range(size, 1, TYPES_BYTES_MAX - 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rename_all(bytes, size, names[i]);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
}

static void sampler_loads_without_a_maple_tree(void **state)
{
	char path[] = "/tmp/types-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct sampler *sampler;
	int r;

	assert_true(fd >= 0);
	if (privilege_lacks_bpf()) {
		(void)unlink(path);
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	write_types(fd);
	sampler = sampler__open_opts(&options);
	assert_non_null(sampler);
	sampler->rodata->wants_walks = false;
	r = sampler__load(sampler);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(r, 0);
	sampler__destroy(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampler_loads_without_a_maple_tree),
	};

	return cmocka_run_group_tests_name("sampler_load_kernel", tests, NULL, NULL);
}
