/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one engine leaves to the next, in memory that outlives it: a file of a few KiB in the
 * service's runtime folder, which is no disk (I5). It has the accounts of what is drained and not
 * yet sealed, and from when on that is. An engine that is killed, alone or with the whole service,
 * has lost that, and the next one says so in its own first window (I1).
 */
#pragma once

#include "base/fault.h"
#include "drain/accounts.h"

#include <stdint.h>

struct keepsake;

/*
 * Opens or makes the file. `boot_id` tells it from one of before the machine was started, and
 * `service`, any number but 0, the engines of this service from those of one before: these are left
 * out of the number of engines, but not what they have lost. What is not a keepsake is begun anew.
 * Returns 0 or -errno with `fault`.
 */
int keepsake_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct keepsake **ret_keepsake, struct fault *fault);
void keepsake_close(struct keepsake *keepsake);

/* What an engine finds. */
struct keepsake_beginning {
	uint64_t engines; /* that there have been, with this one */
	/* What the last one took with it, all of it as dropped (PILOTLIGHT_DROP_ENGINE); zeros
	 * where it ended well. */
	struct accounts lost;
	uint64_t lost_samples; /* the sum of all engines so far */
	/* Until when all is sealed: what is yet to be drained, and `lost`, are of later.
	 * CLOCK_MONOTONIC; 0: not known, as of an engine of another service, whose losses then are
	 * told in a window that begins too late for them. */
	uint64_t since_ns;
	/* Since when `lost` was sampled, whoever had that; likewise, 0: not known. */
	uint64_t lost_since_ns;
};

/*
 * An engine begins. `left_behind`, which the last one had not drained and nobody will, is lost with
 * it. All that is kept until keepsake_update(), which has to tell of it again as long as it is not
 * sealed.
 */
void keepsake_begin(struct keepsake *keepsake, const struct accounts *left_behind,
	struct keepsake_beginning *ret_beginning);

/*
 * What is drained and not sealed by now, and until when all is sealed; and since when it was
 * sampled, which is earlier as long as what a service before has lost is among it. The engine may
 * be killed meanwhile: then what was written before holds.
 */
void keepsake_update(struct keepsake *keepsake, const struct accounts *unsealed, uint64_t since_ns,
	uint64_t lost_since_ns);
