/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/history_writer.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>

static const struct fixture_sample some[] = {
	{ .pid = 10, .address = 0x3000, .count = 5, .comm = "alpha" },
	{ .pid = 20, .address = 0x4000, .count = 3, .comm = "beta" },
};

static struct profile *window_profile(unsigned i)
{
	return fixture_profile(FIXTURE_DAY_NS + SECONDS(100 + 10 * i), some, 2);
}

static char folder[64];
static struct history_writer *writer;
static const struct store_window window = { .monotonic_ns = 1 };

static int set_up(void **state)
{
	fixture_folder(folder);
	return 0;
}

static int tear_down(void **state)
{
	history_writer_free(TAKE_PTR(writer));
	fixture_remove(folder);
	return 0;
}

/* Hands over windows of CPU time alone. */
static int add(const struct store_window *of, struct profile *profile)
{
	struct profile_set profiles = { .of = { [PILOTLIGHT_SOURCE_CPU] = profile } };

	return history_writer_add(writer, of, NULL, &profiles);
}

static void open_writer(void)
{
	const struct history_writer_options options = {
		.folder = folder,
		.limits = store_default_limits,
		.waiting_bytes_max = SIZE_MAX,
	};

	assert_int_equal(history_writer_new(&options, &writer), 0);
}

static void wait_for_result(void)
{
	struct pollfd poll_fd = { .fd = history_writer_poll_fd(writer), .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
}

static void wait_for_next(struct history_result *ret_result)
{
	while (history_writer_next_result(writer, ret_result) == -EAGAIN)
		wait_for_result();
}

static void windows_are_written_and_reported(void **state)
{
	struct history_result result;
	uint64_t untimed[STORE_UNTIMED_REASONS];
	struct store_summary summary;
	struct store_found found;
	struct profile *read;

	open_writer();
	for (unsigned i = 0; i < 8; i++) {
		struct profile *profile = window_profile(i);
		uint64_t end_ns = profile->end_ns, fired = profile->accounts.fired;
		uint64_t length_ns = end_ns - profile->start_ns;

		profile->times_left_out = i;
		assert_int_equal(add(&window, profile), 0);
		wait_for_result();
		wait_for_next(&result);
		assert_int_equal(result.end_monotonic_ns, 1 + length_ns);
		assert_int_equal(result.error, 0);
		assert_string_equal(result.fault, "");
		assert_int_equal(result.end_ns, end_ns);
		assert_int_equal(result.accounts.of[PILOTLIGHT_SOURCE_CPU].fired, fired);
	}
	assert_int_equal(history_writer_next_result(writer, &result), -EAGAIN);
	history_writer_finish(writer);
	history_writer_untimed(writer, untimed);
	assert_int_equal(untimed[STORE_UNTIMED_NO_ROOM], 28);
	assert_int_equal(untimed[STORE_UNTIMED_TOO_LARGE], 0);
	history_writer_summary(writer, &summary);
	assert_int_equal(summary.days, 1);
	assert_true(summary.windows >= 1);
	history_writer_free(TAKE_PTR(writer));
	read = fixture_read(folder, NULL, &found);
	assert_int_equal(found.windows, 8);
	profile_free(read);
}

/* A window of several sources is one window: it waits, is written and is reported as a whole. */
static void sources_are_written_together(void **state)
{
	struct profile_set profiles = { 0 };
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct history_result result;

	profiles.of[PILOTLIGHT_SOURCE_CPU] = window_profile(0);
	profiles.of[PILOTLIGHT_SOURCE_RUNQUEUE] =
		fixture_profile(FIXTURE_DAY_NS + SECONDS(100), some, 1);
	assert_int_equal(profile_add_string(profiles.of[PILOTLIGHT_SOURCE_RUNQUEUE], "runqueue",
				 &profiles.of[PILOTLIGHT_SOURCE_RUNQUEUE]->event),
		0);
	open_writer();
	assert_int_equal(history_writer_add(writer, &window, NULL, &profiles), 0);
	assert_null(profiles.of[PILOTLIGHT_SOURCE_CPU]);
	history_writer_finish(writer);
	assert_int_equal(history_writer_next_result(writer, &result), 0);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.accounts.of[PILOTLIGHT_SOURCE_CPU].fired, 5 + 3 + 2);
	assert_int_equal(result.accounts.of[PILOTLIGHT_SOURCE_RUNQUEUE].fired, 5 + 1);
	assert_int_equal(result.accounts.of[PILOTLIGHT_SOURCE_OFFCPU].fired, 0);
	assert_int_equal(history_writer_next_result(writer, &result), -EAGAIN);
	history_writer_free(TAKE_PTR(writer));
	for (int i = 0; i < 2; i++) {
		struct store_found found;
		struct profile *read;

		selection.event = i ? "runqueue" : "cpu";
		read = fixture_read(folder, &selection, &found);
		assert_int_equal(found.windows, 1);
		assert_int_equal(fixture_total(read), i ? 5 : 8);
		profile_free(read);
	}
}

