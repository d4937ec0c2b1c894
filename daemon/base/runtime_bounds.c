/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/runtime_bounds.h"

#include "base/array.h"
#include "pilotlight/runtime_hotspot.h"
#include "pilotlight/runtime_v8.h"

#include <stdint.h>
#include <string.h>

/* Code and data of a binary lie that close together, and thread-local storage to its pointer. */
#define PLACE_MAX (1LL << 40)

enum { UNIT_BYTES_MAX = 16 };

static bool is_offset(uint16_t at)
{
	return at <= PILOTLIGHT_RUNTIME_AT_MAX;
}

/* Is it an offset exactly if there is such a field? */
static bool is_offset_if(uint16_t at, bool is_there)
{
	return is_there ? is_offset(at) : at == PILOTLIGHT_RUNTIME_NONE;
}

static bool is_between(int64_t value, int64_t least, int64_t greatest)
{
	return value >= least && value <= greatest;
}

/* Both are there or none. */
static bool has_sound_copies(const struct pilotlight_runtime *runtime)
{
	int64_t word = sizeof(uint64_t);

	if (runtime->code_version_at > PILOTLIGHT_RUNTIME_CODE_MAX - word)
		return false;
	if (runtime->frame_copy_at == 0)
		return runtime->code_copies_at == 0;
	return runtime->instruction == PILOTLIGHT_RUNTIME_POINTER &&
	       runtime->frame_copy_at + word / 2 <= runtime->frame_bytes &&
	       runtime->frame_copy_at <= PILOTLIGHT_RUNTIME_FRAME_MAX - word &&
	       is_between(runtime->code_copies_at, 1, PILOTLIGHT_RUNTIME_CODE_MAX - word);
}

/* All of the tasks, or nothing. */
static bool has_sound_tasks(const struct pilotlight_runtime *runtime)
{
	const uint16_t fields[] = { runtime->state_task_at, runtime->task_coroutine_at,
		runtime->task_awaiter_at, runtime->task_several_at, runtime->coroutine_frame_at,
		runtime->coroutine_state_at, runtime->frame_stack_at };
	bool has_tasks = runtime->state_task_at != 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if ((fields[i] != 0) != has_tasks || !is_offset(fields[i]))
			return false;
	if ((runtime->stack_awaited_below != 0) != has_tasks)
		return false;
	return has_tasks ? runtime->group == PILOTLIGHT_RUNTIME_GROUP_FRAME
			 : runtime->coroutine_waits == 0;
}

static bool has_no_tasks(const struct pilotlight_runtime *runtime)
{
	return runtime->state_task_at == 0 && has_sound_tasks(runtime);
}

static bool has_sound_kinds(const struct pilotlight_runtime *runtime)
{
	return runtime->language == PILOTLIGHT_RUNTIME_PYTHON &&
	       is_between(runtime->anchor, 1, PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR) &&
	       is_between(runtime->instruction, 1, PILOTLIGHT_RUNTIME_INSTRUCTIONS - 1) &&
	       is_between(runtime->group, 1, PILOTLIGHT_RUNTIME_GROUP_CALL) &&
	       is_between(runtime->lines, 1, PILOTLIGHT_RUNTIME_LINE_ENDS) &&
	       is_between(runtime->unit_bytes, 1, UNIT_BYTES_MAX) &&
	       (runtime->group_least != 0) == (runtime->group == PILOTLIGHT_RUNTIME_GROUP_FRAME) &&
	       runtime->line_bytes == 0 && runtime->first_line_shift == 0 &&
	       runtime->string_state_shift < 8 && has_sound_copies(runtime) &&
	       has_sound_tasks(runtime);
}

static bool has_sound_anchor(const struct pilotlight_runtime *runtime)
{
	bool has_place = runtime->anchor != PILOTLIGHT_RUNTIME_TLS;
	bool needs_libc = has_place && runtime->anchor != PILOTLIGHT_RUNTIME_TLS_SLOT &&
			  runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL;

	return (has_place || runtime->anchor_place == 0) &&
	       is_between(runtime->libc, needs_libc, needs_libc * (PILOTLIGHT_RUNTIME_LIBCS - 1)) &&
	       (runtime->anchor != PILOTLIGHT_RUNTIME_KEY || runtime->anchor_offset == 0) &&
	       is_between(runtime->anchor_place, -PLACE_MAX, PLACE_MAX) &&
	       is_between(runtime->anchor_offset, -PLACE_MAX, PLACE_MAX) &&
	       is_between(runtime->code_type_place, -PLACE_MAX, PLACE_MAX);
}

