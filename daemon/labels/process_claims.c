/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The payload is a ProcessContext, whose field 1 is a Resource, or a Resource itself, as in drafts
 * of the OTEP. Field 1 of a Resource is a KeyValue: {1: key, 2: AnyValue {1: string}}.
 */
#include "labels/process_claims.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

/* The rest of a message, or a field of it. */
struct message {
	const uint8_t *at;
	size_t size;
};

struct claims {
	struct message values[CLAIM_COUNT]; /* at NULL: not claimed */
};

static const char *const attributes[CLAIM_COUNT] = {
	[CLAIM_SERVICE] = "service.name",
	[CLAIM_NAMESPACE] = "service.namespace",
	[CLAIM_ENVIRONMENT] = "deployment.environment.name",
};

const char *process_claim_attribute(enum process_claim claim)
{
	return attributes[claim];
}

static bool take_varint(struct message *message, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && message->size > 0; shift += 7) {
		uint8_t byte = *message->at++;

		message->size--;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool skip(struct message *message, uint64_t size)
{
	if (size > message->size)
		return false;
	message->at += size;
	message->size -= size;
	return true;
}

/* Takes the next field; ret_field->at is NULL if it is a number. False: the message is damaged. */
static bool take_field(struct message *message, uint64_t *ret_number, struct message *ret_field)
{
	uint64_t key, value;

	*ret_field = (struct message){ 0 };
	if (!take_varint(message, &key))
		return false;
	*ret_number = key >> 3;
	switch ((enum wire_type)(key & 7)) {
	case WIRE_VARINT:
		return take_varint(message, &value);
	case WIRE_FIXED64:
		return skip(message, sizeof(uint64_t));
	case WIRE_FIXED32:
		return skip(message, sizeof(uint32_t));
	case WIRE_BYTES:
		if (!take_varint(message, &value))
			return false;
		*ret_field = (struct message){ .at = message->at, .size = value };
		return skip(message, value);
	default:
		return false;
	}
}

/* Finds the last field 1 or 2 that is bytes, each. False: the message is damaged. */
static bool find_fields(struct message message, struct message ret_fields[2])
{
	struct message field;
	uint64_t number;

	ret_fields[0] = ret_fields[1] = (struct message){ 0 };
	while (message.size > 0) {
		if (!take_field(&message, &number, &field))
			return false;
		if (field.at && (number == 1 || number == 2))
			ret_fields[number - 1] = field;
	}
	return true;
}

/* A KeyValue. Returns false if it is none of ours, or damaged. */
static bool take_attribute(struct claims *claims, struct message attribute)
{
	struct message fields[2], value[2];

	if (!find_fields(attribute, fields) || !fields[0].at)
		return false;
	for (size_t i = 0; i < CLAIM_COUNT; i++) {
		if (fields[0].size != strlen(attributes[i]) ||
			memcmp(fields[0].at, attributes[i], fields[0].size) != 0)
			continue;
		if (fields[1].at && find_fields(fields[1], value))
			claims->values[i] = value[0];
		return true;
	}
	return false;
}

static bool take_attributes(struct claims *claims, struct message resource)
{
	struct message field;
	uint64_t number;

	while (resource.size > 0) {
		if (!take_field(&resource, &number, &field))
			return false;
		if (number == 1 && field.at)
			(void)take_attribute(claims, field);
	}
	return true;
}

static bool take_context(struct claims *claims, struct message context)
{
	struct message field;
	uint64_t number;

	while (context.size > 0) {
		if (!take_field(&context, &number, &field))
			return false;
		/* Another attribute of a Resource reads as a Resource without ours. */
		if (number == 1 && field.at && !take_attribute(claims, field))
			(void)take_attributes(claims, field);
	}
	return true;
}

/* Whole characters of a clean text, as many as fit. */
static size_t cut(const char *text)
{
	size_t size = 0, next;

	while (text[size]) {
		next = size + utf8_sequence(text + size, strlen(text + size));
		if (next >= CLAIM_BYTES)
			break;
		size = next;
	}
	return size;
}

static size_t write_claim(char *to, const char *claim, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++)
		if (claim[i] == ',' || claim[i] == '%')
			used += (size_t)sprintf(to + used, "%%%02X", claim[i]);
		else
			to[used++] = claim[i];
	return used;
}

static void write_claims(const struct claims *claims, char text[CLAIMS_BYTES])
{
	size_t used = 0, end = 0;

	for (size_t i = 0; i < CLAIM_COUNT; i++) {
		const struct message *value = &claims->values[i];
		char clean[UTF8_CLEAN_BYTES] = "";

		if (i > 0)
			text[used++] = ',';
		if (value->at)
			(void)utf8_clean(clean, (const char *)value->at, value->size);
		used += write_claim(text + used, clean, cut(clean));
		if (clean[0])
			end = used;
	}
	text[end] = '\0';
}

int process_claims_read(const void *payload, size_t size, char text[CLAIMS_BYTES])
{
	struct claims claims = { 0 };

	if (!take_context(&claims, (struct message){ .at = payload, .size = size }))
		return -EBADMSG;
	write_claims(&claims, text);
	return 0;
}

const char *process_claims_get(
	const char *text, enum process_claim claim, char claimed[CLAIM_BYTES])
{
	size_t size = 0;

	for (; claim > 0 && *text; claim--) {
		text += strcspn(text, ",");
		text += *text == ',';
	}
	for (; *text && *text != ',' && size < CLAIM_BYTES - 1; text++) {
		const bool is_comma = strncmp(text, "%2C", 3) == 0;

		claimed[size++] = is_comma ? ',' : *text;
		if (is_comma || strncmp(text, "%25", 3) == 0)
			text += 2;
	}
	claimed[size] = '\0';
	return claimed;
}
