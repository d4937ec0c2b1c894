/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_python_frames.h"

#include "base/array.h"
#include "extract/elf_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	NONE = PILOTLIGHT_RUNTIME_NONE,
	UNIT_BYTES = 2,
	OFFSETS_BYTES = 1024,
	/* From this owner on, a frame is the interpreter's own: FRAME_OWNED_BY_CSTACK. */
	OWNER_LEAST = 3,
	WORD_BYTES = 8,
	NUMBER_BYTES = 4,
	/* The same distance in all of them, from the first line. */
	CODE_VERSION_MINOR_FIRST = 12,
	CODE_VERSION_BEHIND = 24,
	UTF8_BYTES = 16, /* in a string: the size and address of another form of it */
};

/* What is the same in all versions. */
const struct pilotlight_runtime runtime_python_common = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_PYTHON,
	.unit_bytes = UNIT_BYTES,
	.instruction = PILOTLIGHT_RUNTIME_POINTER,
	.lines = PILOTLIGHT_RUNTIME_LOCATIONS,
	.group = PILOTLIGHT_RUNTIME_GROUP_FRAME,
	.group_least = OWNER_LEAST,
	.holder_frame_at = NONE,
	.state_mark_at = NONE,
	.mark_next_at = NONE,
	.object_type_at = 8,
	.string_length_at = 16,
	.string_state_at = 32,
	.string_ascii_at = 40,
	.string_other_at = 56,
	.bytes_size_at = 16,
	.bytes_data_at = 32,
};

/* --- 3.8 to 3.12: from the sources --- */

static void describe_3_8(struct pilotlight_runtime *runtime)
{
	runtime->instruction = PILOTLIGHT_RUNTIME_DISTANCE;
	runtime->lines = PILOTLIGHT_RUNTIME_STEPS;
	runtime->group = PILOTLIGHT_RUNTIME_GROUP_CALL;
	runtime->group_least = 0;
	runtime->state_thread_at = 176;
	runtime->state_frame_at = 24;
	runtime->frame_previous_at = 24;
	runtime->frame_code_at = 32;
	runtime->frame_instruction_at = 104;
	runtime->frame_group_at = NONE;
	runtime->string_ascii_at = 48;
	runtime->string_other_at = 72;
}

static void describe_3_10(struct pilotlight_runtime *runtime)
{
	runtime->instruction = PILOTLIGHT_RUNTIME_INDEX;
	runtime->lines = PILOTLIGHT_RUNTIME_RANGES;
	runtime->group = PILOTLIGHT_RUNTIME_GROUP_SINGLE;
	runtime->group_least = 0;
	runtime->state_thread_at = 176;
	runtime->state_frame_at = 24;
	runtime->state_mark_at = 48;
	runtime->mark_next_at = 8;
	runtime->frame_previous_at = 24;
	runtime->frame_code_at = 32;
	runtime->frame_instruction_at = 96;
	runtime->frame_group_at = NONE;
	runtime->string_ascii_at = 48;
	runtime->string_other_at = 72;
}

static void describe_3_11(struct pilotlight_runtime *runtime)
{
	runtime->group = PILOTLIGHT_RUNTIME_GROUP_FLAG;
	runtime->group_least = 0;
	runtime->state_thread_at = 152;
	runtime->state_frame_at = 56;
	runtime->holder_frame_at = 8;
	runtime->state_mark_at = 56;
	runtime->mark_next_at = 16;
	runtime->frame_previous_at = 48;
	runtime->frame_code_at = 32;
	runtime->frame_instruction_at = 56;
	runtime->frame_group_at = 68;
	runtime->string_ascii_at = 48;
	runtime->string_other_at = 72;
}

static void describe_3_12(struct pilotlight_runtime *runtime)
{
	runtime->state_thread_at = 136;
	runtime->state_frame_at = 56;
	runtime->holder_frame_at = 0;
	runtime->frame_previous_at = 8;
	runtime->frame_code_at = 0;
	runtime->frame_instruction_at = 56;
	runtime->frame_group_at = 70;
}

/* The place of co_filename shows whether a build is of the layout that is known. */
static const struct {
	uint32_t minor;
	void (*describe)(struct pilotlight_runtime *runtime);
	uint16_t code_file_at;
} known_layouts[] = {
	{ 8, describe_3_8, 104 },
	{ 9, describe_3_8, 104 },
	{ 10, describe_3_10, 104 },
	{ 11, describe_3_11, 112 },
	{ 12, describe_3_12, 112 },
};

static int describe_by_version(uint32_t minor, struct pilotlight_runtime *runtime)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_layouts); i++) {
		if (known_layouts[i].minor != minor)
			continue;
		known_layouts[i].describe(runtime);
		return runtime->code_file_at == known_layouts[i].code_file_at ? 0 : -ENOTSUP;
	}
	return -ENOTSUP;
}

/* --- From 3.13 on: struct _Py_DebugOffsets, with which _PyRuntime begins --- */

static const char cookie[] = "xdebugpy";
enum {
	OFFSETS_VERSION_AT = 8,
	OFFSETS_FREE_THREADED_AT = 16,
	OFFSETS_MINOR_FIRST = 13,
	/* From here on, builds without the global lock have copies of the instructions, and the
	 * first byte of a string's state says whether it is interned: not two bits. */
	COPIES_MINOR_FIRST = 14,
	STRING_STATE_SHIFT = 8 - 2,
};

int runtime_python_find_lock(
	const struct elf_memory *memory, uint64_t vaddr, uint32_t minor, bool *ret_has_lock)
{
	uint64_t is_free_threaded = 0;
	int r = 0;

	if (minor >= OFFSETS_MINOR_FIRST)
		r = elf_memory_read(memory, vaddr + OFFSETS_FREE_THREADED_AT, &is_free_threaded,
			sizeof(is_free_threaded));
	if (r == 0)
		*ret_has_lock = is_free_threaded == 0;
	return r;
}

