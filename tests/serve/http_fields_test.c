/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void file_names_need_no_quoting(void **state)
{
	char text[64], cut[32];

	(void)state;
	http_content_disposition("nginx-03:12\"\r\n\\\xff.pb.gz", text, sizeof(text));
	assert_string_equal(text, "attachment; filename=\"nginx-03_12_____.pb.gz\"");
	http_content_disposition("0123456789", cut, sizeof(cut));
	assert_string_equal(cut, "attachment; filename=\"01234567\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_names_need_no_quoting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
