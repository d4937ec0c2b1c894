/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/late_samples.h"
#include "tests/harness/failing_allocation.h"
#include "tests/jit/jit_table_fixture.h"

#include <errno.h>

enum { SENT_MAX = 4096 };

/* What has gone on. */
struct sent {
	struct raw_sample sample;
	char comm[PILOTLIGHT_COMM_BYTES];
	char names[256]; /* root first, with ';' between */
	char file[32];	 /* of the leaf */
	uint32_t line, column;
};

struct fixture {
	struct jit_fixture jit;
	struct jit_dump dump; /* of process 5 */
	struct binary_table *binaries;
	struct late_samples *late;
	uint32_t binary;
	struct sent *sent;
	size_t sent_count;
	int answer; /* of the function */
};

static int take(void *context, const struct raw_sample *sample, const struct resolved_frame *frames,
	size_t count)
{
	struct fixture *fixture = context;
	struct sent *sent = &fixture->sent[fixture->sent_count];
	const struct resolved_frame *leaf = &frames[count - 1];

	if (fixture->answer)
		return fixture->answer;
	assert_true(fixture->sent_count < SENT_MAX);
	fixture->sent_count++;
	*sent = (struct sent){ .sample = *sample, .line = leaf->line, .column = leaf->column };
	(void)snprintf(sent->comm, sizeof(sent->comm), "%s", sample->comm);
	for (size_t i = 0; i < count; i++)
		(void)snprintf(sent->names + strlen(sent->names),
			sizeof(sent->names) - strlen(sent->names), "%s%s", i > 0 ? ";" : "",
			frames[i].name ? frames[i].name : "-");
	if (leaf->file)
		(void)snprintf(sent->file, sizeof(sent->file), "%s", leaf->file);
	return 0;
}

static const struct late_samples_limits usual = {
	.bytes = 4 << 20,
	.patience_ns = UINT64_MAX,
};

static void open_fixture(struct fixture *fixture, const struct late_samples_limits *limits)
{
	*fixture = (struct fixture){ 0 };
	fixture->sent = calloc(SENT_MAX, sizeof(*fixture->sent));
	assert_non_null(fixture->sent);
	jit_fixture_open(&fixture->jit);
	jit_fixture_runtime(&fixture->jit, 5, 1, &fixture->dump);
	assert_int_equal(binary_table_new(&binary_table_default_limits, fixture->jit.broker,
				 fixture->jit.processes, &fixture->binaries),
		0);
	assert_int_equal(binary_table_find_jit(fixture->binaries, 5, 1, &fixture->binary), 0);
	assert_int_equal(late_samples_new(limits, fixture->jit.table, fixture->binaries, take,
				 fixture, &fixture->late),
		0);
}

static void close_fixture(struct fixture *fixture)
{
	late_samples_free(fixture->late);
	binary_table_free(fixture->binaries);
	jit_fixture_dump_done(&fixture->dump);
	jit_fixture_close(&fixture->jit);
	free(fixture->sent);
}

static struct raw_sample sample_of(uint64_t first_ms, uint64_t last_ms)
{
	return (struct raw_sample){
		.process = { .tgid = 5, .start_ns = 1 },
		.tid = 55,
		.comm = "rt",
		.count = 3,
		.first_ns = first_ms * MS,
		.last_ns = last_ms * MS,
		.cgroup_id = 4711,
		.user = 1000,
		.path = PILOTLIGHT_PATH_RING,
	};
}

static struct resolved_frame jit_frame(const struct fixture *fixture, uint64_t address)
{
	return (struct resolved_frame){
		.binary = fixture->binary,
		.address = address,
		.jit = RESOLVED_JIT,
	};
}

/* One with a leaf in JIT memory. */
static int add(struct fixture *fixture, uint64_t ms, uint64_t address)
{
	struct resolved_frame frames[] = {
		{ .binary = 77, .address = 0x1000 },
		jit_frame(fixture, address),
	};
	struct raw_sample sample = sample_of(ms, ms);

	return late_samples_add(fixture->late, &sample, frames, 2);
}

