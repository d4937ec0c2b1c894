/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drain over the lives of several engines, of which one is killed at each of its steps; and in an
 * engine that runs as nobody without capabilities.
 * Runs beside others: it judges that counts add up.
 */
#include "base/clock.h"
#include "drain/drain.h"
#include "tests/capture/served_capture.h"
#include "tests/drain/cpu_window.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { RATE_HZ = 999, NOBODY = 65534 };

static const struct capture_settings settings = {
	.rate_hz = RATE_HZ,
	.event = CAPTURE_EVENT_CLOCK,
	.wants_kernel = true,
	.map_budget_bytes = 16 << 20,
	.stack_slots = 64, /* few: the ring is used, too */
	.unwind_budget_bytes = 1 << 20,
	.skips_interpreted = true, /* faster to verify */
};

/* In an engine's process, where the test's own assertions cannot be used. */
#define REQUIRE(condition)                                                            \
	do {                                                                          \
		if (!(condition)) {                                                   \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                                     \
		}                                                                     \
	} while (0)

static int count_samples(void *context, const struct raw_sample *sample)
{
	uint64_t *samples = context;

	*samples += sample->count;
	return 0;
}

/* Uses CPU time on stacks of many shapes. */
__attribute__((noinline)) static unsigned work(unsigned depth, uint64_t until_ns)
{
	volatile unsigned sum = 0;

	if (depth > 0) {
		sum = work(depth - 1, until_ns);
		return sum + 1;
	}
	while (clock_thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 20000; i++)
			sum += i;
	return sum;
}

/* On each for longer than it is from sample to sample. */
static void work_on_many_stacks(void)
{
	for (unsigned depth = 0; depth < 40; depth++)
		(void)work(depth, clock_thread_cpu_ns() + 2 * NSEC_PER_SEC / RATE_HZ);
}

/* An engine that drains two windows and adds their accounts, unless it is killed first. */
static _Noreturn void be_engine(const struct capture *capture, struct accounts *drained)
{
	struct accounts accounts;
	uint64_t samples = 0;
	struct drain *drain;

	REQUIRE(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	(void)raise(SIGSTOP);
	REQUIRE(drain_new(capture_maps(capture), &drain) == 0);
	for (int i = 0; i < 2; i++) {
		REQUIRE(drain_flip(drain) == 0);
		REQUIRE(drain_cpu_window(drain, count_samples, &samples, &accounts) == 0);
		accounts_add(drained, &accounts);
	}
	_exit(0);
}

static bool enters_bpf(pid_t pid)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_bpf;
}

/* Kills it as it makes the call after the next `calls`. Returns whether it came to that. */
static bool kill_at_call(pid_t pid, unsigned calls)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				 (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
		0);
	for (;;) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
		assert_true(WIFSTOPPED(status));
		if (enters_bpf(pid) && calls-- == 0)
			break;
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return true;
}

/* As the next engine would: both sets, with what was left in them. */
static void drain_after(const struct capture *capture, struct accounts *total)
{
	struct drain *drain;
	uint64_t samples;

	assert_int_equal(drain_new(capture_maps(capture), &drain), 0);
	for (int i = 0; i < 2; i++) {
		struct accounts accounts;

		samples = 0;
		assert_int_equal(drain_flip(drain), 0);
		assert_int_equal(drain_cpu_window(drain, count_samples, &samples, &accounts), 0);
		assert_true(accounts_close(&accounts));
		assert_int_equal(samples, accounts_stored(&accounts));
		accounts_add(total, &accounts);
	}
	drain_free(drain);
}

