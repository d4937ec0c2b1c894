/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses and checks records of the BPF ring: counts against lengths, sets and kinds against their
 * number.
 */
#pragma once

#include "pilotlight/event.h"
#include "pilotlight/walk.h"

#include <stddef.h>

struct ring_sample {
	struct pilotlight_ring_sample header;
	const __u64 *kernel_ips; /* borrowed from the record, which BPF aligns to 8 bytes */
	const struct pilotlight_user_frame *user_frames;
};

struct ring_walk {
	struct pilotlight_ring_walk header;
	const __u64 *frames; /* borrowed from the record */
	const __u64 *kernel_ips;
};

/*
 * The record's enum pilotlight_ring_kind, and the set it belongs to. Both return -EINVAL if the
 * bytes are not a record.
 */
int ring_record_kind(const void *bytes, size_t size);
int ring_record_set(const void *bytes, size_t size);

/* Returns 0 or -EINVAL. `bytes` must be aligned to 8. */
int ring_sample_parse(const void *bytes, size_t size, struct ring_sample *ret_sample);

/* Parses a walked stack, with or without its sample. Returns 0 or -EINVAL. */
int ring_walk_parse(const void *bytes, size_t size, struct ring_walk *ret_walk);
