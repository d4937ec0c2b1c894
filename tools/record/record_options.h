/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `pilotlight record` was asked to do. */
#pragma once

#include "aggregate/profile_spans.h"
#include "capture/cgroup_choice.h"
#include "export/profile_format.h"
#include "pilotlight/counted_event.h"
#include "pilotlight/event.h"
#include "tools/command.h"
#include "tools/record/record_probe.h"

#include <limits.h>
#include <sys/types.h>

enum { RECORD_PIDS_MAX = 1024 };

/* What a file may have: a source (enum pilotlight_source), or the sum of all. */
enum { RECORD_WALL = PILOTLIGHT_SOURCES, RECORD_OUTPUTS };

/* Begins the struct of the command. */
struct record_options {
	struct invocation base;
	uint32_t rate_hz;
	uint64_t duration_ns; /* 0: until stopped, or until everything that is sampled has ended */
	pid_t pids[RECORD_PIDS_MAX];
	size_t pid_count;
	struct cgroup_choice choice; /* of cgroups; without rules: all */
	struct span_choice spans;    /* of --trace and --span */
	uint32_t outputs;	     /* bit mask of 1 << output; each is a file */
	uint64_t period;	     /* of -c: of sources that are counted; 0: not given */
	/* Of -e: what a sample of a source stands for; 0: not given. */
	uint64_t periods[PILOTLIGHT_SOURCES];
	/* Of -e, with their usual periods: the sources from PILOTLIGHT_SOURCE_COUNTED on. */
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
	uint64_t counted_periods[PILOTLIGHT_COUNTED_EVENTS];
	struct record_probe_name probes[PILOTLIGHT_COUNTED_EVENTS]; /* of those that are probes */
	const char *path;	 /* of the only output; see record_options_path() */
	const char *format_name; /* of -f; NULL: not given */
	const struct profile_format *format;
	const char *unwind;	    /* "auto" or "fp" */
	const char *runtime_frames; /* of interpreted_frames_names */
	uint32_t stack_slots;	    /* 0: computed */
	bool samples_kernel;
	bool samples_wakers;
	bool samples_all; /* also beside a command */
	bool has_times;	  /* the output tells when samples were taken */
	bool is_by_line;  /* a frame for each line of a function */
	bool is_quiet;
	bool is_verbose;
	char **command; /* NULL: none; ends with NULL; borrowed from argv */
};

extern const struct option_row record_option_rows[];

/* A command's prepare(). */
void record_options_prepare(void *options);

/* The sources to sample: bit mask of 1 << enum pilotlight_source. */
uint32_t record_options_sources(const struct record_options *options);

/* What a sample of the source stands for; 0: the rate decides. */
uint64_t record_options_period(const struct record_options *options, enum pilotlight_source source);

/* "offcpu", "wall", "cache-misses". */
const char *record_output_name(const struct record_options *options, unsigned output);

/*
 * The path of an output: that of -o if there is only one. Of several, each has its name before the
 * path's ending: "flamegraph.offcpu.svg". Returns it, or NULL if it is too long.
 */
const char *record_options_path(
	const struct record_options *options, unsigned output, char path[PATH_MAX]);

/* Did the user name no file? */
bool record_options_has_default_path(const struct record_options *options);

/* Is the memory that programs allocate sampled? */
bool record_options_has_heaps(const struct record_options *options);

/* Checks the options against each other, and finds the format. Returns 0 or EXIT_USAGE. */
int record_options_check(struct record_options *options);

/*
 * Does the kernel sample at this rate? `limit_path` is its perf_event_max_sample_rate file; without
 * that file any rate passes. Returns 0, or -EINVAL with both rates and the remedy in `fault`.
 */
int record_options_check_rate(uint32_t rate_hz, const char *limit_path, struct fault *fault);
