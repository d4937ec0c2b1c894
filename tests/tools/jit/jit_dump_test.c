/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/jit/jit_run.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A record of each kind. */
static void write_example(void)
{
	struct jitdump_fixture *dump = &jit_run.dump;

	jitdump_fixture_header(dump, 1234);
	jitdump_fixture_begin_debug(dump, 5000000001, 0x7f0000001000, 2);
	jitdump_fixture_debug_entry(dump, 0x7f0000001000, 10, 3, "/src/a b.js");
	jitdump_fixture_debug_entry(dump, 0x7f0000001008, 11, 0, "\xff");
	jitdump_fixture_end(dump);
	jitdump_fixture_load(dump, 5000000002, 1234, 0x7f0000001000, 64, 7, "JS:*hot /src/a b.js");
	jitdump_fixture_move(dump, 5000000003, 1234, 0x7f0000001000, 0x7f0000002000, 64, 7);
	jitdump_fixture_unwinding(dump, 5000000004, 48, 20);
	jitdump_fixture_begin(dump, 9, 5000000005);
	jitdump_fixture_end(dump);
	jitdump_fixture_close(dump, 5000000006);
}

static void every_record_is_a_line(void **state)
{
	write_example();
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_string_equal(ran.out,
		"0x00000000         0.000000001  HEADER          version 1, pid 1234, "
		"machine x86-64, padding 0x0, flags 0x0, 40 bytes\n"
		"0x00000028         5.000000001  DEBUG_INFO      0x7f0000001000  2 entries\n"
		"                                0x7f0000001000  /src/a b.js:10:3\n"
		"                                0x7f0000001008  /src/a b.js:11:0\n"
		"0x00000076         5.000000002  LOAD            1234/1234  0x7f0000001000  0x40  "
		"JS:*hot /src/a b.js  (index 7)\n"
		"0x00000102         5.000000003  MOVE            1234/1234  0x7f0000002000  0x40  "
		"from 0x7f0000001000  (index 7)\n"
		"0x00000142         5.000000004  UNWINDING_INFO  48 bytes, 20 of them "
		".eh_frame_hdr, 0 mapped\n"
		"0x0000019a         5.000000005  UNKNOWN         id 9, 16 bytes\n"
		"0x000001aa         5.000000006  CLOSE           \n");
}

static void the_other_byte_order_is_said(void **state)
{
	jit_run.dump.is_swapped = true;
	write_example();
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "40 bytes, of the other byte order\n"));
	assert_non_null(strstr(ran.out, "1234/1234  0x7f0000001000  0x40  JS:*hot"));
	assert_non_null(strstr(ran.out, "/src/a b.js:11:0\n"));
}

static void json_is_an_object_a_line(void **state)
{
	write_example();
	assert_int_equal(jit_run_dump(&jit_dump, "--json"), EXIT_SUCCESS);
	assert_int_equal(jit_run_lines(ran.out), 7);
	assert_memory_equal(
		ran.out, "{\"offset\":0,\"time\":\"0.000000001\",\"kind\":\"HEADER\",", 49);
	assert_non_null(strstr(ran.out,
		"{\"offset\":40,\"time\":\"5.000000001\",\"kind\":\"DEBUG_INFO\",\"id\":2,"
		"\"bytes\":78,\"address\":\"0x7f0000001000\",\"entry_count\":2,\"entries\":["
		"{\"address\":\"0x7f0000001000\",\"file\":\"/src/a b.js\",\"line\":10,"
		"\"discriminator\":3},{\"address\":\"0x7f0000001008\",\"file\":\"/src/a b.js\","
		"\"line\":11,\"discriminator\":0}]}\n"));
	assert_non_null(strstr(ran.out,
		"\"pid\":1234,\"tid\":1234,\"address\":\"0x7f0000001000\",\"size\":64,"
		"\"name\":\"JS:*hot /src/a b.js\",\"vma\":\"0x7f0000001000\",\"index\":7,"
		"\"code_bytes\":64}\n"));
	assert_non_null(strstr(ran.out, "\"from\":\"0x7f0000001000\""));
	assert_non_null(strstr(ran.out,
		"\"unwinding_bytes\":48,\"eh_frame_header_bytes\":20,\"mapped_bytes\":0}\n"));
	assert_non_null(strstr(ran.out, "\"kind\":\"UNKNOWN\",\"id\":9,\"bytes\":16}\n"));
}

