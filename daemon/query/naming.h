/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizes the locations of a profile after it is complete: binary by binary, with all addresses
 * of a binary in one request to a symbol source. Locations that have names keep them.
 */
#pragma once

#include "aggregate/profile.h"
#include "symbol/symbol_source.h"

#include <stdint.h>

struct naming_counters {
	uint64_t locations; /* that can have a name */
	uint64_t named;
	uint64_t binaries;
	uint64_t binaries_failed; /* no file, no symbols, or a file that its source cannot read */
};

/*
 * Opens the files of a binary of the profile for the source. Returns 0, with descriptors that
 * naming closes, or -errno: the binary's locations stay without names.
 */
typedef int (*naming_open)(
	void *context, uint32_t profile_binary, struct symbol_binary *ret_binary);

/*
 * Returns 0, -ENOMEM, or -E2BIG if the profile's budget is used up; names given so far are kept. If
 * opening or the source fails otherwise, only that binary stays unsymbolized.
 */
int naming_run(struct profile *profile, struct symbol_source *source, naming_open open_binary,
	void *context, struct naming_counters *ret_counters);

/* Takes the names away that only tell a place (symbol/place_name.h), for receivers that may find
 * real ones. */
void naming_drop_places(struct profile *profile);