static int run(struct fixture *fixture, uint64_t ms)
{
	jit_fixture_run(&fixture->jit, ms);
	return late_samples_run(fixture->late, ms * MS);
}

static struct late_counters counters_of(const struct fixture *fixture)
{
	struct late_counters counters;

	late_samples_counters(fixture->late, &counters);
	return counters;
}

static void a_sample_waits_until_its_names_are_settled(void **state)
{
	struct fixture fixture;
	struct binary binary;

	open_fixture(&fixture, &usual);
	assert_int_equal(late_samples_oldest_ns(fixture.late), UINT64_MAX);
	assert_int_equal(add(&fixture, 110, CODE), 0);
	assert_int_equal(add(&fixture, 100, CODE), 0);
	assert_int_equal(run(&fixture, 200), 0);
	assert_int_equal(fixture.sent_count, 0);
	assert_int_equal(counters_of(&fixture).waiting, 2);
	assert_int_equal(late_samples_oldest_ns(fixture.late), 100 * MS);

	/* The hot function is told of last. */
	jit_fixture_load(&fixture.dump, 50, 5, CODE, "hot");
	assert_int_equal(run(&fixture, 300), 0);
	assert_int_equal(fixture.sent_count, 0);
	jit_fixture_load(&fixture.dump, 400, 5, CODE, "next");
	assert_int_equal(run(&fixture, 500), 0);
	assert_int_equal(fixture.sent_count, 2);
	assert_string_equal(fixture.sent[0].names, "-;hot");
	assert_string_equal(fixture.sent[1].names, "-;hot");
	assert_string_equal(fixture.sent[0].comm, "rt");
	assert_int_equal(fixture.sent[0].sample.process.tgid, 5);
	assert_int_equal(fixture.sent[0].sample.process.start_ns, 1);
	assert_int_equal(fixture.sent[0].sample.tid, 55);
	assert_int_equal(fixture.sent[0].sample.cgroup_id, 4711);
	assert_int_equal(fixture.sent[0].sample.user, 1000);
	assert_int_equal(fixture.sent[0].sample.count, 3);
	assert_int_equal(fixture.sent[0].sample.first_ns, 110 * MS);
	assert_int_equal(fixture.sent[1].sample.last_ns, 100 * MS);
	assert_int_equal(fixture.sent[0].sample.path, PILOTLIGHT_PATH_RING);
	assert_int_equal(counters_of(&fixture).waiting, 0);
	binary_table_get(fixture.binaries, fixture.binary, &binary);
	assert_string_equal(binary.path, "[JIT]");

	/* Settled already: at the next run. */
	assert_int_equal(add(&fixture, 120, CODE), 0);
	assert_int_equal(run(&fixture, 510), 0);
	assert_int_equal(fixture.sent_count, 3);
	close_fixture(&fixture);
}

static void lines_and_the_runtime_arrive(void **state)
{
	struct fixture fixture;
	struct binary binary;

	open_fixture(&fixture, &usual);
	/* V8's bias of 64 comes with V8's sign. */
	assert_int_equal(ftruncate(fixture.dump.fd, 0), 0);
	jitdump_fixture_done(&fixture.dump.records);
	fixture.dump.flushed = 0;
	jitdump_fixture_header_of(&fixture.dump.records, 5, 0xdeadbeef, 0);
	jitdump_fixture_begin_debug(&fixture.dump.records, 50 * MS, CODE, 1);
	jitdump_fixture_debug_entry(&fixture.dump.records, CODE + 0x40, 12, 7, "a.js");
	jitdump_fixture_end(&fixture.dump.records);
	jit_fixture_load(&fixture.dump, 50, 5, CODE, "JS:*hot");
	assert_int_equal(add(&fixture, 100, CODE + 8), 0);
	assert_int_equal(run(&fixture, 200), 0);
	assert_int_equal(late_samples_finish(fixture.late), 0);
	assert_int_equal(fixture.sent_count, 1);
	assert_string_equal(fixture.sent[0].names, "-;JS:*hot");
	assert_string_equal(fixture.sent[0].file, "a.js");
	assert_int_equal(fixture.sent[0].line, 12);
	assert_int_equal(fixture.sent[0].column, 7);
	binary_table_get(fixture.binaries, fixture.binary, &binary);
	assert_string_equal(binary.path, "[JIT] V8");
	close_fixture(&fixture);
}

