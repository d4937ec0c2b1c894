/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses and checks records of the BPF ring: counts against lengths; sets, kinds and
 * sources against their number.
 */
#pragma once

#include "drain/drain.h"
#include "pilotlight/walk.h"

#include <stdbool.h>
#include <stddef.h>

/* The record's kind, and the set and source it belongs to. Returns 0, or -EINVAL if the bytes are
 * no record. */
int ring_record_header(const void *bytes, size_t size, struct pilotlight_ring_header *ret_header);

/* Can a sample of the source have this `wait`, as in struct pilotlight_sample_key? */
bool ring_record_has_wait(enum pilotlight_source source, uint16_t wait);

/* Sets source, wait and kind from a `wait` that the source can have. */
void ring_record_set_wait(struct raw_sample *sample, enum pilotlight_source source, uint16_t wait);

/*
 * Fills in a sample without `depth_max`. It borrows the record, which must be aligned to
 * 8, and `comm`. Of a PILOTLIGHT_RING_WALK only the walk has a meaning. Returns 0 or -EINVAL.
 */
int ring_record_parse(const void *bytes, size_t size, struct raw_sample *ret_sample,
	char comm[PILOTLIGHT_COMM_BYTES]);

/* The same of a PILOTLIGHT_RING_CODE. Its contents are not checked (symbol/runtime_code.h). */
int ring_record_parse_code(const void *bytes, size_t size, struct raw_code *ret_code);
