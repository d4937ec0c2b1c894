/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/process_claims.h"

#include "tests/harness/process_context.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static char text[CLAIMS_BYTES];

static int read_payload(const struct context_payload *payload)
{
	/* For the sanitizer, no more than these bytes. */
	uint8_t *exact = malloc(payload->size + 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, payload->bytes, payload->size);
	memset(text, 'x', sizeof(text) - 1);
	r = process_claims_read(exact, payload->size, text);
	free(exact);
	return r;
}

static const char *claim(enum process_claim which)
{
	static char claimed[CLAIM_BYTES];

	return process_claims_get(text, which, claimed);
}

static struct context_payload whole(void)
{
	struct context_payload payload = { .size = 0 };

	payload_add(&payload, "telemetry.sdk.name", "opentelemetry");
	payload_add(&payload, "deployment.environment.name", "production");
	payload_add(&payload, "service.name", "checkout");
	payload_add(&payload, "service.instance.id", "627cc493");
	payload_add(&payload, "service.namespace", "shop");
	return payload;
}

static void both_messages_are_read(void **state)
{
	struct context_payload payload = whole();

	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_payload(&payload), 0);
		assert_string_equal(text, "checkout,shop,production");
		assert_string_equal(claim(CLAIM_SERVICE), "checkout");
		assert_string_equal(claim(CLAIM_NAMESPACE), "shop");
		assert_string_equal(claim(CLAIM_ENVIRONMENT), "production");
		payload_wrap(&payload);
	}
}

static void some_may_lack(void **state)
{
	struct context_payload payload = { .size = 0 };

	assert_int_equal(read_payload(&payload), 0);
	assert_string_equal(text, "");
	assert_string_equal(claim(CLAIM_SERVICE), "");
	payload_add(&payload, "service.namespace", "shop");
	payload_wrap(&payload);
	assert_int_equal(read_payload(&payload), 0);
	assert_string_equal(text, ",shop");
	assert_string_equal(claim(CLAIM_SERVICE), "");
	assert_string_equal(claim(CLAIM_NAMESPACE), "shop");
	assert_string_equal(claim(CLAIM_ENVIRONMENT), "");
}

/* Text that is no UTF-8, has controls, or is too long, is cleaned and cut. */
static void text_is_clean(void **state)
{
	struct context_payload payload = { .size = 0 };
	char dots[201] = "";

	for (size_t i = 0; i + 2 < sizeof(dots); i += 2)
		memcpy(dots + i, "\xc2\xb7", 3);
	payload_add(&payload, "deployment.environment.name", "50%, or %2C");
	payload_add(&payload, "service.name", "a\nb\x1b\xff");
	payload_add(&payload, "service.namespace", dots);
	assert_int_equal(read_payload(&payload), 0);
	assert_string_equal(claim(CLAIM_SERVICE), "a\xef\xbf\xbd"
						  "b\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(strlen(claim(CLAIM_NAMESPACE)), 98);
	assert_memory_equal(claim(CLAIM_NAMESPACE), dots, 98);
	assert_string_equal(claim(CLAIM_ENVIRONMENT), "50%, or %2C");
}

/* None of them reads beyond the end. */
static void cut_and_flipped_payloads_are_survived(void **state)
{
	const struct context_payload payload = whole();
	struct context_payload changed;

	for (size_t i = 0; i < payload.size; i++) {
		changed = payload;
		changed.size = i;
		(void)read_payload(&changed);
		for (int bit = 0; bit < 8; bit++) {
			changed = payload;
			changed.bytes[i] ^= (uint8_t)(1 << bit);
			(void)read_payload(&changed);
		}
	}
}

static void damage_is_told(void **state)
{
	static const struct context_payload damaged[] = {
		{ { 0x0a }, 1 },		   /* no length */
		{ { 0x0a, 0x05, 'a' }, 3 },	   /* too long */
		{ { 0x0b, 0x01 }, 2 },		   /* a group */
		{ { 0x09, 0x01 }, 2 },		   /* no 8 bytes */
		{ { 0x08, 0xff, 0xff, 0xff }, 4 }, /* a number without an end */
		{ { 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, 11 },
	};

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		assert_int_equal(read_payload(&damaged[i]), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_messages_are_read),
		cmocka_unit_test(some_may_lack),
		cmocka_unit_test(text_is_clean),
		cmocka_unit_test(cut_and_flipped_payloads_are_survived),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
