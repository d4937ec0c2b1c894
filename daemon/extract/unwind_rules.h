/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of an unwind table (pilotlight/unwind.h): made of what call frame information says, and
 * each distinct one kept once. One owner, one thread; bounded by PILOTLIGHT_UNWIND_RULES_MAX.
 */
#pragma once

#include "base/hash_index.h"
#include "dwarf/cfi_cie.h"
#include "pilotlight/unwind.h"

/* EM_X86_64 and EM_AARCH64; NULL of others, which have no tables. */
const struct cfi_registers *unwind_rule_registers(uint16_t machine);

/* The rule of a state of a function of that CIE. What cannot be expressed is UNSUPPORTED. */
struct pilotlight_unwind_rule unwind_rule_of(
	uint16_t machine, const struct cfi_cie *cie, const struct cfi_state *state);

/* Caller's frame pointer and return address lie side by side, and the former is found by them. */
struct pilotlight_unwind_rule unwind_rule_by_frame_pointer(uint16_t machine);

/*
 * What a row says of its function: it has set up a frame pointer; it may call nobody, or is one of
 * those whose frames are the same in all programs; or it has a frame that no frame pointer leads
 * to.
 */
enum unwind_frame {
	UNWIND_FRAME_NONE,
	UNWIND_FRAME_WITH_POINTER,
	UNWIND_FRAME_WITHOUT_POINTER,
};
enum unwind_frame unwind_rule_frame(uint16_t machine, const struct pilotlight_unwind_rule *rule);

struct unwind_rules {
	struct pilotlight_unwind_rule *rules; /* owned */
	size_t count, capacity;
	struct hash_index index;
};

void unwind_rules_done(struct unwind_rules *rules);

/* Ids count from 0 in the order in which rules came. Returns 0; -EFBIG there are too many; -ENOMEM.
 */
int unwind_rules_intern(
	struct unwind_rules *rules, const struct pilotlight_unwind_rule *rule, uint32_t *ret_id);

/* Has one of them rbx for a base? */
bool unwind_rules_need_rbx(uint16_t machine, const struct unwind_rules *rules);
