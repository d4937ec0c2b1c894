/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a profile of the rows of a fleet, so that all pictures and formats of one host serve it.
 * Rows that are wrong are refused; a sample whose stack or location is missing is shown as such
 * (I1). Threads of a fleet are told apart by name alone.
 */
#pragma once

#include "aggregate/profile.h"
#include "tools/fleet/fleet_rows.h"

/*
 * Fills an empty profile with samples, accounts and period; values of hosts stand for those that
 * were not drawn, by weight. Returns 0, -ENOMEM, -E2BIG (the profile's budget) or -EBADMSG.
 */
int fleet_profile_fill(const struct fleet_rows *rows, struct profile *profile);
