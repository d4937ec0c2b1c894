/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/block_frame.h"

#include "base/event_source.h"

#include <bpf/bpf.h>
#include <stdio.h>

const char *block_frame_of(
	const struct raw_sample *sample, int block_disks_fd, char text[BLOCK_FRAME_BYTES])
{
	struct pilotlight_block_disk disk = { .device = 0 };
	uint32_t index = sample->kind - 1U; /* 0 has no entry */

	if (!event_source_is_block(sample->source))
		return NULL;
	if (sample->kind == 0 || bpf_map_lookup_elem(block_disks_fd, &index, &disk) < 0 ||
		disk.name[0] == '\0') {
		(void)snprintf(text, BLOCK_FRAME_BYTES, "[block: another disk]");
		return text;
	}
	(void)snprintf(text, BLOCK_FRAME_BYTES, "[block: %.*s]", PILOTLIGHT_BLOCK_NAME_BYTES - 1,
		disk.name);
	return text;
}
