/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The side-band on the running kernel reports what a process does, in order, with its files. */
#include "base/array.h"
#include "base/clock.h"
#include "capture/cpu_list.h"
#include "capture/sideband.h"
#include "capture/sideband_rings.h"
#include "tests/harness/cgroup.h"
#include "tests/harness/failing_allocation.h"
#include "tests/harness/privilege.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
	pid_t child;
	uint64_t last_ns;
	unsigned forks, execs, exits, maps, files, out_of_order;
	unsigned maps_before_exec;
	/* The expected cgroup, and how often it was reported. */
	struct test_cgroup cgroup;
	unsigned cgroups;
};

static void see(void *context, const struct sideband_record *record)
{
	struct seen *seen = context;

	if (record->time_ns < seen->last_ns)
		seen->out_of_order++;
	seen->last_ns = record->time_ns;
	if (record->kind == SIDEBAND_CGROUP && seen->cgroup.path &&
		strcmp(record->text, seen->cgroup.path) == 0) {
		assert_int_equal(record->cgroup, seen->cgroup.id);
		seen->cgroups++;
	}
	if (record->pid != seen->child)
		return;
	switch (record->kind) {
	case SIDEBAND_FORK:
		assert_int_equal(record->parent, getpid());
		seen->forks++;
		break;
	case SIDEBAND_EXEC:
		assert_string_equal(record->text, "true");
		seen->execs++;
		break;
	case SIDEBAND_EXIT:
		seen->exits++;
		break;
	case SIDEBAND_MAP:
		seen->maps++;
		if (seen->execs == 0)
			seen->maps_before_exec++;
		if (record->inode > 0 && record->text[0] == '/')
			seen->files++;
		assert_true(record->start < record->end);
		break;
	default:
		break;
	}
}

static struct sideband *open_sideband(size_t ring_bytes)
{
	struct sideband *sideband;
	uint32_t *cpus;
	int count;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	count = cpu_list_read_online(&cpus);
	assert_true(count > 0);
	assert_int_equal(sideband_open(ring_bytes, &sideband), 0);
	assert_int_equal(sideband_set_cpus(sideband, cpus, (size_t)count), 0);
	free(cpus);
	return sideband;
}

static pid_t run_true(void)
{
	pid_t child = fork();

	if (child == 0) {
		(void)execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

static void a_process_is_reported_from_fork_to_exit(void **state)
{
	struct sideband *sideband = open_sideband(512 << 10);
	struct seen seen = { 0 };

	seen.child = run_true();
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.execs, 1);
	assert_int_equal(seen.exits, 1);
	assert_true(seen.maps >= 3); /* the program, its interpreter, its library */
	assert_true(seen.files >= 3);
	assert_int_equal(seen.maps_before_exec, 0);
	assert_int_equal(seen.out_of_order, 0);
	sideband_free(sideband);
}

static void later_records_wait_for_their_turn(void **state)
{
	struct sideband *sideband = open_sideband(512 << 10);
	struct seen seen = { 0 };
	uint64_t before_ns;

	before_ns = clock_monotonic_ns();
	seen.child = run_true();
	assert_int_equal(sideband_read(sideband, before_ns, see, &seen), 0);
	assert_int_equal(seen.forks + seen.execs + seen.exits + seen.maps, 0);
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.out_of_order, 0);
	sideband_free(sideband);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}

static void buffers_grown_by_a_stall_shrink(void **state)
{
	struct sideband *sideband = open_sideband(4 << 20);
	struct seen seen = { .child = getpid() };
	size_t before = heap_bytes(), page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (int i = 0; i < 10000; i++) {
		void *code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		assert_ptr_not_equal(code, MAP_FAILED);
		assert_int_equal(munmap(code, page), 0);
	}
	seen.execs = 1; /* ours was before */
	/* They are copied, and have yet to wait. */
	assert_int_equal(sideband_read(sideband, 0, see, &seen), 0);
	assert_int_equal(seen.maps, 0);
	assert_true(heap_bytes() > before + (1 << 20));
	assert_int_equal(sideband_read(sideband, UINT64_MAX, see, &seen), 0);
	assert_int_equal(seen.maps, 10000);
	assert_true(heap_bytes() < before + (1 << 20));
	(void)close(fd);
	sideband_free(sideband);
}

