/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel structures that the programs read, with the few fields that they read; CO-RE
 * relocates them against the running kernel's BTF.
 */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not exited */
};

struct task_struct {
	int pid;
	int tgid;
	__u64 start_boottime; /* since 5.5 */
	__u32 self_exec_id;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct pid *thread_pid; /* since 4.19 */
};

#pragma clang attribute pop
