/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler loads on kernels without a maple tree of mappings (before Linux 6.1), where it does
 * not walk stacks. Kernels before 6.8 also verify global functions that nothing calls. With all
 * that makes its programs longer, the kernel verifies them: it gives up after 1,000,000
 * instructions. And both objects agree about what they have in common.
 *
 * Runs beside others: it attaches nothing.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/block_programs.h"
#include "capture/capture.h"
#include "capture/sampler_programs.h"
#include "capture/visitor_programs.h"
#include "sampler.skel.h"
#include "tests/harness/privilege.h"
#include "visitor.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
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

/* Constants that are set before loading are volatile; others are in the code that both have. */
static bool is_set_before_loading(const struct btf *types, const struct btf_var_secinfo *variable)
{
	const struct btf_type *type =
		btf__type_by_id(types, btf__type_by_id(types, variable->type)->type);

	while (type && btf_is_const(type))
		type = btf__type_by_id(types, type->type);
	return type && btf_is_volatile(type);
}

/* The object's variables in that section, or NULL. */
static const struct btf_type *variables_in(const struct btf *types, const char *section)
{
	int id = btf__find_by_name_kind(types, section, BTF_KIND_DATASEC);

	return id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
}

static const char *name_of(const struct btf *types, const struct btf_var_secinfo *variable)
{
	return btf__name_by_offset(types, btf__type_by_id(types, variable->type)->name_off);
}

static const struct btf_var_secinfo *find_variable(
	const struct btf *types, const char *section, const char *name)
{
	const struct btf_type *type = variables_in(types, section);

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (strcmp(name_of(types, &btf_var_secinfos(type)[i]), name) == 0)
			return &btf_var_secinfos(type)[i];
	return NULL;
}

/* The engine reads one of the two: what the other object counts or knows would be lost. */
static void variables_of_both_objects_are_shared(void **state)
{
	static const char *const sections[] = { ".bss", ".data" };
	struct sampler *sampler = sampler__open();
	struct visitor *visitor = visitor__open();
	const struct btf *types, *others;
	const struct btf_type *type;
	const char *name;
	int seen = 0;

	assert_non_null(sampler);
	assert_non_null(visitor);
	types = bpf_object__btf(sampler->obj);
	others = bpf_object__btf(visitor->obj);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		type = variables_in(types, sections[i]);
		for (int j = 0; type && j < btf_vlen(type); j++, seen++) {
			name = name_of(types, &btf_var_secinfos(type)[j]);
			for (size_t k = 0; k < ARRAY_SIZE(sections); k++)
				if (find_variable(others, sections[k], name))
					fail_msg("both objects have %s: it should be SHARED", name);
		}
	}
	assert_true(seen > 0);
	sampler__destroy(sampler);
	visitor__destroy(visitor);
}

/* With walks, a choice of cgroups, and sources whose programs walk a stack after many branches. */
static void set_constants(struct sampler *sampler)
{
	const __typeof__(sampler->rodata) constants = sampler->rodata;

	constants->wants_walks = sampler_programs_can_walk();
	constants->wants_kernel = constants->wants_runtimes = 2; /* 1 is what both have before */
	constants->filters_tgids = 1;
	constants->chooses_cgroups = constants->includes_cgroups = 1;
	constants->ring_bytes = 1 << 20;
	constants->sent_walks_mask = 63;
	constants->walk_seed = 0x1234;
	constants->pid_namespace_inum = 0xf0000000;
	constants->threads_max = 1000;
	constants->known_codes_shift = 12;
	for (unsigned i = 0; i < PILOTLIGHT_SOURCES; i++)
		constants->source_periods[i] = 1000000 + i;
}

/* Each constant that both objects have must differ from its default: a default looks the same with
 * and without the copy. */
