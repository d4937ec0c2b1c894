/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that runs an interpreter, and its memory as the sampler's headers read it. For tests that
 * walk the frames of real interpreters. Include it before the header that walks.
 */
#pragma once

#include "base/cleanup.h"
#include "base/scratch.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_walk.bpf.h"

enum { LINE_BYTES = 4096, NAME_BYTES = 256, FRAMES_MAX = 200 };

static pid_t child;
static uint64_t hidden; /* memory there cannot be read */
static struct pilotlight_runtime described;
static uint64_t base; /* the address of place 0 */

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)address, size };

	return address != hidden &&
	       process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

typedef int (*runtime_reader)(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);

static inline bool describe(const char *path, runtime_reader read_runtime)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;

	scratch_init(&scratch, scratch_fd, 64 << 20, 8 << 20);
	return unwind_files_open(&opened, &files) == 0 &&
	       read_runtime(&opened, &scratch, &described) == 0;
}

/* Finds the interpreter among the files that the child has mapped, by a part of its path. */
static inline void find_interpreter(const char *part, runtime_reader read_runtime)
{
	char path[64], line[LINE_BYTES], file[LINE_BYTES];
	uint64_t start, offset;
	bool is_found = false;
	char flags[8];
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", child);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (!is_found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%*x %7s %" SCNx64 " %*s %*d %4095s", &start, flags,
			    &offset, file) != 4 ||
			flags[2] != 'x' || !strstr(file, part))
			continue;
		is_found = describe(file, read_runtime);
		base = start - offset;
	}
	(void)fclose(maps);
	assert_true(is_found);
}

/* Stops a thread of the child. */
static inline void seize(pid_t tid, struct user_regs_struct *registers)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, registers), 0);
}

/* Runs a command of the shell, in which $0 is the interpreter and $1 the argument. Returns what it
 * tells. What is written to *ret_input it reads. */
static inline FILE *start_child(
	const char *command, const char *interpreter, const char *argument, int *ret_input)
{
	int to_child[2], from_child[2];
	FILE *output;

	assert_int_equal(pipe2(to_child, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from_child, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(to_child[0], STDIN_FILENO);
		(void)dup2(from_child[1], STDOUT_FILENO);
		(void)execl("/bin/sh", "sh", "-c", command, interpreter, argument, NULL);
		_exit(127);
	}
	(void)close(to_child[0]);
	(void)close(from_child[1]);
	*ret_input = to_child[1];
	output = fdopen(from_child[0], "re");
	assert_non_null(output);
	return output;
}

static inline void end_child(FILE *output)
{
	int status;

	(void)kill(child, SIGKILL);
	(void)fclose(output);
	assert_int_equal(waitpid(child, &status, 0), child);
}