static void patience_ends(void **state)
{
	const struct late_samples_limits limits = { .bytes = 4 << 20, .patience_ns = 1000 * MS };
	struct late_counters counters;
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	assert_int_equal(add(&fixture, 100, CODE), 0);
	assert_int_equal(add(&fixture, 200, CODE), 0);
	assert_int_equal(run(&fixture, 1099), 0);
	assert_int_equal(fixture.sent_count, 0);
	assert_int_equal(run(&fixture, 1100), 0);
	assert_int_equal(fixture.sent_count, 1);
	assert_string_equal(fixture.sent[0].names, "-;[jit: unknown]");
	assert_int_equal(late_samples_oldest_ns(fixture.late), 200 * MS);
	counters = counters_of(&fixture);
	assert_int_equal(counters.samples, 6);
	assert_int_equal(counters.leaves, 3);
	assert_int_equal(counters.leaves_unknown, 3);
	assert_int_equal(counters.frames, 3);
	assert_int_equal(counters.frames_unknown, 3);
	assert_int_equal(counters.frames_ambiguous, 0);
	assert_int_equal(counters.hurried, 0);
	assert_int_equal(counters.waiting, 1);
	close_fixture(&fixture);
}

static void the_exit_sends_all_on(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, &usual);
	assert_int_equal(add(&fixture, 100, CODE), 0);
	jit_fixture_load(&fixture.dump, 50, 5, CODE, "hot");
	jit_fixture_exit(&fixture.jit, 5, 150);
	assert_int_equal(run(&fixture, 200), 0);
	assert_int_equal(fixture.sent_count, 1);
	assert_string_equal(fixture.sent[0].names, "-;hot");
	close_fixture(&fixture);
}

static void finish_sends_all_on_in_their_order(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, &usual);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(add(&fixture, 100 + i, CODE), 0);
	assert_int_equal(late_samples_finish(fixture.late), 0);
	assert_int_equal(fixture.sent_count, 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(fixture.sent[i].sample.first_ns, (100 + i) * MS);
	assert_int_equal(counters_of(&fixture).waiting, 0);
	assert_int_equal(late_samples_finish(fixture.late), 0);
	close_fixture(&fixture);
}

static void a_perf_map_names_what_waits_as_it_grows(void **state)
{
	struct fixture fixture;
	struct raw_sample sample;
	struct resolved_frame frames[2];

	open_fixture(&fixture, &usual);
	jit_fixture_process(&fixture.jit, 6);
	jit_fixture_write(&fixture.jit, 6, "root/tmp/perf-6.map", "10000 40 first\n");
	jit_fixture_memory(&fixture.jit, 6, 100);
	sample = sample_of(100, 100);
	sample.process.tgid = 6;
	frames[0] = jit_frame(&fixture, CODE);
	frames[1] = jit_frame(&fixture, CODE + 0x40);
	assert_int_equal(late_samples_add(fixture.late, &sample, frames, 1), 0);
	assert_int_equal(late_samples_add(fixture.late, &sample, frames, 2), 0);
	assert_int_equal(run(&fixture, 200), 0);
	assert_int_equal(fixture.sent_count, 1);
	assert_string_equal(fixture.sent[0].names, "first");
	assert_int_equal(run(&fixture, 250), 0);
	assert_int_equal(fixture.sent_count, 1);
	jit_fixture_write(
		&fixture.jit, 6, "root/tmp/perf-6.map", "10000 40 first\n10040 40 second\n");
	assert_int_equal(run(&fixture, 300), 0);
	assert_int_equal(fixture.sent_count, 2);
	assert_string_equal(fixture.sent[1].names, "first;second");
	close_fixture(&fixture);
}

