/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves addresses of this very process; the dynamic linker says where they ought to be. */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "tests/resolve/resolver_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void raw_addresses_become_binaries_and_vaddrs(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[] = { address_of(strtoul), address_of(open_fixture) + 8 };
	struct raw_sample sample = sample_of_self();
	struct binary binary;
	const char *path;

	sample.user_ips = ips;
	sample.user_ip_count = 2;
	assert_int_equal(resolve(fixture, &sample), 2);

	/* Root first; the caller stands one before its return address. */
	binary_table_get(fixture->binaries, fixture->frames[0].binary, &binary);
	assert_int_equal(binary.kind, BINARY_EXECUTABLE);
	assert_int_equal(fixture->frames[0].address, vaddr_of(ips[1], &path) - 1);
	binary_table_get(fixture->binaries, fixture->frames[1].binary, &binary);
	assert_int_equal(binary.kind, BINARY_LIBRARY);
	assert_int_equal(fixture->frames[1].address, vaddr_of(ips[0], &path));
	assert_string_equal(strrchr(binary.path, '/'), strrchr(path, '/'));
	assert_true(binary.fd >= 0);
}

static void build_id_and_offset_meet_the_raw_address(void **state)
{
	struct fixture *fixture = *state;
	struct raw_sample sample = sample_of_self();
	struct pilotlight_user_frame frames[2] = { 0 };
	uint64_t ip = address_of(open_fixture);
	struct process_mapping mapping;
	struct elf_image image;
	const char *path;
	int fd;

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_image_read(fd, &image), 0);
	(void)close(fd);
	if (image.build_id.size == 0) {
		print_message("skipped: the linker gave this test no build-id\n");
		skip();
	}
	assert_true(process_table_find(fixture->processes, getpid(), 2000, ip, &mapping));
	frames[0].status = PILOTLIGHT_FRAME_BUILD_ID;
	memcpy(frames[0].build_id, image.build_id.bytes, BUILD_ID_BYTES);
	frames[0].offset_or_ip = ip - mapping.start + mapping.offset;
	frames[1].status = PILOTLIGHT_FRAME_IP;
	frames[1].offset_or_ip = ip + 1;
	sample.user_frames = frames;
	sample.user_count = 2;
	assert_int_equal(resolve(fixture, &sample), 2);
	/* By either way, one location. */
	assert_int_equal(fixture->frames[0].binary, fixture->frames[1].binary);
	assert_int_equal(fixture->frames[0].address, vaddr_of(ip, &path));
	assert_int_equal(fixture->frames[1].address, vaddr_of(ip, &path));
}

static void garbage_ends_the_stack_and_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct raw_sample sample = sample_of_self();
	struct pilotlight_user_frame frames[3] = { 0 };
	struct resolver_counters counters;
	struct elf_image image;
	int fd;

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_image_read(fd, &image), 0);
	(void)close(fd);
	frames[0].status = PILOTLIGHT_FRAME_IP;
	frames[0].offset_or_ip = address_of(open_fixture);
	/* As the kernel answers for an address in a hole below a mapping. */
	frames[1].status = PILOTLIGHT_FRAME_BUILD_ID;
	memcpy(frames[1].build_id, image.build_id.bytes, BUILD_ID_BYTES);
	frames[1].offset_or_ip = 0xffffa9bb795c1000;
	frames[2] = frames[0];
	sample.user_frames = frames;
	sample.user_count = 3;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_int_equal(fixture->frames[0].binary, RESOLVED_SYNTHETIC);
	assert_string_equal(fixture->frames[0].name, "[truncated: no code there]");
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_GARBAGE], 5);

	/* The same for a raw address that nothing is mapped at. */
	frames[1].status = PILOTLIGHT_FRAME_IP;
	frames[1].offset_or_ip = 0x1234;
	assert_int_equal(resolve(fixture, &sample), 2);
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_GARBAGE], 10);
}

static void unknown_process_has_one_unknown_frame(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[] = { 0x401000, 0x402000 };
	struct raw_sample sample = sample_of_self();
	struct resolver_counters counters;

	sample.process.tgid = INT32_MAX;
	sample.user_ips = ips;
	sample.user_ip_count = 2;
	assert_int_equal(resolve(fixture, &sample), 1);
	assert_string_equal(fixture->frames[0].name, "[unknown]");
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_UNKNOWN], 5);
}

