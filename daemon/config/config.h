/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of the service: an ini file and its drop-ins, <file>.d/ *.conf in the order of
 * their names, the later of two assignments counting, as systemd.unit(5) has it: an empty value is
 * the default again, a list grows by each assignment and is emptied by an empty one. Each knob and
 * what may be written for it is in the table of config_knob.h. Read once at the start and at each
 * reload, by one thread; files, lines, lists and complaints are bounded (I4).
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_FILE "/etc/pilotlight/pilotlight.conf"

enum {
	CONFIG_KNOBS_MAX = 32,
	CONFIG_LIST_MAX = 64,
	CONFIG_PROBLEMS_MAX = 100, /* that are kept; all are counted */
};

/* How it is read. */
enum config_flags {
	CONFIG_MUST_EXIST = 1,
	/* By a process that is confined: which groups there are it cannot see. */
	CONFIG_WITHOUT_GROUPS = 2,
};

struct config_list {
	char **items;
	size_t count;
};

/* Where a knob was set last; not at all where `file` is NULL. */
struct config_origin {
	char *file;
	unsigned line;
	char *text; /* as it was written; NULL for lists */
};

struct config {
	/* [Sampling] */
	uint64_t frequency_hz;
	bool kernel_stacks;
	char *event;	       /* "auto", "cycles", "cpu-clock" */
	uint64_t max_cost_ppm; /* of the machine's CPU time; 1 % is 10000 */
	/* [Memory] */
	uint64_t max_bytes; /* where config_is_set() says no, the unit's MemoryMax= comes first */
	uint64_t jit_bytes;
	/* [History] */
	bool history_enabled;
	uint64_t window_ns, history_bytes, history_age_ns, minute_after_ns, ten_minutes_after_ns;
	/* [Symbols] */
	uint64_t symbol_cache_bytes;
	struct config_list debuginfod_urls;
	/* [Api] */
	char *socket; /* "": api.sock in the runtime directory */
	char *group;
	struct config_list listen;
	uint64_t max_connections;

	struct config_origin origins[CONFIG_KNOBS_MAX]; /* by position in config_knobs */
};

/* Sentences, each with file, line, section, key and remedy, in the order of the files. */
struct config_problems {
	char **texts;
	size_t count, capacity;
	uint64_t all; /* with those that were not kept */
};

/*
 * Reads `path` and its drop-ins. No such file is no problem without CONFIG_MUST_EXIST. What is
 * wrong becomes a problem and leaves the knob as it was: the default, or what an earlier file says.
 * Returns 0, with problems or without, or -ENOMEM. Both outputs are to be done with.
 */
int config_load(const char *path, unsigned flags, struct config *ret_config,
	struct config_problems *ret_problems);
void config_done(struct config *config);
void config_problems_done(struct config_problems *problems);

/* Whether a file sets the knob, which must exist. */
bool config_is_set(const struct config *config, const char *section, const char *key);

/*
 * Writes the whole configuration with its comments: what is not set is a comment with its default,
 * so that without a file it is a template.
 */
void config_print(const struct config *config, struct output *output);

/* What the caller demands of one without problems. Returns 0, or -errno with `fault`. */
typedef int (*config_check_function)(const struct config *config, struct fault *fault);

/*
 * For `pilotlightd --check`: writes each problem on a line and whether all is well. Returns 0,
 * -EINVAL where something is wrong, or -ENOMEM; writing fails as outputs do.
 */
int config_check(
	const char *path, unsigned flags, config_check_function demand, struct output *output);
