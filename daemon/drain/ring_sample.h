/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of the BPF ring, checked: its counts against its length, its set against their number.
 */
#pragma once

#include "pilotlight/event.h"

#include <stddef.h>

struct ring_sample {
	struct pilotlight_ring_sample header;
	const __u64 *kernel_ips; /* borrowed from the record, which BPF aligns to 8 bytes */
	const struct pilotlight_user_frame *user_frames;
};

/* Returns 0 or -EINVAL. `bytes` is aligned to 8. */
int ring_sample_parse(const void *bytes, size_t size, struct ring_sample *ret_sample);
