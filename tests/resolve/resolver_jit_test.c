/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executable memory of this very process that no file, or no usual one, is behind. */
#include "base/cleanup.h"
#include "process/process_scan.h"
#include "resolve/resolver.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, SPAN = 16 * PAGE };

struct fixture {
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct resolver *resolver;
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
};

/* What is to be found must be mapped by now. */
static void open_fixture(struct fixture *fixture)
{
	*fixture = (struct fixture){ 0 };
	assert_int_equal(broker_new(NULL, &fixture->broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &fixture->processes), 0);
	assert_int_equal(kernel_symbols_new(fixture->broker, &fixture->kernel), 0);
	assert_int_equal(binary_table_new(&binary_table_default_limits, fixture->broker,
				 fixture->processes, &fixture->binaries),
		0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	assert_int_equal(process_scan_one(fixture->broker, fixture->processes, getpid(), 1000), 0);
}

static void close_fixture(struct fixture *fixture)
{
	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	kernel_symbols_free(fixture->kernel);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

/* The one frame of a stack of one address. */
static const struct resolved_frame *resolve(struct fixture *fixture, uint64_t ip)
{
	const struct raw_sample sample = {
		.process = { .tgid = (uint32_t)getpid() },
		.comm = "self",
		.count = 1,
		.first_ns = 2000,
		.last_ns = 3000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.user_ips = &ip,
		.user_ip_count = 1,
	};
	bool lacks_build_ids;

	assert_int_equal(
		resolver_resolve(fixture->resolver, &sample, fixture->frames, &lacks_build_ids), 1);
	return &fixture->frames[0];
}

static uint64_t address_of(const void *memory)
{
	return (uint64_t)(uintptr_t)memory;
}

static void assert_is_jit(struct fixture *fixture, uint64_t ip, enum resolved_jit jit)
{
	const struct resolved_frame *frame = resolve(fixture, ip);
	struct binary binary;

	assert_int_equal(frame->jit, jit);
	assert_int_equal(frame->address, ip);
	assert_null(frame->name);
	binary_table_get(fixture->binaries, frame->binary, &binary);
	assert_int_equal(binary.kind, BINARY_JIT);
	assert_string_equal(binary.path, "[JIT]");
	assert_true(resolved_has_jit(frame, 1));
}

static void anonymous_memory_is_the_processs_own(void **state)
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fixture fixture;

	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	assert_is_jit(&fixture, address_of(code) + 64, RESOLVED_JIT);
	/* Once more, out of the cache. */
	assert_is_jit(&fixture, address_of(code) + 64, RESOLVED_JIT);
	close_fixture(&fixture);
	(void)munmap(code, PAGE);
}

/* As the side-band has it, where /proc/PID/maps is read as nameless. */
static void named_anonymous_memory_is_generated_code(void **state)
{
	const struct process_mapping_event event = {
		.start = 0x100000,
		.end = 0x101000,
		.path = "[anon:jit code]",
	};
	struct fixture fixture;

	open_fixture(&fixture);
	assert_int_equal(process_table_map(fixture.processes, getpid(), 1500, &event, NULL), 0);
	assert_is_jit(&fixture, event.start + 64, RESOLVED_JIT);
	close_fixture(&fixture);
}

/* It is /dev/zero's, whichever way it comes about. */
static void shared_anonymous_memory_is_shared(void **state)
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct fixture fixture;

	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	assert_is_jit(&fixture, address_of(code) + 64, RESOLVED_JIT_SHARED);
	close_fixture(&fixture);
	(void)munmap(code, PAGE);
}

static void dev_zero_is_shared(void **state)
{
	_cleanup_close_ int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct fixture fixture;
	void *code;

	assert_true(fd >= 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED) {
		print_message("skipped: nothing in /dev may be executed here\n");
		skip();
	}
	open_fixture(&fixture);
	assert_is_jit(&fixture, address_of(code) + 64, RESOLVED_JIT_SHARED);
	close_fixture(&fixture);
	(void)munmap(code, PAGE);
}