/* An incident goes with its window, and gets its number from the history. */
static void incidents_are_noted_with_their_window(void **state)
{
	const struct incident incident = { .time_ns = 1, .kept_to_ns = 2, .cause = "manual" };
	struct incident_list list;
	struct history_result result;

	open_writer();
	for (unsigned i = 0; i < 3; i++) {
		struct profile_set profiles = {
			.of = { [PILOTLIGHT_SOURCE_CPU] = window_profile(i) },
		};

		assert_int_equal(
			history_writer_add(writer, &window, i == 1 ? NULL : &incident, &profiles),
			0);
		wait_for_result();
		wait_for_next(&result);
		assert_int_equal(result.error, 0);
		assert_int_equal(result.incident.number, i == 1 ? 0 : i / 2 + 1);
	}
	assert_int_equal(incident_log_read(folder, &list, NULL), 0);
	assert_int_equal(list.count, 2);
	incident_list_done(&list);
}

/* With its window, which was not written, comes the incident: it is for the next one. */
static void an_incident_of_a_lost_window_comes_back(void **state)
{
	const struct incident incident = { .time_ns = 7, .cause = "manual" };
	struct profile_set profiles = {
		.of = { [PILOTLIGHT_SOURCE_CPU] = window_profile(0) },
	};
	struct history_result result;

	open_writer();
	fixture_remove(folder);
	assert_int_equal(history_writer_add(writer, &window, &incident, &profiles), 0);
	wait_for_result();
	wait_for_next(&result);
	assert_true(result.error < 0);
	assert_true(result.has_incident);
	assert_int_equal(result.incident.number, 0);
	assert_int_equal(result.incident.time_ns, 7);
}

/* Results can still be read after finishing. */
static void finishing_writes_what_waits(void **state)
{
	struct history_result result;
	struct store_found found;

	open_writer();
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(add(&window, window_profile(i)), 0);
	history_writer_finish(writer);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(history_writer_next_result(writer, &result), 0);
		assert_int_equal(result.error, 0);
	}
	assert_int_equal(history_writer_next_result(writer, &result), -EAGAIN);
	history_writer_free(TAKE_PTR(writer));
	profile_free(fixture_read(folder, NULL, &found));
	assert_int_equal(found.windows, 3);
}

/* Moves the folder to `moved` first. */
static void open_writer_of_missing(char moved[80])
{
	(void)snprintf(moved, 80, "%s.away", folder);
	assert_int_equal(rename(folder, moved), 0);
	open_writer();
}

static void a_folder_that_is_missing_costs_its_windows_alone(void **state)
{
	struct history_result result;
	struct store_found found;
	char moved[80];

	open_writer_of_missing(moved);
	assert_int_equal(add(&window, window_profile(0)), 0);
	wait_for_next(&result);
	assert_int_equal(result.error, -ENOENT);
	assert_non_null(strstr(result.fault, folder));
	assert_int_equal(rename(moved, folder), 0);
	assert_int_equal(add(&window, window_profile(1)), 0);
	wait_for_next(&result);
	assert_int_equal(result.error, 0);
	history_writer_free(TAKE_PTR(writer));
	profile_free(fixture_read(folder, NULL, &found));
	assert_int_equal(found.windows, 1);
}

