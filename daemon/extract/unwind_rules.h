/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates call frame information into the rules of an unwind table (pilotlight/unwind.h), and
 * stores each distinct rule once. One owner, one thread; at most PILOTLIGHT_UNWIND_RULES_MAX
 * rules.
 */
#pragma once

#include "base/hash_index.h"
#include "dwarf/cfi_cie.h"
#include "pilotlight/unwind.h"

/*
 * Returns the registers of EM_X86_64 and EM_AARCH64; NULL for other machines, which have no
 * tables.
 */
const struct cfi_registers *unwind_rule_registers(uint16_t machine);

/*
 * Returns the rule for a state of a function of that CIE; UNSUPPORTED if a rule cannot express it.
 */
struct pilotlight_unwind_rule unwind_rule_of(
	uint16_t machine, const struct cfi_cie *cie, const struct cfi_state *state);

/*
 * Returns the rule that finds the caller by the frame pointer: its frame pointer and the return
 * address are adjacent.
 */
struct pilotlight_unwind_rule unwind_rule_by_frame_pointer(uint16_t machine);

/*
 * What a row reveals about its function. NONE: it may be a leaf, or one of the functions whose
 * frames are the same in all programs. WITH_POINTER: it has set up a frame pointer.
 * WITHOUT_POINTER: it has a frame that no frame pointer leads to.
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

/* Ids count from 0 in the order of the first use. Returns 0; -EFBIG too many rules; -ENOMEM. */
int unwind_rules_intern(
	struct unwind_rules *rules, const struct pilotlight_unwind_rule *rule, uint32_t *ret_id);

/* Does a rule have rbx as its base? */
bool unwind_rules_need_rbx(uint16_t machine, const struct unwind_rules *rules);
