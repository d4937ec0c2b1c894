/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LIMIT = 1 << 20 };

struct written {
	struct output_memory memory;
	struct output output;
	struct json json;
};

static struct written *begin(void)
{
	struct written *written = calloc(1, sizeof(*written));

	assert_non_null(written);
	written->memory.limit_bytes = LIMIT;
	output_init(&written->output, output_to_memory, &written->memory);
	json_init(&written->json, &written->output);
	return written;
}

/* The text, with a NUL, to be freed. */
static char *finish(struct written *written)
{
	char *text;

	output_char(&written->output, '\0');
	assert_int_equal(output_finish(&written->output), 0);
	text = written->memory.bytes;
	free(written);
	return text;
}

static void check_finish(struct written *written, const char *expected)
{
	char *text = finish(written);

	assert_string_equal(text, expected);
	free(text);
}

static void values_are_separated(void **state)
{
	struct written *written = begin();
	struct json *json = &written->json;

	json_begin_object(json);
	json_key(json, "empty");
	json_begin_array(json);
	json_end_array(json);
	json_key(json, "list");
	json_begin_array(json);
	json_u64(json, 1);
	json_begin_object(json);
	json_end_object(json);
	json_begin_array(json);
	json_string(json, "a");
	json_string(json, "b");
	json_end_array(json);
	json_null(json);
	json_end_array(json);
	json_key(json, "last");
	json_bool(json, false);
	json_end_object(json);
	check_finish(written, "{\"empty\":[],\"list\":[1,{},[\"a\",\"b\"],null],\"last\":false}");
}

static void each_line_is_a_new_document(void **state)
{
	struct written *written = begin();
	struct json *json = &written->json;

	json_begin_array(json);
	json_end_array(json);
	json_end_line(json);
	json_bool(json, true);
	json_end_line(json);
	json_begin_object(json);
	json_end_object(json);
	json_end_line(json);
	check_finish(written, "[]\ntrue\n{}\n");
}

static void numbers_are_whole(void **state)
{
	struct written *written = begin();
	struct json *json = &written->json;
	volatile double zero = 0;

	json_begin_array(json);
	json_u64(json, 0);
	json_u64(json, UINT64_MAX);
	json_i64(json, INT64_MIN);
	json_i64(json, INT64_MAX);
	json_hex(json, 0);
	json_hex(json, 0x12ab);
	json_hex(json, UINT64_MAX);
	json_seconds(json, 1.25);
	json_seconds(json, 1 / zero);
	json_seconds(json, zero / zero);
	json_end_array(json);
	check_finish(written,
		"[0,18446744073709551615,-9223372036854775808,9223372036854775807,\"0x0\","
		"\"0x12ab\",\"0xffffffffffffffff\",1.250,null,null]");
}

static void strings_are_escaped(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *json;
	} cases[] = {
		{ "", 0, "\"\"" }, { "main", 4, "\"main\"" },
		{ "say \"a\\b\"", 9, "\"say \\\"a\\\\b\\\"\"" },
		{ "a\nb\tc\rd\x1b", 8, "\"a\\nb\\tc\\u000dd\\u001b\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" }, { "\x7f", 1, "\"\\u007f\"" },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", 6, "\"\\u0080\\u009f\xc2\xa0\"" },
		{ "na\xc3\xafve \xf0\x9f\x94\xa5", 11, "\"na\xc3\xafve \xf0\x9f\x94\xa5\"" },
		{ "\xff", 1, "\"\xef\xbf\xbd\"" }, { "a\xc3(", 3, "\"a\xef\xbf\xbd(\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* cut short */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct written *written = begin();
		/* Exactly as long as the bytes, so that a read beyond them is seen. */
		char *copy = malloc(cases[i].size ? cases[i].size : 1);

		assert_non_null(copy);
		memcpy(copy, cases[i].bytes, cases[i].size);
		json_string_bytes(&written->json, copy, cases[i].size);
		check_finish(written, cases[i].json);
		free(copy);
	}
}

/* The examples of RFC 4648. */
static void bytes_are_base64(void **state)
{
	struct written *written = begin();
	struct json *json = &written->json;

	json_begin_array(json);
	for (size_t size = 0; size <= 6; size++)
		json_base64(json, "foobar", size);
	json_base64(json, "\xfb\xff\xfe", 3);
	json_end_array(json);
	check_finish(written, "[\"\",\"Zg==\",\"Zm8=\",\"Zm9v\",\"Zm9vYg==\",\"Zm9vYmE=\","
			      "\"Zm9vYmFy\",\"+//+\"]");
}

