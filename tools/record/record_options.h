/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pilotlight record` was asked to do. */
#pragma once

#include "base/fault.h"
#include "export/profile_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RECORD_PIDS_MAX = 1024 };

struct record_options {
	uint32_t rate_hz;
	uint64_t duration_ns; /* 0: until stopped, or what is sampled ends */
	pid_t pids[RECORD_PIDS_MAX];
	size_t pid_count;
	const char *path;
	const struct profile_format *format;
	uint32_t stack_slots; /* 0: computed */
	bool wants_kernel;
	bool wants_tables; /* unwind tables for code without frame pointers */
	bool wants_all;
	bool wants_lines; /* a frame for each line of a function */
	bool is_quiet;
	bool is_verbose;
	char **command; /* NULL: none; ends with NULL; borrowed from argv */
};

enum record_parse {
	RECORD_PARSE_RUN,
	RECORD_PARSE_HELP,  /* it was asked for, and printed */
	RECORD_PARSE_WRONG, /* used wrongly; standard error says how */
};
enum record_parse record_options_parse(int argc, char **argv, struct record_options *ret_options);

/*
 * Does the kernel sample at this rate? `limit_path` is its perf_event_max_sample_rate file; without
 * that, anything goes. Returns 0, or -EINVAL with the two rates and the remedy in `fault`.
 */
int record_options_check_rate(uint32_t rate_hz, const char *limit_path, struct fault *fault);
