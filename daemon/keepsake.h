/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one engine leaves to the next, in memory that outlives it: a file of a few KiB in the
 * service's runtime folder, which is no disk (I5). It has the accounts of what is drained and not
 * yet sealed. An engine that is killed, alone or with the whole service, has lost that, and the
 * next one says so in its own first window (I1).
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

/*
 * An engine begins: how many there have been, with this one; and what the last one took with it,
 * all of it as dropped (PILOTLIGHT_DROP_ENGINE), zeros where it ended well. `left_behind`, which it
 * had not drained and nobody will, is of that. `ret_lost_samples` is the sum of all engines so far.
 * All that is kept until keepsake_update(), which has to tell of it again as long as it is not
 * sealed.
 */
void keepsake_begin(struct keepsake *keepsake, const struct accounts *left_behind,
	uint64_t *ret_engines, struct accounts *ret_lost, uint64_t *ret_lost_samples);

/* What is drained and not sealed by now. The engine may be killed meanwhile: then what was written
 * before holds. */
void keepsake_update(struct keepsake *keepsake, const struct accounts *unsealed);
