/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON (RFC 8259) value by value, without a tree in memory. Strings may hold any bytes (I8):
 * invalid UTF-8 becomes U+FFFD. Control characters, with C1 and DEL, are escaped, so that a
 * terminal obeys none. Duplicate keys are not detected. The output keeps the first error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;

enum { JSON_DEPTH_MAX = 64 };

struct json {
	struct output *output; /* borrowed */
	uint64_t is_object;    /* one bit for each open level, the innermost lowest */
	uint64_t has_values;   /* the same: the next value needs a comma */
	unsigned depth;
	bool has_key; /* the next value is a member's */
};

void json_init(struct json *json, struct output *output);

/* Nested at most JSON_DEPTH_MAX deep. */
void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);

/* Writes the key of the next value. */
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *string);
void json_string_bytes(struct json *json, const char *bytes, size_t size);
void json_base64(struct json *json, const void *bytes, size_t size); /* a string (RFC 4648) */
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* "0x1f": a string, since readers keep numbers in 53 bits. */
void json_hex(struct json *json, uint64_t value);

/* A number with three digits after the point; null if not finite. */
void json_seconds(struct json *json, double seconds);

/* A key and its value in one. */
void json_member_string(struct json *json, const char *key, const char *string);
void json_member_u64(struct json *json, const char *key, uint64_t value);
void json_member_hex(struct json *json, const char *key, uint64_t value);
void json_member_bool(struct json *json, const char *key, bool value);

/* Writes a newline after a complete value. */
void json_end_line(struct json *json);
