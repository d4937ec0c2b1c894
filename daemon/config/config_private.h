/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the files of the configuration share. */
#pragma once

#include "config/config_knob.h"

/* The state of reading one file into a configuration. */
struct config_reading {
	struct config *config;
	struct config_problems *problems;
	const char *file;
	unsigned line;
};

/* config_problem.c */

/*
 * Adds a sentence about a line; `line` 0 means the whole file. Returns 0, even if the problem was
 * only counted, or -ENOMEM.
 */
int config_problem_add(struct config_problems *problems, const char *file, unsigned line,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* config_file.c */

/*
 * Reads one file. Errors in it become problems; the caller handles -ENOENT. Returns 0, -ENOENT or
 * -ENOMEM.
 */
int config_file_read(const char *path, struct config *config, struct config_problems *problems);

/* config_sink.c */

/* Does a section's name begin as that of a sink does? */
bool config_sink_is_section(const char *section);
/*
 * Finds the sink of a section that config_sink_is_section(), or adds it with its defaults. Returns
 * 0; -EINVAL for an invalid name; -E2BIG if there are CONFIG_SINKS_MAX; or -ENOMEM.
 */
int config_sink_enter(struct config *config, const char *section, struct config_sink **ret_sink);
void config_sink_done(struct config_sink *sink);

/* config_origin.c */

void config_origin_done(struct config_origin *origin);

/* config_assignment.c */

/* Assigns a value. A wrong one becomes a problem. Returns 0 or -ENOMEM. */
int config_assign(
	struct config_reading *reading, const char *section, const char *key, const char *text);
/* Adds a problem if the section is unknown. Returns 0 or -ENOMEM. */
int config_enter_section(struct config_reading *reading, const char *section);

/* Adds a problem for each pair of knobs that contradict each other. Returns 0 or -ENOMEM. */
int config_check_together(struct config *config, struct config_problems *problems);
/* Adds a problem if a file names a group that does not exist. Returns 0 or -ENOMEM. */
int config_check_group(struct config *config, struct config_problems *problems);
