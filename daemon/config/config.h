/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of the service: an ini file, then its drop-ins, <file>.d/ *.conf, in the order
 * of their names. The rules are those of systemd.unit(5): the last assignment wins, an empty value
 * restores the default, each assignment to a list appends, an empty one clears the list. The table
 * of config_knob.h lists every knob and its valid values.
 *
 * One thread reads the configuration at the start and at each reload. Files, lines, lists and
 * problems are bounded (I4).
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/output.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_FILE "/etc/pilotlight/pilotlight.conf"

enum {
	CONFIG_KNOBS_MAX = 96,
	CONFIG_LIST_MAX = 64,
	CONFIG_PROBLEMS_MAX = 100, /* kept; the rest are only counted */
	CONFIG_SINKS_MAX = 8,
	CONFIG_METRICS_MAX = 16,
	CONFIG_METRIC_SELECT_MAX = 16,
	/* Of all metrics together, as parameters of one question (answer/answer_metrics.h). */
	CONFIG_METRICS_BYTES_MAX = 10 << 10,
	CONFIG_NAMED_KNOBS_MAX = 24,
	CONFIG_NAME_BYTES = 32, /* of a section [sink NAME] or [metric NAME] */
};

/* Options of config_load(). */
enum config_flags {
	CONFIG_MUST_EXIST = 1,
	/* Skips the check that a group exists: a sandboxed process cannot look groups up. */
	CONFIG_WITHOUT_GROUPS = 2,
};

struct config_list {
	char **items;
	size_t count;
};

/* The last place that set a knob; `file` is NULL if no file sets it. */
struct config_origin {
	char *file;
	unsigned line;
	char *text; /* the value as written; NULL for lists */
};

/* A section [sink NAME]: where profiles are pushed. */
struct config_sink {
	char name[CONFIG_NAME_BYTES]; /* letters, digits, '-' and '_' */
	char *type;		      /* "pprof", "otlp", "pyroscope", "clickhouse" */
	char *labels;		      /* "all", "service" */
	uint64_t interval_ns, name_wait_ns, max_bytes, max_age_ns;
	uint64_t sample_hosts_ppm; /* of the hosts that have this sink, so many push at a time */
	/* Of types that are sent. Files are paths or names of credentials; "": none. */
	char *url; /* without the path of the type's protocol */
	char *ca_file, *certificate_file, *key_file, *token_file;
	struct config_list headers;    /* "Name: value" */
	struct config_list attributes; /* "name=value" */
	uint64_t timeout_ns, profiles_version;

	struct config_origin origins[CONFIG_NAMED_KNOBS_MAX]; /* by position in the table */
};

/* A section [metric NAME]: CPU time in functions, for /metrics. */
struct config_metric {
	char name[CONFIG_NAME_BYTES];
	struct config_list select; /* "unit:nginx.service" */
	char *function;		   /* a pattern (query/function_pattern.h); "": all functions */
	char *count;		   /* "total", "self" */
	char *by;		   /* a name of query/function_metric.h */
	uint64_t series_max;

	struct config_origin origins[CONFIG_NAMED_KNOBS_MAX];
};

struct config {
	/* [Sampling] */
	uint64_t frequency_hz;
	bool kernel_stacks;
	char *event;	       /* "auto", "cycles", "cpu-clock" */
	uint64_t max_cost_ppm; /* of the machine's CPU time; 1 % is 10000 */
	/* Other sources than CPU time, and what a sample stands for. */
	char *off_cpu, *run_queue; /* "survey", "yes", "no" */
	uint64_t off_cpu_period_ns, run_queue_period_ns, survey_period_ns;
	bool faults;
	uint64_t faults_period;
	struct config_list events; /* config_events_read() */
	char *allow_events;	   /* that clients may turn on: config_events_read_allowed() */
	struct config_list include, exclude; /* rules of capture/cgroup_choice.h */
	bool kernel_memory;		     /* kmem:alloc, kmem:live and kmem:waste */
	uint64_t kernel_memory_period;
	/* [Memory] */
	uint64_t max_bytes; /* unless config_is_set(), the unit's MemoryMax= has precedence */
	uint64_t jit_bytes;
	/* [History] */
	bool history_enabled;
	uint64_t window_ns, history_bytes, history_age_ns, minute_after_ns, ten_minutes_after_ns;
	uint64_t fine_history_ns; /* 0: no times of samples are kept */
	/* [Incidents]; thresholds in percent, 0: off */
	uint64_t incident_cpu_pressure, incident_memory_pressure, incident_io_pressure;
	uint64_t incident_host_cpu, incident_run_queue, incident_throttled;
	uint64_t incident_unit_cpu, incident_unit_cpu_times; /* of one CPU; of its usual */
	bool incident_oom_kill;
	uint64_t incident_hz, incident_raise_ns; /* hz 0: the rate is not raised */
	uint64_t incident_keep_ns, incident_cool_down_ns, incidents_per_day;
	/* [Symbols] */
	uint64_t symbol_cache_bytes;
	struct config_list debuginfod_urls;
	/* [Api] */
	char *socket; /* "": api.sock in the runtime directory */
	char *group;
	bool self_access;
	struct config_list listen;
	struct config_list host_names; /* that TCP clients may use, beyond addresses */
	char *bearer_token_file;       /* bearer_token.h; "": TCP clients need no token */
	uint64_t max_connections;
	/* [sink NAME], in the order of their first appearance */
	struct config_sink sinks[CONFIG_SINKS_MAX];
	size_t sink_count;
	/* [metric NAME], the same */
	struct config_metric metrics[CONFIG_METRICS_MAX];
	size_t metric_count;

	struct config_origin origins[CONFIG_KNOBS_MAX]; /* by position in config_knobs */
};

/* Sentences with file, line, section, key and remedy, in the order of the files. */
struct config_problems {
	char **texts;
	size_t count, capacity;
	uint64_t all; /* including those beyond CONFIG_PROBLEMS_MAX */
};

/* That of the folder that the service manager names, or CONFIG_FILE. */
void config_default_path(char path[PATH_MAX]);

/*
 * Reads `path` and its drop-ins. A missing file is a problem only with CONFIG_MUST_EXIST. A wrong
 * line becomes a problem; its knob keeps the default or the value of an earlier assignment. Returns
 * 0, with or without problems, or -ENOMEM. After 0 the caller releases both outputs (…_done()).
 */
int config_load(const char *path, unsigned flags, struct config *ret_config,
	struct config_problems *ret_problems);
void config_done(struct config *config);
void config_problems_done(struct config_problems *problems);

/* Returns whether a file sets the knob. The knob must exist. */
bool config_is_set(const struct config *config, const char *section, const char *key);

/* The same for a knob of a sink. */
bool config_sink_is_set(const struct config_sink *sink, const char *key);

/* Have samples labels in the protocol of the sink's type, or only the series that they are in? */
bool config_sink_has_labels(const struct config_sink *sink);

/*
 * Writes the whole configuration with explanations. Unset knobs appear commented out with their
 * defaults, so the output without any file is a template.
 */
void config_print(const struct config *config, struct output *output);

/* The caller's check of a configuration without problems. Returns 0, or -errno with `fault`. */
typedef int (*config_check_function)(const struct config *config, struct fault *fault);

/*
 * Implements `pilotlightd --check`: writes one line for each problem, then the verdict. Returns 0,
 * -EINVAL if there is a problem, or -ENOMEM. Check `output` for write errors.
 */
int config_check(
	const char *path, unsigned flags, config_check_function check, struct output *output);