static void other_frames_keep_their_names(void **state)
{
	struct raw_sample sample = sample_of(100, 100);
	struct late_counters counters;
	struct resolved_frame frames[4];
	struct fixture fixture;

	open_fixture(&fixture, &usual);
	frames[0] = (struct resolved_frame){
		.binary = RESOLVED_SYNTHETIC,
		.name = "[truncated: depth]",
	};
	frames[1] = jit_frame(&fixture, CODE);
	frames[2] = (struct resolved_frame){ .binary = 78, .address = 3 };
	frames[3] = (struct resolved_frame){ .binary = 79, .address = 4, .name = "do_idle" };
	assert_int_equal(late_samples_add(fixture.late, &sample, frames, 4), 0);
	assert_int_equal(late_samples_finish(fixture.late), 0);
	assert_string_equal(fixture.sent[0].names, "[truncated: depth];[jit: unknown];-;do_idle");
	counters = counters_of(&fixture);
	assert_int_equal(counters.frames_unknown, 3);
	/* Not where it was. */
	assert_int_equal(counters.leaves, 0);
	assert_int_equal(counters.leaves_unknown, 0);
	close_fixture(&fixture);
}

static void code_that_changed_meanwhile_is_not_named(void **state)
{
	struct raw_sample sample = sample_of(90, 110);
	struct late_counters counters;
	struct resolved_frame frame;
	struct fixture fixture;

	open_fixture(&fixture, &usual);
	jit_fixture_load(&fixture.dump, 50, 5, CODE, "first");
	jit_fixture_load(&fixture.dump, 100, 5, CODE, "second");
	jit_fixture_load(&fixture.dump, 200, 5, CODE + 0x100, "later");
	frame = jit_frame(&fixture, CODE);
	assert_int_equal(late_samples_add(fixture.late, &sample, &frame, 1), 0);
	assert_int_equal(add(&fixture, 99, CODE), 0);
	assert_int_equal(run(&fixture, 300), 0);
	assert_int_equal(fixture.sent_count, 2);
	assert_string_equal(fixture.sent[0].names, "[jit: unknown]");
	assert_string_equal(fixture.sent[1].names, "-;first");
	counters = counters_of(&fixture);
	assert_int_equal(counters.frames, 6);
	assert_int_equal(counters.frames_unknown, 3);
	assert_int_equal(counters.frames_ambiguous, 3);
	assert_int_equal(counters.leaves, 6);
	assert_int_equal(counters.leaves_unknown, 3);
	close_fixture(&fixture);
}

static void shared_memory_has_what_others_wrote(void **state)
{
	struct raw_sample sample = sample_of(150, 150);
	struct resolved_frame frame;
	struct fixture fixture;

	open_fixture(&fixture, &usual);
	jit_fixture_process(&fixture.jit, 6);
	jit_fixture_fork(&fixture.jit, 6, 5, 100);
	jit_fixture_load(&fixture.dump, 120, 6, CODE, "the child's");
	jit_fixture_load(&fixture.dump, 200, 5, CODE + 0x100, "later");
	frame = jit_frame(&fixture, CODE);
	assert_int_equal(late_samples_add(fixture.late, &sample, &frame, 1), 0);
	frame.jit = RESOLVED_JIT_SHARED;
	assert_int_equal(late_samples_add(fixture.late, &sample, &frame, 1), 0);
	assert_int_equal(run(&fixture, 300), 0);
	assert_int_equal(fixture.sent_count, 2);
	assert_string_equal(fixture.sent[0].names, "[jit: unknown]");
	assert_string_equal(fixture.sent[1].names, "the child's");
	close_fixture(&fixture);
}

static void without_room_the_oldest_are_sent(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64 << 10, .patience_ns = UINT64_MAX };
	struct late_counters counters;
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	for (uint64_t i = 0; i < 2000; i++) {
		assert_int_equal(add(&fixture, 100 + i, CODE), 0);
		assert_true(late_samples_bytes(fixture.late) <= limits.bytes);
	}
	counters = counters_of(&fixture);
	assert_int_equal(counters.samples, 6000);
	assert_in_range(counters.waiting, 100, 1000);
	assert_int_equal(counters.hurried, 2000 - counters.waiting);
	assert_int_equal(fixture.sent_count, counters.hurried);
	assert_int_equal(late_samples_oldest_ns(fixture.late), (100 + fixture.sent_count) * MS);
	for (uint64_t i = 0; i < fixture.sent_count; i++)
		assert_int_equal(fixture.sent[i].sample.first_ns, (100 + i) * MS);
	close_fixture(&fixture);
}