static bool has_sound_loop(const struct pilotlight_runtime *runtime)
{
	bool has_loop = runtime->group >= PILOTLIGHT_RUNTIME_GROUP_CALL;

	return has_loop == (runtime->loop_bytes > 0) &&
	       (has_loop || (runtime->loop_place == 0 && runtime->loop_rest_bytes == 0)) &&
	       (runtime->loop_rest_bytes > 0 || runtime->loop_rest_place == 0) &&
	       is_between(runtime->loop_place, -PLACE_MAX, PLACE_MAX) &&
	       is_between(runtime->loop_rest_place, -PLACE_MAX, PLACE_MAX);
}

/* The fields end within as much of a frame as is read. */
static bool has_sound_frame(const struct pilotlight_runtime *runtime)
{
	int64_t word = sizeof(uint64_t);
	bool is_pointer = runtime->instruction == PILOTLIGHT_RUNTIME_POINTER;
	bool has_group = runtime->group == PILOTLIGHT_RUNTIME_GROUP_FLAG ||
			 runtime->group == PILOTLIGHT_RUNTIME_GROUP_FRAME;

	return runtime->frame_bytes <= PILOTLIGHT_RUNTIME_FRAME_MAX &&
	       runtime->frame_instruction_at <= PILOTLIGHT_RUNTIME_FRAME_MAX - word &&
	       runtime->frame_previous_at + word <= runtime->frame_bytes &&
	       runtime->frame_code_at + word <= runtime->frame_bytes &&
	       runtime->frame_instruction_at + (is_pointer ? word : word / 2) <=
		       runtime->frame_bytes &&
	       (has_group ? runtime->frame_group_at < runtime->frame_bytes
			  : runtime->frame_group_at == PILOTLIGHT_RUNTIME_NONE);
}

/* The same of a code object; its instructions may be anywhere behind. */
static bool has_sound_code(const struct pilotlight_runtime *runtime)
{
	int64_t last = PILOTLIGHT_RUNTIME_CODE_MAX - (int64_t)sizeof(uint64_t);

	return runtime->object_type_at <= last && runtime->code_file_at <= last &&
	       runtime->code_name_at <= last && runtime->code_first_line_at <= last &&
	       runtime->code_lines_at <= last;
}

static bool has_sound_offsets(const struct pilotlight_runtime *runtime)
{
	const uint16_t always[] = { runtime->state_thread_at, runtime->state_frame_at,
		runtime->string_length_at, runtime->string_state_at, runtime->string_ascii_at,
		runtime->string_other_at, runtime->bytes_size_at, runtime->bytes_data_at };
	bool has_list = runtime->group == PILOTLIGHT_RUNTIME_GROUP_SINGLE ||
			runtime->group == PILOTLIGHT_RUNTIME_GROUP_FLAG;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (!is_offset(always[i]))
			return false;
	return is_offset_if(runtime->state_mark_at, has_list) &&
	       is_offset_if(runtime->mark_next_at, has_list) &&
	       is_offset_if(runtime->code_units_at,
		       runtime->instruction == PILOTLIGHT_RUNTIME_POINTER) &&
	       (is_offset(runtime->holder_frame_at) ||
		       runtime->holder_frame_at == PILOTLIGHT_RUNTIME_NONE);
}

/* --- Ruby --- */

