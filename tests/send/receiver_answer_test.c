/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/receiver_answer.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* 2026-11-20 03:10:00 UTC, a Friday. */
#define NOW_S 1795144200ULL

static void retry_after_is_seconds_or_a_date(void **state)
{
	static const struct {
		const char *value;
		uint32_t seconds;
	} cases[] = {
		{ "", 0 },
		{ "0", 0 },
		{ "7", 7 },
		{ " 120 ", 120 },
		{ "3599", 3599 },
		{ "3601", RECEIVER_RETRY_AFTER_MAX_S },
		{ "99999999999999999999999", RECEIVER_RETRY_AFTER_MAX_S },
		{ "-5", 0 },
		{ "5s", 0 },
		{ "5 5", 0 },
		{ "soon", 0 },
		{ "Fri, 20 Nov 2026 03:10:30 GMT", 30 },
		{ "Friday, 20-Nov-26 03:11:00 GMT", 60 },
		{ "Fri Nov 20 03:10:05 2026", 5 },
		{ "Fri, 20 Nov 2026 03:09:00 GMT", 0 },
		{ "Sat, 21 Nov 2026 03:10:30 GMT", RECEIVER_RETRY_AFTER_MAX_S },
		{ "Fri, 20 Nov 2026 03:10:30 GMT x", 0 },
		{ "Fri, 20 Nov 2026 03:10:30 CET", 0 },
		{ "Fri, 20 Nov 1926 03:10:30 GMT", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (receiver_answer_retry_after(cases[i].value, "", NOW_S) != cases[i].seconds)
			fail_msg("'%s': %u", cases[i].value,
				receiver_answer_retry_after(cases[i].value, "", NOW_S));
}

/* A host whose clock is a day ahead or behind waits as long as the others. */
static void a_date_counts_from_that_of_the_answer(void **state)
{
	static const char date[] = "Fri, 20 Nov 2026 03:10:00 GMT",
			  later[] = "Fri, 20 Nov 2026 03:10:30 GMT";

	assert_int_equal(receiver_answer_retry_after(later, date, NOW_S + 86400), 30);
	assert_int_equal(receiver_answer_retry_after(later, date, NOW_S - 86400), 30);
	assert_int_equal(receiver_answer_retry_after(later, "soon", NOW_S + 10), 20);
	assert_int_equal(receiver_answer_retry_after("7", date, NOW_S + 86400), 7);
}

struct answer {
	uint64_t rejected;
	char text[SEND_TEXT_BYTES];
};

static struct answer read_answer(unsigned status, const char *type, const char *body, size_t size)
{
	struct answer answer;

	receiver_answer_read(
		status, type, (const uint8_t *)body, size, &answer.rejected, answer.text);
	return answer;
}

#define READ(status, type, body) read_answer(status, type, body, sizeof(body) - 1)

static void a_partial_success_is_read(void **state)
{
	/* partial_success { rejected_profiles: 300 error_message: "too old" } */
	static const char body[] = "\x0a\x0c\x08\xac\x02\x12\x07too old";
	struct answer answer = READ(200, "application/x-protobuf", body);

	assert_int_equal(answer.rejected, 300);
	assert_string_equal(answer.text, "too old");
	answer = READ(200, "application/x-protobuf; charset=x", body);
	assert_int_equal(answer.rejected, 300);
	answer = READ(200, "text/html", body);
	assert_int_equal(answer.rejected, 0);
	assert_string_equal(answer.text, "");
	answer = READ(400, "application/x-protobuf", body);
	assert_int_equal(answer.rejected, 0);
}

static void a_failure_has_a_text(void **state)
{
	/* google.rpc.Status { code: 3 message: "no such version" } */
	static const char body[] = "\x08\x03\x12\x0fno such version";
	struct answer answer = READ(400, "application/x-protobuf", body);

	assert_string_equal(answer.text, "no such version");
	answer = READ(400, "application/proto", body);
	assert_string_equal(answer.text, "no such version");
	answer = READ(503, "text/plain", "busy,\r\n  come  back\x1b[31m later\n");
	assert_string_equal(answer.text, "busy, come back [31m later");
	answer = READ(400, "", "");
	assert_string_equal(answer.text, "");
}

static void damaged_bodies_are_no_message(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ "\x0a", 1 }, { "\x0a\x7f\x08", 3 }, /* longer than the body */
		{ "\x0a\x03\x08\xff\xff", 5 },	      /* an unfinished number */
		{ "\x0b\x0c", 2 },		      /* a wire type that is gone */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11 },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* 2^64 - 1 bytes */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct answer answer =
			read_answer(200, "application/x-protobuf", cases[i].bytes, cases[i].size);

		assert_int_equal(answer.rejected, 0);
		assert_string_equal(answer.text, "");
	}
	/* Fewer than none are none. */
	assert_int_equal(READ(200, "application/x-protobuf",
				 "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
				 .rejected,
		0);
}

static void long_texts_are_cut(void **state)
{
	char body[1000], text[SEND_TEXT_BYTES];

	memset(body, 'a', sizeof(body));
	receiver_answer_clean(body, sizeof(body), text);
	assert_int_equal(strlen(text), SEND_TEXT_BYTES - 1);
	/* No character is cut in two. */
	for (size_t i = 0; i + 2 <= sizeof(body); i += 2)
		memcpy(body + i, "\xc3\xa4", 2);
	receiver_answer_clean(body, sizeof(body), text);
	assert_int_equal(strlen(text), SEND_TEXT_BYTES - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retry_after_is_seconds_or_a_date),
		cmocka_unit_test(a_date_counts_from_that_of_the_answer),
		cmocka_unit_test(a_partial_success_is_read),
		cmocka_unit_test(a_failure_has_a_text),
		cmocka_unit_test(damaged_bodies_are_no_message),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
