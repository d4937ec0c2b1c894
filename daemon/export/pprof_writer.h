/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pprof message on its way out. Each of its parts (a sample, a location, a string) is encoded
 * into a small buffer and goes through the compressor at once; what parts refer to by number is in
 * the tables. One for the length of a call; owned by pprof_write().
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
	uint32_t comm, pid, tid, executable, cgroup, unit, container, pod;
};

struct pprof_writer {
	const struct profile *profile;
	struct pprof_tables tables;
	struct pprof_keys keys;
	struct protobuf part;
	struct gzip *gzip;
	struct output plain; /* gathers the parts for the compressor */
};

/* Borrows `profile` and `output`. Returns 0 or -ENOMEM. */
int pprof_writer_new(const struct profile *profile, const struct pprof_options *options,
	struct output *output, struct pprof_writer **ret_writer);
void pprof_writer_free(struct pprof_writer *writer);
DEFINE_CLEANUP(struct pprof_writer, pprof_writer_free);

/*
 * Ends a part: what the buffer holds goes on its way. Returns 0, -ENOMEM if it could not be
 * encoded, or the output's error.
 */
int pprof_writer_send(struct pprof_writer *writer);

/* Values are signed in the message: what is greater than they can be becomes the greatest. */
uint64_t pprof_saturate(uint64_t value);

/*
 * The parts; each returns as pprof_writer_send() does. Samples come first, with the losses, and
 * then the locations, mappings and functions, each of which finds out what the next has to say.
 */
int pprof_write_samples(struct pprof_writer *writer);
int pprof_write_losses(struct pprof_writer *writer);
int pprof_write_locations(struct pprof_writer *writer);
int pprof_write_mappings(struct pprof_writer *writer);
int pprof_write_functions(struct pprof_writer *writer);
