/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats that a profile is written in: a table of what render and export do. */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>

struct profile_format {
	const char *name;   /* for -f: "svg" */
	const char *ending; /* of file names: ".svg" */
	const char *content_type;
	bool is_text; /* fit for a terminal */
	/* Formats that keep lines beside the functions do not mind `by_line`. Returns 0 or -errno.
	 */
	int (*write)(const struct profile *profile, bool by_line, struct output *output);
};

/* Ends with a NULL name; the first is the default. */
extern const struct profile_format profile_formats[];

/* NULL: there is none. */
const struct profile_format *profile_format_find(const char *name);
const struct profile_format *profile_format_of_path(const char *path);
/* "svg, html, folded, pprof, txt": for messages. */
const char *profile_format_names(void);
