/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/output.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_init(struct json *json, struct output *output)
{
	*json = (struct json){ .output = output };
}

/* What stands between the value to come and what was before it. */
static void begin_value(struct json *json)
{
	if (json->has_key) {
		json->has_key = false;
		return;
	}
	assert(json->depth == 0 || !(json->is_object & 1));
	if (json->depth > 0 && (json->has_values & 1))
		output_char(json->output, ',');
	json->has_values |= 1;
}

static void begin_level(struct json *json, bool is_object)
{
	assert(json->depth < JSON_DEPTH_MAX);
	begin_value(json);
	json->depth++;
	json->is_object = json->is_object << 1 | is_object;
	json->has_values <<= 1;
	output_char(json->output, is_object ? '{' : '[');
}

static void end_level(struct json *json, bool is_object)
{
	assert(json->depth > 0 && !json->has_key && (json->is_object & 1) == is_object);
	json->depth--;
	json->is_object >>= 1;
	json->has_values >>= 1;
	output_char(json->output, is_object ? '}' : ']');
}

void json_begin_object(struct json *json)
{
	begin_level(json, true);
}

void json_end_object(struct json *json)
{
	end_level(json, true);
}

void json_begin_array(struct json *json)
{
	begin_level(json, false);
}

void json_end_array(struct json *json)
{
	end_level(json, false);
}

/* Printable ASCII that stands for itself: nearly all of what is ever written. */
static size_t plain_length(const char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && bytes[length] >= ' ' && bytes[length] <= '~' &&
		bytes[length] != '"' && bytes[length] != '\\')
		length++;
	return length;
}

/* One character at the start of `bytes`; returns how many bytes it takes. */
static size_t write_character(struct output *output, const char *bytes, size_t size)
{
	const unsigned char *b = (const unsigned char *)bytes;
	size_t length = utf8_sequence(bytes, size);

	if (length == 0) {
		output_string(output, "\xef\xbf\xbd");
		return 1;
	}
	if (*b == '"' || *b == '\\') {
		output_char(output, '\\');
		output_char(output, *bytes);
	} else if (*b == '\n') {
		output_string(output, "\\n");
	} else if (*b == '\t') {
		output_string(output, "\\t");
	} else if (*b < ' ' || *b == 0x7f) {
		output_printf(output, "\\u%04x", *b);
	} else if (length == 2 && b[0] == 0xc2 && b[1] < 0xa0) {
		output_printf(output, "\\u%04x", b[1]);
	} else {
		output_write(output, bytes, length);
	}
	return length;
}

static void write_string(struct output *output, const char *bytes, size_t size)
{
	output_char(output, '"');
	for (size_t i = 0; i < size;) {
		size_t plain = plain_length(bytes + i, size - i);

		output_write(output, bytes + i, plain);
		i += plain;
		if (i < size)
			i += write_character(output, bytes + i, size - i);
	}
	output_char(output, '"');
}

void json_key(struct json *json, const char *key)
{
	assert(json->depth > 0 && (json->is_object & 1) && !json->has_key);
	if (json->has_values & 1)
		output_char(json->output, ',');
	json->has_values |= 1;
	write_string(json->output, key, strlen(key));
	output_char(json->output, ':');
	json->has_key = true;
}

void json_string_bytes(struct json *json, const char *bytes, size_t size)
{
	begin_value(json);
	write_string(json->output, bytes, size);
}

void json_string(struct json *json, const char *string)
{
	json_string_bytes(json, string, strlen(string));
}

void json_base64(struct json *json, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;

	begin_value(json);
	output_char(json->output, '"');
	for (size_t i = 0; i < size; i += 3) {
		const size_t left = size - i;
		const uint32_t group = (uint32_t)at[i] << 16 |
				       (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
				       (left > 2 ? at[i + 2] : 0);
		const char text[] = { digits[group >> 18], digits[group >> 12 & 63],
			left > 1 ? digits[group >> 6 & 63] : '=',
			left > 2 ? digits[group & 63] : '=' };

		output_write(json->output, text, sizeof(text));
	}
	output_char(json->output, '"');
}

void json_u64(struct json *json, uint64_t value)
{
	begin_value(json);
	output_u64(json->output, value);
}

void json_i64(struct json *json, int64_t value)
{
	begin_value(json);
	output_printf(json->output, "%" PRId64, value);
}

void json_bool(struct json *json, bool value)
{
	begin_value(json);
	output_string(json->output, value ? "true" : "false");
}

void json_null(struct json *json)
{
	begin_value(json);
	output_string(json->output, "null");
}

void json_hex(struct json *json, uint64_t value)
{
	char digits[16];
	size_t first = sizeof(digits);

	begin_value(json);
	do {
		digits[--first] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	output_string(json->output, "\"0x");
	output_write(json->output, digits + first, sizeof(digits) - first);
	output_char(json->output, '"');
}

void json_seconds(struct json *json, double seconds)
{
	begin_value(json);
	if (isfinite(seconds))
		output_printf(json->output, "%.3f", seconds);
	else
		output_string(json->output, "null");
}

void json_member_string(struct json *json, const char *key, const char *string)
{
	json_key(json, key);
	json_string(json, string);
}

void json_member_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_member_hex(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_hex(json, value);
}

void json_member_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_end_line(struct json *json)
{
	assert(json->depth == 0 && !json->has_key);
	output_char(json->output, '\n');
	json->has_values = 0;
}