/* Users still hold what the windows before have added to the day. */
static void a_window_that_fails_tells_what_users_hold(void **state)
{
	struct history_result written, failed;
	char moved[80];

	open_writer();
	assert_int_equal(add(&window, window_profile(0)), 0);
	wait_for_next(&written);
	assert_int_equal(written.error, 0);
	assert_true(written.holdings.capacity[USER_HISTORY] > 0);
	(void)snprintf(moved, sizeof(moved), "%s.away", folder);
	assert_int_equal(rename(folder, moved), 0);
	/* The first fails with the folder that was open, the second to open one. */
	for (unsigned i = 1; i <= 2; i++) {
		assert_int_equal(add(&window, window_profile(i)), 0);
		wait_for_next(&failed);
		assert_true(failed.error < 0);
		assert_memory_equal(&failed.holdings, &written.holdings, sizeof(failed.holdings));
	}
	history_writer_free(TAKE_PTR(writer));
	assert_int_equal(rename(moved, folder), 0);
}

static void write_zeros(const char *path, size_t limit)
{
	char bytes[4096] = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t size = 0; size < limit; size += sizeof(bytes))
		if (write(fd, bytes, sizeof(bytes)) < 0) {
			assert_int_equal(errno, ENOSPC);
			break;
		}
	assert_int_equal(close(fd), 0);
}

/* A window alone: the old day makes room for the next one, though nothing was written. */
static void a_full_disk_costs_the_old_day(void **state)
{
	struct history_result result;
	struct store_found found;
	char filler[80], old[DAY_PATH_BYTES];

	if (mount("tmpfs", folder, "tmpfs", 0, "size=1m") < 0) {
		print_message("no tmpfs here: %s\n", strerror(errno));
		skip();
	}
	(void)snprintf(filler, sizeof(filler), "%s/filler", folder);
	assert_int_equal(day_file_path(old, folder, FIXTURE_DAY - 1), 0);
	write_zeros(old, 512 << 10);
	write_zeros(filler, SIZE_MAX);
	open_writer();
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(add(&window, window_profile(i)), 0);
		wait_for_next(&result);
		assert_int_equal(result.error, i == 0 ? -ENOSPC : 0);
	}
	history_writer_free(TAKE_PTR(writer));
	assert_int_equal(access(old, F_OK), -1);
	profile_free(fixture_read(folder, NULL, &found));
	assert_int_equal(found.start_ns, FIXTURE_DAY_NS + SECONDS(110));
	assert_int_equal(umount(folder), 0);
}

/* Each result is its own window's, in the order in which they were added. */
static void a_window_is_written_behind_one_that_failed(void **state)
{
	struct profile *first = window_profile(0), *second = window_profile(1);
	uint64_t ends_ns[] = { first->end_ns, second->end_ns };
	struct history_result result;
	char moved[80];

	open_writer_of_missing(moved);
	assert_int_equal(add(&window, first), 0);
	wait_for_result();
	assert_int_equal(rename(moved, folder), 0);
	assert_int_equal(add(&window, second), 0);
	history_writer_finish(writer);
	assert_int_equal(history_writer_next_result(writer, &result), 0);
	assert_int_equal(result.error, -ENOENT);
	assert_int_equal(result.end_ns, ends_ns[0]);
	assert_int_equal(history_writer_next_result(writer, &result), 0);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.end_ns, ends_ns[1]);
}

/*
 * No results are taken, so all places are in use: the next is refused, and is not leaked. None is
 * on the disk, whether it has been tried or not.
 */
