/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The drain on real BPF maps: with samples of the sampler, and with counters that the test writes.
 */
#include "base/array.h"
#include "base/clock.h"
#include "drain/drain.h"
#include "tests/drain/cpu_window.h"
#include "tests/harness/cgroup.h"
#include "tests/harness/privilege.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RATE_HZ = 999 };

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	struct accounts total;
	uint64_t samples, with_build_id, ring_samples, of_followed;
	uint32_t followed;
	uint64_t cgroup_id, in_cgroup; /* samples in the one, of whatever process */
	uint32_t user;		       /* the followed process's samples of this one are counted */
	uint64_t of_user;
	int refusal;
} fixture;

static int tear_down(void **state)
{
	drain_free(TAKE_PTR(fixture.drain));
	capture_free(TAKE_PTR(fixture.capture));
	return 0;
}

static void open_fixture(bool filters, uint32_t stack_slots)
{
	const struct capture_settings settings = {
		.rate_hz = RATE_HZ,
		.wants_kernel = true,
		.filters_processes = filters,
		.map_budget_bytes = 16 << 20,
		.stack_slots = stack_slots,
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	(void)tear_down(NULL);
	fixture = (struct fixture){ 0 };
	if (capture_open(&settings, &fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(fixture.capture), &fixture.drain), 0);
}

static int count_sample(void *context, const struct raw_sample *sample)
{
	if (fixture.refusal < 0)
		return fixture.refusal;
	fixture.samples += sample->count;
	assert_true(sample->first_ns <= sample->last_ns);
	assert_true(strlen(sample->comm) < PILOTLIGHT_COMM_BYTES);
	if (sample->user_count > 0 && sample->user_frames[0].status == PILOTLIGHT_FRAME_BUILD_ID)
		fixture.with_build_id += sample->count;
	if (sample->path == PILOTLIGHT_PATH_RING)
		fixture.ring_samples += sample->count;
	if (sample->process.tgid == fixture.followed)
		fixture.of_followed += sample->count;
	if (sample->process.tgid == fixture.followed && sample->user == fixture.user)
		fixture.of_user += sample->count;
	if (fixture.cgroup_id && sample->cgroup_id == fixture.cgroup_id)
		fixture.in_cgroup += sample->count;
	return 0;
}

static int drain_once(void)
{
	struct accounts accounts = { 0 };
	int r;

	assert_int_equal(drain_flip(fixture.drain), 0);
	r = drain_cpu_window(fixture.drain, count_sample, NULL, &accounts);
	if (r == 0) {
		assert_true(accounts_close(&accounts));
		accounts_add(&fixture.total, &accounts);
	}
	return r;
}

/* Uses CPU time, in user mode and in the kernel, for a counted number of rounds. */
static void work(unsigned rounds)
{
	static volatile unsigned sink;
	char bytes[4096];

	while (rounds-- > 0) {
		FILE *zero = fopen("/dev/zero", "r");

		for (unsigned i = 0; i < 200000; i++)
			sink += i;
		if (zero) {
			sink += (unsigned)fread(bytes, 1, sizeof(bytes), zero);
			(void)fclose(zero);
		}
	}
}

static void record(unsigned windows)
{
	struct fault fault = { 0 };

	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	for (unsigned i = 0; i < windows; i++) {
		work(300);
		assert_int_equal(drain_once(), 0);
	}
	capture_stop(fixture.capture);
	assert_int_equal(drain_once(), 0);
	assert_int_equal(drain_once(), 0);
}

/* The kernel counts program runs independently. */
static void check_against_the_kernel(void)
{
	struct capture_cost cost;

	capture_read_cost(fixture.capture, &cost);
	if (cost.program_runs == 0)
		return;
	assert_int_equal(fixture.total.fired, cost.program_runs);
	assert_true(cost.map_bytes > 0);
}

static void every_fired_sample_is_stored_or_dropped(void **state)
{

	open_fixture(false, 0);
	record(5);
	assert_true(fixture.total.fired > 0);
	assert_true(fixture.samples > 0);
	assert_int_equal(fixture.samples, accounts_stored(&fixture.total));
	assert_int_equal(accounts_lost(&fixture.total), 0);
	assert_true(fixture.with_build_id > 0);
	check_against_the_kernel();
}

static void small_maps_lose_nothing(void **state)
{

	open_fixture(false, 64);
	record(5);
	assert_int_equal(fixture.samples, accounts_stored(&fixture.total));
	assert_int_equal(accounts_lost(&fixture.total), 0);
	assert_int_equal(fixture.ring_samples, fixture.total.stored[PILOTLIGHT_PATH_RING]);
	check_against_the_kernel();
}

static void refused_samples_leave_the_accounts(void **state)
{

	open_fixture(false, 0);
	fixture.refusal = -E2BIG;
	record(2);
	assert_int_equal(accounts_stored(&fixture.total), 0);
	assert_true(fixture.total.dropped[PILOTLIGHT_DROP_PROFILE_FULL] > 0);
}

static void only_followed_processes_and_their_children_are_sampled(void **state)
{
	struct fault fault = { 0 };
	pid_t child;
	int ready[2];

	open_fixture(true, 0);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		char byte;
		pid_t grandchild;

		(void)!read(ready[0], &byte, 1);
		grandchild = fork();
		work(100);
		if (grandchild > 0)
			(void)waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	assert_true(child > 0);
	fixture.followed = (uint32_t)child;
	assert_int_equal(capture_follow(fixture.capture, child), 0);
	assert_int_equal(capture_start(fixture.capture, &fault), 0);
	assert_int_equal(write(ready[1], "", 1), 1);
	work(100);
	assert_int_equal(waitpid(child, NULL, 0), child);
	capture_stop(fixture.capture);
	assert_int_equal(drain_once(), 0);
	assert_true(fixture.of_followed > 0);
	assert_true(fixture.samples > fixture.of_followed);		  /* the grandchild */
	assert_true(fixture.total.dropped[PILOTLIGHT_DROP_FILTERED] > 0); /* ourselves */
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* Runs a child in `cgroup` and samples it, by the maps and, where they are small, the ring. */
/* A child that is sampled. Each function may be NULL. */
struct child {
	void (*begin)(void);				/* in the child, first */
	void (*admit)(pid_t pid, const void *argument); /* then in this process */
	void (*become)(void); /* then in the child, which works after it */
	const void *argument;
};

static _Noreturn void run_child(const struct child *child, int go_fd, int begun_fd)
{
	char byte;

	if (child->begin)
		child->begin();
	(void)!write(begun_fd, "", 1);
	(void)!read(go_fd, &byte, 1);
	if (child->become)
		child->become();
	work(300);
	_exit(0);
}

static void sample_child(const struct child *child, uint32_t stack_slots)
{
	struct fault fault = { 0 };
	int go[2], begun[2], status;
	pid_t pid;
	char byte;

	open_fixture(true, stack_slots);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(begun), 0);
	pid = fork();
	if (pid == 0)
		run_child(child, go[0], begun[1]);
	assert_true(pid > 0);
	(void)close(begun[1]);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	child->admit(pid, child->argument);
	fixture.followed = (uint32_t)pid;
	assert_int_equal(capture_follow(fixture.capture, pid), 0);
	assert_int_equal(capture_start(fixture.capture, &fault), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	capture_stop(fixture.capture);
	assert_int_equal(drain_once(), 0);
	assert_true(fixture.of_followed > 0);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(begun[0]);
}

static void enter_cgroup(pid_t pid, const void *argument)
{
	const struct test_cgroup *cgroup = argument;

	assert_int_equal(test_cgroup_enter(cgroup, pid), 0);
	fixture.cgroup_id = cgroup->id;
}

static void sample_in_cgroup(const struct test_cgroup *cgroup, uint32_t stack_slots)
{
	const struct child child = { .admit = enter_cgroup, .argument = cgroup };

	sample_child(&child, stack_slots);
	assert_int_equal(fixture.in_cgroup, fixture.of_followed);
}

static void a_sample_has_the_cgroup_of_its_thread(void **state)
{
	struct test_cgroup cgroup;
	const char *missing = privilege_lacks_bpf();
	char name[64];

	(void)snprintf(name, sizeof(name), "drain_kernel_test-%d", (int)getpid());
	if (!missing)
		missing = test_cgroup_make(&cgroup, name);
	if (missing) {
		print_message("skipped: %s\n", missing);
		skip();
	}
	sample_in_cgroup(&cgroup, 0);
	sample_in_cgroup(&cgroup, 64);
	assert_int_equal(test_cgroup_remove(&cgroup), 0);
}

/* Writes counters as a CPU's program would. */

enum { OWN_USER = 12345, FIRST_MAPPED_USER = 200000, MAPPED_USERS = 100 };

static void expect_user(pid_t pid, const void *argument)
{
	(void)pid;
	fixture.user = *(const uint32_t *)argument;
}

static void become_user(void)
{
	if (setresuid(OWN_USER, OWN_USER, OWN_USER) < 0)
		_exit(1);
}

static void a_sample_has_the_user_of_its_process(void **state)
{
	static const uint32_t user = OWN_USER, root = 0;
	const struct child roots = { .admit = expect_user, .argument = &root };
	const struct child users = {
		.begin = become_user, .admit = expect_user, .argument = &user
	};

	for (uint32_t slots = 0; slots <= 64; slots += 64) {
		sample_child(&roots, slots);
		assert_int_equal(fixture.of_user, fixture.of_followed);
		sample_child(&users, slots);
		assert_int_equal(fixture.of_user, fixture.of_followed);
	}
}

static void make_user_namespace(void)
{
	become_user();
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
}

/* As newuidmap and newgidmap do for the ids of /etc/subuid. */
static void map_users(pid_t pid, const void *argument)
{
	static const char *const maps[] = { "uid_map", "gid_map" };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		char path[64];
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, maps[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fprintf(file, "0 %d %d\n", FIRST_MAPPED_USER, MAPPED_USERS) > 0);
		assert_int_equal(fclose(file), 0);
	}
	expect_user(pid, argument);
}

/* Another of the namespace's users, in a namespace of its own. */
static void become_mapped_user(void)
{
	const unsigned id = MAPPED_USERS - 1;

	if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 || unshare(CLONE_NEWUSER) < 0)
		_exit(1);
}

