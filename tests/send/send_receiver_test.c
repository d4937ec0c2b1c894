/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send_receiver.h"

#include "tests/config/config_folder.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct config config;

static void load(const char *text)
{
	struct config_folder folder;
	struct config_problems problems;

	config_folder_make(&folder);
	config_folder_write(&folder, "x.conf", text);
	assert_int_equal(config_load(folder.file, CONFIG_MUST_EXIST, &config, &problems), 0);
	assert_int_equal(problems.all, 0);
	config_problems_done(&problems);
	config_folder_remove(&folder);
}

static int tear_down(void **state)
{
	config_done(&config);
	return 0;
}

static void a_type_has_its_path_and_headers(void **state)
{
	struct send_receiver receiver;

	load("[sink files]\n[sink otel]\nType=otlp\nUrl=https://a:4318/prefix//\n"
	     "Header=X-Scope-OrgID: team one\nTokenFile=t\nCaFile=/c\nTimeout=7s\n"
	     "[sink bare]\nType=otlp\nUrl=http://b\nProfilesVersion=0\n"
	     "[sink pyro]\nType=pyroscope\nUrl=http://c\nMaxBytes=1G\n"
	     "[sink house]\nType=clickhouse\nUrl=http://d:8123/\n"
	     "[sink parca]\nType=parca\nUrl=http://e:7070\n");
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[0], NULL, NULL), -ENOTSUP);
	assert_int_equal(send_receiver_timeout_ns(&config.sinks[0]), 0);
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[1], "/run/c", NULL), 0);
	assert_string_equal(receiver.url, "https://a:4318/prefix/v1development/profiles");
	assert_int_equal(receiver.header_count, 4);
	assert_string_equal(receiver.headers[0], "Content-Type: application/x-protobuf");
	assert_string_equal(receiver.headers[1], "Content-Encoding: gzip");
	assert_string_equal(receiver.headers[2], "OTLP-Profiles-Development-Version: 1");
	assert_string_equal(receiver.headers[3], "X-Scope-OrgID: team one");
	assert_string_equal(receiver.files[SEND_TOKEN], "/run/c/t");
	assert_string_equal(receiver.files[SEND_CA], "/c");
	assert_null(receiver.files[SEND_KEY]);
	assert_int_equal(receiver.timeout_s, 7);
	assert_int_equal(send_receiver_timeout_ns(&config.sinks[1]), 7000000000);
	send_receiver_done(&receiver);
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[2], NULL, NULL), 0);
	assert_string_equal(receiver.url, "http://b/v1development/profiles");
	assert_int_equal(receiver.header_count, 2);
	send_receiver_done(&receiver);
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[3], NULL, NULL), 0);
	assert_string_equal(receiver.url, "http://c/push.v1.PusherService/Push");
	assert_string_equal(receiver.headers[0], "Content-Type: application/proto");
	assert_false(receiver.is_clickhouse);
	send_receiver_done(&receiver);
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[4], NULL, NULL), 0);
	assert_string_equal(receiver.url, "http://d:8123");
	assert_int_equal(receiver.header_count, 1);
	assert_string_equal(receiver.headers[0], "Content-Encoding: gzip");
	assert_true(receiver.is_clickhouse);
	send_receiver_done(&receiver);
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[5], NULL, NULL), 0);
	assert_string_equal(receiver.url, "http://e:7070/api");
	assert_string_equal(receiver.headers[0], "Content-Type: application/json");
	assert_true(receiver.is_parca && !receiver.is_clickhouse);
	send_receiver_done(&receiver);
	assert_int_equal(send_receiver_max_age(&config.sinks[0]), 7 * 86400000000000);
	assert_int_equal(send_receiver_max_age(&config.sinks[3]), 3600000000000);
	assert_int_equal(send_receiver_plain_bytes_max(&config.sinks[1]), 20 << 20);
	assert_int_equal(send_receiver_plain_bytes_max(&config.sinks[3]), 0);
}

static void a_missing_credential_is_told(void **state)
{
	struct send_receiver receiver;
	struct fault fault = { 0 };

	load("[sink a]\nType=otlp\nUrl=http://b\nCaFile=/c\nTokenFile=t\n");
	assert_int_equal(send_receiver_init(&receiver, &config.sinks[0], NULL, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "there is no credential 't'"));
}

static void an_age_that_is_set_counts(void **state)
{
	load("[sink a]\nType=pyroscope\nUrl=http://b\nMaxAge=2h\n");
	assert_int_equal(send_receiver_max_age(&config.sinks[0]), 7200000000000);
}

static void failing_allocations_leave_nothing(void **state)
{
	struct send_receiver receiver;

	load("[sink a]\nType=otlp\nUrl=http://b\nCaFile=/c\n");
	assert_true(
		FAIL_EACH_ALLOCATION(send_receiver_init(&receiver, &config.sinks[0], NULL, NULL),
			-ENOMEM, !receiver.url, 0) >= 1);
	send_receiver_done(&receiver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_type_has_its_path_and_headers, tear_down),
		cmocka_unit_test_teardown(a_missing_credential_is_told, tear_down),
		cmocka_unit_test_teardown(an_age_that_is_set_counts, tear_down),
		cmocka_unit_test_teardown(failing_allocations_leave_nothing, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
