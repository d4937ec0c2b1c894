/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A killed engine's windows that the history holds, and the loss record does not. */
#include "base/array.h"
#include "tests/engine/loss_record_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

/* --- clocks: the machine was started when the fixture's day began --- */

static uint64_t fake_now_s; /* CLOCK_MONOTONIC; 0: the true clocks */
static int64_t fake_set_s;  /* by how much CLOCK_REALTIME was set ahead since then */

int clock_gettime(clockid_t clock, struct timespec *time);
int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (fake_now_s == 0 || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ .tv_sec = (time_t)fake_now_s };
	if (clock == CLOCK_REALTIME)
		time->tv_sec += (time_t)(FIXTURE_DAY_NS / NSEC_PER_SEC) + fake_set_s;
	return 0;
}

/* Ten seconds with `count` stored samples, one dropped, and `lost` by an earlier engine. */
struct written {
	uint64_t at_s, count;
	const uint8_t *boot_id; /* NULL: this one */
	uint64_t lost;
	const char *event; /* NULL: "cpu-clock" */
};

static int use_true_clocks(void **state)
{
	fake_now_s = 0;
	fake_set_s = 0;
	return remove_files(state);
}

static void write_window(const struct written *written)
{
	const struct fixture_sample sample = {
		.pid = 10, .address = 0x3000, .count = written->count, .comm = "one"
	};
	struct profile *profile =
		fixture_profile(FIXTURE_DAY_NS + SECONDS(written->at_s), &sample, 1);
	struct store_window window = { .monotonic_ns = SECONDS(written->at_s) };
	struct store *store = fixture_open(folder);
	struct fault fault = { 0 };

	if (written->event)
		assert_int_equal(profile_add_string(profile, written->event, &profile->event), 0);
	profile->accounts.fired += written->lost;
	profile->accounts.dropped[PILOTLIGHT_DROP_ENGINE] += written->lost;
	memcpy(window.boot_id, written->boot_id ? written->boot_id : boot, sizeof(window.boot_id));
	if (store_append(store, &window, profile, &fault) < 0)
		fail_msg("%s", fault.text);
	profile_free(profile);
	store_close(store);
}

/* Stored and dropped samples that are not in a closed window, beside others that are. */
static void record_losses(
	struct loss_record *record, uint64_t stored, uint64_t dropped, uint64_t closed_until_s)
{
	const struct source_accounts closed = {
		.of = { {
			.fired = 1100,
			.stored = { 1000 },
			.dropped = { [PILOTLIGHT_DROP_RING_FULL] = 100 },
		} }
	};
	const struct source_accounts drained = {
		.of = { {
			.fired = 1100 + stored + dropped,
			.stored = { 1000 + stored },
			.dropped = { [PILOTLIGHT_DROP_RING_FULL] = 100 + dropped },
		} }
	};

	loss_record_update(record, &drained, &closed, SECONDS(closed_until_s));
}

static struct loss_record_beginning begin_with_history(
	struct loss_record *record, const char *history)
{
	struct loss_record_sealed sealed;
	struct loss_record_beginning begun;
	bool needs_history = loss_record_needs_history(record, &sealed) && history;

	if (needs_history)
		loss_record_read_sealed(history, &sealed);
	loss_record_begin(record, needs_history ? &sealed : NULL, &none, &begun);
	assert_true(accounts_close(&begun.lost.of[CPU]));
	assert_int_equal(accounts_stored(&begun.lost.of[CPU]), 0);
	assert_int_equal(begun.lost.of[CPU].fired,
		begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE] +
			begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_RING_FULL] +
			begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_IDLE]);
	return begun;
}

