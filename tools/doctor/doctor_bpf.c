/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program type, map types and helpers that capture uses, each tried out. */
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/block_programs.h"
#include "capture/cgroup_names.h"
#include "capture/kmem_programs.h"
#include "capture/lock_programs.h"
#include "capture/scheduler_programs.h"
#include "capture/uprobe_tree.h"
#include "pilotlight/event.h"
#include "tools/doctor/doctor_check.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

/* If all of BPF is refused, the answer of a single probe means nothing. */
static bool is_refused(struct doctor_finding *finding)
{
	if (finding->host->bpf_error != -EPERM && finding->host->bpf_error != -EACCES)
		return false;
	if (doctor_refusal(finding->host) == DOCTOR_UNKNOWN) {
		doctor_found(finding, DOCTOR_UNKNOWN,
			"cannot be checked without CAP_BPF and CAP_PERFMON");
		finding->remedy = "sudo pilotlight doctor";
	} else {
		doctor_found(
			finding, DOCTOR_MISSING, "bpf() is refused in spite of the capabilities");
		finding->remedy =
			"run pilotlight in the initial user namespace, outside of containers "
			"whose seccomp filter refuses bpf()";
	}
	return true;
}

static void check_program(struct doctor_finding *finding)
{
	if (is_refused(finding))
		return;
	/* EINVAL: the kernel does not know the program type. */
	if (finding->host->bpf_error < 0)
		doctor_found(
			finding, DOCTOR_MISSING, "bpf(): %s", strerror(-finding->host->bpf_error));
	else
		doctor_found(finding, DOCTOR_OK, "can be loaded");
}

/* Loads one that does nothing: libbpf's probe compares a message that newer kernels have changed.
 */
static void check_tracing(struct doctor_finding *finding)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP);
	_cleanup_close_ int fd = -1;
	int type;

	if (is_refused(finding))
		return;
	type = libbpf_find_vmlinux_btf_id("sched_process_fork", BPF_TRACE_RAW_TP);
	if (type < 0) {
		doctor_found(finding, DOCTOR_MISSING, "the kernel's BTF lacks sched_process_fork");
		return;
	}
	options.attach_btf_id = (uint32_t)type;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "doctor", "GPL", instructions,
		ARRAY_SIZE(instructions), &options);
	if (fd >= 0)
		doctor_found(finding, DOCTOR_OK, "can be loaded");
	else
		doctor_found(finding, DOCTOR_MISSING, "%s", strerror(-fd));
}

static void check_scheduler(struct doctor_finding *finding)
{
	struct scheduler_support support;

	scheduler_support_read(&support);
	if (*support.missing)
		doctor_found(finding, DOCTOR_MISSING, "the kernel lacks %s", support.missing);
	else
		doctor_found(finding, DOCTOR_OK, "%s",
			support.has_exit_tracepoint ? "by the tracepoint sched_exit_tp"
						    : "by tracing schedule()");
}

static void check_surveys(struct doctor_finding *finding)
{
	struct scheduler_support support;

	scheduler_support_read(&support);
	if (*support.missing_for_surveys)
		doctor_found(finding, DOCTOR_MISSING, "the kernel lacks %s",
			support.missing_for_surveys);
	else
		doctor_found(finding, DOCTOR_OK, "by an iterator over all threads");
}

static void check_locks(struct doctor_finding *finding)
{
	struct lock_support support;

	lock_support_read(&support);
	if (*support.missing)
		doctor_found(finding, DOCTOR_MISSING, "the kernel lacks %s", support.missing);
	else
		doctor_found(finding, DOCTOR_OK, "%s%s%s", "sleeping locks of the kernel",
			support.has_spin_locks ? ", spin locks" : "",
			support.has_futexes ? ", futexes" : "");
}

static void check_choice(struct doctor_finding *finding)
{
	const char *missing = cgroup_names_find_missing();

	if (missing)
		doctor_found(finding, DOCTOR_MISSING, "this machine lacks %s", missing);
	else
		doctor_found(finding, DOCTOR_OK, "by the names of a cgroup's ancestors");
}