/* Where that struct has each of them, in 3.13, 3.14 and 3.15; 0: nowhere. */
static const struct {
	size_t field; /* of struct pilotlight_runtime */
	uint16_t at[3];
} published[] = {
#define FIELD(name) offsetof(struct pilotlight_runtime, name)
	{ FIELD(state_frame_at), { 184, 208, 208 } },
	{ FIELD(state_thread_at), { 192, 216, 240 } },
	{ FIELD(frame_previous_at), { 232, 256, 320 } },
	{ FIELD(frame_code_at), { 240, 264, 328 } },
	{ FIELD(frame_instruction_at), { 248, 272, 336 } },
	{ FIELD(frame_group_at), { 264, 288, 352 } },
	{ FIELD(code_file_at), { 280, 320, 384 } },
	{ FIELD(code_name_at), { 296, 336, 400 } },
	{ FIELD(code_lines_at), { 304, 344, 408 } },
	{ FIELD(code_first_line_at), { 312, 352, 416 } },
	{ FIELD(code_units_at), { 344, 384, 448 } },
	{ FIELD(object_type_at), { 360, 408, 472 } },
	{ FIELD(bytes_size_at), { 520, 600, 696 } },
	{ FIELD(bytes_data_at), { 528, 608, 704 } },
	{ FIELD(string_state_at), { 544, 624, 720 } },
	{ FIELD(string_length_at), { 552, 632, 728 } },
	{ FIELD(string_ascii_at), { 560, 640, 736 } },
	{ FIELD(code_copies_at), { 0, 392, 456 } },
#undef FIELD
};
static const uint16_t frame_copy_published[] = { 0, 304, 368 };

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static int describe_by_offsets(const struct elf_memory *memory, uint64_t vaddr, uint32_t minor,
	struct pilotlight_runtime *runtime)
{
	const struct pilotlight_runtime members = *runtime;
	uint32_t column = minor - OFFSETS_MINOR_FIRST;
	uint8_t offsets[OFFSETS_BYTES];
	bool is_free_threaded;
	uint64_t copy_at;
	int r = elf_memory_read(memory, vaddr, offsets, sizeof(offsets));

	if (r < 0)
		return r;
	if (column >= ARRAY_SIZE(published[0].at) ||
		memcmp(offsets, cookie, sizeof(cookie) - 1) != 0 ||
		word_at(offsets, OFFSETS_VERSION_AT) != runtime->release)
		return -ENOTSUP;
	is_free_threaded = word_at(offsets, OFFSETS_FREE_THREADED_AT) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		uint64_t value = word_at(offsets, published[i].at[column]);
		uint16_t at = (uint16_t)value;

		if (published[i].at[column] == 0)
			continue;
		if (value > PILOTLIGHT_RUNTIME_AT_MAX)
			return -ENOTSUP;
		memcpy((uint8_t *)runtime + published[i].field, &at, sizeof(at));
	}
	if (is_free_threaded && minor >= COPIES_MINOR_FIRST) {
		copy_at = word_at(offsets, frame_copy_published[column]);
		if (copy_at > UINT8_MAX)
			return -ENOTSUP;
		runtime->frame_copy_at = (uint8_t)copy_at;
		runtime->string_state_shift = STRING_STATE_SHIFT;
		/* Without them, a copy's instructions would be taken for the code object's. */
		if (runtime->frame_copy_at == 0 || runtime->code_copies_at == 0)
			return -ENOTSUP;
	}
	if (runtime->code_file_at != members.code_file_at ||
		runtime->code_name_at != members.code_name_at ||
		runtime->code_first_line_at != members.code_first_line_at ||
		runtime->code_lines_at != members.code_lines_at ||
		runtime->code_units_at != members.code_units_at)
		return -ENOTSUP;
	runtime->string_other_at = runtime->string_ascii_at + UTF8_BYTES;
	return 0;
}

static uint32_t greater(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The end of the last field of a frame. */
static uint32_t frame_bytes(const struct pilotlight_runtime *runtime)
{
	bool is_pointer = runtime->instruction == PILOTLIGHT_RUNTIME_POINTER;
	uint32_t bytes = greater(runtime->frame_previous_at, runtime->frame_code_at) + WORD_BYTES;

	if (runtime->frame_copy_at > 0)
		bytes = greater(bytes, runtime->frame_copy_at + (uint32_t)NUMBER_BYTES);
	bytes = greater(bytes,
		runtime->frame_instruction_at + (uint32_t)(is_pointer ? WORD_BYTES : NUMBER_BYTES));
	return runtime->frame_group_at == NONE ? bytes
					       : greater(bytes, runtime->frame_group_at + 1U);
}

int runtime_python_describe_frames(const struct elf_memory *memory, uint64_t vaddr, uint32_t minor,
	struct pilotlight_runtime *runtime)
{
	uint32_t bytes;
	uint16_t version_at = runtime->code_first_line_at + CODE_VERSION_BEHIND;
	int r = minor < OFFSETS_MINOR_FIRST ? describe_by_version(minor, runtime)
					    : describe_by_offsets(memory, vaddr, minor, runtime);

	if (r < 0)
		return r;
	if (minor >= CODE_VERSION_MINOR_FIRST && version_at <= UINT8_MAX)
		runtime->code_version_at = (uint8_t)version_at;
	bytes = frame_bytes(runtime);
	if (bytes > PILOTLIGHT_RUNTIME_FRAME_MAX)
		return -ENOTSUP;
	runtime->frame_bytes = (uint8_t)bytes;
	return 0;
}
