/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_policy.h"

#include "render/difference_svg.h"
#include "render/flamegraph_assets.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <sha2.h>

enum { SOURCE_BYTES = 64 }; /* "'sha256-…'" */

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

/* The element's text: a newline, an asset and perhaps more (flamegraph_page.c). */
static const char *format_source(
	const char *asset, const char *asset_end, const char *more, char source[SOURCE_BYTES])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	char text[SOURCE_BYTES - 10];
	SHA2_CTX digest;

	SHA256Init(&digest);
	SHA256Update(&digest, (const uint8_t *)"\n", 1);
	SHA256Update(&digest, (const uint8_t *)asset, (size_t)(asset_end - asset));
	SHA256Update(&digest, (const uint8_t *)more, strlen(more));
	SHA256Final(hash, &digest);
	encode_base64(hash, sizeof(hash), text);
	(void)snprintf(source, SOURCE_BYTES, "'sha256-%s'", text);
	return source;
}

const char *flamegraph_policy_format(char policy[FLAMEGRAPH_POLICY_BYTES])
{
	char script[SOURCE_BYTES], style[SOURCE_BYTES], difference[SOURCE_BYTES];

	(void)snprintf(policy, FLAMEGRAPH_POLICY_BYTES,
		"default-src 'none'; script-src %s; style-src %s %s; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'",
		format_source(flamegraph_js, flamegraph_js_end, "", script),
		format_source(flamegraph_css, flamegraph_css_end, "", style),
		format_source(flamegraph_css, flamegraph_css_end, difference_svg_css, difference));
	return policy;
}