static void anonymous_code_belongs_to_its_process(void **state)
{
	struct fixture *fixture = *state;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t ips[] = { address_of(code) + 64 };
	struct raw_sample sample = sample_of_self();
	struct binary binary;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(process_scan_one(fixture->broker, fixture->processes, getpid(), 1000), 0);
	sample.user_ips = ips;
	sample.user_ip_count = 1;
	assert_int_equal(resolve(fixture, &sample), 1);
	binary_table_get(fixture->binaries, fixture->frames[0].binary, &binary);
	assert_int_equal(binary.kind, BINARY_JIT);
	assert_int_equal(fixture->frames[0].address, ips[0]);
	(void)munmap(code, 4096);
}

static void the_vdso_is_a_library_with_an_image(void **state)
{
	struct fixture *fixture = *state;
	uint64_t base = getauxval(AT_SYSINFO_EHDR), ips[1];
	struct raw_sample sample = sample_of_self();
	struct binary binary;

	if (!base) {
		print_message("skipped: this kernel gives no vdso\n");
		skip();
	}
	ips[0] = base + 0x800;
	sample.user_ips = ips;
	sample.user_ip_count = 1;
	assert_int_equal(resolve(fixture, &sample), 1);
	binary_table_get(fixture->binaries, fixture->frames[0].binary, &binary);
	assert_string_equal(binary.path, "[vdso]");
	assert_int_equal(binary.kind, BINARY_LIBRARY);
	assert_non_null(binary.image);
	assert_int_equal(fixture->frames[0].address, 0x800);
}

static void kernel_frames_have_names_and_no_run_time_address(void **state)
{
	struct fixture *fixture = *state;
	/* A marker as perf puts before the kernel's frames; leaf; caller; beyond the kernel. */
	const uint64_t ips[] = { (uint64_t)-128, 0xffffffff81000110, 0xffffffff81000200,
		0xffffffffc0000000 };
	struct raw_sample sample = sample_of_self();
	struct binary binary;

	sample.kernel_ips = ips;
	sample.kernel_count = 3;
	assert_int_equal(resolve(fixture, &sample), 2);
	binary_table_get(fixture->binaries, fixture->frames[1].binary, &binary);
	assert_int_equal(binary.kind, BINARY_KERNEL);
	assert_string_equal(fixture->frames[1].name, "do_idle");
	assert_int_equal(fixture->frames[1].address, 0x110);
	/* A return address at a symbol's start belongs to the one before it. */
	assert_string_equal(fixture->frames[0].name, "do_idle");
	assert_int_equal(fixture->frames[0].address, 0x1ff);
}

/* Names are read anew once a stack goes through what has changed, and not before. */
static void kernel_code_that_changed_is_read_anew(void **state)
{
	struct fixture *fixture = *state;
	static const char changed[] = "ffffffff81000000 T _text\n"
				      "ffffffff81000000 T _stext\n"
				      "ffffffff81000100 T something_else\n"
				      "ffffffff81000300 T _etext\n";
	const uint64_t ip = 0xffffffff81000110;
	char folder[] = "/tmp/resolver_test.XXXXXX", path[64];
	const struct broker_options options = { .proc_root = folder };
	struct raw_sample sample = sample_of_self();
	struct broker *broker;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/kallsyms", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(changed, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(broker_new(&options, &broker), 0);
	resolver_free(fixture->resolver);
	kernel_symbols_free(fixture->kernel);
	assert_int_equal(kernel_symbols_new(broker, &fixture->kernel), 0);
	assert_int_equal(kernel_symbols_parse(fixture->kernel, kallsyms, strlen(kallsyms)), 0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	sample.kernel_ips = &ip;
	sample.kernel_count = 1;
	resolver_kernel_changed(fixture->resolver, ip + (1 << 20), ip + (1 << 20) + 100);
	assert_int_equal(resolve(fixture, &sample), 1);
	assert_string_equal(fixture->frames[0].name, "do_idle");
	resolver_kernel_changed(fixture->resolver, ip - 16, ip + 1);
	assert_int_equal(resolve(fixture, &sample), 1);
	assert_string_equal(fixture->frames[0].name, "something_else");
	broker_free(broker);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* More changes than are kept apart. */
static void too_many_kernel_changes_reload_all_symbols(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t ip = 0xffffffff81000110;
	struct raw_sample sample = sample_of_self();

	sample.kernel_ips = &ip;
	sample.kernel_count = 1;
	resolver_kernel_changed(fixture->resolver, 0, UINT64_MAX);
	assert_true(resolve(fixture, &sample) > 0);
	/* This machine's own names were read, which have other places. */
	assert_true(kernel_symbols_bytes(fixture->kernel) > 10000);
}

static void kernel_stands_on_user(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t kernel_ips[] = { 0xffffffff81000110 };
	uint64_t user_ips[] = { address_of(open_fixture) };
	struct raw_sample sample = sample_of_self();

	sample.kernel_ips = kernel_ips;
	sample.kernel_count = 1;
	sample.user_ips = user_ips;
	sample.user_ip_count = 1;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_null(fixture->frames[0].name);
	assert_string_equal(fixture->frames[1].name, "do_idle");
}

static void full_depth_says_that_there_was_more(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[PILOTLIGHT_STACK_DEPTH];
	struct raw_sample sample = sample_of_self();
	struct resolver_counters counters;

	for (size_t i = 0; i < ARRAY_SIZE(ips); i++)
		ips[i] = address_of(open_fixture) + 1;
	sample.user_ips = ips;
	sample.user_ip_count = PILOTLIGHT_STACK_DEPTH;
	assert_int_equal(resolve(fixture, &sample), PILOTLIGHT_STACK_DEPTH + 1);
	assert_string_equal(fixture->frames[0].name, "[truncated: depth]");
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_DEPTH], 5);
}

