/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/content_source.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <sha2.h>

static void encode_base64(const uint8_t *bytes, size_t size, char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t group = (uint32_t)bytes[i] << 16 |
				 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);

		*text++ = digits[group >> 18];
		*text++ = digits[group >> 12 & 63];
		*text++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*text++ = left > 2 ? digits[group & 63] : '=';
	}
	*text = '\0';
}

const char *content_source_format(
	const struct content_part *parts, size_t count, char source[CONTENT_SOURCE_BYTES])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	char text[CONTENT_SOURCE_BYTES - 10];
	SHA2_CTX digest;

	SHA256Init(&digest);
	for (size_t i = 0; i < count; i++)
		SHA256Update(&digest, (const uint8_t *)parts[i].begin,
			(size_t)(parts[i].end - parts[i].begin));
	SHA256Final(hash, &digest);
	encode_base64(hash, sizeof(hash), text);
	(void)snprintf(source, CONTENT_SOURCE_BYTES, "'sha256-%s'", text);
	return source;
}
