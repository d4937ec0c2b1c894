/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_attributes.h"

#include "engine/host_id.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void labels_follow_the_host(void **state)
{
	char *labels[] = { "tier=1", "zone=b" }, *attributes = NULL;
	const struct config_sink sink = { .attributes = { labels, 2 } };
	char host[HOST_ID_BYTES], expected[128] = "";

	if (host_id_read(NULL, host) == 0)
		(void)snprintf(expected, sizeof(expected), "host.id=%s,", host);
	strcat(expected, "tier=1,zone=b");
	assert_true(FAIL_EACH_ALLOCATION(service_attributes_new(&sink, &attributes), -ENOMEM,
			    !attributes, 0) >= 1);
	assert_string_equal(attributes, expected);
	free(attributes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_follow_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
