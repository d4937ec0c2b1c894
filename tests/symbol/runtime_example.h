/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sound runtime description: that of Debian's Python 3.11, but with another anchor. */
#pragma once

#include "pilotlight/runtime.h"

static const struct pilotlight_runtime runtime_example = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_PYTHON,
	.anchor = PILOTLIGHT_RUNTIME_KEY_BEHIND,
	.release = 0x030b02f0,
	.libc = PILOTLIGHT_RUNTIME_GLIBC,
	.instruction = PILOTLIGHT_RUNTIME_POINTER,
	.unit_bytes = 2,
	.group = PILOTLIGHT_RUNTIME_GROUP_FLAG,
	.lines = PILOTLIGHT_RUNTIME_LOCATIONS,
	.frame_bytes = 69,
	.anchor_place = 0x443d30,
	.anchor_offset = 0x254,
	.code_type_place = 0x449b00,
	.state_thread_at = 152,
	.state_frame_at = 56,
	.holder_frame_at = 8,
	.state_mark_at = 56,
	.mark_next_at = 16,
	.frame_previous_at = 48,
	.frame_code_at = 32,
	.frame_instruction_at = 56,
	.frame_group_at = 68,
	.object_type_at = 8,
	.code_file_at = 112,
	.code_name_at = 128,
	.code_first_line_at = 72,
	.code_lines_at = 136,
	.code_units_at = 184,
	.string_length_at = 16,
	.string_state_at = 32,
	.string_ascii_at = 48,
	.string_other_at = 72,
	.bytes_size_at = 16,
	.bytes_data_at = 32,
};
