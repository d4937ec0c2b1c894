/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbolizes a profile of the history from the symbol cache; answer.h names the trusted files. */
#pragma once

#include "aggregate/profile.h"
#include "symbol/symbol_source.h"

/* Returns 0, -ENOMEM, or -E2BIG: the profile's budget is used up and some names are missing. */
int answer_names_run(struct profile *profile, struct symbol_source *source);