static void hostile_names_are_made_safe(void **state)
{
	jitdump_fixture_header(&jit_run.dump, 1);
	jitdump_fixture_load(&jit_run.dump, 1, 1, 0x1000, 4, 0, "a\xff\x1b[2J\n\"b");
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_non_null(
		strstr(ran.out, "  a\xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd\"b  (index 0)\n"));
	assert_int_equal(jit_run_dump(&jit_dump, "--json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"name\":\"a\xef\xbf\xbd\\u001b[2J\\n\\\"b\""));
}

static void oddities_of_code_are_shown(void **state)
{
	jitdump_fixture_header_of(&jit_run.dump, 1, 0xdeadbeef, 1);
	jitdump_fixture_begin_load(&jit_run.dump, 1, 1, 0, 0x1000, 4, 0, "llvm");
	jitdump_fixture_end(&jit_run.dump);
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "padding 0xdeadbeef, flags 0x1"));
	assert_non_null(strstr(ran.out, "times of the CPU's counter"));
	assert_non_null(strstr(ran.out, "llvm  (index 0, vma 0x0, 0 bytes of code)\n"));
}

static void damage_is_shown_as_that(void **state)
{
	jitdump_fixture_header(&jit_run.dump, 1);
	/* A MOVE that is too short, lines without an end, and one that is whole. */
	jitdump_fixture_begin(&jit_run.dump, 1, 1);
	jitdump_fixture_u64(&jit_run.dump, 0);
	jitdump_fixture_end(&jit_run.dump);
	jitdump_fixture_begin_debug(&jit_run.dump, 2, 0x1000, 2);
	jitdump_fixture_debug_entry(&jit_run.dump, 0x1000, 1, 0, "a");
	jitdump_fixture_fill(&jit_run.dump, 0x41, 20);
	jitdump_fixture_end(&jit_run.dump);
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x1000, 4, 0, "whole");
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "MOVE            (damaged, id 1, 24 bytes)\n"));
	assert_non_null(strstr(ran.out,
		"0x1000  a:1:0\n                                (damaged from here on)\n"));
	assert_non_null(strstr(ran.out, "whole  (index 0)\n"));
	assert_int_equal(jit_run_dump(&jit_dump, "--json"), EXIT_SUCCESS);
	assert_non_null(
		strstr(ran.out, "\"kind\":\"MOVE\",\"id\":1,\"bytes\":24,\"damaged\":true}"));
	assert_non_null(strstr(ran.out, "}],\"damaged\":true}\n"));
}

static void a_partial_tail_is_reported(void **state)
{
	jitdump_fixture_header(&jit_run.dump, 1);
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x1000, 4, 0, "whole");
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x2000, 400, 0, "partial");
	jit_run.dump.size -= 300;
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_null(strstr(ran.out, "partial"));
	assert_non_null(strstr(ran.out, "0x0000006a                      (a record that is not "
					"whole: 164 bytes)\n"));
	assert_int_equal(jit_run_dump(&jit_dump, "--json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\n{\"offset\":106,\"kind\":\"PARTIAL\",\"bytes\":164}\n"));
}

static void records_after_an_impossible_size_are_lost(void **state)
{
	size_t at;

	jitdump_fixture_header(&jit_run.dump, 1);
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x1000, 4, 0, "whole");
	at = jit_run.dump.size;
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x2000, 4, 0, "lost");
	jitdump_fixture_set_u32(&jit_run.dump, at + 4, 15);
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_null(strstr(ran.out, "lost"));
	assert_non_null(strstr(ran.out, "(a record of an impossible size: 65 bytes)\n"));
	assert_int_equal(jit_run_lines(ran.out), 3);
	assert_int_equal(jit_run_dump(&jit_dump, "--json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"kind\":\"LOST\",\"bytes\":65}\n"));
	assert_int_equal(jit_run_lines(ran.out), 3);
}

static void a_header_alone_is_a_dump(void **state)
{
	jitdump_fixture_header(&jit_run.dump, 77);
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_SUCCESS);
	assert_int_equal(jit_run_lines(ran.out), 1);
	assert_non_null(strstr(ran.out, "pid 77"));
}