static bool has_user_namespaces(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		make_user_namespace();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void the_creator_of_a_user_namespace_answers_for_its_users(void **state)
{
	static const uint32_t user = OWN_USER;
	const struct child child = {
		.begin = make_user_namespace,
		.admit = map_users,
		.become = become_mapped_user,
		.argument = &user,
	};

	if (!has_user_namespaces()) {
		print_message("skipped: users cannot create user namespaces here\n");
		skip();
	}
	sample_child(&child, 0);
	/* Until it runs in the first namespace, it is its own user: also OWN_USER. */
	assert_int_equal(fixture.of_user, fixture.of_followed);
}

static void write_counters(
	enum pilotlight_source source, const struct pilotlight_counters *counters)
{
	int cpus = libbpf_num_possible_cpus();
	struct pilotlight_counters *values = calloc((size_t)cpus, sizeof(*values));
	uint32_t index = pilotlight_counters_index(source, 0);

	assert_non_null(values);
	values[0] = *counters;
	assert_int_equal(bpf_map_update_elem(capture_maps(fixture.capture)->counters_fd, &index,
				 values, BPF_ANY),
		0);
	free(values);
}

static void put_count(enum pilotlight_source source, uint32_t tid, uint64_t count)
{
	const struct pilotlight_sample_key key = {
		.tid = tid,
		.user_stack = PILOTLIGHT_STACK_NONE,
		.kernel_stack = PILOTLIGHT_STACK_NONE,
		.source = source,
	};
	const struct pilotlight_sample_count value = {
		.count = count,
		.build_id_stack = PILOTLIGHT_STACK_NONE,
		.comm = "written by test",
	};

	assert_int_equal(bpf_map_update_elem(capture_maps(fixture.capture)->sets[0].counts_fd, &key,
				 &value, BPF_ANY),
		0);
}

static void counted_but_missing_samples_are_unread(void **state)
{
	const struct pilotlight_counters counters = { .fired = 12, .stored = { 10, 2 } };

	open_fixture(false, 64);
	write_counters(PILOTLIGHT_SOURCE_CPU, &counters);
	put_count(PILOTLIGHT_SOURCE_CPU, 1, 4);
	put_count(PILOTLIGHT_SOURCE_CPU, 2, 3);
	assert_int_equal(drain_once(), 0);
	assert_int_equal(fixture.samples, 7);
	assert_int_equal(fixture.total.stored[PILOTLIGHT_PATH_MAP], 7);
	assert_int_equal(fixture.total.stored[PILOTLIGHT_PATH_RING], 0);
	assert_int_equal(fixture.total.dropped[PILOTLIGHT_DROP_UNREAD], 5);
	/* Both sets are clean afterwards. */
	assert_int_equal(drain_once(), 0);
	assert_int_equal(drain_once(), 0);
	assert_int_equal(fixture.samples, 7);
	assert_int_equal(fixture.total.fired, 12);
}

static void each_source_has_its_own_accounts(void **state)
{
	const struct pilotlight_counters counters[PILOTLIGHT_SOURCES] = {
		{ .fired = 4, .stored = { 4, 0 } },
		{ .fired = 50, .stored = { 50, 0 } },
		{ .fired = 6, .stored = { 5, 0 }, .dropped = { [PILOTLIGHT_DROP_FILTERED] = 1 } },
	};
	struct accounts accounts[PILOTLIGHT_SOURCES];

	open_fixture(false, 64);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		write_counters((enum pilotlight_source)i, &counters[i]);
	put_count(PILOTLIGHT_SOURCE_CPU, 1, 4);
	put_count(PILOTLIGHT_SOURCE_OFFCPU, 1, 47);
	put_count(PILOTLIGHT_SOURCE_RUNQUEUE, 1, 5);
	assert_int_equal(drain_flip(fixture.drain), 0);
	assert_int_equal(drain_window(fixture.drain, count_sample, NULL, accounts), 0);
	assert_int_equal(fixture.samples, 4 + 47 + 5);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++) {
		assert_int_equal(accounts[i].fired, counters[i].fired);
		assert_true(accounts_close(&accounts[i]));
		assert_int_equal(accounts[i].dropped[PILOTLIGHT_DROP_UNREAD],
			i == PILOTLIGHT_SOURCE_OFFCPU ? 3 : 0);
	}
	/* Both sets are clean afterwards. */
	assert_int_equal(drain_once(), 0);
	assert_int_equal(drain_once(), 0);
	assert_int_equal(fixture.total.fired, 0);
}