static void check_kernel_memory(struct doctor_finding *finding)
{
	char missing[KMEM_MISSING_BYTES];

	kmem_support_read(missing);
	if (*missing)
		doctor_found(finding, DOCTOR_MISSING, "the kernel lacks %s", missing);
	else
		doctor_found(finding, DOCTOR_OK, "by its tracepoints");
}

static void check_block(struct doctor_finding *finding)
{
	struct block_support support;

	block_support_read(&support);
	if (*support.missing)
		doctor_found(finding, DOCTOR_MISSING, "the kernel lacks %s", support.missing);
	else
		doctor_found(finding, DOCTOR_OK, "%s",
			support.has_start ? "by the tracepoint block_io_start"
					  : "when a request is issued, maybe by another thread");
}

static void check_heaps(struct doctor_finding *finding)
{
	const char *missing = uprobe_tree_missing();

	if (*missing)
		doctor_found(finding, DOCTOR_MISSING, "%s", missing);
	else
		doctor_found(finding, DOCTOR_OK, "by uprobes");
}

static void check_map_type(struct doctor_finding *finding)
{
	int answer;

	if (is_refused(finding))
		return;
	answer = libbpf_probe_bpf_map_type((enum bpf_map_type)finding->check->argument, NULL);
	if (answer > 0)
		doctor_found(finding, DOCTOR_OK, "can be created");
	else
		doctor_found(finding, DOCTOR_MISSING, "%s",
			answer ? strerror(-answer) : "not in this kernel");
}

/* As capture creates it: kernels differ in the depth and flags that they allow. */
static int create_stackmap(uint32_t flags, uint32_t frame_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
	int fd = bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, NULL, sizeof(uint32_t),
		PILOTLIGHT_STACK_DEPTH * frame_bytes, 64, &options);

	if (fd < 0)
		return fd;
	(void)close(fd);
	return 0;
}

static void check_stackmap(struct doctor_finding *finding)
{
	uint32_t flags = (uint32_t)finding->check->argument;
	int r;

	if (is_refused(finding))
		return;
	r = create_stackmap(
		flags, flags & BPF_F_STACK_BUILD_ID ? sizeof(struct pilotlight_user_frame) : 8);
	if (r == 0)
		doctor_found(finding, DOCTOR_OK, "%d frames deep", PILOTLIGHT_STACK_DEPTH);
	else
		doctor_found(finding, DOCTOR_MISSING, "%d frames deep: %s", PILOTLIGHT_STACK_DEPTH,
			strerror(-r));
}

static void check_helpers(struct doctor_finding *finding)
{
	static const struct {
		enum bpf_func_id id;
		const char *name;
	} helpers[] = {
		{ BPF_FUNC_get_stackid, "get_stackid" },
		{ BPF_FUNC_get_stack, "get_stack" },
		{ BPF_FUNC_ringbuf_output, "ringbuf_output" },
		{ BPF_FUNC_probe_read_kernel, "probe_read_kernel" },
		{ BPF_FUNC_get_current_task, "get_current_task" },
		{ BPF_FUNC_get_current_pid_tgid, "get_current_pid_tgid" },
		{ BPF_FUNC_get_current_comm, "get_current_comm" },
		{ BPF_FUNC_ktime_get_ns, "ktime_get_ns" },
	};
	char absent[160] = "";
	size_t length = 0;

	if (is_refused(finding))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helpers[i].id, NULL) != 1 &&
			length < sizeof(absent))
			length += (size_t)snprintf(
				absent + length, sizeof(absent) - length, " %s", helpers[i].name);
	if (*absent)
		doctor_found(finding, DOCTOR_MISSING, "missing:%s", absent);
	else
		doctor_found(finding, DOCTOR_OK, "all %zu exist", ARRAY_SIZE(helpers));
}

