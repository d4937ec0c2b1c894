/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that looks like a process that generates code: it maps the marker of a jitdump file, or
 * has a perf map, and adds a symbol on request.
 */
#pragma once

#include "tests/jit/jitdump_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct jit_child {
	pid_t pid;
	int orders, answers; /* pipes to and from it */
	char path[96];
};

static inline uint64_t jit_child_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Adds "symbol N" at N * 0x1000. */
static inline void jit_child_add(int fd, bool is_jitdump, unsigned n)
{
	struct jitdump_fixture dump = { 0 };
	char text[64];

	(void)snprintf(text, sizeof(text), "symbol %u", n);
	if (is_jitdump) {
		if (n == 1)
			jitdump_fixture_header(&dump, (uint32_t)getpid());
		jitdump_fixture_load(
			&dump, jit_child_now(), (uint32_t)getpid(), n * 0x1000, 64, n, text);
	} else {
		(void)snprintf(text, sizeof(text), "%x 40 symbol %u\n", n * 0x1000, n);
		jitdump_fixture_bytes(&dump, text, strlen(text));
	}
	if (!jitdump_fixture_append(&dump, fd, 0))
		_exit(98);
	jitdump_fixture_done(&dump);
}

/* 'w' adds a symbol; anything else, or the end of the pipe, ends the child. */
static inline void jit_child_main(
	const struct jit_child *child, bool is_jitdump, int orders, int answers)
{
	int fd = open(child->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	/* Generated code has memory of its own. */
	void *memory = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char order = 'w', answer = 'y';

	if (fd < 0 || memory == MAP_FAILED || ftruncate(fd, 0) < 0)
		_exit(98);
	for (unsigned n = 1; order == 'w'; n++) {
		jit_child_add(fd, is_jitdump, n);
		if (n == 1 && is_jitdump &&
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			answer = 'n';
		if (write(answers, &answer, 1) != 1 || read(orders, &order, 1) != 1)
			break;
	}
	_exit(0);
}

/* One more symbol: true when it is written. */
static inline bool jit_child_write(struct jit_child *child)
{
	char answer = 'n';

	return write(child->orders, "w", 1) == 1 && read(child->answers, &answer, 1) == 1 &&
	       answer == 'y';
}

static inline void jit_child_end(struct jit_child *child)
{
	int status;

	/* Others may have the pipe too. */
	if (write(child->orders, "x", 1) != 1)
		(void)kill(child->pid, SIGKILL);
	(void)close(child->orders);
	(void)close(child->answers);
	(void)waitpid(child->pid, &status, 0);
	(void)unlink(child->path);
}

/*
 * Starts it, with "symbol 1"; its jitdump file is in `folder`, NULL: it has a perf map. False where
 * it cannot map executable memory here.
 */
static inline bool jit_child_start(struct jit_child *child, const char *folder)
{
	int orders[2], answers[2];
	char answer = 'n';

	if (pipe2(orders, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
		return false;
	child->pid = fork();
	if (child->pid == 0) {
		(void)close(orders[1]);
		(void)close(answers[0]);
		if (folder)
			(void)snprintf(child->path, sizeof(child->path), "%s/jit-%d.dump", folder,
				(int)getpid());
		else
			(void)snprintf(child->path, sizeof(child->path), "/tmp/perf-%d.map",
				(int)getpid());
		jit_child_main(child, folder != NULL, orders[0], answers[1]);
	}
	(void)close(orders[0]);
	(void)close(answers[1]);
	child->orders = orders[1];
	child->answers = answers[0];
	if (folder)
		(void)snprintf(child->path, sizeof(child->path), "%s/jit-%d.dump", folder,
			(int)child->pid);
	else
		(void)snprintf(
			child->path, sizeof(child->path), "/tmp/perf-%d.map", (int)child->pid);
	if (child->pid > 0 && read(child->answers, &answer, 1) == 1 && answer == 'y')
		return true;
	jit_child_end(child);
	return false;
}