static void uncounted_samples_are_a_bug(void **state)
{
	const struct pilotlight_counters counters = { .fired = 3, .stored = { 3, 0 } };

	open_fixture(false, 64);
	write_counters(PILOTLIGHT_SOURCE_CPU, &counters);
	put_count(PILOTLIGHT_SOURCE_CPU, 1, 4);
	assert_int_equal(drain_once(), -EPROTO);
}

/* Sends a ring record that no window counts, and wakes the reader or does not. */
static void send_record(int32_t flags)
{
	const struct bpf_insn send[] = {
		/* r1: the ring; r2: a struct pilotlight_ring_header, { PILOTLIGHT_RING_WALK, 0 } */
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = BPF_REG_1,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = capture_maps(fixture.capture)->ring_fd },
		{ 0 },
		{ .code = BPF_ST | BPF_MEM | BPF_DW,
			.dst_reg = BPF_REG_10,
			.off = -8,
			.imm = PILOTLIGHT_RING_WALK },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X,
			.dst_reg = BPF_REG_2,
			.src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4, .imm = flags },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, load, .prog_flags = BPF_F_SLEEPABLE);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int program_fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "send_record", "GPL", send,
		sizeof(send) / sizeof(send[0]), &load);

	assert_true(program_fd >= 0);
	assert_int_equal(bpf_prog_test_run_opts(program_fd, &run), 0);
	assert_int_equal((int32_t)run.retval, 0);
	(void)close(program_fd);
}

