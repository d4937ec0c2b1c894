/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up process with a perf map and jitdumps, and a broker that opens them. */
#pragma once

#include "tests/broker/served_broker.h"
#include "tests/harness/files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder that stands for /proc, with one process: 77. */
struct tree {
	char proc[64];
	struct placed_broker placed;
	struct broker *broker; /* that one */
};

static const struct broker_process process_77 = { .pid = 77 };
static const struct broker_process later_77 = { .pid = 77, .start_ns = 1 };

/* The magic, in the byte order of x86. */
#define DUMP "DTiJ"

#define STAT_77 "77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 2\n"

/* The status of a process whose effective user is this one. */
static inline void write_user(const struct tree *tree, uid_t user)
{
	char text[128];

	(void)snprintf(
		text, sizeof(text), "Name:\ta\\nUid:\t1\nPid:\t77\nUid:\t3\t%u\t3\t3\n", user);
	write_file(tree->proc, "77/status", text);
}

static inline int set_up(void **state)
{
	const enum broker_place *place = *state;
	struct tree *tree = calloc(1, sizeof(*tree));
	struct broker_options options = { 0 };

	assert_non_null(tree);
	strcpy(tree->proc, "/tmp/perf_map_test.XXXXXX");
	assert_non_null(mkdtemp(tree->proc));
	make_folder(tree->proc, "77");
	make_folder(tree->proc, "77/map_files");
	make_folder(tree->proc, "77/root");
	make_folder(tree->proc, "77/root/tmp");
	write_file(tree->proc, "77/stat", STAT_77);
	write_user(tree, geteuid());
	write_file(tree->proc, "outside", "outside\n");
	options.proc_root = tree->proc;
	placed_broker_start(&tree->placed, *place, &options);
	tree->broker = tree->placed.broker;
	*state = tree;
	return 0;
}

static inline int tear_down(void **state)
{
	struct tree *tree = *state;

	placed_broker_stop(&tree->placed);
	remove_folder(tree->proc);
	free(tree);
	return 0;
}

/* Does `fd` read as `text`, and is it O_CLOEXEC, read-only and nonblocking? Closes it. */
static inline void assert_reads(int fd, const char *text)
{
	char bytes[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
	assert_string_equal(bytes, text);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(close(fd), 0);
}

static inline void assert_refused(const struct tree *tree, uint32_t ns_pid, int result)
{
	int fd = -7;

	assert_int_equal(broker_open_perf_map(tree->broker, &process_77, ns_pid, &fd), result);
	assert_int_equal(fd, -7);
}

#define IN_TREE(test) IN_BOTH_PLACES(test, set_up, tear_down)
