/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source of a Content-Security-Policy that allows one inline script or style by its hash: the
 * browser runs nothing else, so markup that got in with a name would not run.
 */
#pragma once

#include <stddef.h>

enum { CONTENT_SOURCE_BYTES = 64 }; /* "'sha256-...'" */

/* A part of an element's text. */
struct content_part {
	const char *begin, *end;
};

/* Hashes all bytes between the element's tags. Returns `source`. */
const char *content_source_format(
	const struct content_part *parts, size_t count, char source[CONTENT_SOURCE_BYTES]);
