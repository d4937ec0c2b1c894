/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parsed time or duration is formatted and parsed again, with an equal result. */
#include "base/time_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define NOW UINT64_C(1795260896000000000)

static void check_duration(const char *text)
{
	char written[TIME_TEXT_BYTES];
	struct fault fault = { 0 };
	uint64_t ns = 7, again;
	int r = time_text_parse_duration(text, &ns, &fault);

	if (r < 0) {
		assert(r == -EINVAL && ns == 7 && fault.text[0]);
		return;
	}
	assert(time_text_parse_duration(time_text_format_duration(ns, written), &again, NULL) == 0);
	assert(again <= ns && ns - again <= ns / 24);
}

static void check_time(const char *text)
{
	char written[TIME_TEXT_BYTES];
	struct fault fault = { 0 };
	uint64_t ns = 7, again;
	int r = time_text_parse(text, NOW, &ns, &fault);

	if (r < 0) {
		assert(r == -EINVAL && ns == 7 && fault.text[0]);
		return;
	}
	assert(time_text_parse(time_text_format(ns, written), NOW, &again, NULL) == 0);
	assert(again == ns - ns % 1000000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	assert(text);
	/* A zone without daylight saving time, where each local time occurs once. */
	assert(setenv("TZ", "UTC", 1) == 0);
	if (size > 0)
		memcpy(text, bytes, size);
	text[size] = '\0';
	check_duration(text);
	check_time(text);
	free(text);
	return 0;
}
