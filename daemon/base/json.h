/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON (RFC 8259) as it is written, value by value, without a tree of it in memory. Strings may be
 * anything (I8): what is not UTF-8 becomes U+FFFD, and control characters are escaped, those of C1
 * and DEL too, so that a terminal obeys none. Whether keys are told twice is not looked at. Errors
 * are those of the output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;

enum { JSON_DEPTH_MAX = 64 };

struct json {
	struct output *output; /* borrowed */
	uint64_t is_object;    /* a bit a level that is open, the innermost lowest */
	uint64_t has_values;   /* likewise: the next one needs a comma */
	unsigned depth;
	bool has_key; /* the next value is a member's */
};

void json_init(struct json *json, struct output *output);

/* Nested at most JSON_DEPTH_MAX deep. */
void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);

/* Of the member whose value comes next. */
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *string);
void json_string_bytes(struct json *json, const char *bytes, size_t size);
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* "0x1f": a string, since readers keep numbers in 53 bits. */
void json_hex(struct json *json, uint64_t value);

/* A number with three digits after the point; null where it is not finite. */
void json_seconds(struct json *json, double seconds);

/* A key and its value in one. */
void json_member_string(struct json *json, const char *key, const char *string);
void json_member_u64(struct json *json, const char *key, uint64_t value);
void json_member_hex(struct json *json, const char *key, uint64_t value);
void json_member_bool(struct json *json, const char *key, bool value);

/* Ends a whole value, so that the next one stands on a line of its own. */
void json_end_line(struct json *json);
