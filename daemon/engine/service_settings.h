/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The settings of the service: its configuration, its folders and its memory shares. The service
 * manager names the folders (systemd.exec(5): STATE_DIRECTORY, CACHE_DIRECTORY, RUNTIME_DIRECTORY,
 * CONFIGURATION_DIRECTORY); without one, defaults apply.
 */
#pragma once

#include "base/fault.h"
#include "capture/capture.h"
#include "config/config.h"
#include "engine/service_sampling.h"
#include "steer/memory_shares.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_limits;

struct service_settings {
	struct config config;
	char config_path[PATH_MAX];
	char history[PATH_MAX];	       /* "": history is off */
	char push[PATH_MAX];	       /* the folder of all sinks; "": there are none */
	char *sinks[CONFIG_SINKS_MAX]; /* their folders, in the order of the configuration */
	char symbol_cache[PATH_MAX];
	char socket[PATH_MAX];
	char loss_record[PATH_MAX];    /* loss_record.h */
	char event_orders[PATH_MAX];   /* event_orders.h */
	char incident_state[PATH_MAX]; /* incident_state.h */
	char debuginfod_urls[4096];    /* separated by blanks */
	uint64_t memory_budget;
	struct memory_shares shares;
	struct service_sampling sampling; /* by the configuration and by orders */
};

/* The highest rate: that of sampling, or after an incident. */
uint32_t service_settings_most_hz(const struct config *config);

/*
 * Loads the configuration. `config_path` NULL: the default path; the file may be missing there.
 * `is_confined`: this process can read no system file but the configuration. Logs each mistake in
 * it. Returns 0; -EINVAL for mistakes; -ENOSPC if its memory budget is too small; -ENOMEM; or
 * another -errno with `fault`.
 */
int service_settings_load(const char *config_path, bool is_confined,
	struct service_settings *ret_settings, struct fault *fault);
/* A config_check_function: would service_settings_load() accept this configuration? */
int service_settings_check(const struct config *config, struct fault *fault);
void service_settings_done(struct service_settings *settings);

enum capture_event service_settings_event(const struct config *config);

/*
 * Adds sources that the configuration does not have on, and shares the memory anew. Returns 0, or
 * -errno with `fault`: there is not enough memory for them, and nothing was added.
 */
int service_settings_order(struct service_settings *settings,
	const struct service_sampling *ordered, struct fault *fault);

/* What the configuration samples. */
void service_settings_sampling(const struct config *config, struct service_sampling *ret_sampling);

/* Include= and Exclude=. */
void service_settings_choice(const struct config *config, struct cgroup_choice *ret_choice);

/*
 * The shortest period with which a client may turn a source on that AllowEvents= has: that of
 * `record`.
 */
uint64_t service_settings_least_period(enum pilotlight_source source);

/*
 * Reads the configuration for its limits of capture. The rate may exceed the kernel's limit, which
 * changes with time, and the maps may take the whole memory budget, since their share depends on
 * the CPUs online. If there are sinks, a file in memory has a copy of the configuration; otherwise
 * its descriptor is 0. `config_path` as above. Logs nothing. Returns 0, -EINVAL for mistakes, or
 * -errno.
 */
int service_settings_read_limits(
	const char *config_path, struct capture_limits *ret_limits, int *ret_config_fd);

/*
 * Returns the lower of `hz` and the kernel's limit in the file at `limit_path`
 * (perf_event_max_sample_rate). If the file is unreadable, there is no limit.
 */
uint64_t service_settings_allowed_hz(uint64_t hz, const char *limit_path);

/* After the last engine: removes the socket that engines have made at the configured path. */
void service_settings_remove_socket(const char *config_path);

/* Creates missing folders. Returns 0 or -errno with `fault`. */
int service_settings_make_folders(const struct service_settings *settings, struct fault *fault);
