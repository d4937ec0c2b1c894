/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_record.h"

#include <errno.h>
#include <string.h>

/* Fields at any alignment and in the byte order of the writer. */
static uint32_t get_u32(const void *bytes, size_t offset, bool is_swapped)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)bytes + offset, sizeof(value));
	return is_swapped ? __builtin_bswap32(value) : value;
}

static uint64_t get_u64(const void *bytes, size_t offset, bool is_swapped)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)bytes + offset, sizeof(value));
	return is_swapped ? __builtin_bswap64(value) : value;
}

#define GET_U32(type, field) get_u32(bytes, offsetof(struct type, field), is_swapped)
#define GET_U64(type, field) get_u64(bytes, offsetof(struct type, field), is_swapped)

unsigned jitdump_header_oddities(const struct jitdump_header *header)
{
	unsigned oddities = 0;

	if (header->machine == 0)
		oddities |= JITDUMP_ODD_MACHINE;
	if (header->padding != 0)
		oddities |= JITDUMP_ODD_PADDING;
	if (header->flags & ~PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP)
		oddities |= JITDUMP_ODD_FLAGS;
	if (header->total_size > sizeof(struct pilotlight_jitdump_header))
		oddities |= JITDUMP_ODD_SIZE;
	return oddities;
}

enum jitdump_fault jitdump_header_parse(
	const void *bytes, size_t size, struct jitdump_header *ret_header)
{
	struct jitdump_header header = { 0 };
	bool is_swapped = false;
	uint32_t magic;

	if (size < sizeof(magic))
		return JITDUMP_FAULT_NO_HEADER;
	magic = get_u32(bytes, 0, false);
	if (magic == PILOTLIGHT_JITDUMP_MAGIC_SWAPPED)
		is_swapped = true;
	else if (magic != PILOTLIGHT_JITDUMP_MAGIC)
		return JITDUMP_FAULT_NOT_JITDUMP;
	if (size < sizeof(struct pilotlight_jitdump_header))
		return JITDUMP_FAULT_NO_HEADER;

	header.is_swapped = is_swapped;
	header.version = GET_U32(pilotlight_jitdump_header, version);
	header.total_size = GET_U32(pilotlight_jitdump_header, total_size);
	header.machine = GET_U32(pilotlight_jitdump_header, machine);
	header.padding = GET_U32(pilotlight_jitdump_header, padding);
	header.pid = GET_U32(pilotlight_jitdump_header, pid);
	header.timestamp = GET_U64(pilotlight_jitdump_header, timestamp);
	header.flags = GET_U64(pilotlight_jitdump_header, flags);
	if (header.version == 0 || header.version > PILOTLIGHT_JITDUMP_VERSION_MAX)
		return JITDUMP_FAULT_VERSION;
	if (header.total_size < sizeof(struct pilotlight_jitdump_header) ||
		header.total_size > JITDUMP_HEADER_BYTES_MAX)
		return JITDUMP_FAULT_HEADER_SIZE;
	*ret_header = header;
	return JITDUMP_FAULT_NONE;
}

/* Parsers of payloads: `left` is the size of the payload in the record, `size` what is here. */

static int parse_load(const uint8_t *bytes, size_t size, size_t left, bool is_swapped,
	struct jitdump_record *record)
{
	const size_t fixed = sizeof(struct pilotlight_jitdump_load);
	const char *name = (const char *)bytes + fixed;
	const char *end = memchr(name, '\0', size - fixed);

	if (!end && size == left)
		return -EBADMSG;
	record->load.pid = GET_U32(pilotlight_jitdump_load, pid);
	record->load.tid = GET_U32(pilotlight_jitdump_load, tid);
	record->load.vma = GET_U64(pilotlight_jitdump_load, vma);
	record->load.address = GET_U64(pilotlight_jitdump_load, code_addr);
	record->load.size = GET_U64(pilotlight_jitdump_load, code_size);
	record->load.index = GET_U64(pilotlight_jitdump_load, code_index);
	record->load.name = name;
	record->load.name_size = end ? (size_t)(end - name) : size - fixed;
	record->load.is_cut = !end;
	record->load.code_bytes = 0;
	if (end && record->load.size <= left - fixed - record->load.name_size - 1)
		record->load.code_bytes = record->load.size;
	return 0;
}

static int parse_move(const uint8_t *bytes, size_t size, size_t left, bool is_swapped,
	struct jitdump_record *record)
{
	(void)size;
	(void)left;
	record->move.pid = GET_U32(pilotlight_jitdump_move, pid);
	record->move.tid = GET_U32(pilotlight_jitdump_move, tid);
	record->move.vma = GET_U64(pilotlight_jitdump_move, vma);
	record->move.from = GET_U64(pilotlight_jitdump_move, old_code_addr);
	record->move.to = GET_U64(pilotlight_jitdump_move, new_code_addr);
	record->move.size = GET_U64(pilotlight_jitdump_move, code_size);
	record->move.index = GET_U64(pilotlight_jitdump_move, code_index);
	return 0;
}

