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

/* config_named.c */

/* A kind of sections with names, [WORD NAME]. Its items begin with their names. */
struct config_named {
	const char *word, *plural;
	const char *example; /* begins a comment about the section */
	const struct config_knob *knobs;
	const size_t *knob_count;
	size_t most, bytes;  /* of items */
	size_t items, count; /* offsets in struct config */
	size_t origins;	     /* an offset in an item */
};
extern const struct config_named config_nameds[];
extern const size_t config_named_count;

/* The kind of a section, by its first word; NULL: it is none of these. */
const struct config_named *config_named_find(const char *section);
/* Returns the position of a knob, or *named->knob_count if there is none. */
size_t config_named_knob_find(const struct config_named *named, const char *key);
size_t config_named_items(const struct config_named *named, const struct config *config);
void *config_named_item(const struct config_named *named, const struct config *config, size_t i);
struct config_origin *config_named_origins(const struct config_named *named, const void *item);
/*
 * Finds the item of a section of this kind, or adds it with its defaults. Returns 0; -EINVAL for an
 * invalid name; -E2BIG if there are too many; or -ENOMEM.
 */
int config_named_enter(const struct config_named *named, struct config *config, const char *section,
	void **ret_item);
void config_named_done(const struct config_named *named, void *item);

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
