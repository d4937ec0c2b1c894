/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "supervise/journal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void a_journal_stream_is_recognized_by_its_inode(void **state)
{
	struct stat status;
	char text[64];

	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
		(unsigned long long)status.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
	assert_true(journal_has_stream());
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
		(unsigned long long)status.st_ino + 1);
	assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
	assert_false(journal_has_stream());
	assert_int_equal(setenv("JOURNAL_STREAM", "nonsense", 1), 0);
	assert_false(journal_has_stream());
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	assert_false(journal_has_stream());
}

/* What standard error has of a message while `begin` says whether it is the journal. */
static size_t shown(void (*begin)(void), char *text, size_t size)
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t n;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	begin();
	log_message(LOG_LEVEL_ERROR, "something");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	n = read(ends[0], text, size - 1);
	(void)close(saved);
	(void)close(ends[0]);
	(void)close(ends[1]);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void begin_without_journal(void)
{
	(void)unsetenv("JOURNAL_STREAM");
	journal_begin("test");
}

static void without_a_journal_nothing_changes(void **state)
{
	char text[256];

	assert_true(shown(begin_without_journal, text, sizeof(text)) > 0);
	assert_string_equal(text, "pilotlight: something\n");
}

/* With no file that can be opened. */
static void begin_without_libsystemd(void)
{
	struct rlimit files, none;
	struct stat status;
	char text[64];

	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
		(unsigned long long)status.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ 0, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	journal_begin("test");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
}

static void without_libsystemd_messages_stay_lines(void **state)
{
	char text[1024];

	assert_true(shown(begin_without_libsystemd, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "apt-get install libsystemd0"));
	assert_non_null(strstr(text, "; messages go to the journal without their fields\n"));
	assert_non_null(strstr(text, "\npilotlight: something\n"));
}

static int refusing_sink(const struct log_event *event, const char *text)
{
	assert_int_equal(event->level, LOG_LEVEL_ERROR);
	assert_string_equal(text, "something");
	return 0;
}

static int taking_sink(const struct log_event *event, const char *text)
{
	(void)event;
	(void)text;
	return 1;
}

static void begin_refusing(void)
{
	log_set_sink(refusing_sink);
}

static void begin_taking(void)
{
	log_set_sink(taking_sink);
}

static void messages_that_the_journal_refuses_go_to_stderr(void **state)
{
	char text[256];

	assert_true(shown(begin_refusing, text, sizeof(text)) > 0);
	assert_string_equal(text, "pilotlight: something\n");
	assert_int_equal(shown(begin_taking, text, sizeof(text)), 0);
	log_set_sink(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_journal_stream_is_recognized_by_its_inode),
		cmocka_unit_test(without_a_journal_nothing_changes),
		cmocka_unit_test(without_libsystemd_messages_stay_lines),
		cmocka_unit_test(messages_that_the_journal_refuses_go_to_stderr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
