/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the locations of a profile their names, late: binary by binary, each with all of its
 * addresses at once, from a symbol source. Locations that have names keep them.
 */
#pragma once

#include "aggregate/profile.h"
#include "symbol/symbol_source.h"

#include <stdint.h>

struct naming_counters {
	uint64_t locations; /* that could have a name */
	uint64_t named;
	uint64_t binaries;
	uint64_t binaries_failed; /* no file, no symbols, or a file that its source cannot read */
};

/*
 * Opens what the source needs to know of a binary of the profile. Returns 0, with descriptors that
 * naming closes, or -errno: its locations stay nameless.
 */
typedef int (*naming_open)(
	void *context, uint32_t profile_binary, struct symbol_binary *ret_binary);

/*
 * Returns 0 or -ENOMEM; -E2BIG when the profile's budget is used up, with what was named so far. No
 * other error of opening or of the source is one of the profile: it costs that binary's names.
 */
int naming_run(struct profile *profile, struct symbol_source *source, naming_open open_binary,
	void *context, struct naming_counters *ret_counters);
