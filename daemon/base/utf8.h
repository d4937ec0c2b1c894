/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns hostile bytes into text that is safe to show (I8). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The longest clean string, with its NUL: longer names lose their middle. */
enum { UTF8_CLEAN_BYTES = 1025 };

/*
 * Copies `size` bytes to `clean` (UTF8_CLEAN_BYTES of room) as valid UTF-8 with a NUL at the end:
 * what utf8_shown() refuses becomes U+FFFD, and what exceeds the room loses its middle to "…".
 * Returns the length without the NUL.
 */
size_t utf8_clean(char *clean, const char *bytes, size_t size);

/*
 * The length in bytes of the valid UTF-8 sequence that begins `bytes` (1 to 4), or 0 if there is
 * none. Overlong forms, surrogates and values above U+10FFFF are not valid (RFC 3629).
 */
size_t utf8_sequence(const char *bytes, size_t size);

/*
 * The same, but 0 also for a character that may not be shown as it is: controls, which a terminal
 * obeys; controls of text direction and invisible characters, which disguise a name.
 */
size_t utf8_shown(const char *bytes, size_t size);

/* Are these bytes the beginning of a sequence that more bytes may complete? At most three are. */
bool utf8_is_cut(const char *bytes, size_t size);