static void an_engine_may_die_at_any_step(void **state)
{
	struct accounts *drained = mmap(
		NULL, sizeof(*drained), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct capture *capture = NULL;
	struct accounts total = { 0 };
	struct fault fault = { 0 };
	struct capture_cost cost;
	bool was_killed = true;

	skip_without_bpf();
	assert_ptr_not_equal(drained, MAP_FAILED);
	if (capture_open(&settings, &capture, &fault) < 0 || capture_start(capture, &fault) < 0)
		fail_msg("%s", fault.text);
	for (unsigned calls = 0; was_killed; calls += 1 + calls / 8) {
		pid_t engine;

		work_on_many_stacks();
		engine = fork();
		if (engine == 0)
			be_engine(capture, drained);
		was_killed = kill_at_call(engine, calls);
		drain_after(capture, &total);
	}
	capture_stop(capture);
	drain_after(capture, &total);
	capture_read_cost(capture, &cost);
	accounts_add(&total, drained);
	assert_true(accounts_close(&total));
	assert_true(accounts_stored(&total) > 0);
	assert_true(total.stored[PILOTLIGHT_PATH_RING] > 0);
	assert_true(total.dropped[PILOTLIGHT_DROP_UNREAD] > 0);
	/* The kernel's own count is a witness that is not ours: not one is missing. */
	if (cost.program_runs > 0)
		assert_int_equal(total.fired, cost.program_runs);
	capture_free(capture);
	assert_int_equal(munmap(drained, sizeof(*drained)), 0);
}

static void become_nobody(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(setgroups(0, NULL) == 0);
	REQUIRE(setresgid(NOBODY, NOBODY, NOBODY) == 0);
	REQUIRE(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	for (int i = 0; i < 2; i++)
		REQUIRE(sets[i].effective == 0 && sets[i].permitted == 0);
}

/* In KiB, of /proc/self/status. */
static long status_number(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long number = -1;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtol(line + strlen(key), NULL, 10);
	(void)fclose(file);
	return number;
}

struct seen {
	pid_t child;
	unsigned records;
};

static void see(void *context, const struct sideband_record *record)
{
	struct seen *seen = context;

	if (record->pid == seen->child)
		seen->records++;
}

static void read_sideband(struct capture *capture)
{
	struct seen seen = { .child = fork() };

	if (seen.child == 0) {
		(void)execl("/bin/true", "true", NULL);
		_exit(127);
	}
	REQUIRE(waitpid(seen.child, NULL, 0) == seen.child);
	REQUIRE(sideband_read(capture_sideband(capture), clock_monotonic_ns(), see, &seen) == 0);
	REQUIRE(seen.records >= 3);
}

static void count_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	unsigned *requests = context;

	(void)key;
	(void)request;
	(*requests)++;
}

static void use_walk_maps(const struct walk_maps *maps)
{
	const struct pilotlight_file_key key = { .inode = 1 };
	const struct pilotlight_walk_file file = { .id = 3 };
	unsigned requests = 0;
	uint32_t window;

	REQUIRE(walk_maps_drain_requests(maps, count_request, &requests) >= 0);
	REQUIRE(requests > 0);
	REQUIRE(walk_maps_put_file(maps, &key, &file) == 0);
	REQUIRE(walk_maps_used_window(maps, &key, &window) == 0);
	REQUIRE(walk_maps_drop_file(maps, &key) == 0);
	maps->lines[0].base = 1;
	maps->pages[0] = 1;
}

/* So that no unwind table is needed; of one file always the same, so that its stacks are, too. */
static void set_file(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	const struct walk_maps *maps = context;
	const struct pilotlight_walk_file file = {
		.id = key->inode % (1 << 20),
		.flags = PILOTLIGHT_FILE_BY_FRAME_POINTER,
	};

	(void)request;
	(void)walk_maps_put_file(maps, key, &file);
}

/* Works, and has the sampler walk what it asks for. Returns 0, or whether it could not. */
static int work_for_walks(const struct capture *capture)
{
	const struct walk_maps *maps = capture_walk_maps(capture);
	int r;

	work_on_many_stacks();
	if (!maps)
		return 0;
	r = walk_maps_drain_requests(maps, set_file, (void *)maps);
	return r < 0 ? r : 0;
}

/* Of this process: samples that the sampler has walked, and those without frames. A busy
 * machine's others may have more stacks than the small maps of this test hold. */
struct walked {
	uint64_t missing, of_us;
	uint64_t calls, calls_max; /* the last one kills; 0: there is none such */
};

static int count_walk(void *context, const struct raw_sample *sample)
{
	struct walked *walked = context;

	if (++walked->calls == walked->calls_max)
		(void)raise(SIGKILL);
	if (sample->walker != PILOTLIGHT_WALKER_TABLES)
		return 0;
	if (sample->process.tgid != (uint32_t)getpid())
		return 0;
	if (sample->walk_end == PILOTLIGHT_WALK_ENDS)
		walked->missing += sample->count;
	else
		walked->of_us += sample->count;
	return 0;
}

/* Drains windows, and is killed over one of them. */
static _Noreturn void be_engine_without_privilege(int fd)
{
	struct walked walked = { 0 };
	struct fault fault = { 0 };
	struct accounts accounts;
	struct capture *capture;
	uint64_t samples = 0;
	struct drain *drain;

	become_nobody();
	if (capture_connect(fd, &settings, &capture, &fault) < 0 ||
		capture_start(capture, &fault) < 0) {
		(void)fprintf(stderr, "%s\n", fault.text);
		_exit(1);
	}
	REQUIRE(!capture_is_taken_over(capture));
	/* The host has mapped the rings before: the kernel charges them only once. */
	REQUIRE(status_number("VmPin:") == 0 && status_number("VmLck:") == 0);
	REQUIRE(drain_new(capture_maps(capture), &drain) == 0);
	work_on_many_stacks();
	REQUIRE(drain_flip(drain) == 0);
	REQUIRE(drain_cpu_window(drain, count_samples, &samples, &accounts) == 0);
	REQUIRE(accounts_close(&accounts));
	REQUIRE(samples > 0 && samples == accounts_stored(&accounts));
	read_sideband(capture);
	if (capture_walk_maps(capture))
		use_walk_maps(capture_walk_maps(capture));
	for (int i = 0; i < 4; i++) {
		REQUIRE(work_for_walks(capture) == 0);
		REQUIRE(drain_flip(drain) == 0);
		REQUIRE(drain_cpu_window(drain, count_walk, &walked, &accounts) == 0);
	}
	REQUIRE(!capture_walk_maps(capture) || walked.of_us > 0);
	/* It ends in the middle of a window that has enough. */
	for (;;) {
		work_on_many_stacks();
		walked.calls = 0;
		walked.calls_max = 5;
		REQUIRE(drain_flip(drain) == 0);
		REQUIRE(drain_cpu_window(drain, count_walk, &walked, &accounts) == 0);
	}
}

static void die_without_privilege(const struct capture_place *place)
{
	int fd = call_server(place), status;
	pid_t engine = fork();

	if (engine == 0)
		be_engine_without_privilege(fd);
	assert_int_equal(close(fd), 0);
	assert_int_equal(waitpid(engine, &status, 0), engine);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Of the window that was open nothing is known, but that it was. Afterwards all is well. */
static void the_next_engine_drains_what_none_drained(void **state)
{
	struct accounts total = { 0 }, accounts;
	struct walked walked = { 0 };
	struct capture_place place;
	struct fault fault = { 0 };
	struct capture *capture;
	struct drain *drain;

	skip_without_bpf();
	start_server(&place);
	die_without_privilege(&place);
	if (place_capture(&place, &settings, &capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_true(capture_is_taken_over(capture));
	assert_int_equal(drain_new(capture_maps(capture), &drain), 0);
	for (int i = 0; i < 4; i++) {
		walked = (struct walked){ 0 };
		assert_int_equal(work_for_walks(capture), 0);
		assert_int_equal(drain_flip(drain), 0);
		assert_int_equal(drain_cpu_window(drain, count_walk, &walked, &accounts), 0);
		assert_true(accounts_close(&accounts));
		accounts_add(&total, &accounts);
		if (i > 0)
			assert_int_equal(walked.missing, 0);
	}
	if (capture_walk_maps(capture))
		assert_true(walked.of_us > 0);
	assert_true(total.dropped[PILOTLIGHT_DROP_UNREAD] > 0);
	drain_free(drain);
	capture_free(capture);
	stop_server(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_may_die_at_any_step),
		cmocka_unit_test(the_next_engine_drains_what_none_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