static void assert_same_constants(const struct sampler *sampler, const struct visitor *visitor)
{
	const struct btf *types = bpf_object__btf(visitor->obj);
	const struct btf_type *type = variables_in(types, ".rodata");
	struct visitor *untouched = visitor__open();
	int same = 0;

	assert_non_null(type);
	assert_non_null(untouched);
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *variable = &btf_var_secinfos(type)[i], *other;
		const char *name = name_of(types, variable);

		other = find_variable(bpf_object__btf(sampler->obj), ".rodata", name);
		if (!other || !is_set_before_loading(types, variable))
			continue;
		assert_int_equal(other->size, variable->size);
		if (memcmp((const char *)sampler->rodata + other->offset,
			    (const char *)untouched->rodata + variable->offset, other->size) == 0 &&
			(strcmp(name, "wants_walks") != 0 || sampler_programs_can_walk()))
			fail_msg("set_constants() should give %s another value", name);
		if (memcmp((const char *)sampler->rodata + other->offset,
			    (const char *)visitor->rodata + variable->offset, other->size) != 0)
			fail_msg("the visitor has another %s than the sampler", name);
		same++;
	}
	assert_true(same > 0);
	visitor__destroy(untouched);
}

/* Those that visit other threads get the sampler's constants. */
static void visits_are_verified(const struct capture_settings *settings, struct sampler *sampler)
{
	struct visitor *visitor;
	struct fault fault = { 0 };

	if (visitor_programs_load(settings, sampler, &visitor, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_non_null(visitor);
	print_verified(visitor->obj);
	assert_same_constants(sampler, visitor);
	visitor_programs_free(visitor);
}

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
	set_constants(sampler);
	/* Linux 6.1 refuses issue_io. */
	block_support_read(&block);
	(void)bpf_program__set_autoload(sampler->progs.start_io, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.start_io_bytes, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.end_io, block.has_start);
	(void)bpf_program__set_autoload(sampler->progs.issue_io_bytes, !*block.missing);
	assert_int_equal(sampler__load(sampler), 0);
	print_verified(sampler->obj);
	visits_are_verified(&(struct capture_settings){ .surveyed = ~0U }, sampler);
	visits_are_verified(
		&(struct capture_settings){ .sources = 1U << PILOTLIGHT_SOURCE_OFFCPU }, sampler);
	sampler__destroy(sampler);
}

static uint32_t verify_samples(bool wants_runtimes)
{
	struct sampler *sampler = sampler__open();
	struct bpf_program *program;
	uint32_t instructions;

	assert_non_null(sampler);
	set_constants(sampler);
	sampler->rodata->wants_runtimes = wants_runtimes;
	bpf_object__for_each_program(program, sampler->obj)(void)
		bpf_program__set_autoload(program, program == sampler->progs.sample_cpu);
	assert_int_equal(sampler__load(sampler), 0);
	instructions = verified_instructions(sampler->progs.sample_cpu);
	sampler__destroy(sampler);
	return instructions;
}

/* Kernels before 6.8 verify global functions that are not called, too. */
static bool verifies_called_functions_only(void)
{
	struct utsname system;
	unsigned major, minor;

	assert_int_equal(uname(&system), 0);
	assert_int_equal(sscanf(system.release, "%u.%u", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 8);
}

static void interpreters_can_be_left_out(void **state)
{
	uint32_t with, without;

	if (privilege_lacks_bpf() || !sampler_programs_can_walk()) {
		print_message("skipped: no walks here\n");
		skip();
	}
	with = verify_samples(true);
	without = verify_samples(false);
	print_message("# sample_cpu: %u, without interpreters: %u\n", with, without);
	assert_true(without < with / (verifies_called_functions_only() ? 2 : 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_of_both_objects_are_shared),
		cmocka_unit_test(sampler_loads_without_a_maple_tree),
		cmocka_unit_test(long_programs_are_verified),
		cmocka_unit_test(interpreters_can_be_left_out),
	};

	return cmocka_run_group_tests_name("sampler_load_kernel", tests, NULL, NULL);
}