static bool is_wakeup_pending(void)
{
	struct pollfd waited = { .fd = drain_poll_fd(fixture.drain), .events = POLLIN };

	return poll(&waited, 1, 0) == 1;
}

static void one_wakeup_is_one_drain(void **state)
{

	open_fixture(false, 64);
	assert_false(is_wakeup_pending());
	for (unsigned i = 0; i < 3; i++) {
		send_record(BPF_RB_FORCE_WAKEUP);
		assert_true(is_wakeup_pending());
		assert_int_equal(drain_once(), 0);
		/* Never empty, and never half full. */
		send_record(BPF_RB_NO_WAKEUP);
		assert_false(is_wakeup_pending());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_fired_sample_is_stored_or_dropped, tear_down),
		cmocka_unit_test_teardown(small_maps_lose_nothing, tear_down),
		cmocka_unit_test_teardown(refused_samples_leave_the_accounts, tear_down),
		cmocka_unit_test_teardown(
			only_followed_processes_and_their_children_are_sampled, tear_down),
		cmocka_unit_test_teardown(a_sample_has_the_cgroup_of_its_thread, tear_down),
		cmocka_unit_test_teardown(a_sample_has_the_user_of_its_process, tear_down),
		cmocka_unit_test_teardown(
			the_creator_of_a_user_namespace_answers_for_its_users, tear_down),
		cmocka_unit_test_teardown(counted_but_missing_samples_are_unread, tear_down),
		cmocka_unit_test_teardown(each_source_has_its_own_accounts, tear_down),
		cmocka_unit_test_teardown(uncounted_samples_are_a_bug, tear_down),
		cmocka_unit_test_teardown(one_wakeup_is_one_drain, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