static const struct history_case {
	const char *name;
	uint64_t until_s; /* when the record's last closed window ended */
	uint64_t now_s;
	int64_t set_s;		   /* the clock was set by so much since the windows */
	struct written written[2]; /* beside those of open_written() */
	uint64_t stored, dropped;  /* that the record alone says are lost */
	uint64_t ret_stored, ret_dropped, ret_until_s;
} history_cases[] = {
	{ "one window", 110, 130, 0, { { 0 } }, 6 + 20, 3, 20, 2, 120 },
	{ "two windows", 100, 130, 0, { { 0 } }, 5 + 6, 3, 0, 1, 120 },
	{ "all that was sampled", 100, 130, 0, { { 0 } }, 5 + 6, 2, 0, 0, 120 },
	{ "a service that was killed, and begun later", 110, 3000, 0, { { 0 } }, 26, 3, 20, 2,
		120 },
	{ "no window since", 120, 130, 0, { { 0 } }, 26, 3, 26, 3, 120 },
	{ "no window was begun", 0, 130, 0, { { 0 } }, 226, 13, 226, 13, 0 },
	/* The history contradicts the record: the next engine subtracts none of these windows. */
	{ "fewer are lost than were written", 110, 130, 0, { { 0 } }, 5, 3, 5, 3, 130 },
	{ "more windows than were lost", 90, 130, 0, { { 0 } }, 200, 2, 200, 2, 130 },
	{ "another boot", 200, 230, 0, { { 200, 6, other_boot, 0, NULL } }, 26, 3, 26, 3, 200 },
	{ "this boot and another", 200, 230, 0,
		{ { 200, 6, other_boot, 0, NULL }, { 200, 7, boot, 0, NULL } }, 27, 3, 20, 2, 210 },
	{ "the day before", 86390, 86420, 0, { { 86390, 6, NULL, 0, NULL } }, 26, 3, 20, 2, 86400 },
	{ "both sides of midnight", 86390, 86420, 0,
		{ { 86390, 6, NULL, 0, NULL }, { 86400, 4, NULL, 0, NULL } }, 30, 3, 20, 1, 86410 },
	{ "days later", 86390, 5 * 86400, 0, { { 86390, 6, NULL, 0, NULL } }, 26, 3, 20, 2, 86400 },
	{ "the clock was set back", 110, 130, -3600, { { 0 } }, 26, 3, 20, 2, 120 },
	{ "the clock was set back by days", 110, 130, -2 * 86400, { { 0 } }, 26, 3, 20, 2, 120 },
	{ "the clock was set ahead", 110, 130, 2 * 86400 - 20, { { 0 } }, 26, 3, 20, 2, 120 },
	/* The limit that the header names: the loss is reported twice, and never hidden. */
	{ "the clock was set ahead by days", 110, 130, 3 * 86400, { { 0 } }, 26, 3, 26, 3, 110 },
};

/* 40, 5 and 6 samples from the 90th, 100th and 110th second on. */
static struct loss_record *open_written(void)
{
	static const struct written windows[] = { { .at_s = 90, .count = 40 },
		{ .at_s = 100, .count = 5 }, { .at_s = 110, .count = 6 } };

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
		write_window(&windows[i]);
	return open_record(boot, 1);
}

static void windows_in_the_history_are_not_lost(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(history_cases); i++) {
		const struct history_case *item = &history_cases[i];
		struct loss_record_beginning begun;
		struct loss_record *record;
		uint64_t days;

		assert_int_equal(make_files(state), 0);
		record = open_written();
		for (size_t n = 0; n < ARRAY_SIZE(item->written); n++)
			if (item->written[n].at_s > 0)
				write_window(&item->written[n]);
		days = fixture_summary(folder).days;
		record_losses(record, item->stored, item->dropped, item->until_s);
		fake_now_s = item->now_s;
		fake_set_s = item->set_s;
		begun = begin_with_history(record, folder);
		print_message("%s\n", item->name);
		assert_int_equal(
			begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], item->ret_stored);
		assert_int_equal(
			begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_RING_FULL], item->ret_dropped);
		assert_int_equal(begun.lost_samples, item->ret_stored);
		assert_int_equal(begun.closed_until_ns, SECONDS(item->ret_until_s));
		/* Reading makes no day. */
		assert_int_equal(fixture_summary(folder).days, days);
		loss_record_close(record);
		assert_int_equal(use_true_clocks(state), 0);
	}
}

