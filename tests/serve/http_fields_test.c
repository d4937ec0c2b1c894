/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_fields.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void encodings_are_accepted_by_weight(void **state)
{
	static const struct {
		const char *field;
		int gzip;
	} rows[] = {
		{ "gzip", 1 },
		{ "GZip", 1 },
		{ "br, gzip", 1 },
		{ "br,gzip;q=0.5", 1 },
		{ "deflate , gzip ; q=0.001", 1 },
		{ "gzip;q=0", 0 },
		{ "gzip; Q=0.000 , *", 0 },
		{ "*;q=0, gzip", 1 },
		{ "*", 1 },
		{ "*;q=0", 0 },
		{ "identity;q=0, *", 1 },
		{ "gzip;q=00.1", 1 },
		{ "", -1 },
		{ " , ,", -1 },
		{ "identity", -1 },
		{ "xgzip, gzipx", -1 },
		{ "gzip;", 1 },
		{ ";gzip", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (http_accept_encoding(rows[i].field, "gzip") != rows[i].gzip)
			fail_msg("'%s'", rows[i].field);
}

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
		cmocka_unit_test(encodings_are_accepted_by_weight),
		cmocka_unit_test(file_names_need_no_quoting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