static void sample_without_a_stack_has_no_frames(void **state)
{
	struct fixture *fixture = *state;
	struct raw_sample sample = sample_of_self();

	assert_int_equal(resolve(fixture, &sample), 0);
}

static void mapped_addresses_need_no_build_ids(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[] = { address_of(strtoul), address_of(open_fixture) + 8 };
	struct raw_sample sample = sample_of_self();

	sample.user_ips = ips;
	sample.user_ip_count = 2;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_false(fixture->lacks_build_ids);
	/* Nor does what is no return address. */
	ips[1] = 0x1234;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_string_equal(fixture->frames[0].name, "[truncated: no code there]");
	assert_false(fixture->lacks_build_ids);
}

static void a_cut_by_build_ids_is_no_reason_to_ask_again(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[] = { address_of(strtoul), 0x1234 };
	struct pilotlight_user_frame frames[] = {
		{ .status = PILOTLIGHT_FRAME_IP, .offset_or_ip = ips[0] },
		{ .status = PILOTLIGHT_FRAME_IP, .offset_or_ip = ips[1] },
	};
	struct raw_sample sample = sample_of_self();
	struct resolver_counters counters;

	sample.user_ips = ips;
	sample.user_ip_count = sample.user_count = 2;
	sample.user_frames = frames;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_false(fixture->lacks_build_ids);
	assert_string_equal(fixture->frames[0].name, "[truncated: no code there]");
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_GARBAGE], 5);
}

static void unmapped_addresses_request_build_ids(void **state)
{
	struct fixture *fixture = *state;
	uint64_t ips[] = { 0x1234 };
	struct pilotlight_user_frame frame = {
		.status = PILOTLIGHT_FRAME_IP,
		.offset_or_ip = address_of(strtoul),
	};
	struct raw_sample sample = sample_of_self();

	sample.user_ips = ips;
	sample.user_ip_count = 1;
	sample.user_frames = &frame;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(resolve(fixture, &sample), 1);
		assert_true(fixture->lacks_build_ids);
		assert_int_equal(fixture->frames[0].binary, RESOLVED_SYNTHETIC);
	}
	sample.user_count = 1;
	assert_int_equal(resolve(fixture, &sample), 1);
	assert_false(fixture->lacks_build_ids);
	assert_int_not_equal(fixture->frames[0].binary, RESOLVED_SYNTHETIC);
}

