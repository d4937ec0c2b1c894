/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler loads on kernels without a maple tree of mappings (before Linux 6.1), where it does
 * not walk stacks. Kernels before 6.8 also verify global functions that nothing calls. With all
 * that makes its programs longer, the kernel verifies them: it gives up after 1,000,000
 * instructions.
 *
 * Runs beside others: it attaches nothing.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/block_programs.h"
#include "capture/sampler_programs.h"
#include "sampler.skel.h"
#include "tests/harness/privilege.h"
#include "visitor.skel.h"

#include <bpf/bpf.h>
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

static uint32_t verified_instructions(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	return info.verified_insns;
}

static void print_verified(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__fd(program) >= 0)
			print_message("# %s: %u\n", bpf_program__name(program),
				verified_instructions(program));
	}
}

/* With walks, a choice of cgroups, and sources whose programs walk a stack after many branches. */
static void long_programs_are_verified(void **state)
{
	struct block_support block;
	struct sampler *sampler;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	sampler = sampler__open();
	assert_non_null(sampler);
	sampler->rodata->wants_walks = sampler_programs_can_walk();
	sampler->rodata->wants_kernel = sampler->rodata->filters_tgids = 1;
	sampler->rodata->chooses_cgroups = sampler->rodata->includes_cgroups = 1;
	sampler->rodata->ring_bytes = 1 << 20;
	sampler->rodata->sent_walks_mask = 63;
	for (unsigned i = 0; i < PILOTLIGHT_SOURCES; i++)
		sampler->rodata->source_periods[i] = 1000000;
	/* Linux 6.1 refuses issue_io. */
	block_support_read(&block);
	(void)bpf_program__set_autoload(sampler->progs.start_io, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.start_io_bytes, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.end_io, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.issue_io_bytes, !*block.missing);
	assert_int_equal(sampler__load(sampler), 0);
	print_verified(sampler->obj);
	sampler__destroy(sampler);
}

/* The same of those that visit other threads. */
static void long_visits_are_verified(void **state)
{
	struct visitor *visitor;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	visitor = visitor__open();
	assert_non_null(visitor);
	visitor->rodata->wants_walks = sampler_programs_can_walk();
	visitor->rodata->wants_kernel = visitor->rodata->filters_tgids = 1;
	visitor->rodata->chooses_cgroups = visitor->rodata->includes_cgroups = 1;
	visitor->rodata->ring_bytes = 1 << 20;
	visitor->rodata->surveyed_sources = ~0U;
	for (unsigned i = 0; i < PILOTLIGHT_SOURCES; i++)
		visitor->rodata->source_periods[i] = 1000000;
	(void)bpf_program__set_autoload(visitor->progs.survey_threads, true);
	assert_int_equal(visitor__load(visitor), 0);
	print_verified(visitor->obj);
	visitor__destroy(visitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampler_loads_without_a_maple_tree),
		cmocka_unit_test(long_programs_are_verified),
		cmocka_unit_test(long_visits_are_verified),
	};

	return cmocka_run_group_tests_name("sampler_load_kernel", tests, NULL, NULL);
}