static int parse_debug(const uint8_t *bytes, size_t size, size_t left, bool is_swapped,
	struct jitdump_record *record)
{
	const size_t fixed = sizeof(struct pilotlight_jitdump_debug_info);
	const size_t entry_bytes_min = sizeof(struct pilotlight_jitdump_debug_entry) + 1;

	record->debug.address = GET_U64(pilotlight_jitdump_debug_info, code_addr);
	record->debug.entry_count = GET_U64(pilotlight_jitdump_debug_info, entry_count);
	record->debug.entries = bytes + fixed;
	record->debug.entries_size = size - fixed;
	return record->debug.entry_count <= (left - fixed) / entry_bytes_min ? 0 : -EBADMSG;
}

static int parse_unwinding(const uint8_t *bytes, size_t size, size_t left, bool is_swapped,
	struct jitdump_record *record)
{
	const size_t fixed = sizeof(struct pilotlight_jitdump_unwinding_info);

	(void)size;
	record->unwinding.size = GET_U64(pilotlight_jitdump_unwinding_info, unwinding_size);
	record->unwinding.header_size =
		GET_U64(pilotlight_jitdump_unwinding_info, eh_frame_header_size);
	record->unwinding.mapped_size = GET_U64(pilotlight_jitdump_unwinding_info, mapped_size);
	/* The parts of the tables are not read. */
	return record->unwinding.size > left - fixed ? -EBADMSG : 0;
}

static const struct {
	size_t fixed; /* of the payload, in bytes */
	int (*parse)(const uint8_t *bytes, size_t size, size_t left, bool is_swapped,
		struct jitdump_record *record);
} payloads[] = {
	[PILOTLIGHT_JITDUMP_LOAD] = { sizeof(struct pilotlight_jitdump_load), parse_load },
	[PILOTLIGHT_JITDUMP_MOVE] = { sizeof(struct pilotlight_jitdump_move), parse_move },
	[PILOTLIGHT_JITDUMP_DEBUG_INFO] = { sizeof(struct pilotlight_jitdump_debug_info),
		parse_debug },
	[PILOTLIGHT_JITDUMP_CLOSE] = { 0, NULL },
	[PILOTLIGHT_JITDUMP_UNWINDING_INFO] = { sizeof(struct pilotlight_jitdump_unwinding_info),
		parse_unwinding },
};

int jitdump_record_parse(const struct jitdump_header *header, const void *bytes, size_t size,
	bool is_all, struct jitdump_record *ret_record)
{
	const size_t prefix_size = sizeof(struct pilotlight_jitdump_prefix);
	const bool is_swapped = header->is_swapped;
	uint32_t id;
	size_t left;

	if (size < prefix_size)
		return -EAGAIN;
	ret_record->id = id = GET_U32(pilotlight_jitdump_prefix, id);
	ret_record->total_size = GET_U32(pilotlight_jitdump_prefix, total_size);
	ret_record->timestamp = GET_U64(pilotlight_jitdump_prefix, timestamp);
	if (ret_record->total_size < prefix_size ||
		ret_record->total_size > JITDUMP_RECORD_BYTES_MAX)
		return -EMSGSIZE;
	if (is_all && size < ret_record->total_size)
		return -EAGAIN;
	if (id >= sizeof(payloads) / sizeof(*payloads) || !payloads[id].parse)
		return 0;

	left = ret_record->total_size - prefix_size;
	size -= prefix_size;
	if (size > left)
		size = left;
	if (left < payloads[id].fixed)
		return -EBADMSG;
	if (size < payloads[id].fixed)
		return -EAGAIN;
	return payloads[id].parse(
		(const uint8_t *)bytes + prefix_size, size, left, is_swapped, ret_record);
}

int jitdump_debug_next(const struct jitdump_header *header, const struct jitdump_record *record,
	struct jitdump_debug_cursor *cursor, struct jitdump_debug_entry *ret_entry)
{
	const size_t fixed = sizeof(struct pilotlight_jitdump_debug_entry);
	const size_t left = record->debug.entries_size - cursor->at;
	const bool is_swapped = header->is_swapped;
	const uint8_t *bytes;
	const char *file, *end;

	if (cursor->seen == record->debug.entry_count)
		return 0;
	if (left <= fixed)
		return -EBADMSG;
	bytes = record->debug.entries + cursor->at;
	file = (const char *)bytes + fixed;
	end = memchr(file, '\0', left - fixed);
	if (!end)
		return -EBADMSG;
	if (end - file == 1 && *file == '\xff') {
		if (!cursor->file)
			return -EBADMSG;
	} else {
		cursor->file = file;
		cursor->file_size = (size_t)(end - file);
	}
	cursor->at += fixed + (size_t)(end - file) + 1;
	cursor->seen++;
	*ret_entry = (struct jitdump_debug_entry){
		.address = GET_U64(pilotlight_jitdump_debug_entry, addr),
		.line = (int32_t)GET_U32(pilotlight_jitdump_debug_entry, line),
		.discriminator = (int32_t)GET_U32(pilotlight_jitdump_debug_entry, discriminator),
		.file = cursor->file,
		.file_size = cursor->file_size,
	};
	return 1;
}
