/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pilotlight record` was asked to do. */
#pragma once

#include "export/profile_format.h"
#include "tools/command.h"

#include <sys/types.h>

enum { RECORD_PIDS_MAX = 1024 };

/* Begins the struct of the command. */
struct record_options {
	struct invocation base;
	uint32_t rate_hz;
	uint64_t duration_ns; /* 0: until stopped, or until everything that is sampled has ended */
	pid_t pids[RECORD_PIDS_MAX];
	size_t pid_count;
	const char *path;
	const char *format_name; /* of -f; NULL: not given */
	const struct profile_format *format;
	const char *unwind;   /* "auto" or "fp" */
	uint32_t stack_slots; /* 0: computed */
	bool samples_kernel;
	bool samples_all; /* also beside a command */
	bool is_by_line;  /* a frame for each line of a function */
	bool is_quiet;
	bool is_verbose;
	char **command; /* NULL: none; ends with NULL; borrowed from argv */
};

extern const struct option_row record_option_rows[];

/* A command's prepare(). */
void record_options_prepare(void *options);

/* Checks the options against each other, and finds the format. Returns 0 or EXIT_USAGE. */
int record_options_check(struct record_options *options);

/*
 * Does the kernel sample at this rate? `limit_path` is its perf_event_max_sample_rate file; without
 * that file any rate passes. Returns 0, or -EINVAL with both rates and the remedy in `fault`.
 */
int record_options_check_rate(uint32_t rate_hz, const char *limit_path, struct fault *fault);
