/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A uprobe in one process and in all that it forks from then on, whatever they execute. No other
 * process gets the breakpoint, nor any cost.
 *
 * The kernel does the following: the event is inherited, as perf's are. It can be with probes that
 * are defined in the tracing file system alone: an event of the PMU "uprobe" reads the file's path
 * from the memory of the process that forks. So this needs the tracing file system, which is
 * root's. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/uprobe_event.h"

struct uprobe_tree;

/*
 * Sets the probe in the process `pid`, whose threads inherit it to what they fork, and runs
 * the program at each hit. No two probes of this process that are open have the same `number`.
 * Returns 0, or -errno: -EACCES or -EPERM a privilege is missing; -ENOENT there is no tracing file
 * system, no such file, or the kernel has no CONFIG_UPROBE_EVENTS; -ESRCH the process is gone;
 * -EINVAL no breakpoint can be at this offset.
 */
int uprobe_tree_open(const struct uprobe_place *place, pid_t pid, int program_fd, uint32_t number,
	struct uprobe_tree **ret_tree);
void uprobe_tree_close(struct uprobe_tree *tree);
DEFINE_CLEANUP(struct uprobe_tree, uprobe_tree_close);

/* What is missing for it, in words; "": nothing. */
const char *uprobe_tree_missing(void);

/* Removes definitions that killed processes of this program have left behind; they cost nothing. */
void uprobe_tree_sweep(void);