static void a_bounded_number_waits(void **state)
{
	const struct store_window refused = { .monotonic_ns = 1000000000000 };
	struct history_result result;
	char moved[80];

	open_writer_of_missing(moved);
	for (unsigned i = 0; i < HISTORY_WRITER_WAITING_MAX; i++)
		assert_int_equal(add(&window, window_profile(i)), 0);
	assert_int_equal(add(&refused, window_profile(9)), -EAGAIN);
	for (unsigned i = 1; i < HISTORY_WRITER_WAITING_MAX; i++) {
		wait_for_next(&result);
		assert_int_equal(result.error, -ENOENT);
		assert_in_range(result.end_monotonic_ns, 2, refused.monotonic_ns);
	}
	/* The last one that was taken ends the time of the refused one, too. */
	wait_for_next(&result);
	assert_true(result.end_monotonic_ns > refused.monotonic_ns);
	history_writer_free(TAKE_PTR(writer));
	assert_int_equal(rename(moved, folder), 0);
}

/* One window of any size is accepted, the next one only once that is written. That may be at once,
 * so the test tries up to 100 times. */
static void a_bounded_number_of_bytes_waits(void **state)
{
	struct history_writer_options options = {
		.folder = folder,
		.limits = store_default_limits,
		.waiting_bytes_max = 1,
	};
	struct history_result result;
	bool is_refused = false;

	assert_int_equal(history_writer_new(&options, &writer), 0);
	for (unsigned i = 0; i < 100 && !is_refused; i++) {
		assert_int_equal(add(&window, window_profile(2 * i)), 0);
		is_refused = add(&window, window_profile(2 * i + 1)) == -EAGAIN;
		for (unsigned reported = is_refused; reported < 2; reported++) {
			wait_for_next(&result);
			assert_int_equal(result.error, 0);
		}
	}
	assert_true(is_refused);
	assert_int_equal(add(&window, window_profile(500)), 0);
}

static int refuse(void)
{
	return -EPERM;
}

static void an_error_of_enter_is_returned(void **state)
{
	struct history_writer_options options = {
		.folder = folder,
		.limits = store_default_limits,
		.enter = refuse,
	};

	assert_int_equal(history_writer_new(&options, &writer), -EPERM);
	assert_null(writer);
}

/* Stands in for a disk that hangs: reads from a pipe. */
static void read_pipe(void *context)
{
	char byte;

	assert_int_equal(read(*(int *)context, &byte, 1), 1);
}

static void the_first_reading_delays_nothing_but_the_thread(void **state)
{
	int fds[2];
	struct history_writer_options options = {
		.folder = folder,
		.limits = store_default_limits,
		.waiting_bytes_max = SIZE_MAX,
		.read_first = read_pipe,
		.context = &fds[0],
	};
	struct history_result result;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(history_writer_new(&options, &writer), 0);
	assert_false(history_writer_wait_first(writer, 1000000));
	assert_int_equal(add(&window, window_profile(0)), 0);
	assert_int_equal(history_writer_next_result(writer, &result), -EAGAIN);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_true(history_writer_wait_first(writer, UINT64_MAX / 2));
	wait_for_next(&result);
	assert_int_equal(result.error, 0);
	history_writer_free(TAKE_PTR(writer));
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void allocations_may_fail(void **state)
{
	struct history_writer_options options = {
		.folder = folder,
		.limits = store_default_limits,
		.enter = refuse, /* so that the thread allocates nothing meanwhile */
	};

	assert_true(FAIL_EACH_ALLOCATION(
			    history_writer_new(&options, &writer), -ENOMEM, !writer, -EPERM) > 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(windows_are_written_and_reported),
		WITH_FOLDER(sources_are_written_together),
		WITH_FOLDER(incidents_are_noted_with_their_window),
		WITH_FOLDER(an_incident_of_a_lost_window_comes_back),
		WITH_FOLDER(finishing_writes_what_waits),
		WITH_FOLDER(a_folder_that_is_missing_costs_its_windows_alone),
		WITH_FOLDER(a_window_that_fails_tells_what_users_hold),
		WITH_FOLDER(a_full_disk_costs_the_old_day),
		WITH_FOLDER(a_window_is_written_behind_one_that_failed),
		WITH_FOLDER(a_bounded_number_waits),
		WITH_FOLDER(a_bounded_number_of_bytes_waits),
		WITH_FOLDER(an_error_of_enter_is_returned),
		WITH_FOLDER(the_first_reading_delays_nothing_but_the_thread),
		WITH_FOLDER(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
