/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats that a profile is written in: a table of what render and export do. */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "export/pprof.h"

#include <stdbool.h>
#include <stddef.h>

struct profile_format_options {
	const char *title; /* shown where a format has room for it; NULL: the format's own */
	bool by_line;	   /* ignored by formats that keep lines beside the functions */
	enum pprof_labels pprof_labels;
};

struct profile_format {
	const char *name;   /* for -f: "svg" */
	const char *ending; /* of file names: ".svg" */
	const char *content_type;
	bool is_text; /* fit for a terminal */
	/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
	int (*write)(const struct profile *profile, const struct profile_format_options *options,
		struct output *output);
};

/* Ends with a NULL name; the first is the default. */
extern const struct profile_format profile_formats[];

/* NULL: there is none. */
const struct profile_format *profile_format_find(const char *name);
/* By the name's ending, which something must stand before. */
const struct profile_format *profile_format_of_path(const char *path);
/* "svg, folded, pprof or txt": for messages. */
const char *profile_format_names(void);
