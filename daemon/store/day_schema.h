/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a day's database, and its version (I9). */
#pragma once

#include "store/day_database.h"

/*
 * Checks an open database's version and tables, and sets has_times. A writer makes the tables of a
 * new one, and those that an earlier version lacks. Returns 0, -ENOENT for a new database that is
 * read, -EBADMSG with `fault` if it is not ours, or another -errno with `fault`.
 */
int day_schema_check(struct day_database *database, enum day_access access, struct fault *fault);