/* Losses on a CPU are reported with the next record on that CPU. */
static void stay_on_this_cpu(cpu_set_t *before)
{
	cpu_set_t here;

	assert_int_equal(sched_getaffinity(0, sizeof(*before), before), 0);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
}

static void a_ring_that_is_too_small_says_so(void **state)
{
	struct sideband *sideband = open_sideband(4096);
	struct sideband_counters counters;
	struct seen seen = { .child = -1 };
	cpu_set_t cpus;

	stay_on_this_cpu(&cpus);
	for (int i = 0; i < 100; i++)
		(void)run_true();
	/* The kernel reports a loss with the next record that fits. */
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	for (int i = 0; i < 4; i++)
		(void)run_true();
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	sideband_counters(sideband, &counters);
	assert_true(counters.records > 0);
	assert_true(counters.lost > 0);
	assert_int_equal(counters.malformed, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
	sideband_free(sideband);
}

static void cpus_can_leave_and_come_back(void **state)
{
	struct sideband *sideband = open_sideband(64 << 10);
	struct seen seen = { 0 };
	uint32_t *cpus;
	int count;

	assert_int_equal(sideband_set_cpus(sideband, NULL, 0), 0);
	assert_int_equal(sideband_bytes(sideband), 0);
	(void)run_true();
	count = cpu_list_read_online(&cpus);
	assert_int_equal(sideband_set_cpus(sideband, cpus, (size_t)count), 0);
	free(cpus);
	seen.child = run_true();
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks, 1);
	sideband_free(sideband);
}

static void open_rings(struct sideband_rings **ret_rings)
{
	uint32_t *cpus;
	int count;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	count = cpu_list_read_online(&cpus);
	assert_true(count > 0);
	assert_int_equal(sideband_rings_new(64 << 10, NULL, ret_rings), 0);
	assert_int_equal(sideband_rings_generation(*ret_rings), 0);
	assert_int_equal(sideband_rings_set_cpus(*ret_rings, cpus, (size_t)count), 0);
	assert_int_equal(sideband_rings_count(*ret_rings), count);
	free(cpus);
}

/* As a process does that received the descriptors. */
static void adopt_rings(struct sideband *sideband, const struct sideband_rings *rings)
{
	for (size_t i = 0; i < sideband_rings_count(rings); i++) {
		struct sideband_ring ring = sideband_rings_get(rings, i);

		ring.fd = fcntl(ring.fd, F_DUPFD_CLOEXEC, 0);
		assert_true(ring.fd >= 0);
		assert_int_equal(sideband_adopt_ring(sideband, &ring), 0);
	}
}

static bool is_readable(int fd)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };

	return poll(&waited, 1, 0) == 1;
}

/* More than a quarter of each ring. */
static void fill_rings(void)
{
	for (int i = 0; i < 200; i++)
		(void)run_true();
}

static void rings_are_read_by_one_after_the_other(void **state)
{
	struct sideband_rings *rings;
	struct seen seen = { 0 };

	open_rings(&rings);
	for (int i = 0; i < 3; i++) {
		struct sideband *sideband;

		seen = (struct seen){ .child = run_true() };
		assert_int_equal(sideband_open(64 << 10, &sideband), 0);
		adopt_rings(sideband, rings);
		assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
		assert_int_equal(seen.forks, 1);
		assert_int_equal(seen.exits, 1);
		sideband_free(sideband);
	}
	sideband_rings_free(rings);
}