/* The words of a frame and of a body that are read, and what has only one meaning. */
static bool is_sound_ruby(const struct pilotlight_runtime *runtime)
{
	enum { WORD = sizeof(uint64_t), LINES_BYTES = 4 * WORD, LINE_BYTES = sizeof(uint32_t) };
	const uint16_t frame[] = { runtime->frame_code_at, runtime->frame_instruction_at,
		runtime->frame_group_at };
	const uint16_t body[] = { runtime->code_file_at, runtime->code_name_at,
		runtime->code_first_line_at, runtime->code_units_at };

	for (size_t i = 0; i < ARRAY_SIZE(frame); i++)
		if (frame[i] + WORD > runtime->frame_bytes)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(body); i++)
		if (body[i] + WORD > runtime->code_lines_at)
			return false;
	return is_between(runtime->anchor, 1, PILOTLIGHT_RUNTIME_ANCHORS - 1) &&
	       runtime->anchor != PILOTLIGHT_RUNTIME_KEY &&
	       runtime->anchor != PILOTLIGHT_RUNTIME_KEY_BEHIND && has_sound_anchor(runtime) &&
	       (runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL || runtime->anchor_offset == 0) &&
	       is_offset_if(
		       runtime->state_thread_at, runtime->anchor == PILOTLIGHT_RUNTIME_GLOBAL) &&
	       runtime->group == PILOTLIGHT_RUNTIME_GROUP_FINISH && has_sound_loop(runtime) &&
	       runtime->lines == PILOTLIGHT_RUNTIME_POSITIONS &&
	       runtime->frame_bytes <= PILOTLIGHT_RUNTIME_FRAME_MAX &&
	       runtime->frame_bytes % WORD == 0 &&
	       runtime->code_lines_at <= PILOTLIGHT_RUNTIME_CODE_MAX - LINES_BYTES &&
	       runtime->code_lines_at % WORD == 0 &&
	       is_between(runtime->line_bytes, LINE_BYTES, 4 * LINE_BYTES) &&
	       runtime->first_line_shift <= 1 && runtime->string_state_shift == 0 &&
	       is_offset(runtime->string_length_at) && is_offset(runtime->string_ascii_at) &&
	       runtime->frame_copy_at == 0 && runtime->code_version_at == 0 &&
	       runtime->code_copies_at == 0 && has_no_tasks(runtime) &&
	       (runtime->group_least != 0 || runtime->code_type_place == 0);
}

/* --- PHP --- */

/* The fields of a generator are all described, or none. A walk reads the first two at once. */
static bool has_sound_generators(const struct pilotlight_runtime *runtime)
{
	int64_t read = PILOTLIGHT_RUNTIME_FRAME_MAX - (int64_t)sizeof(uint64_t);

	if (runtime->coroutine_frame_at == 0)
		return runtime->task_coroutine_at == 0 && runtime->state_mark_at == 0 &&
		       runtime->coroutine_state_at == 0;
	return is_between(runtime->task_coroutine_at - runtime->coroutine_frame_at, 1, read) &&
	       is_between(runtime->state_mark_at, 1, PILOTLIGHT_RUNTIME_AT_MAX) &&
	       is_between(runtime->coroutine_state_at, 1, PILOTLIGHT_RUNTIME_AT_MAX);
}

/* It has a loop, the fields of a function within as much of it as is read, and nothing else. */
static bool is_sound_php(const struct pilotlight_runtime *runtime)
{
	bool has_threads = runtime->anchor != PILOTLIGHT_RUNTIME_GLOBAL;
	const struct pilotlight_runtime expected = {
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_PHP,
		.anchor = runtime->anchor,
		.release = runtime->release,
		.libc = runtime->libc,
		.group = PILOTLIGHT_RUNTIME_GROUP_TOP,
		.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
		.anchor_place = runtime->anchor_place,
		.anchor_offset = has_threads ? runtime->anchor_offset : 0,
		.code_type_place = has_threads ? runtime->code_type_place : 0,
		.loop_place = runtime->loop_place,
		.loop_rest_place = runtime->loop_rest_place,
		.loop_bytes = runtime->loop_bytes,
		.loop_rest_bytes = runtime->loop_rest_bytes,
		.state_thread_at = has_threads ? runtime->state_thread_at : 0,
		.state_frame_at = has_threads ? runtime->state_frame_at : 0,
		.code_file_at = runtime->code_file_at,
		.code_first_line_at = runtime->code_first_line_at,
		.code_lines_at = runtime->code_lines_at,
		.code_units_at = runtime->code_units_at,
		.coroutine_frame_at = runtime->coroutine_frame_at,
		.task_coroutine_at = runtime->task_coroutine_at,
		.state_mark_at = runtime->state_mark_at,
		.coroutine_state_at = runtime->coroutine_state_at,
	};
	const int64_t last = PILOTLIGHT_RUNTIME_CODE_MAX - (int64_t)sizeof(uint64_t);

	return memcmp(runtime, &expected, sizeof(expected)) == 0 && has_sound_generators(runtime) &&
	       (!has_threads || is_between(runtime->anchor, PILOTLIGHT_RUNTIME_TLS,
					PILOTLIGHT_RUNTIME_KEY_BEHIND)) &&
	       has_sound_anchor(runtime) && has_sound_loop(runtime) &&
	       is_offset(runtime->state_thread_at) && is_offset(runtime->state_frame_at) &&
	       runtime->code_first_line_at <= last &&
	       runtime->code_file_at < runtime->code_first_line_at &&
	       runtime->code_lines_at < runtime->code_first_line_at &&
	       runtime->code_units_at < runtime->code_first_line_at;
}

