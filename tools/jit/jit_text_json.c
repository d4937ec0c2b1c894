/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_text.h"

#include "base/json.h"

static void member_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void member_hex(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_hex(json, value);
}

static void member_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_string(json, value);
}

/* A string: of ns there are more than readers keep of a number. */
static void member_time(struct json *json, uint64_t time_ns)
{
	char time[JIT_TEXT_TIME_BYTES];

	member_string(json, "time", jit_text_time(time_ns, time));
}

void jit_text_json_header(struct json *json, const struct jitdump_header *header)
{
	json_begin_object(json);
	member_u64(json, "offset", 0);
	member_time(json, header->timestamp);
	member_string(json, "kind", "HEADER");
	member_u64(json, "version", header->version);
	member_u64(json, "pid", header->pid);
	member_u64(json, "machine", header->machine);
	member_hex(json, "padding", header->padding);
	member_hex(json, "flags", header->flags);
	member_u64(json, "bytes", header->total_size);
	json_key(json, "is_swapped");
	json_bool(json, header->is_swapped);
	json_end_object(json);
	json_end_line(json);
}

static void write_load(struct json *json, const struct jitdump_record *record)
{
	member_u64(json, "pid", record->load.pid);
	member_u64(json, "tid", record->load.tid);
	member_hex(json, "address", record->load.address);
	member_u64(json, "size", record->load.size);
	json_key(json, "name");
	json_string_bytes(json, record->load.name, record->load.name_size);
	member_hex(json, "vma", record->load.vma);
	member_u64(json, "index", record->load.index);
	member_u64(json, "code_bytes", record->load.code_bytes);
}

static void write_move(struct json *json, const struct jitdump_record *record)
{
	member_u64(json, "pid", record->move.pid);
	member_u64(json, "tid", record->move.tid);
	member_hex(json, "address", record->move.to);
	member_u64(json, "size", record->move.size);
	member_hex(json, "from", record->move.from);
	member_hex(json, "vma", record->move.vma);
	member_u64(json, "index", record->move.index);
}

static void write_debug(
	struct json *json, const struct jitdump_header *header, const struct jitdump_record *record)
{
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	int r;

	member_hex(json, "address", record->debug.address);
	member_u64(json, "entry_count", record->debug.entry_count);
	json_key(json, "entries");
	json_begin_array(json);
	while ((r = jitdump_debug_next(header, record, &cursor, &entry)) > 0) {
		json_begin_object(json);
		member_hex(json, "address", entry.address);
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
		json_key(json, "damaged");
		json_bool(json, true);
	}
}

void jit_text_json_record(struct json *json, uint64_t offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	json_begin_object(json);
	member_u64(json, "offset", offset);
	member_time(json, record->timestamp);
	member_string(json, "kind", jit_text_kind(record->id));
	member_u64(json, "id", record->id);
	member_u64(json, "bytes", record->total_size);
	if (error < 0) {
		json_key(json, "damaged");
		json_bool(json, true);
	} else if (record->id == PILOTLIGHT_JITDUMP_LOAD) {
		write_load(json, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_MOVE) {
		write_move(json, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_DEBUG_INFO) {
		write_debug(json, header, record);
	} else if (record->id == PILOTLIGHT_JITDUMP_UNWINDING_INFO) {
		member_u64(json, "unwinding_bytes", record->unwinding.size);
		member_u64(json, "eh_frame_header_bytes", record->unwinding.header_size);
		member_u64(json, "mapped_bytes", record->unwinding.mapped_size);
	}
	json_end_object(json);
	json_end_line(json);
}