/* Whoever waits for what never comes makes room before others do. */
static void without_room_the_largest_holder_is_sent_first(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64 << 10, .patience_ns = UINT64_MAX };
	struct raw_sample greedy = sample_of(150, 150);
	struct resolved_frame frame = { .binary = 77, .jit = RESOLVED_JIT };
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	greedy.process.tgid = 9;
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(add(&fixture, 100 + i, CODE), 0);
	for (uint64_t i = 0; i < 1900; i++) {
		frame.address = i;
		frame.binary = fixture.binary;
		assert_int_equal(late_samples_add(fixture.late, &greedy, &frame, 1), 0);
	}
	assert_true(fixture.sent_count > 1000);
	for (uint64_t i = 0; i < fixture.sent_count; i++)
		assert_int_equal(fixture.sent[i].sample.process.tgid, 9);
	assert_int_equal(late_samples_oldest_ns(fixture.late), 100 * MS);
	close_fixture(&fixture);
}

/* However many processes hold it. */
static void without_room_the_largest_user_is_sent_first(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64 << 10, .patience_ns = UINT64_MAX };
	struct raw_sample greedy = sample_of(150, 150);
	struct resolved_frame frame = { .jit = RESOLVED_JIT };
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	greedy.share_user = 1000;
	for (uint64_t i = 0; i < 60; i++)
		assert_int_equal(add(&fixture, 100 + i, CODE), 0);
	for (uint64_t i = 0; i < 1900; i++) {
		greedy.process.tgid = 1000 + (uint32_t)i % 100;
		frame.binary = fixture.binary;
		assert_int_equal(late_samples_add(fixture.late, &greedy, &frame, 1), 0);
	}
	assert_true(fixture.sent_count > 1000);
	for (uint64_t i = 0; i < fixture.sent_count; i++)
		assert_true(fixture.sent[i].sample.process.tgid >= 1000);
	close_fixture(&fixture);
}

static void stacks_that_nobody_waits_with_go(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64 << 10, .patience_ns = UINT64_MAX };
	struct raw_sample sample = sample_of(100, 100);
	struct resolved_frame frames[100] = { 0 };
	struct fixture fixture;
	char name[32];

	open_fixture(&fixture, &limits);
	for (uint64_t i = 0; i < 1000; i++) {
		for (size_t k = 0; k < 100; k++)
			frames[k] = jit_frame(&fixture, i * 1000 + k);
		(void)snprintf(name, sizeof(name), "kernel %d", (int)i);
		frames[99] = (struct resolved_frame){ .binary = 7, .name = name };
		assert_int_equal(late_samples_add(fixture.late, &sample, frames, 100), 0);
		assert_true(late_samples_bytes(fixture.late) <= limits.bytes);
	}
	assert_in_range(counters_of(&fixture).waiting, 1, 100);
	assert_int_equal(late_samples_finish(fixture.late), 0);
	assert_int_equal(fixture.sent_count, 1000);
	assert_true(late_samples_bytes(fixture.late) < limits.bytes / 2);
	close_fixture(&fixture);
}

static void a_sample_too_large_for_the_buffer_is_sent_at_once(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64, .patience_ns = UINT64_MAX };
	struct late_counters counters;
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	jit_fixture_load(&fixture.dump, 50, 5, CODE, "hot");
	jit_fixture_run(&fixture.jit, 90);
	assert_int_equal(add(&fixture, 100, CODE), 0);
	assert_int_equal(fixture.sent_count, 1);
	assert_string_equal(fixture.sent[0].names, "-;hot");
	assert_string_equal(fixture.sent[0].comm, "rt");
	counters = counters_of(&fixture);
	assert_int_equal(counters.samples, 3);
	assert_int_equal(counters.hurried, 1);
	assert_int_equal(counters.waiting, 0);
	close_fixture(&fixture);
}