static void rings_are_kept_and_others_dropped(void **state)
{
	struct sideband_rings *rings;
	struct sideband *sideband;
	struct seen seen = { 0 };
	uint64_t generation;
	size_t bytes;

	open_rings(&rings);
	assert_int_equal(sideband_open(64 << 10, &sideband), 0);
	assert_false(sideband_reports_cgroups(sideband));
	adopt_rings(sideband, rings);
	bytes = sideband_bytes(sideband);
	assert_true(sideband_reports_cgroups(sideband));
	sideband_set_reports_cgroups(sideband, false);
	assert_false(sideband_reports_cgroups(sideband));
	/* The same once more: none is new. */
	adopt_rings(sideband, rings);
	assert_int_equal(sideband_drop_others(sideband), 0);
	assert_int_equal(sideband_bytes(sideband), bytes);
	fill_rings();
	assert_true(is_readable(sideband_poll_fd(sideband)));
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	/* When all CPUs go, their records are not lost, and the rings cause no more wakeups. */
	generation = sideband_rings_generation(rings);
	seen.child = run_true();
	assert_int_equal(sideband_drop_others(sideband), 0);
	assert_int_equal(sideband_bytes(sideband), 0);
	fill_rings();
	assert_false(is_readable(sideband_poll_fd(sideband)));
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(sideband_rings_set_cpus(rings, NULL, 0), 0);
	assert_true(sideband_rings_generation(rings) != generation);
	sideband_free(sideband);
	sideband_rings_free(rings);
}

static void without_memory_there_are_no_rings(void **state)
{
	struct sideband_rings *rings;
	uint32_t cpu = 0;
	bool has_failed = true;

	open_rings(&rings);
	sideband_rings_free(rings);
	for (size_t n = 0; has_failed; n++) {
		struct sideband *sideband = NULL;
		int r;

		fail_allocation(n);
		r = sideband_open(64 << 10, &sideband);
		if (r == 0)
			r = sideband_set_cpus(sideband, &cpu, 1);
		has_failed = allocation_failed();
		assert_int_equal(r, has_failed ? -ENOMEM : 0);
		sideband_free(sideband);
	}
	sideband_rings_free(NULL);
}

static void other_descriptors_are_not_adopted(void **state)
{
	struct sideband_ring ring = { .id = 1, .fd = -1 };
	struct sideband *sideband;

	assert_int_equal(sideband_open(64 << 10, &sideband), 0);
	assert_int_equal(sideband_adopt_ring(sideband, &ring), -EBADF);
	ring.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(sideband_adopt_ring(sideband, &ring) < 0);
	assert_int_equal(close(ring.fd), 0); /* it is still ours */
	assert_int_equal(sideband_bytes(sideband), 0);
	sideband_free(sideband);
}

static void make_cgroup(struct seen *seen)
{
	const char *missing;
	char name[64];

	(void)snprintf(name, sizeof(name), "sideband_kernel_test-%d", (int)getpid());
	missing = test_cgroup_make(&seen->cgroup, name);
	if (missing) {
		print_message("skipped: %s\n", missing);
		skip();
	}
}

