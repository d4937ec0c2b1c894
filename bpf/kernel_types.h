/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel structures that the programs read, with only the fields that they read. CO-RE
 * relocates the fields to where the running kernel's BTF has them, so order and size do not matter
 * here. A structure named ...___before_6_11 is the same one in older kernels.
 */
#pragma once

#include <linux/types.h>

/* Tests compile some of the headers for the host. */
#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

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

struct list_head {
	struct list_head *next;
};

struct signal_struct {
	atomic_t live; /* threads that have not exited */
	struct list_head thread_head;
	unsigned long long sum_sched_runtime; /* CPU time of threads that have exited, in ns */
};

struct cfs_rq;

struct sched_entity {
	struct cfs_rq *cfs_rq;	/* CONFIG_FAIR_GROUP_SCHED; threads of all classes have it */
	__u64 sum_exec_runtime; /* CPU time in ns */
	__u64 exec_start;	/* until then it is accounted for; by the run queue's clock_task */
	unsigned char sched_delayed; /* asleep, though still queued; since 6.12 */
};

struct maple_tree {
	void *ma_root;
};

/* The two kinds of nodes in the tree of a process's mappings; since 6.1. */
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

typedef struct {
	void *vdso; /* x86 and arm64 */
} mm_context_t;

typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;

struct mm_struct {
	struct maple_tree mm_mt;
	void *pgd;		  /* the top page table */
	unsigned long start_code; /* of the program */
	mm_context_t context;
	seqcount_t mm_lock_seq; /* since 6.13, with CONFIG_PER_VMA_LOCK */
};

struct mm_struct___before_6_13 {
	int mm_lock_seq; /* since 6.4 */
};

typedef struct {
	__u64 b[2];
} uuid_t;

struct super_block {
	__u32 s_dev;
	uuid_t s_uuid;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	long long i_mtime_sec; /* since 6.11 */
	__u32 i_mtime_nsec;
	__u32 i_generation;
};

/* The time of modification in older kernels. */
struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};
struct inode___before_6_11 {
	struct timespec64 __i_mtime;
};
struct inode___before_6_7 {
	struct timespec64 i_mtime;
};

struct file {
	struct inode *f_inode;
};

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len; /* bytes */
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff; /* in pages */
	struct file *vm_file;
	struct mm_struct *vm_mm;
};

struct kernfs_node {
	__u64 id; /* since 5.5 */
	const char *name;
};

struct cgroup_subsys_state {
	__u64 serial_nr; /* never reused */
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level; /* 0: the root */
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* by level, with itself; since 6.1 */
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the default hierarchy */
};

typedef struct {
	__u32 val;
} kuid_t;

struct user_namespace {
	struct user_namespace *parent; /* NULL: the initial one */
	int level;		       /* 0: the initial one */
	kuid_t owner;		       /* its creator, in the initial one */
};

struct cred {
	kuid_t uid; /* in the initial user namespace */
	struct user_namespace *user_ns;
};

/* CONFIG_SCHED_INFO; in ns of the run queues' clocks. */
struct sched_info {
	unsigned long long run_delay; /* time in run queues */
	unsigned long long last_arrival;
	unsigned long long last_queued; /* since then it is ready; 0: it is not */
};

struct rq {
	__u64 clock;	  /* as of the last event of the scheduler, at least of the last tick */
	__u64 clock_task; /* the same without the time of interrupts and of other machines */
};

struct cfs_rq {
	struct rq *rq;	    /* CONFIG_FAIR_GROUP_SCHED */
	int throttle_count; /* CONFIG_CFS_BANDWIDTH; of the group and those that it is in */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
};

struct task_struct {
	unsigned int flags;
	unsigned int __state; /* since 5.14 */
	int on_cpu;	      /* CONFIG_SMP */
	int on_rq;
	int exit_state;
	int prio;
	_Bool throttled; /* CONFIG_CFS_BANDWIDTH, since 6.18 */
	unsigned int in_iowait : 1;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int pid;
	int tgid;
	__u64 start_boottime; /* since 5.5 */
	__u32 self_exec_id;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct list_head thread_node; /* in signal->thread_head */
	struct sched_entity se;
	struct pid *thread_pid;	 /* since 4.19 */
	struct css_set *cgroups; /* CONFIG_CGROUPS */
	const struct cred *real_cred;
	char comm[16];
	struct thread_struct thread;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

/* The contexts of iterators, whose layout the kernel guarantees. The pointers are NULL at the end.
 */

/* Over all threads; since 5.8. */
struct bpf_iter__task {
	void *meta;
	struct task_struct *task;
};

/* Over all mappings of all processes; since 5.12. */
struct bpf_iter__task_vma {
	void *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};
