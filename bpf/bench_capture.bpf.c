// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the sampler is measured against: the two plain ways to count stacks, each as profilers write
 * it first. Loaded by tests/bench/capture.c alone.
 */
#include <linux/types.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum { DEPTH = 127, COMM_BYTES = 16 };

struct stack_key {
	__u32 tgid, tid;
	__s64 user_stack, kernel_stack;
	char comm[COMM_BYTES];
};

#define STACKMAP(name, frame_bytes, flags)              \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_STACK_TRACE); \
		__uint(map_flags, flags);               \
		__uint(max_entries, 64);                \
		__uint(key_size, sizeof(__u32));        \
		__uint(value_size, DEPTH *frame_bytes); \
	} name SEC(".maps")

#define COUNTS(name)                             \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, 64);         \
		__type(key, struct stack_key);   \
		__type(value, __u64);            \
	} name SEC(".maps")

STACKMAP(build_id_user_stacks, 32, BPF_F_STACK_BUILD_ID);
STACKMAP(build_id_kernel_stacks, 8, 0);
COUNTS(build_id_counts);
STACKMAP(raw_stacks, 8, 0);
COUNTS(raw_counts);

/* Samples of idle CPUs, by contender. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} idle_samples SEC(".maps");

static __always_inline int is_idle(__u32 contender)
{
	__u64 *count;

	if ((__u32)bpf_get_current_pid_tgid())
		return 0;
	count = bpf_map_lookup_elem(&idle_samples, &contender);
	if (count)
		(*count)++;
	return 1;
}

static __always_inline void count_stack(
	void *ctx, void *user_stacks, void *kernel_stacks, void *counts)
{
	struct stack_key key = { 0 };
	__u64 pid_tgid = bpf_get_current_pid_tgid(), one = 1, *count;

	key.tgid = pid_tgid >> 32;
	key.tid = (__u32)pid_tgid;
	key.user_stack = bpf_get_stackid(ctx, user_stacks, BPF_F_USER_STACK);
	key.kernel_stack = bpf_get_stackid(ctx, kernel_stacks, 0);
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	count = bpf_map_lookup_elem(counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(counts, &key, &one, BPF_NOEXIST);
}

SEC("perf_event")
int count_build_id_stack(void *ctx)
{
	if (!is_idle(0))
		count_stack(ctx, &build_id_user_stacks, &build_id_kernel_stacks, &build_id_counts);
	return 0;
}

SEC("perf_event")
int count_raw_stack(void *ctx)
{
	if (!is_idle(1))
		count_stack(ctx, &raw_stacks, &raw_stacks, &raw_counts);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