static void a_memfd_that_is_no_elf_file_is_shared_code(void **state)
{
	_cleanup_close_ int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	struct fixture fixture;
	void *code;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	assert_is_jit(&fixture, address_of(code) + 64, RESOLVED_JIT_SHARED);
	close_fixture(&fixture);
	(void)munmap(code, PAGE);
}

/* A library that was never in a folder: a copy of this program will do. */
static void a_memfd_that_is_an_elf_file_is_a_binary(void **state)
{
	_cleanup_close_ int fd = memfd_create("library", MFD_CLOEXEC);
	_cleanup_close_ int self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t ip = address_of(a_memfd_that_is_an_elf_file_is_a_binary);
	const struct resolved_frame *frame;
	struct process_mapping mapping;
	struct fixture fixture;
	struct binary binary;
	char bytes[SPAN];
	uint64_t vaddr;
	ssize_t size;
	void *code;

	assert_true(fd >= 0 && self_fd >= 0);
	while ((size = read(self_fd, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(fd, bytes, (size_t)size), size);
	open_fixture(&fixture);
	assert_true(process_table_find(fixture.processes, getpid(), 2000, ip, &mapping));
	vaddr = resolve(&fixture, ip)->address;
	close_fixture(&fixture);

	code = mmap(NULL, mapping.end - mapping.start, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		(off_t)mapping.offset);
	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	frame = resolve(&fixture, address_of(code) + (ip - mapping.start));
	assert_int_equal(frame->jit, RESOLVED_NO_JIT);
	assert_int_equal(frame->address, vaddr);
	assert_false(resolved_has_jit(frame, 1));
	binary_table_get(fixture.binaries, frame->binary, &binary);
	assert_int_not_equal(binary.kind, BINARY_JIT);
	assert_non_null(binary.image);
	close_fixture(&fixture);
	(void)munmap(code, mapping.end - mapping.start);
}

static void pages_of_the_kernel_are_called_what_they_are(void **state)
{
	static const char *const pages[] = { "[vsyscall]", "[uprobes]" };
	struct fixture fixture;

	open_fixture(&fixture);
	for (size_t i = 0; i < 2; i++) {
		const struct process_mapping_event event = {
			.start = 0x100000 + i * PAGE,
			.end = 0x100000 + (i + 1) * PAGE,
			.path = pages[i],
		};
		const struct resolved_frame *frame;

		assert_int_equal(
			process_table_map(fixture.processes, getpid(), 1500, &event, NULL), 0);
		frame = resolve(&fixture, event.start + 64);
		assert_int_equal(frame->binary, RESOLVED_SYNTHETIC);
		assert_int_equal(frame->jit, RESOLVED_NO_JIT);
		assert_string_equal(frame->name, pages[i]);
	}
	close_fixture(&fixture);
}

static void callers_in_generated_code_stand_before_their_return(void **state)
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t ips[2] = { address_of(code) + 64, address_of(code) + 128 };
	struct raw_sample sample = {
		.process = { .tgid = (uint32_t)getpid() },
		.comm = "self",
		.count = 1,
		.first_ns = 2000,
		.last_ns = 3000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.user_ips = ips,
		.user_ip_count = 2,
	};
	struct fixture fixture;
	bool lacks_build_ids;

	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	assert_int_equal(
		resolver_resolve(fixture.resolver, &sample, fixture.frames, &lacks_build_ids), 2);
	assert_int_equal(fixture.frames[0].address, ips[1] - 1);
	assert_int_equal(fixture.frames[1].address, ips[0]);
	assert_int_equal(fixture.frames[0].jit, RESOLVED_JIT);
	assert_int_equal(fixture.frames[0].binary, fixture.frames[1].binary);
	close_fixture(&fixture);
	(void)munmap(code, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anonymous_memory_is_the_processs_own),
		cmocka_unit_test(named_anonymous_memory_is_generated_code),
		cmocka_unit_test(shared_anonymous_memory_is_shared),
		cmocka_unit_test(dev_zero_is_shared),
		cmocka_unit_test(a_memfd_that_is_no_elf_file_is_shared_code),
		cmocka_unit_test(a_memfd_that_is_an_elf_file_is_a_binary),
		cmocka_unit_test(pages_of_the_kernel_are_called_what_they_are),
		cmocka_unit_test(callers_in_generated_code_stand_before_their_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