static void check_statistics(struct doctor_finding *finding)
{
	_cleanup_close_ int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		doctor_found(finding, DOCTOR_OK, "can be switched on during a recording");
	else if (fd == -EPERM)
		doctor_found(finding,
			doctor_has_capability(finding->host, CAP_SYS_ADMIN) ? DOCTOR_MISSING
									    : DOCTOR_LIMITED,
			"refused without CAP_SYS_ADMIN");
	else
		doctor_found(finding, DOCTOR_MISSING, "bpf(): %s", strerror(-fd));
}

#define AS_ROOT "sudo pilotlight ..."
#define NEWER	"a newer kernel, and every setting above ok"

static const struct doctor_check checks[] = {
	{ "perf_event programs", check_program, 0, true, "the sampler; nothing can be recorded",
		"a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y" },
	{ "tracing programs", check_tracing, 0, false,
		"record -p and record COMMAND, which sample child processes, too",
		"a kernel with CONFIG_DEBUG_INFO_BTF=y, 5.5 or newer" },
	{ "scheduler programs", check_scheduler, 0, false, "time off the CPU; CPU time is sampled",
		"Linux 6.16 or newer, or one with CONFIG_FUNCTION_TRACER=y; with "
		"CONFIG_SCHED_INFO=y and CONFIG_FAIR_GROUP_SCHED=y" },
	{ "surveys", check_surveys, 0, false,
		"time off the CPU in the service, by default; CPU time is sampled",
		"a kernel with CONFIG_SCHED_INFO=y and CONFIG_FAIR_GROUP_SCHED=y" },
	{ "lock programs", check_locks, 0, false, "waits for locks; CPU time is sampled",
		"Linux 5.19 or newer" },
	{ "block programs", check_block, 0, false, "block I/O; CPU time is sampled",
		"Linux 6.5 or newer" },
	{ "choice of cgroups", check_choice, 0, false,
		"record --unit, --cgroup and --container, Include= and Exclude=",
		"Linux 6.1 or newer, with cgroup v2" },
	{ "kernel memory", check_kernel_memory, 0, false,
		"kmem:alloc, kmem:live and kmem:waste; CPU time is sampled",
		"Linux 6.1 or newer, with CONFIG_DEBUG_INFO_BTF=y" },
	{ "heaps", check_heaps, 0, false, "heap:alloc and heap:live; CPU time is sampled",
		"root, a kernel with CONFIG_UPROBE_EVENTS=y, and `mount -t tracefs tracefs "
		"/sys/kernel/tracing`" },
	{ "raw stack maps", check_stackmap, 0, true, "stacks; nothing can be recorded", NEWER },
	{ "build-id stack maps", check_stackmap, BPF_F_STACK_BUILD_ID, true,
		"identities of code; nothing can be recorded", NEWER },
	{ "hash maps", check_map_type, BPF_MAP_TYPE_HASH, true, "counts; nothing can be recorded",
		NEWER },
	{ "LRU hash maps", check_map_type, BPF_MAP_TYPE_LRU_HASH, true,
		"counts; nothing can be recorded", NEWER },
	{ "per-CPU arrays", check_map_type, BPF_MAP_TYPE_PERCPU_ARRAY, true,
		"the accounts; nothing can be recorded", NEWER },
	{ "arrays of maps", check_map_type, BPF_MAP_TYPE_ARRAY_OF_MAPS, true,
		"the wait for running programs; nothing can be recorded", NEWER },
	{ "ring buffer", check_map_type, BPF_MAP_TYPE_RINGBUF, true,
		"samples that do not fit into maps; nothing can be recorded", NEWER },
	{ "helpers", check_helpers, 0, true, "the sampler; nothing can be recorded", NEWER },
	{ "statistics", check_statistics, 0, false, "BPF time in the cost line of record",
		AS_ROOT },
};

const struct doctor_group doctor_bpf = { "BPF", checks, ARRAY_SIZE(checks) };