static void keys_are_escaped_like_strings(void **state)
{
	struct written *written = begin();
	struct json *json = &written->json;

	json_begin_object(json);
	json_key(json, "\"\n");
	json_string(json, "x");
	json_end_object(json);
	check_finish(written, "{\"\\\"\\n\":\"x\"}");
}

static void nesting_up_to_the_limit_works(void **state)
{
	struct written *written = begin();
	char expected[4 * JSON_DEPTH_MAX + 8] = "", *end = expected;

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_begin_array(&written->json);
	for (int i = 0; i < JSON_DEPTH_MAX; i++) {
		json_end_array(&written->json);
		if (i < JSON_DEPTH_MAX - 1)
			json_u64(&written->json, 7);
	}
	memset(end, '[', JSON_DEPTH_MAX);
	end += JSON_DEPTH_MAX;
	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
		end = stpcpy(end, "],7");
	(void)strcpy(end, "]");
	check_finish(written, expected);
}

static int refuse(void *context, const void *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	return -ENOSPC;
}

static void output_errors_are_returned(void **state)
{
	struct output *output = malloc(sizeof(*output));
	struct json json;

	assert_non_null(output);
	output_init(output, refuse, NULL);
	json_init(&json, output);
	json_begin_array(&json);
	for (size_t i = 0; i < OUTPUT_BUFFER_BYTES; i++)
		json_u64(&json, i);
	json_end_array(&json);
	assert_int_equal(output_finish(output), -ENOSPC);
	free(output);
}

/* Every byte, every pair of bytes, and what Python makes of it. */
static void python_reads_the_same_values(void **state)
{
	static const char program[] =
		"import json,sys\n"
		"d=sys.stdin.buffer.read().decode('utf-8')\n"
		"rows=[json.loads(l) for l in d.splitlines()]\n"
		"assert len(rows)==65536+1, len(rows)\n"
		"assert rows[-1]=={'a':[1,True,None,{'b':'0xff'}],'c':-5,'d':0.5}, rows[-1]\n"
		"for i,r in enumerate(rows[:-1]):\n"
		"  b=bytes([i>>8,i&255])\n"
		"  try: e=b.decode('utf-8')\n"
		"  except UnicodeDecodeError:\n"
		"    e=''.join(chr(x) if x<128 else '\\ufffd' for x in b)\n"
		"  assert r==e, (i,r,e)\n";
	char path[] = "/tmp/json-test.XXXXXX", command[4096];
	int fd = mkstemp(path);
	struct written *written;
	struct json *json;

	assert_true(fd >= 0);
	if (system("python3 -c 'import json' 2>/dev/null") != 0) {
		(void)close(fd);
		(void)unlink(path);
		print_message("no python3\n");
		skip();
	}
	written = begin();
	json = &written->json;
	output_init_fd(&written->output, fd);
	for (unsigned i = 0; i < 65536; i++) {
		const char bytes[] = { (char)(i >> 8), (char)i };

		json_string_bytes(json, bytes, 2);
		json_end_line(json);
	}
	json_begin_object(json);
	json_key(json, "a");
	json_begin_array(json);
	json_u64(json, 1);
	json_bool(json, true);
	json_null(json);
	json_begin_object(json);
	json_key(json, "b");
	json_hex(json, 255);
	json_end_object(json);
	json_end_array(json);
	json_key(json, "c");
	json_i64(json, -5);
	json_key(json, "d");
	json_seconds(json, 0.5);
	json_end_object(json);
	json_end_line(json);
	assert_int_equal(output_finish(&written->output), 0);
	free(written);
	(void)close(fd);
	(void)snprintf(command, sizeof(command), "python3 -c \"%s\" <%s", program, path);
	assert_int_equal(system(command), 0);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_separated),
		cmocka_unit_test(each_line_is_a_new_document),
		cmocka_unit_test(numbers_are_whole),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(bytes_are_base64),
		cmocka_unit_test(keys_are_escaped_like_strings),
		cmocka_unit_test(nesting_up_to_the_limit_works),
		cmocka_unit_test(output_errors_are_returned),
		cmocka_unit_test(python_reads_the_same_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
