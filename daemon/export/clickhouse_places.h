/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile's locations and stacks are called on all hosts (I2), as
 * pilotlight/clickhouse_schema.h defines it.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "pilotlight/clickhouse_schema.h"

#include <stdint.h>

struct clickhouse_place {
	char build_id[SYMBOL_IDENTITY_TEXT_BYTES];
	uint64_t vaddr, id;
};

const char *clickhouse_kind_name(enum binary_kind kind);

/* `scratch` is memory for what is hashed, used again. Returns 0 or -ENOMEM. */
int clickhouse_place(const struct profile *profile, const struct profile_location *location,
	struct output_memory *scratch, struct clickhouse_place *ret_place);

/* The same for a text that is no code, such as "[lost: ring full]". */
int clickhouse_text_place(
	const char *text, struct output_memory *scratch, struct clickhouse_place *ret_place);

/* The stack that the location is the leaf of, on top of the stack `below`; 0: of none. */
uint64_t clickhouse_stack(uint64_t below, uint64_t location);

/* How good the names of a location are, which has some. */
enum pilotlight_name_rank clickhouse_rank(
	const struct profile *profile, const struct profile_location *location);
