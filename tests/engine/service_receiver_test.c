/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_receiver.h"

#include "engine/host_id.h"
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
	struct service_receiver *receivers;
	const struct send_receiver *receiver;
	char host[HOST_ID_BYTES];

	load("[sink files]\n[sink otel]\nType=otlp\nUrl=https://a:4318/prefix//\n"
	     "Header=X-Scope-OrgID: team one\nLabel=tier=1 zone=b\nTokenFile=/t\nCaFile=/c\n"
	     "Timeout=7s\n[sink bare]\nType=otlp\nUrl=http://b\nProfilesVersion=0\n"
	     "[sink pyro]\nType=pyroscope\nUrl=http://c\nMaxBytes=1G\n"
	     "[sink house]\nType=clickhouse\nUrl=http://d:8123/\n");
	assert_int_equal(service_receivers_new(&config, &receivers), 0);
	assert_null(receivers[0].url);
	assert_null(receivers[0].attributes);
	receiver = &receivers[1].receiver;
	assert_string_equal(receiver->url, "https://a:4318/prefix/v1development/profiles");
	assert_int_equal(receiver->header_count, 4);
	assert_string_equal(receiver->headers[0], "Content-Type: application/x-protobuf");
	assert_string_equal(receiver->headers[1], "Content-Encoding: gzip");
	assert_string_equal(receiver->headers[2], "OTLP-Profiles-Development-Version: 1");
	assert_string_equal(receiver->headers[3], "X-Scope-OrgID: team one");
	assert_string_equal(receiver->token_file, "/t");
	assert_string_equal(receiver->ca_file, "/c");
	assert_string_equal(receiver->key_file, "");
	assert_int_equal(receiver->timeout_ns, 7000000000);
	assert_non_null(strstr(receivers[1].attributes, "tier=1,zone=b"));
	if (host_id_read(NULL, host) == 0) {
		assert_int_equal(strncmp(receivers[1].attributes, "host.id=", 8), 0);
		assert_int_equal(strncmp(receivers[1].attributes + 8, host, strlen(host)), 0);
	}
	assert_true(receivers[0].host_id[0] != '\0');
	assert_string_equal(receivers[2].receiver.url, "http://b/v1development/profiles");
	assert_int_equal(receivers[2].receiver.header_count, 2);
	receiver = &receivers[3].receiver;
	assert_string_equal(receiver->url, "http://c/push.v1.PusherService/Push");
	assert_string_equal(receiver->headers[0], "Content-Type: application/proto");
	assert_int_equal(service_receiver_max_age(&config.sinks[0]), 7 * 86400000000000);
	assert_int_equal(service_receiver_max_age(&config.sinks[3]), 3600000000000);
	assert_int_equal(service_receiver_plain_bytes_max(&config.sinks[1]), 20 << 20);
	assert_int_equal(service_receiver_plain_bytes_max(&config.sinks[3]), 0);
	assert_false(receiver->is_clickhouse);
	receiver = &receivers[4].receiver;
	assert_string_equal(receiver->url, "http://d:8123");
	assert_int_equal(receiver->header_count, 1);
	assert_string_equal(receiver->headers[0], "Content-Encoding: gzip");
	assert_true(receiver->is_clickhouse);
	service_receivers_free(receivers);
}

static void an_age_that_is_set_counts(void **state)
{
	load("[sink a]\nType=pyroscope\nUrl=http://b\nMaxAge=2h\n");
	assert_int_equal(service_receiver_max_age(&config.sinks[0]), 7200000000000);
}

static void failing_allocations_leave_nothing(void **state)
{
	struct service_receiver *receivers = NULL;

	load("[sink a]\nType=otlp\nUrl=http://b\nLabel=x=1\n");
	assert_true(FAIL_EACH_ALLOCATION(service_receivers_new(&config, &receivers), -ENOMEM,
			    !receivers, 0) >= 3);
	service_receivers_free(receivers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_type_has_its_path_and_headers, tear_down),
		cmocka_unit_test_teardown(an_age_that_is_set_counts, tear_down),
		cmocka_unit_test_teardown(failing_allocations_leave_nothing, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