/* Three engines are killed, two of them between a commit and its note. */
static void each_of_several_kills_is_counted_once(void **state)
{
	struct loss_record *record = open_written();
	struct loss_record_beginning begun, again;
	struct source_accounts drained;
	struct accounts own = {
		.fired = 9, .stored = { 8 }, .dropped = { [PILOTLIGHT_DROP_RING_FULL] = 1 }
	};

	fake_now_s = 150;
	record_losses(record, 6 + 20, 3, 110);
	begun = begin_with_history(record, folder);
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 20);
	/* Killed before its first update. */
	again = begin_with_history(record, folder);
	assert_memory_equal(&again.lost, &begun.lost, sizeof(begun.lost));
	assert_int_equal(again.closed_until_ns, begun.closed_until_ns);
	/* This one commits the loss with samples of its own, is killed, and had drained 4 more. */
	drained = begun.lost;
	own.fired += 4;
	own.stored[0] += 4;
	accounts_add(&drained.of[CPU], &own);
	loss_record_update(record, &drained, &none, SECONDS(120));
	write_window(&(struct written){ .at_s = 120, .count = 8, .lost = 20 });
	again = begin_with_history(record, folder);
	/* The fixture drops one sample a window, the record had two more from the first engine. */
	assert_int_equal(again.lost.of[CPU].dropped[PILOTLIGHT_DROP_RING_FULL], 2);
	assert_int_equal(again.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 4);
	assert_int_equal(again.lost_samples, 20 + 4);
	assert_int_equal(again.closed_until_ns, SECONDS(130));
	loss_record_close(record);
}

/* Two windows of one time: that of CPU time has 6 stored, that of time off CPU 5. */
static void each_source_is_subtracted_from_its_own(void **state)
{
	enum { OFFCPU = PILOTLIGHT_SOURCE_OFFCPU };
	const struct source_accounts
		drained = { .of = {
				    [CPU] = { .fired = 30,
					    .stored = { 25 },
					    .dropped = { [PILOTLIGHT_DROP_IDLE] = 4,
						    [PILOTLIGHT_DROP_RING_FULL] = 1 } },
				    [OFFCPU] = { .fired = 8,
					    .stored = { 7 },
					    .dropped = { [PILOTLIGHT_DROP_RING_FULL] = 1 } },
			    } };
	struct loss_record *record = open_record(boot, 1);
	struct loss_record_beginning begun;

	write_window(&(struct written){ .at_s = 100, .count = 6 });
	write_window(&(struct written){ .at_s = 100, .count = 5, .event = "offcpu" });
	/* A damaged history may have events of no source. */
	write_window(&(struct written){ .at_s = 100, .count = 4, .event = "wall" });
	write_window(&(struct written){ .at_s = 100, .count = 3, .event = "of a later version" });
	loss_record_update(record, &drained, &none, SECONDS(100));
	fake_now_s = 130;
	begun = begin_with_history(record, folder);
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 25 - 6);
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_IDLE], 4);
	assert_int_equal(begun.lost.of[OFFCPU].dropped[PILOTLIGHT_DROP_ENGINE], 7 - 5);
	assert_int_equal(begun.lost.of[OFFCPU].fired, 2);
	assert_true(source_accounts_close(&begun.lost));
	/* The number of samples is of CPU time. */
	assert_int_equal(begun.lost_samples, 25 - 6);
	assert_int_equal(begun.closed_until_ns, SECONDS(110));
	loss_record_close(record);
}

/* `history`: NULL if none is kept. */
static void begin_expecting(
	struct loss_record *record, const char *history, uint64_t lost, uint64_t until_s)
{
	struct loss_record_beginning begun;

	record_losses(record, 26, 3, 110);
	fake_now_s = 130;
	begun = begin_with_history(record, history);
	fake_now_s = 0;
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], lost);
	assert_int_equal(begun.closed_until_ns, SECONDS(until_s));
}

/* Runs the statement on the day. */
static void damage(const char *sql)
{
	char day[DAY_PATH_BYTES];

	fixture_path(day, folder);
	(void)fixture_sql(day, sql);
}

static void without_a_readable_history_the_record_alone_counts(void **state)
{
	/* A reader skips damaged windows and days. Accounts that cannot be right are an error. */
	static const struct {
		const char *sql;
		uint64_t until_s;
	} ways[] = {
		{ "UPDATE windows SET accounts = x'09'", 110 },
		{ "UPDATE windows SET boot_id = x'00'", 110 },
		/* The blob is whole, and its accounts do not close: one fired, none stored. */
		{ "UPDATE windows SET accounts = x'010101'", 130 },
		{ "DROP TABLE windows", 110 },
	};
	struct loss_record *record = open_written();
	char day[DAY_PATH_BYTES];

	begin_expecting(record, folder, 20, 120);
	begin_expecting(record, NULL, 26, 110);
	begin_expecting(record, "/nonexistent/history", 26, 110);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		damage(ways[i].sql);
		begin_expecting(record, folder, 26, ways[i].until_s);
		fixture_remove(folder);
		fixture_folder(folder);
		loss_record_close(record);
		record = open_written();
	}
	fixture_path(day, folder);
	assert_int_equal(truncate(day, 100), 0);
	begin_expecting(record, folder, 26, 110);
	loss_record_close(record);
}