static void the_functions_error_is_passed_on(void **state)
{
	const struct late_samples_limits limits = { .bytes = 64 << 10, .patience_ns = UINT64_MAX };
	static const int answers[] = { -EIO, -E2BIG, 7 };
	struct fixture fixture;

	open_fixture(&fixture, &limits);
	jit_fixture_load(&fixture.dump, 5000, 5, CODE, "later");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		uint64_t before;
		int r = 0;

		for (uint64_t k = 0; k < 4; k++)
			assert_int_equal(add(&fixture, 100 + k, CODE), 0);
		fixture.answer = answers[i];
		jit_fixture_run(&fixture.jit, 6000);
		/* What was taken is gone, what was not waits on. */
		assert_int_equal(late_samples_run(fixture.late, 6000 * MS), answers[i]);
		assert_int_equal(counters_of(&fixture).waiting, answers[i] < 0 ? 4 : 3);
		assert_int_equal(late_samples_finish(fixture.late), answers[i]);
		assert_int_equal(counters_of(&fixture).waiting, answers[i] < 0 ? 4 : 2);
		for (uint64_t k = 0; k < 5000 && r == 0; k++)
			r = add(&fixture, 200, CODE);
		assert_int_equal(r, answers[i]);
		fixture.answer = 0;
		before = counters_of(&fixture).waiting;
		fixture.sent_count = 0;
		assert_int_equal(late_samples_finish(fixture.late), 0);
		assert_int_equal(fixture.sent_count, before);
		fixture.sent_count = 0;
	}
	close_fixture(&fixture);
}

/* All of it with one allocation failing. */
static int live(struct fixture *fixture)
{
	const struct late_samples_limits limits = { .bytes = 16 << 10, .patience_ns = UINT64_MAX };
	int r;

	fixture->late = NULL;
	fixture->sent_count = 0;
	r = late_samples_new(
		&limits, fixture->jit.table, fixture->binaries, take, fixture, &fixture->late);
	for (uint64_t i = 0; i < 150 && r == 0; i++)
		r = add(fixture, 100 + i, CODE + i);
	if (r == 0)
		r = late_samples_run(fixture->late, 6000 * MS);
	return r == 0 ? late_samples_finish(fixture->late) : r;
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture fixture;
	size_t n;
	int r;

	open_fixture(&fixture, &usual);
	late_samples_free(fixture.late);
	for (n = 0;; n++) {
		size_t sent;

		fail_allocation(n);
		r = live(&fixture);
		if (!allocation_failed())
			break;
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		/* Nothing that was taken is lost. */
		if (fixture.late) {
			struct late_counters counters = counters_of(&fixture);

			sent = fixture.sent_count;
			assert_int_equal(late_samples_finish(fixture.late), 0);
			assert_int_equal(fixture.sent_count - sent, counters.waiting);
			assert_in_range(
				fixture.sent_count, counters.samples / 3, counters.samples / 3 + 1);
		}
		late_samples_free(fixture.late);
	}
	assert_int_equal(r, 0);
	assert_int_equal(fixture.sent_count, 150);
	assert_true(n > 8);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_waits_until_its_names_are_settled),
		cmocka_unit_test(lines_and_the_runtime_arrive),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(the_exit_sends_all_on),
		cmocka_unit_test(finish_sends_all_on_in_their_order),
		cmocka_unit_test(a_perf_map_names_what_waits_as_it_grows),
		cmocka_unit_test(other_frames_keep_their_names),
		cmocka_unit_test(code_that_changed_meanwhile_is_not_named),
		cmocka_unit_test(shared_memory_has_what_others_wrote),
		cmocka_unit_test(without_room_the_oldest_are_sent),
		cmocka_unit_test(without_room_the_largest_holder_is_sent_first),
		cmocka_unit_test(without_room_the_largest_user_is_sent_first),
		cmocka_unit_test(stacks_that_nobody_waits_with_go),
		cmocka_unit_test(a_sample_too_large_for_the_buffer_is_sent_at_once),
		cmocka_unit_test(the_functions_error_is_passed_on),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