/* Does the root of the cgroups hand down no controller at all? */
static bool has_no_controllers(void)
{
	char path[PATH_MAX];
	FILE *file;
	int first;

	(void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", test_cgroup_mount());
	file = fopen(path, "r");
	assert_non_null(file);
	first = fgetc(file);
	(void)fclose(file);
	return first == EOF || first == '\n';
}

static void a_new_cgroup_is_reported(void **state)
{
	struct sideband *sideband;
	struct seen seen = { .child = -1 };

	make_cgroup(&seen);
	sideband = open_sideband(64 << 10);
	if (!sideband_reports_cgroups(sideband)) {
		sideband_free(sideband);
		print_message("skipped: the kernel does not tell of cgroups (Linux 5.7)\n");
		skip();
	}
	/* An existing cgroup, or one of an earlier run, would not be new. */
	assert_int_equal(test_cgroup_remove(&seen.cgroup), 0);
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	seen.cgroups = 0;
	make_cgroup(&seen);
	assert_int_equal(test_cgroup_remove(&seen.cgroup), 0);
	assert_int_equal(sideband_read(sideband, clock_monotonic_ns(), see, &seen), 0);
	sideband_free(sideband);
	if (seen.cgroups == 0 && has_no_controllers()) {
		print_message("skipped: this kernel tells of cgroups once the root hands "
			      "controllers down\n");
		skip();
	}
	assert_int_equal(seen.cgroups, 1);
	assert_int_equal(seen.out_of_order, 0);
}

/* The kernel has marked other people's records before: sideband.c, open_event(). */
static void a_perf_beside_us_is_not_disturbed(void **state)
{
	static const char *const runs[] = {
		"perf record -q -a -g --all-cgroups -o /dev/null -- true >/dev/null 2>&1",
		"perf record -q -a -o sideband_perf.data -- sh -c 'mkdir $CGROUP && rmdir $CGROUP; "
		"true; true' >/dev/null 2>&1 && perf script -i sideband_perf.data "
		"--show-mmap-events --show-task-events >/dev/null 2>sideband_perf.errors && "
		"! grep -i -e invalid -e corrupt -e unknown -e 'failed to process' "
		"sideband_perf.errors",
	};
	struct sideband *sideband;
	struct seen seen = { .child = -1 };
	char folder[] = "/tmp/sideband_kernel_test.XXXXXX";

	if (system("perf version >/dev/null 2>&1") != 0) {
		print_message("skipped: there is no perf\n");
		skip();
	}
	make_cgroup(&seen);
	assert_int_equal(test_cgroup_remove(&seen.cgroup), 0);
	sideband = open_sideband(64 << 10);
	assert_int_equal(setenv("CGROUP", seen.cgroup.folder, 1), 0);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (system(runs[i]) != 0)
			fail_msg("failed beside the side-band: %s", runs[i]);
	(void)unlink("sideband_perf.data");
	(void)unlink("sideband_perf.errors");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(folder), 0);
	sideband_free(sideband);
}

static void count_record(void *context, const struct sideband_record *record)
{
	(void)record;
	++*(uint64_t *)context;
}

static void load_program(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(
		BPF_PROG_TYPE_SOCKET_FILTER, "reported", "GPL", code, ARRAY_SIZE(code), NULL);

	assert_true(fd >= 0);
	(void)close(fd);
}

/* The rings are small, so that records lie where older ones were. */
static void each_reader_gets_the_kernel_symbols(void **state)
{
	enum { READERS = 4, PROGRAMS = 500 };
	struct sideband *sidebands[READERS];
	uint64_t seen[READERS] = { 0 };

	for (size_t i = 0; i < READERS; i++)
		sidebands[i] = open_sideband(16384);
	for (int program = 0; program <= PROGRAMS; program++) {
		if (program < PROGRAMS)
			load_program();
		/* All records that are there have come before that. */
		for (size_t i = 0; i < READERS; i++)
			assert_int_equal(
				sideband_read(sidebands[i], clock_monotonic_ns() + NSEC_PER_SEC,
					count_record, &seen[i]),
				0);
	}
	for (size_t i = 0; i < READERS; i++) {
		struct sideband_counters counters;

		sideband_counters(sidebands[i], &counters);
		assert_true(counters.records >= PROGRAMS);
		assert_int_equal(seen[i], counters.records);
		sideband_free(sidebands[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_reported_from_fork_to_exit),
		cmocka_unit_test(later_records_wait_for_their_turn),
		cmocka_unit_test(buffers_grown_by_a_stall_shrink),
		cmocka_unit_test(a_ring_that_is_too_small_says_so),
		cmocka_unit_test(cpus_can_leave_and_come_back),
		cmocka_unit_test(rings_are_read_by_one_after_the_other),
		cmocka_unit_test(rings_are_kept_and_others_dropped),
		cmocka_unit_test(without_memory_there_are_no_rings),
		cmocka_unit_test(other_descriptors_are_not_adopted),
		cmocka_unit_test(a_new_cgroup_is_reported),
		cmocka_unit_test(a_perf_beside_us_is_not_disturbed),
		cmocka_unit_test(each_reader_gets_the_kernel_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
