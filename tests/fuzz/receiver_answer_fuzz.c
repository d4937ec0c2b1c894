/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a receiver. The first byte selects the status and the type of the body; then come
 * Retry-After, up to a newline, and the body. Waits are bounded, and the text can be shown.
 */
#include "base/utf8.h"
#include "send/receiver_answer.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_text(const char *text)
{
	size_t size = strnlen(text, SEND_TEXT_BYTES);

	assert(size < SEND_TEXT_BYTES);
	for (size_t i = 0, step; i < size; i += step) {
		step = utf8_shown(text + i, size - i);
		assert(step > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const types[] = { "application/x-protobuf", "text/plain", "" };
	static const unsigned statuses[] = { 200, 400, 503, 204 };
	const uint8_t *newline;
	char value[256], text[SEND_TEXT_BYTES];
	uint64_t rejected;
	size_t value_size, start;

	if (size == 0)
		return 0;
	newline = memchr(bytes + 1, '\n', size - 1);
	value_size = newline ? (size_t)(newline - bytes - 1) : 0;
	if (value_size >= sizeof(value))
		return 0;
	memcpy(value, bytes + 1, value_size);
	value[value_size] = '\0';
	assert(receiver_answer_retry_after(value, value, 1795144200) <= RECEIVER_RETRY_AFTER_MAX_S);
	start = newline ? value_size + 2 : 1;
	receiver_answer_read(statuses[bytes[0] / 3 % 4], types[bytes[0] % 3], bytes + start,
		size - start, &rejected, text);
	assert(rejected <= INT64_MAX);
	check_text(text);
	return 0;
}
