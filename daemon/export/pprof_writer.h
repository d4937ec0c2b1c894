/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a pprof message. Each part (a sample, a location, a string) is encoded into a small buffer
 * and compressed at once. Parts refer to each other by their numbers in the tables. The first error
 * of a part, the tables or the output sticks, so that an encoder reads as a list of its fields;
 * pprof_writer_finish() returns it. pprof_write() owns one writer for each call.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/output.h"
#include "export/gzip.h"
#include "export/pprof_tables.h"
#include "export/protobuf.h"

#include <stdint.h>

/* Strings of the message. */
struct pprof_keys {
	uint32_t comm, pid, tid, user, executable, cgroup, unit, container, pod, trace_id, span_id,
		time, time_unit, claims[CLAIM_COUNT];
};

struct pprof_writer {
	const struct profile *profile;
	struct pprof_tables tables;
	struct pprof_keys keys;
	struct protobuf part;
	struct gzip *gzip;
	struct output plain; /* buffers the parts for the compressor */
};

/* Borrows `profile` and `output`. Returns 0 or -ENOMEM. */
int pprof_writer_new(const struct profile *profile, enum pprof_labels labels,
	const struct pprof_part *part, struct output *output, struct pprof_writer **ret_writer);
void pprof_writer_free(struct pprof_writer *writer);
DEFINE_CLEANUP(struct pprof_writer, pprof_writer_free);

/* Ends a part and passes the buffer to the compressor. */
void pprof_writer_send(struct pprof_writer *writer);

/* Writes what the buffers hold. Returns 0 or the first error: -ENOMEM, or the output's. */
int pprof_writer_finish(struct pprof_writer *writer);

/* Limits a value to INT64_MAX, since the message's values are signed. */
uint64_t pprof_saturate(uint64_t value);

/*
 * The parts. The order matters, because each part determines the content of the next: samples and
 * losses, then locations, mappings and functions.
 */
void pprof_write_samples(struct pprof_writer *writer);
void pprof_write_losses(struct pprof_writer *writer);
void pprof_write_locations(struct pprof_writer *writer);
void pprof_write_mappings(struct pprof_writer *writer);
void pprof_write_functions(struct pprof_writer *writer);