/* --- Perl --- */

/* It has a loop with what catches for it, three words of a state within as much of it as is read,
 * and nothing else. */
static bool is_sound_perl(const struct pilotlight_runtime *runtime)
{
	const struct pilotlight_runtime expected = {
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_PERL,
		.anchor = runtime->anchor,
		.release = runtime->release,
		.libc = runtime->libc,
		.group = PILOTLIGHT_RUNTIME_GROUP_CATCH,
		.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
		.anchor_place = runtime->anchor_place,
		.code_type_place = runtime->code_type_place,
		.loop_place = runtime->loop_place,
		.loop_rest_place = runtime->loop_rest_place,
		.loop_bytes = runtime->loop_bytes,
		.loop_rest_bytes = runtime->loop_rest_bytes,
		.state_thread_at = runtime->state_thread_at,
		.state_frame_at = runtime->state_frame_at,
		.state_mark_at = runtime->state_mark_at,
		.code_name_at = runtime->code_name_at,
		.code_units_at = runtime->code_units_at,
	};
	const int64_t last = PILOTLIGHT_RUNTIME_CODE_MAX - (int64_t)sizeof(uint64_t);

	return memcmp(runtime, &expected, sizeof(expected)) == 0 && has_sound_anchor(runtime) &&
	       (runtime->anchor == PILOTLIGHT_RUNTIME_KEY ||
		       runtime->anchor == PILOTLIGHT_RUNTIME_GLOBAL) &&
	       has_sound_loop(runtime) && runtime->loop_rest_bytes > 0 &&
	       runtime->state_thread_at <= last && runtime->state_frame_at <= last &&
	       runtime->state_mark_at <= last && runtime->code_units_at > 0 &&
	       (runtime->code_name_at == PILOTLIGHT_RUNTIME_NONE ||
		       is_offset(runtime->code_name_at));
}

/* --- V8 --- */

/* Words of objects: the reads are of whole words, from the start to the last one. */
static bool has_sound_words(const struct pilotlight_runtime_v8 *runtime)
{
	const uint16_t words[] = { runtime->function_shared_at, runtime->shared_name_at,
		runtime->shared_script_at, runtime->shared_number_at, runtime->scope_locals_at,
		runtime->scope_locals_begin_at, runtime->script_source_at, runtime->script_name_at,
		runtime->script_id_at, runtime->script_line_ends_at };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i] % sizeof(uint64_t) != 0 ||
			words[i] > PILOTLIGHT_V8_OBJECT_MAX - sizeof(uint64_t))
			return false;
	return runtime->scope_start_at == PILOTLIGHT_RUNTIME_NONE ||
	       (runtime->scope_start_at % sizeof(uint64_t) == 0 &&
		       runtime->scope_start_at + sizeof(uint64_t) < runtime->scope_locals_begin_at);
}

/* The table of bytecodes is read as that of code is. */
static bool has_sound_bytecodes(const struct pilotlight_runtime_v8 *runtime)
{
	uint16_t positions_at = runtime->bytecodes_positions_at;

	if (runtime->bytecodes_type == 0)
		return positions_at == 0 && runtime->bytecodes_data_at == 0;
	return runtime->code.type != 0 && positions_at % sizeof(uint64_t) == 0 &&
	       positions_at <= PILOTLIGHT_V8_OBJECT_MAX - sizeof(uint64_t) &&
	       is_offset(runtime->bytecodes_data_at);
}

