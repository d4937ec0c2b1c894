/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder that stands for /proc, and a broker that takes it for that. */
#pragma once

#include "broker/broker.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct proc_tree {
	char proc[64];
	struct broker *broker;
};

static inline void proc_tree_init(struct proc_tree *tree)
{
	struct broker_options options = { .proc_root = tree->proc };

	strcpy(tree->proc, "/tmp/proc_tree.XXXXXX");
	assert_non_null(mkdtemp(tree->proc));
	assert_int_equal(broker_new(&options, &tree->broker), 0);
}

static inline int proc_tree_remove_one(
	const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void proc_tree_done(struct proc_tree *tree)
{
	broker_free(tree->broker);
	assert_int_equal(nftw(tree->proc, proc_tree_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Until the next call. */
static inline const char *proc_tree_path(const struct proc_tree *tree, const char *name)
{
	static char path[256];

	assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", tree->proc, name) < sizeof(path));
	return path;
}

static inline void proc_tree_folder(const struct proc_tree *tree, const char *name)
{
	assert_int_equal(mkdir(proc_tree_path(tree, name), 0755), 0);
}

static inline void proc_tree_write(const struct proc_tree *tree, const char *name, const char *text)
{
	FILE *file = fopen(proc_tree_path(tree, name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void proc_tree_remove(const struct proc_tree *tree, const char *name)
{
	assert_int_equal(remove(proc_tree_path(tree, name)), 0);
}
