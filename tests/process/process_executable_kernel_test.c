/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On the running kernel: what the side-band tells of an execve() is what /proc/PID/exe says. */
#include "base/clock.h"
#include "capture/cpu_list.h"
#include "capture/sideband.h"
#include "process/process_table.h"
#include "tests/harness/privilege.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void skip_without_privilege(void)
{
	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
}

static struct sideband *open_sideband(void)
{
	struct sideband *sideband;
	uint32_t *cpus;
	int count;

	count = cpu_list_read_online(&cpus);
	assert_true(count > 0);
	assert_int_equal(sideband_open(512 << 10, &sideband), 0);
	assert_int_equal(sideband_set_cpus(sideband, cpus, (size_t)count), 0);
	free(cpus);
	return sideband;
}

static void tell(void *context, const struct sideband_record *record)
{
	struct process_table *table = context;
	const struct process_mapping_event event = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.path = record->text,
		.inode = record->inode,
		.device_major = record->device_major,
		.device_minor = record->device_minor,
	};

	if (record->kind == SIDEBAND_EXEC)
		(void)process_table_exec(table, record->pid, record->time_ns);
	else if (record->kind == SIDEBAND_FORK)
		(void)process_table_fork(table, record->pid, record->parent, record->time_ns);
	else if (record->kind == SIDEBAND_MAP)
		(void)process_table_map(table, record->pid, record->time_ns, &event, NULL);
}

/* Runs `program`, which is to write a line and then read one, and asks who it is in between. */
static void check(const char *program, const char *argument)
{
	struct sideband *sideband = open_sideband();
	char expected[PATH_MAX], link[64], byte;
	struct process_table *table;
	struct mapped_file file;
	int input[2], output[2];
	ssize_t size;
	pid_t child;

	assert_int_equal(process_table_new(&process_table_default_limits, &table), 0);
	assert_int_equal(pipe(input), 0);
	assert_int_equal(pipe(output), 0);
	child = fork();
	if (child == 0) {
		(void)dup2(input[0], STDIN_FILENO);
		(void)dup2(output[1], STDOUT_FILENO);
		(void)close(input[1]);
		(void)execl(program, program, "-c", argument, NULL);
		_exit(127);
	}
	assert_true(child > 0);
	(void)close(output[1]);
	assert_int_equal(read(output[0], &byte, 1), 1);
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)child);
	size = readlink(link, expected, sizeof(expected) - 1);
	assert_true(size > 0);
	expected[size] = '\0';
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), tell, table), 0);
	assert_true(process_table_executable(table, child, clock_monotonic_ns(), &file));
	assert_string_equal(file.path, expected);
	assert_int_equal(write(input[1], "\n", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(input[0]);
	(void)close(input[1]);
	(void)close(output[0]);
	process_table_free(table);
	sideband_free(sideband);
}

static void a_program(void **state)
{
	skip_without_privilege();
	check("/bin/sh", "echo; read x");
}

static void a_script_is_its_interpreter(void **state)
{
	char path[] = "/tmp/process_executable_kernel_test.XXXXXX";
	FILE *file;
	int fd;

	skip_without_privilege();
	fd = mkstemp(path);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	assert_non_null(file);
	(void)fputs("#!/bin/sh\necho\nread x\n", file);
	assert_int_equal(fchmod(fd, 0755), 0);
	assert_int_equal(fclose(file), 0);
	check(path, "");
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program),
		cmocka_unit_test(a_script_is_its_interpreter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
