/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the configuration share. */
#pragma once

#include "config/config_knob.h"

/* The reading of one file into a configuration. */
struct config_reading {
	struct config *config;
	struct config_problems *problems;
	const char *file;
	unsigned line;
};

/* config_problem.c */

/*
 * Adds a sentence about a place; `line` 0 is the whole file. Returns 0, also where it was only
 * counted, or -ENOMEM.
 */
int config_problem_add(struct config_problems *problems, const char *file, unsigned line,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* config_file.c */

/*
 * Reads one file. What is wrong with it becomes a problem; -ENOENT is the caller's matter.
 * Returns 0, -ENOENT or -ENOMEM.
 */
int config_file_read(const char *path, struct config *config, struct config_problems *problems);

/* config_assignment.c */

/* Returns 0 or -ENOMEM. */
int config_assign(
	struct config_reading *reading, const char *section, const char *key, const char *text);
/* A section that nobody knows is a problem. Returns 0 or -ENOMEM. */
int config_enter_section(struct config_reading *reading, const char *section);

/* What no knob can tell by itself: knobs that contradict each other. Returns 0 or -ENOMEM. */
int config_check_together(struct config *config, struct config_problems *problems);
/* A group that a file names and that is not there. Returns 0 or -ENOMEM. */
int config_check_group(struct config *config, struct config_problems *problems);
