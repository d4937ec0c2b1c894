/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_text.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FRACTION_DIGITS = 9 };

const char *jit_text_time(uint64_t time_ns, char text[JIT_TEXT_TIME_BYTES])
{
	(void)snprintf(text, JIT_TEXT_TIME_BYTES, "%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return text;
}

/* Parses at most `max` digits at *text. Returns their number or -ERANGE. */
static int parse_digits(const char **text, int max, uint64_t *ret_value)
{
	uint64_t value = 0;
	int count = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++) {
		if (count++ >= max || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(**text - '0'), &value))
			return -ERANGE;
	}
	*ret_value = value;
	return count;
}

int jit_text_parse_time(const char *text, uint64_t *ret_ns)
{
	uint64_t whole, fraction = 0;
	int digits, r;

	r = parse_digits(&text, INT32_MAX, &whole);
	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	if (*text == '\0') {
		*ret_ns = whole;
		return 0;
	}
	if (*text++ != '.')
		return -EINVAL;
	digits = parse_digits(&text, FRACTION_DIGITS, &fraction);
	if (digits == 0 || *text)
		return digits < 0 ? digits : -EINVAL;
	for (; digits < FRACTION_DIGITS; digits++)
		fraction *= 10;
	if (__builtin_mul_overflow(whole, (uint64_t)NSEC_PER_SEC, &whole) ||
		__builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*ret_ns = whole;
	return 0;
}

const char *jit_text_kind(uint32_t id)
{
	static const char *const names[] = {
		[PILOTLIGHT_JITDUMP_LOAD] = "LOAD",
		[PILOTLIGHT_JITDUMP_MOVE] = "MOVE",
		[PILOTLIGHT_JITDUMP_DEBUG_INFO] = "DEBUG_INFO",
		[PILOTLIGHT_JITDUMP_CLOSE] = "CLOSE",
		[PILOTLIGHT_JITDUMP_UNWINDING_INFO] = "UNWINDING_INFO",
	};

	return id < ARRAY_SIZE(names) ? names[id] : "UNKNOWN";
}

void jit_text_write_header(struct output *output, const struct jitdump_header *header)
{
	const char *machine = header->machine <= UINT16_MAX
				      ? symbols_text_machine((uint16_t)header->machine)
				      : NULL;
	char time[JIT_TEXT_TIME_BYTES];

	output_printf(output, "0x%08x %19s  %-14s  version %" PRIu32 ", pid %" PRIu32 ", machine ",
		0, jit_text_time(header->timestamp, time), "HEADER", header->version, header->pid);
	if (machine)
		output_string(output, machine);
	else
		output_u64(output, header->machine);
	output_printf(output, ", padding 0x%" PRIx32 ", flags 0x%" PRIx64 ", %" PRIu32 " bytes",
		header->padding, header->flags, header->total_size);
	if (header->is_swapped)
		output_string(output, ", of the other byte order");
	if (header->flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP)
		output_string(output, ", times of the CPU's counter as if in ns");
	output_char(output, '\n');
}

static void write_load(struct output *output, const struct jitdump_record *record)
{
	output_printf(output, "%" PRIu32 "/%" PRIu32 "  0x%" PRIx64 "  0x%" PRIx64 "  ",
		record->load.pid, record->load.tid, record->load.address, record->load.size);
	shown_text_write(output, record->load.name, record->load.name_size);
	output_printf(output, "  (index %" PRIu64, record->load.index);
	if (record->load.vma != record->load.address)
		output_printf(output, ", vma 0x%" PRIx64, record->load.vma);
	if (record->load.code_bytes != record->load.size)
		output_printf(output, ", %" PRIu64 " bytes of code", record->load.code_bytes);
	output_string(output, record->load.is_cut ? ", name cut)\n" : ")\n");
}

static void write_move(struct output *output, const struct jitdump_record *record)
{
	output_printf(output,
		"%" PRIu32 "/%" PRIu32 "  0x%" PRIx64 "  0x%" PRIx64 "  from 0x%" PRIx64
		"  (index %" PRIu64,
		record->move.pid, record->move.tid, record->move.to, record->move.size,
		record->move.from, record->move.index);
	if (record->move.vma != record->move.to)
		output_printf(output, ", vma 0x%" PRIx64, record->move.vma);
	output_string(output, ")\n");
}

static void write_debug(struct output *output, const struct jitdump_header *header,
	const struct jitdump_record *record)
{
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	int r;

	output_printf(output, "0x%" PRIx64 "  %" PRIu64 " entries\n", record->debug.address,
		record->debug.entry_count);
	while ((r = jitdump_debug_next(header, record, &cursor, &entry)) > 0) {
		output_printf(output, "%32s0x%" PRIx64 "  ", "", entry.address);
		shown_text_write(output, entry.file, entry.file_size);
		output_printf(
			output, ":%" PRId32 ":%" PRId32 "\n", entry.line, entry.discriminator);
	}
	if (r < 0)
		output_printf(output, "%32s(damaged from here on)\n", "");
}

void jit_text_write_record(struct output *output, uint64_t offset,
	const struct jitdump_header *header, const struct jitdump_record *record, int error)
{
	char time[JIT_TEXT_TIME_BYTES];

	output_printf(output, "0x%08" PRIx64 " %19s  %-14s  ", offset,
		jit_text_time(record->timestamp, time), jit_text_kind(record->id));
	if (error < 0) {
		output_printf(output, "(damaged, id %" PRIu32 ", %" PRIu32 " bytes)\n", record->id,
			record->total_size);
		return;
	}
	switch (record->id) {
	case PILOTLIGHT_JITDUMP_LOAD:
		write_load(output, record);
		break;
	case PILOTLIGHT_JITDUMP_MOVE:
		write_move(output, record);
		break;
	case PILOTLIGHT_JITDUMP_DEBUG_INFO:
		write_debug(output, header, record);
		break;
	case PILOTLIGHT_JITDUMP_CLOSE:
		output_char(output, '\n');
		break;
	case PILOTLIGHT_JITDUMP_UNWINDING_INFO:
		output_printf(output,
			"%" PRIu64 " bytes, %" PRIu64 " of them .eh_frame_hdr, %" PRIu64
			" mapped\n",
			record->unwinding.size, record->unwinding.header_size,
			record->unwinding.mapped_size);
		break;
	default:
		output_printf(output, "id %" PRIu32 ", %" PRIu32 " bytes\n", record->id,
			record->total_size);
	}
}

/* A string, since JSON readers round numbers of this size. */
static void member_time(struct json *json, uint64_t time_ns)
{
	char time[JIT_TEXT_TIME_BYTES];

	json_member_string(json, "time", jit_text_time(time_ns, time));
}

void jit_text_json_header(struct json *json, const struct jitdump_header *header)
{
	json_begin_object(json);
	json_member_u64(json, "offset", 0);
	member_time(json, header->timestamp);
	json_member_string(json, "kind", "HEADER");
	json_member_u64(json, "version", header->version);
	json_member_u64(json, "pid", header->pid);
	json_member_u64(json, "machine", header->machine);
	json_member_hex(json, "padding", header->padding);
	json_member_hex(json, "flags", header->flags);
	json_member_u64(json, "bytes", header->total_size);
	json_member_bool(json, "is_swapped", header->is_swapped);
	json_end_object(json);
	json_end_line(json);
}

static void write_json_load(struct json *json, const struct jitdump_record *record)
{
	json_member_u64(json, "pid", record->load.pid);
	json_member_u64(json, "tid", record->load.tid);
	json_member_hex(json, "address", record->load.address);
	json_member_u64(json, "size", record->load.size);
	json_key(json, "name");
	json_string_bytes(json, record->load.name, record->load.name_size);
	json_member_hex(json, "vma", record->load.vma);
	json_member_u64(json, "index", record->load.index);
	json_member_u64(json, "code_bytes", record->load.code_bytes);
}

static void write_json_move(struct json *json, const struct jitdump_record *record)
{
	json_member_u64(json, "pid", record->move.pid);
	json_member_u64(json, "tid", record->move.tid);
	json_member_hex(json, "address", record->move.to);
	json_member_u64(json, "size", record->move.size);
	json_member_hex(json, "from", record->move.from);
	json_member_hex(json, "vma", record->move.vma);
	json_member_u64(json, "index", record->move.index);
}

static void write_json_debug(
	struct json *json, const struct jitdump_header *header, const struct jitdump_record *record)
{
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	int r;

	json_member_hex(json, "address", record->debug.address);
	json_member_u64(json, "entry_count", record->debug.entry_count);
	json_key(json, "entries");
	json_begin_array(json);
	while ((r = jitdump_debug_next(header, record, &cursor, &entry)) > 0) {
		json_begin_object(json);
		json_member_hex(json, "address", entry.address);
		json_key(json, "file");
		json_string_bytes(json, entry.file, entry.file_size);
		json_key(json, "line");
		json_i64(json, entry.line);
		json_key(json, "discriminator");
		json_i64(json, entry.discriminator);
		json_end_object(json);
	}
	json_end_array(json);
	if (r < 0) {
		json_member_bool(json, "damaged", true);
	}
}

void jit_text_json_record(struct json *json, uint64_t offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	json_begin_object(json);
	json_member_u64(json, "offset", offset);
	member_time(json, record->timestamp);
	json_member_string(json, "kind", jit_text_kind(record->id));
	json_member_u64(json, "id", record->id);
	json_member_u64(json, "bytes", record->total_size);
	if (error < 0) {
		json_member_bool(json, "damaged", true);
	} else if (record->id == PILOTLIGHT_JITDUMP_LOAD) {
		write_json_load(json, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_MOVE) {
		write_json_move(json, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_DEBUG_INFO) {
		write_json_debug(json, header, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_UNWINDING_INFO) {
		json_member_u64(json, "unwinding_bytes", record->unwinding.size);
		json_member_u64(json, "eh_frame_header_bytes", record->unwinding.header_size);
		json_member_u64(json, "mapped_bytes", record->unwinding.mapped_size);
	}
	json_end_object(json);
	json_end_line(json);
}
