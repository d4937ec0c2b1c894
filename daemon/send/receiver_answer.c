/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/receiver_answer.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Field numbers of opentelemetry.proto.collector.profiles.v1development and of google.rpc. */
enum {
	RESPONSE_PARTIAL_SUCCESS = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	STATUS_MESSAGE = 2,
};

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum { DATE_BYTES = 64, SECONDS_DIGITS = 9 };

/* --- Retry-After --- */

static bool parse_seconds(const char *value, uint64_t *ret_seconds)
{
	size_t digits = strspn(value, "0123456789");
	uint64_t seconds = 0;

	if (digits == 0 || value[digits + strspn(value + digits, " \t")] != '\0')
		return false;
	for (size_t i = 0; i < digits; i++)
		seconds =
			i < SECONDS_DIGITS ? seconds * 10 + (uint64_t)(value[i] - '0') : UINT32_MAX;
	*ret_seconds = seconds;
	return true;
}

/* The three formats that RFC 9110 obliges recipients to accept. */
static bool parse_date(const char *value, uint64_t *ret_seconds)
{
	static const char *const formats[] = {
		"%a, %d %b %Y %H:%M:%S GMT",
		"%A, %d-%b-%y %H:%M:%S GMT",
		"%a %b %d %H:%M:%S %Y",
	};

	for (size_t i = 0; strlen(value) < DATE_BYTES && i < ARRAY_SIZE(formats); i++) {
		struct tm time = { 0 };
		const char *end = strptime(value, formats[i], &time);
		time_t seconds = end ? timegm(&time) : -1;

		if (end && end[strspn(end, " \t")] == '\0' && seconds >= 0) {
			*ret_seconds = (uint64_t)seconds;
			return true;
		}
	}
	return false;
}

uint32_t receiver_answer_retry_after(const char *value, const char *date, uint64_t now_s)
{
	uint64_t seconds;

	value += strspn(value, " \t");
	if (!parse_seconds(value, &seconds)) {
		if (!parse_date(value, &seconds))
			return 0;
		(void)parse_date(date, &now_s);
		seconds = seconds > now_s ? seconds - now_s : 0;
	}
	return seconds < RECEIVER_RETRY_AFTER_MAX_S ? (uint32_t)seconds
						    : RECEIVER_RETRY_AFTER_MAX_S;
}

/* --- the body --- */

struct field {
	uint64_t number, wire, value;
	const uint8_t *bytes; /* `value` of them, if the wire type is WIRE_BYTES */
};

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/* Returns false at the end, and at the first byte that is no field. */
static bool take_field(const uint8_t **at, const uint8_t *end, struct field *ret_field)
{
	struct field field = { 0 };
	uint64_t tag, room;

	if (!take_varint(at, end, &tag))
		return false;
	field.number = tag >> 3;
	field.wire = tag & 7;
	switch (field.wire) {
	case WIRE_VARINT:
		*ret_field = field;
		return take_varint(at, end, &ret_field->value);
	case WIRE_BYTES:
		if (!take_varint(at, end, &field.value))
			return false;
		break;
	case WIRE_FIXED64:
		field.value = sizeof(uint64_t);
		break;
	case WIRE_FIXED32:
		field.value = sizeof(uint32_t);
		break;
	default:
		return false;
	}
	room = (uint64_t)(end - *at);
	if (field.value > room)
		return false;
	field.bytes = *at;
	*at += field.value;
	*ret_field = field;
	return true;
}

static bool is_bytes(const struct field *field, uint64_t number)
{
	return field->number == number && field->wire == WIRE_BYTES;
}

static void read_partial(const struct field *partial, uint64_t *rejected, char *text)
{
	const uint8_t *at = partial->bytes, *end = at + partial->value;
	struct field field;

	while (take_field(&at, end, &field)) {
		if (is_bytes(&field, PARTIAL_MESSAGE))
			receiver_answer_clean((const char *)field.bytes, field.value, text);
		/* An int64: none are rejected if a receiver says less than none. */
		else if (field.number == PARTIAL_REJECTED && field.wire == WIRE_VARINT)
			*rejected = field.value <= INT64_MAX ? field.value : 0;
	}
}

static void read_message(
	bool has_succeeded, const uint8_t *body, size_t size, uint64_t *rejected, char *text)
{
	const uint8_t *at = body, *end = body + size;
	struct field field;

	while (take_field(&at, end, &field)) {
		if (has_succeeded && is_bytes(&field, RESPONSE_PARTIAL_SUCCESS))
			read_partial(&field, rejected, text);
		else if (!has_succeeded && is_bytes(&field, STATUS_MESSAGE))
			receiver_answer_clean((const char *)field.bytes, field.value, text);
	}
}

static bool is_protobuf(const char *type)
{
	static const char *const types[] = { "application/x-protobuf", "application/protobuf",
		"application/proto" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t size = strlen(types[i]);

		if (strncasecmp(type, types[i], size) == 0 &&
			(type[size] == '\0' || type[size] == ';' || type[size] == ' '))
			return true;
	}
	return false;
}

void receiver_answer_read(unsigned status, const char *content_type, const uint8_t *body,
	size_t size, uint64_t *ret_rejected, char text[SEND_TEXT_BYTES])
{
	const bool has_succeeded = status >= 200 && status < 300;

	*ret_rejected = 0;
	text[0] = '\0';
	if (size == 0)
		return;
	if (is_protobuf(content_type))
		read_message(has_succeeded, body, size, ret_rejected, text);
	else if (!has_succeeded)
		receiver_answer_clean((const char *)body, size, text);
}

void receiver_answer_clean(const char *bytes, size_t size, char text[SEND_TEXT_BYTES])
{
	size_t used = 0;

	for (size_t i = 0; i < size;) {
		size_t step = utf8_shown(bytes + i, size - i);
		const char *shown = step > 0 ? bytes + i : " ";
		size_t length = step > 0 ? step : 1;

		i += length;
		/* A line: spaces in a row, and what cannot be shown, become one space. */
		if (*shown == ' ' && (used == 0 || text[used - 1] == ' '))
			continue;
		if (used + length >= SEND_TEXT_BYTES)
			break;
		memcpy(text + used, shown, length);
		used += length;
	}
	while (used > 0 && text[used - 1] == ' ')
		used--;
	text[used] = '\0';
}
