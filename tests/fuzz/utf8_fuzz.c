/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes give clean text of bounded length, which a second cleaning does not change (I8). */
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* Controls of text direction and invisible characters, some of each range. */
static const char *const disguises[] = { "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b", "\xe2\x80\x8e",
	"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf", "\xf3\xa0\x81\x81" };

static void require_clean(const char *clean, size_t length)
{
	require(length < UTF8_CLEAN_BYTES && strlen(clean) == length);
	for (size_t i = 0, n; i < length; i += n) {
		unsigned char first = (unsigned char)clean[i];

		n = utf8_sequence(clean + i, length - i);
		require(n >= 1 && n <= 4 && n <= length - i);
		require(first >= 0x20 && first != 0x7f);
		require(n != 2 || first != 0xc2 || (unsigned char)clean[i + 1] >= 0xa0);
		require(utf8_shown(clean + i, length - i) == n);
	}
	for (size_t i = 0; i < sizeof(disguises) / sizeof(disguises[0]); i++)
		require(!strstr(clean, disguises[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char once[UTF8_CLEAN_BYTES], twice[UTF8_CLEAN_BYTES];
	size_t length = utf8_clean(once, (const char *)bytes, size);

	require_clean(once, length);
	require(utf8_clean(twice, once, length) == length && memcmp(once, twice, length) == 0);
	return 0;
}