static void a_file_that_is_not_a_dump_fails(void **state)
{
	assert_true(jit_run_write("no dump at all, whatever its length may be\n", 43));
	assert_int_equal(jit_run_file(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("is no jitdump file"));
	assert_true(jit_run_write("", 0));
	assert_int_equal(jit_run_file(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("is no jitdump file"));
	jitdump_fixture_header(&jit_run.dump, 1);
	jitdump_fixture_set_u32(&jit_run.dump, 4, 99);
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("version"));
	jitdump_fixture_set_u32(&jit_run.dump, 4, 1);
	jitdump_fixture_set_u32(&jit_run.dump, 8, 39);
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("header"));
	jitdump_fixture_set_u32(&jit_run.dump, 8, 40);
	jit_run.dump.size = 20;
	assert_int_equal(jit_run_dump(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("shorter than a jitdump header"));
	assert_string_equal(ran.out, "");
}

/* Nor does opening them wait. */
static void only_regular_files_are_read(void **state)
{
	assert_int_equal(mkfifo(jit_run.path, 0600), 0);
	assert_int_equal(jit_run_file(&jit_dump, ""), EXIT_FAILURE);
	assert_true(command_run_complained("is no regular file"));
	assert_int_equal(command_run(&jit_dump, test_folder), EXIT_FAILURE);
	assert_true(command_run_complained("is no regular file"));
	assert_int_equal(command_run(&jit_dump, "/dev/zero"), EXIT_FAILURE);
	assert_true(command_run_complained("is no regular file"));
	assert_int_equal(command_run(&jit_dump, "/nonexistent/x"), EXIT_FAILURE);
	assert_true(command_run_complained("cannot open '/nonexistent/x': No such file"));
}

static void a_full_disk_is_reported_and_a_closed_pipe_is_not(void **state)
{
	char *argv[] = { (char *)"dump", jit_run.path, NULL };
	int out, err, full, pipes[2];

	write_example();
	assert_true(jit_run_write(jit_run.dump.bytes, jit_run.dump.size));
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(full >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	(void)close(pipes[0]);
	for (int i = 0; i < 2; i++) {
		(void)fflush(NULL);
		out = dup(STDOUT_FILENO);
		err = command_run_replace(STDERR_FILENO, "", 0);
		assert_true(dup2(i == 0 ? full : pipes[1], STDOUT_FILENO) >= 0);
		optind = 0;
		ran.status = command_main(&jit_dump, 2, argv);
		(void)fflush(NULL);
		command_run_restore(STDOUT_FILENO, out, NULL);
		command_run_restore(STDERR_FILENO, err, ran.err);
		assert_int_equal(ran.status, EXIT_FAILURE);
		if (i == 0)
			assert_true(command_run_complained("standard output"));
		else
			assert_string_equal(ran.err, "");
	}
	(void)close(full);
	(void)close(pipes[1]);
}

static void failing_allocations_are_reported(void **state)
{
	write_example();
	assert_true(jit_run_write(jit_run.dump.bytes, jit_run.dump.size));
	assert_true(FAIL_EACH_ALLOCATION(jit_run_file(&jit_dump, ""), EXIT_FAILURE,
			    command_run_complained("Cannot allocate memory"), EXIT_SUCCESS) > 2);
}

#define JIT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, jit_run_set_up, jit_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(every_record_is_a_line),
		JIT_TEST(the_other_byte_order_is_said),
		JIT_TEST(json_is_an_object_a_line),
		JIT_TEST(hostile_names_are_made_safe),
		JIT_TEST(oddities_of_code_are_shown),
		JIT_TEST(damage_is_shown_as_that),
		JIT_TEST(a_partial_tail_is_reported),
		JIT_TEST(records_after_an_impossible_size_are_lost),
		JIT_TEST(a_header_alone_is_a_dump),
		JIT_TEST(a_file_that_is_not_a_dump_fails),
		JIT_TEST(only_regular_files_are_read),
		JIT_TEST(a_full_disk_is_reported_and_a_closed_pipe_is_not),
		JIT_TEST(failing_allocations_are_reported),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
