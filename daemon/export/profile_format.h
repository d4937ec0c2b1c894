/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of the output formats for profiles, over render and export. */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "export/pprof.h"
#include "render/frame_labels.h"
#include "symbolize/cached_symbol_source.h"

#include <stdbool.h>
#include <stddef.h>

struct profile_format_options {
	const char *title; /* shown by formats that have a title; NULL: the format's default */
	enum frame_detail detail; /* ignored by formats that keep lines apart from functions */
	enum pprof_labels pprof_labels;
	const char *attributes; /* of the host: "name=value,name=value"; NULL: none */
	/* Of a fleet's hosts, the share that pushes (query/host_sample.h), for formats that weigh
	 * what they hold. */
	uint32_t sample_hosts_ppm;
	/* As those of struct parca_options, for the same. */
	struct cached_symbol_source *symbols;
	const char *late_names;
	size_t rows_max;   /* of a table; 0: no limit */
	size_t frames_max; /* of the page and its JSON; 0: no limit but theirs */
	const char *below; /* as that of struct frame_budget, for the same */
};

struct profile_format {
	const char *name;   /* for -f: "svg" */
	const char *ending; /* of file names: ".svg" */
	const char *content_type;
	bool is_text; /* may go to a terminal */
	/* Returns 0, -ENOMEM or -E2BIG; output_finish() reports the output's errors. */
	int (*write)(const struct profile *profile, const struct profile_format_options *options,
		struct output *output);
};

/* A NULL name ends the table; the first entry is the default. */
extern const struct profile_format profile_formats[];

/* Finds a format by name; NULL: none. */
const struct profile_format *profile_format_find(const char *name);
/* Finds a format by the ending of a file name, which must not be the whole name; NULL: none. */
const struct profile_format *profile_format_of_path(const char *path);
/* Returns "svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt, top or sites",
 * for messages. */
const char *profile_format_names(void);