/* Reads of the deoptimization data, and of a code object, are of whole words, too. */
static bool has_sound_v8_code(const struct pilotlight_runtime_v8 *runtime)
{
	const struct pilotlight_v8_code *code = &runtime->code, none = { 0 };
	const uint16_t words[] = { code->deopt_at, code->positions_at, code->count_at,
		code->literals_at, code->inlinings_at, code->function_at };
	const uint16_t halves[] = { code->flags_at, code->size_at };

	if (code->type == 0)
		return memcmp(code, &none, sizeof(none)) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i] % sizeof(uint64_t) != 0 ||
			words[i] > PILOTLIGHT_V8_OBJECT_MAX - sizeof(uint64_t))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++)
		if (halves[i] % sizeof(uint32_t) != 0 ||
			halves[i] > PILOTLIGHT_V8_OBJECT_MAX - sizeof(uint32_t))
			return false;
	return code->before_bytes <= PILOTLIGHT_V8_OBJECT_MAX &&
	       (code->code_at == 0 || code->code_at == sizeof(uint64_t)) &&
	       code->start_at <= PILOTLIGHT_V8_OBJECT_MAX &&
	       code->start_at % sizeof(uint64_t) == 0 && code->count_at >= runtime->array_data_at &&
	       code->literals_at >= runtime->array_data_at &&
	       code->inlinings_at >= runtime->array_data_at &&
	       code->function_at >= runtime->array_data_at && code->has_wrapper <= 1;
}

static bool v8_holds(const struct pilotlight_runtime_v8 *runtime)
{
	const uint16_t offsets[] = { runtime->map_type_at, runtime->array_length_at,
		runtime->array_data_at, runtime->string_length_at, runtime->string_characters_at,
		runtime->string_other_at, runtime->string_second_at };

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		if (!is_offset(offsets[i]))
			return false;
	return has_sound_words(runtime) && has_sound_v8_code(runtime) &&
	       has_sound_bytecodes(runtime) && runtime->reserved == 0 &&
	       runtime->shared_name_at < runtime->shared_number_at &&
	       runtime->shared_script_at < runtime->shared_number_at && runtime->code_bytes > 0 &&
	       runtime->frame_function_at < 0 &&
	       is_between(runtime->code_place, -PLACE_MAX, PLACE_MAX) &&
	       runtime->scope_locals_at < runtime->scope_locals_begin_at &&
	       runtime->function_type_first <= runtime->function_type_last;
}

/* --- HotSpot --- */

/* An offset of 0 means that the store of the right one was not found. */
static bool is_set(uint16_t at)
{
	return at > 0 && is_offset(at);
}

static bool has_sound_blob(const struct pilotlight_runtime_hotspot *runtime)
{
	const uint16_t fields[] = { runtime->blob_name_at, runtime->blob_size_at,
		runtime->blob_frame_at, runtime->blob_complete_at, runtime->blob_code_at,
		runtime->blob_method_at, runtime->blob_number_at };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!is_set(fields[i]) ||
			fields[i] + runtime->block_bytes > PILOTLIGHT_HOTSPOT_BLOCK_MAX - 8)
			return false;
	return is_set(runtime->block_bytes) && is_set(runtime->block_used_at) &&
	       runtime->block_used_at < runtime->block_bytes;
}

static bool has_sound_method(const struct pilotlight_runtime_hotspot *runtime)
{
	const uint16_t fields[] = { runtime->const_pool_at, runtime->const_size_at,
		runtime->const_flags_at, runtime->const_code_at, runtime->const_name_at,
		runtime->const_signature_at };
	const uint16_t others[] = { runtime->method_const_at, runtime->const_bytes,
		runtime->pool_class_at, runtime->pool_bytes, runtime->class_pool_at,
		runtime->class_name_at, runtime->symbol_text_at };
	bool is_source_in_pool = runtime->pool_source_at != PILOTLIGHT_RUNTIME_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!is_set(fields[i]) || fields[i] > PILOTLIGHT_HOTSPOT_CONST_MAX - 8)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!is_set(others[i]))
			return false;
	return is_offset(runtime->symbol_length_at) &&
	       is_offset_if(runtime->class_source_at, !is_source_in_pool) &&
	       is_offset_if(runtime->pool_source_at, is_source_in_pool);
}

/* All of the scopes, or nothing. */
static bool has_sound_scopes(const struct pilotlight_runtime_hotspot *runtime)
{
	bool has_scopes = runtime->scopes_pcs_at != PILOTLIGHT_RUNTIME_NONE;
	bool is_short = runtime->flags & PILOTLIGHT_HOTSPOT_SHORT_METADATA;
	const struct {
		uint16_t at;
		bool may_lack;
	} fields[] = {
		{ runtime->scopes_base_at, true },
		{ runtime->scopes_pcs_at, false },
		{ runtime->scopes_pcs_end_at, false },
		{ runtime->scopes_data_at, false },
		{ runtime->metadata_base_at, true },
		{ runtime->metadata_at, false },
		{ runtime->data_at, !is_short },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].at == PILOTLIGHT_RUNTIME_NONE && (!has_scopes || fields[i].may_lack))
			continue;
		if (!has_scopes || !is_set(fields[i].at) ||
			fields[i].at + runtime->block_bytes > PILOTLIGHT_HOTSPOT_BLOCK_MAX - 8)
			return false;
	}
	return true;
}