static void an_unread_file_keeps_its_offsets_apart(void **state)
{
	struct fixture *fixture = *state;
	const struct process_mapping_event event = {
		.start = 0x7000000,
		.end = 0x7001000,
		.offset = 0x3000,
		.path = "/no/such/file",
		.inode = 77,
	};
	uint64_t ips[] = { 0x7000123 };
	struct raw_sample sample = sample_of_self();
	struct binary binary;

	assert_int_equal(process_table_map(fixture->processes, getpid(), 1500, &event, NULL), 0);
	sample.user_ips = ips;
	sample.user_ip_count = 1;
	assert_int_equal(resolve(fixture, &sample), 1);
	assert_true(fixture->lacks_build_ids);
	assert_int_equal(fixture->frames[0].address, 0x3123);
	binary_table_get(fixture->binaries, fixture->frames[0].binary, &binary);
	assert_null(binary.image);
	assert_int_equal(binary.fd, -1);
	assert_string_equal(binary.path, "/no/such/file");
}

static void descriptors_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	const struct binary_table_limits limits = {
		.binaries_max = 64, .descriptors_max = 1, .path_bytes_max = 4096
	};
	uint64_t ips[] = { address_of(strtoul) };
	uint64_t more[] = { address_of(open_fixture) };
	struct raw_sample sample = sample_of_self();
	size_t open_files = 0;

	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	assert_int_equal(
		binary_table_new(&limits, fixture->broker, fixture->processes, &fixture->binaries),
		0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	sample.user_ips = ips;
	sample.user_ip_count = 1;
	assert_int_equal(resolve(fixture, &sample), 1);
	sample.user_ips = more;
	assert_int_equal(resolve(fixture, &sample), 1);
	for (uint32_t i = 0; i < binary_table_count(fixture->binaries); i++) {
		struct binary binary;

		binary_table_get(fixture->binaries, i, &binary);
		open_files += binary.fd >= 0;
		assert_non_null(binary.image);
	}
	assert_int_equal(open_files, 1);
}

static void binaries_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	const struct binary_table_limits limits = {
		.binaries_max = 2, .descriptors_max = 1, .path_bytes_max = 4096
	};
	uint64_t ips[] = { address_of(strtoul), address_of(open_fixture) + 1 };
	struct raw_sample sample = sample_of_self();
	struct resolver_counters counters;

	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	assert_int_equal(
		binary_table_new(&limits, fixture->broker, fixture->processes, &fixture->binaries),
		0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	sample.user_ips = ips;
	sample.user_ip_count = 2;
	assert_int_equal(resolve(fixture, &sample), 2);
	assert_string_equal(fixture->frames[0].name, "[truncated: too many binaries]");
	resolver_counters(fixture->resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_FULL], 5);
}

static void failing_allocations_are_reported_or_cost_only_names(void **state)
{
	uint64_t ips[] = { address_of(strtoul), address_of(open_fixture) + 1 };
	struct raw_sample sample = sample_of_self();
	struct fixture fixture;
	size_t n;
	int r;

	sample.user_ips = ips;
	sample.user_ip_count = 2;
	for (n = 0;; n++) {
		fail_allocation(n);
		r = open_fixture(&fixture);
		if (r == 0) {
			r = resolve(&fixture, &sample);
			if (r >= 0)
				assert_in_range(r, 1, 3);
		}
		close_fixture(&fixture);
		if (!allocation_failed())
			break;
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 2);
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESOLVED(raw_addresses_become_binaries_and_vaddrs),
		RESOLVED(build_id_and_offset_meet_the_raw_address),
		RESOLVED(garbage_ends_the_stack_and_is_counted),
		RESOLVED(unknown_process_has_one_unknown_frame),
		RESOLVED(anonymous_code_belongs_to_its_process),
		RESOLVED(the_vdso_is_a_library_with_an_image),
		RESOLVED(kernel_frames_have_names_and_no_run_time_address),
		RESOLVED(kernel_code_that_changed_is_read_anew),
		RESOLVED(too_many_kernel_changes_reload_all_symbols),
		RESOLVED(kernel_stands_on_user),
		RESOLVED(full_depth_says_that_there_was_more),
		RESOLVED(sample_without_a_stack_has_no_frames),
		RESOLVED(mapped_addresses_need_no_build_ids),
		RESOLVED(a_cut_by_build_ids_is_no_reason_to_ask_again),
		RESOLVED(unmapped_addresses_request_build_ids),
		RESOLVED(an_unread_file_keeps_its_offsets_apart),
		RESOLVED(descriptors_are_bounded),
		RESOLVED(binaries_are_bounded),
		cmocka_unit_test(failing_allocations_are_reported_or_cost_only_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