/* A disk that hangs. The whole loss is reported then, and the next one must not shrink by it. */
static void an_unread_window_reduces_no_later_loss(void **state)
{
	const struct loss_record_sealed unread = { .error = -ETIMEDOUT };
	struct loss_record *record = open_written();
	struct loss_record_beginning begun;

	record_losses(record, 26, 3, 110);
	fake_now_s = 130;
	loss_record_begin(record, &unread, &none, &begun);
	assert_int_equal(begun.closed_until_ns, SECONDS(130));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 26);
		assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_RING_FULL], 3);
		begun = begin_with_history(record, folder);
	}
	loss_record_close(record);
}

static void failing_allocations_leave_the_whole_loss(void **state)
{
	struct loss_record *record = open_written();
	size_t n, failed = 0, whole = 0;

	fake_now_s = 130;
	for (n = 0;; n++) {
		struct loss_record_beginning begun;
		uint64_t lost;

		record_losses(record, 26, 3, 110);
		fail_allocation(n);
		begun = begin_with_history(record, folder);
		lost = begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE];
		if (!allocation_failed()) {
			assert_int_equal(lost, 20);
			break;
		}
		failed++;
		whole += lost == 26;
		assert_true(lost == 26 || lost == 20);
		assert_int_equal(begun.closed_until_ns, SECONDS(lost == 26 ? 130 : 120));
	}
	assert_true(failed > 0);
	assert_true(whole > 0);
	loss_record_close(record);
}

#define WITH_CLOCKS(test) cmocka_unit_test_setup_teardown(test, make_files, use_true_clocks)

/* Windows of an event that a user named are known by its name. What was lost of another one is
 * counted as a whole. */
static void named_events_keep_their_accounts(void **state)
{
	static const struct pilotlight_counted_event execs[PILOTLIGHT_COUNTED_EVENTS] = {
		[1] = { .name = "sched:sched_process_exec" },
	};
	static const struct pilotlight_counted_event others[PILOTLIGHT_COUNTED_EVENTS] = {
		[1] = { .name = "cache-misses" },
	};
	const unsigned place = PILOTLIGHT_SOURCE_COUNTED + 1;
	const struct written window = { .at_s = 120, .count = 7, .event = execs[1].name };
	struct source_accounts drained = { .of = { { 0 } } };
	struct loss_record_beginning begun;
	struct loss_record *record = open_written();

	begun = begin_with_history(record, folder);
	loss_record_name_events(record, execs, &begun);
	assert_int_equal(begun.lost_samples, 0);
	write_window(&window);
	/* Seven of the window, its one that was dropped, and nine that no window has. */
	drained.of[place] = (struct accounts){
		.fired = 17, .stored = { 16 }, .dropped = { [PILOTLIGHT_DROP_RING_FULL] = 1 }
	};
	loss_record_update(record, &drained, &none, SECONDS(120));
	fake_now_s = 140;
	begun = begin_with_history(record, folder);
	loss_record_name_events(record, execs, &begun);
	assert_int_equal(begun.lost.of[place].dropped[PILOTLIGHT_DROP_ENGINE], 9);
	assert_int_equal(begun.lost_samples, 0);
	/* Another event takes the place when the next engine begins. */
	begun = begin_with_history(record, folder);
	assert_int_equal(begun.lost.of[place].dropped[PILOTLIGHT_DROP_ENGINE], 9);
	loss_record_name_events(record, others, &begun);
	assert_int_equal(begun.lost.of[place].fired, 0);
	assert_int_equal(begun.lost_samples, 9);
	begun = begin_with_history(record, folder);
	assert_int_equal(begun.lost.of[place].fired, 0);
	assert_int_equal(begun.lost_samples, 9);
	loss_record_close(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_in_the_history_are_not_lost),
		WITH_CLOCKS(each_of_several_kills_is_counted_once),
		WITH_CLOCKS(each_source_is_subtracted_from_its_own),
		WITH_CLOCKS(named_events_keep_their_accounts),
		WITH_CLOCKS(without_a_readable_history_the_record_alone_counts),
		WITH_CLOCKS(an_unread_window_reduces_no_later_loss),
		WITH_CLOCKS(failing_allocations_leave_the_whole_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