static bool hotspot_holds(const struct pilotlight_runtime_hotspot *runtime)
{
	bool has_heaps = !(runtime->flags & PILOTLIGHT_HOTSPOT_ONE_HEAP);
	const int16_t word = sizeof(uint64_t);

	return runtime->flags <= PILOTLIGHT_HOTSPOT_FLAGS &&
	       is_between(runtime->heaps_place, -PLACE_MAX, PLACE_MAX) &&
	       is_offset_if(runtime->array_length_at, has_heaps) &&
	       is_offset_if(runtime->array_data_at, has_heaps) &&
	       is_offset(runtime->heap_memory_at) && is_set(runtime->heap_map_at) &&
	       is_set(runtime->heap_shift_at) && runtime->frame_sender_at == -word &&
	       is_between(runtime->frame_method_at, -PILOTLIGHT_RUNTIME_FRAME_MAX, -word) &&
	       is_between(runtime->frame_bytecode_at, -PILOTLIGHT_RUNTIME_FRAME_MAX, -word) &&
	       has_sound_blob(runtime) && has_sound_method(runtime) && has_sound_scopes(runtime);
}

/* Is there anything behind a description of so many bytes? */
static bool has_rest(const struct pilotlight_runtime *runtime, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)runtime;

	for (size_t i = size; i < sizeof(*runtime); i++)
		if (bytes[i] != 0)
			return true;
	return false;
}

/* It has an anchor, to a variable of each thread, and nothing else. */
static bool is_sound_context(const struct pilotlight_runtime *runtime)
{
	const struct pilotlight_runtime expected = {
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_THREAD_CONTEXT,
		.anchor = runtime->anchor,
		.libc = runtime->libc,
		.anchor_place = runtime->anchor_place,
		.anchor_offset = runtime->anchor_offset,
	};

	return is_between(runtime->anchor, 1, PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR) &&
	       runtime->anchor != PILOTLIGHT_RUNTIME_KEY &&
	       runtime->anchor != PILOTLIGHT_RUNTIME_KEY_BEHIND && has_sound_anchor(runtime) &&
	       memcmp(runtime, &expected, sizeof(expected)) == 0;
}

bool runtime_bounds_hold(const struct pilotlight_runtime *runtime)
{
	struct pilotlight_runtime_hotspot hotspot;
	struct pilotlight_runtime_v8 v8;

	if (runtime->version == PILOTLIGHT_RUNTIME_VERSION &&
		runtime->language == PILOTLIGHT_RUNTIME_V8) {
		memcpy(&v8, runtime, sizeof(v8));
		return !has_rest(runtime, sizeof(v8)) && v8_holds(&v8);
	}
	if (runtime->version == PILOTLIGHT_RUNTIME_VERSION &&
		runtime->language == PILOTLIGHT_RUNTIME_HOTSPOT) {
		memcpy(&hotspot, runtime, sizeof(hotspot));
		return !has_rest(runtime, sizeof(hotspot)) && hotspot_holds(&hotspot);
	}
	if (runtime->language == PILOTLIGHT_RUNTIME_THREAD_CONTEXT)
		return is_sound_context(runtime);
	if (runtime->version == PILOTLIGHT_RUNTIME_VERSION &&
		runtime->language == PILOTLIGHT_RUNTIME_RUBY)
		return is_sound_ruby(runtime);
	if (runtime->language == PILOTLIGHT_RUNTIME_PHP)
		return is_sound_php(runtime);
	if (runtime->language == PILOTLIGHT_RUNTIME_PERL)
		return is_sound_perl(runtime);
	return runtime->version == PILOTLIGHT_RUNTIME_VERSION && has_sound_kinds(runtime) &&
	       has_sound_anchor(runtime) && has_sound_loop(runtime) && has_sound_frame(runtime) &&
	       has_sound_code(runtime) && has_sound_offsets(runtime);
}
