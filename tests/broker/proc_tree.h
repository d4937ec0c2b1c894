/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder that stands for /proc, and a broker that takes it for that. */
#pragma once

#include "broker/broker.h"
#include "tests/harness/files.h"

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

static inline void proc_tree_done(struct proc_tree *tree)
{
	broker_free(tree->broker);
	remove_folder(tree->proc);
}

/* Until the next call. */
static inline const char *proc_tree_path(const struct proc_tree *tree, const char *name)
{
	return file_path(tree->proc, name);
}

static inline void proc_tree_folder(const struct proc_tree *tree, const char *name)
{
	make_folder(tree->proc, name);
}

static inline void proc_tree_write(const struct proc_tree *tree, const char *name, const char *text)
{
	write_file(tree->proc, name, text);
}

static inline void proc_tree_remove(const struct proc_tree *tree, const char *name)
{
	remove_file(tree->proc, name);
}
