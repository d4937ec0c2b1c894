/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file a request of the sampler is about, when the process has changed its mappings since. */
#include "engine/unwinding_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 4096, TIME_NS = 1000 };

struct fixture {
	struct unwinding_files files;
	struct pilotlight_walk_request request;
	struct pilotlight_file_key key; /* of this program */
	void *text;			/* mapped executable: a file that is not ELF */
	char path[64];
};

static void open_fixture(struct fixture *fixture)
{
	struct stat status;
	int fd;

	*fixture = (struct fixture){ .path = "/tmp/unwinding_files_test.XXXXXX" };
	assert_int_equal(broker_new(NULL, &fixture->files.broker), 0);
	assert_int_equal(
		process_table_new(&process_table_default_limits, &fixture->files.processes), 0);
	assert_int_equal(binary_table_new(&binary_table_default_limits, fixture->files.broker,
				 fixture->files.processes, &fixture->files.binaries),
		0);
	fd = mkstemp(fixture->path);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0755), 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	fixture->text = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(fixture->text != MAP_FAILED);
	(void)close(fd);
	assert_int_equal(stat("/proc/self/exe", &status), 0);
	fixture->key = (struct pilotlight_file_key){
		.inode = status.st_ino,
		.size_bytes = (uint64_t)status.st_size,
		.modified_s = status.st_mtim.tv_sec,
		.modified_ns = (uint32_t)status.st_mtim.tv_nsec,
	};
	fixture->request = (struct pilotlight_walk_request){
		.process.tgid = (uint32_t)getpid(),
		.time_ns = TIME_NS,
		.start = (uint64_t)(uintptr_t)fixture->text,
		.end = (uint64_t)(uintptr_t)fixture->text + BYTES,
	};
}

static void close_fixture(struct fixture *fixture)
{
	(void)munmap(fixture->text, BYTES);
	(void)unlink(fixture->path);
	binary_table_free(fixture->files.binaries);
	process_table_free(fixture->files.processes);
	broker_free(fixture->files.broker);
}

/* Says that at the time of the request the process had mapped `path` there. */
static void map(struct fixture *fixture, const char *path)
{
	struct process_mapping_event event = {
		.start = fixture->request.start,
		.end = fixture->request.end,
		.path = path,
		.inode = fixture->key.inode,
	};

	assert_int_equal(process_table_map(fixture->files.processes, getpid(), 1, &event, NULL), 0);
}

static int identify(struct fixture *fixture)
{
	uint32_t binary;
	int fd = -1;
	int r = unwinding_files_identify(
		&fixture->files, &fixture->key, &fixture->request, &binary, &fd);

	if (fd >= 0) {
		struct stat status;

		assert_int_equal(fstat(fd, &status), 0);
		assert_int_equal(status.st_ino, fixture->key.inode);
		(void)close(fd);
	}
	return r;
}

/*
 * A process maps a library, is sampled there, and then maps a file that is not ELF at the same
 * address. The library must not count as a file without code: all processes share it.
 */
static void another_file_at_the_address_proves_nothing(void **state)
{
	struct fixture fixture;
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = '\0';
	open_fixture(&fixture);
	map(&fixture, path);
	assert_int_equal(identify(&fixture), 0);
	close_fixture(&fixture);
}

/* Neither the address nor the path leads to the file that was sampled. */
static void a_file_that_is_not_elf_is_not_identified(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture);
	map(&fixture, fixture.path);
	assert_int_equal(identify(&fixture), -ENOEXEC);
	close_fixture(&fixture);
}

static void shared_memory_is_told_apart(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture);
	map(&fixture, "//anon");
	assert_int_equal(identify(&fixture), -EMEDIUMTYPE);
	fixture.request.start = 1;
	assert_int_equal(identify(&fixture), -ESRCH);
	close_fixture(&fixture);
}

/* Sets the request to this program's code, as the kernel has mapped it. */
static void request_own_code(struct fixture *fixture)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t here = (uint64_t)(uintptr_t)request_own_code, start = 0, end = 0, offset = 0;
	char line[4096];

	assert_non_null(maps);
	while (!(start <= here && here < end)) {
		assert_non_null(fgets(line, sizeof(line), maps));
		assert_int_equal(
			sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset),
			3);
	}
	(void)fclose(maps);
	fixture->request.start = start;
	fixture->request.end = end;
	fixture->request.offset = offset;
}

/* The table does not know the process: the kernel's records of its mappings were lost. */
static void a_mapping_without_a_record_is_learnt(void **state)
{
	struct process_mapping mapping;
	struct mapped_file file;
	struct fixture fixture;
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = '\0';
	open_fixture(&fixture);
	request_own_code(&fixture);
	fixture.key.size_bytes++;
	assert_int_equal(identify(&fixture), -ESRCH);
	fixture.key.size_bytes--;
	assert_int_equal(identify(&fixture), 0);
	assert_true(process_table_find(fixture.files.processes, getpid(), TIME_NS,
		(uint64_t)(uintptr_t)request_own_code, &mapping));
	assert_int_equal(mapping.start, fixture.request.start);
	assert_int_equal(mapping.end, fixture.request.end);
	assert_int_equal(mapping.offset, fixture.request.offset);
	process_table_file(fixture.files.processes, mapping.file, &file);
	assert_string_equal(file.path, path);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_file_at_the_address_proves_nothing),
		cmocka_unit_test(a_file_that_is_not_elf_is_not_identified),
		cmocka_unit_test(shared_memory_is_told_apart),
		cmocka_unit_test(a_mapping_without_a_record_is_learnt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
