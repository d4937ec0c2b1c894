/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a service runs with: its configuration, its folders as the service manager names them
 * (systemd.exec(5): STATE_DIRECTORY, CACHE_DIRECTORY, RUNTIME_DIRECTORY, CONFIGURATION_DIRECTORY)
 * or where they are without one, and what each part of it may take of the memory.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "steer/memory_shares.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct service_settings {
	struct config config;
	char config_path[PATH_MAX];
	char history[PATH_MAX]; /* "": none is kept */
	char symbol_cache[PATH_MAX];
	char socket[PATH_MAX];
	char loss_record[PATH_MAX]; /* loss_record.h */
	char debuginfod_urls[4096]; /* separated by blanks */
	uint64_t memory_budget;
	struct memory_shares shares;
};

/* Where the configuration is if nobody says. */
void service_settings_config_path(char path[PATH_MAX]);

/*
 * `config_path` NULL: where it is by default, and it need not be there. `is_confined`: of the
 * system's files this process sees no more than the configuration. Mistakes in it are logged, each;
 * then it is -EINVAL, or -ENOSPC where its memory does not do. Or -ENOMEM, or -errno with `fault`.
 */
int service_settings_load(const char *config_path, bool is_confined,
	struct service_settings *ret_settings, struct fault *fault);
/* A config_check_function: would it be loaded? */
int service_settings_check(const struct config *config, struct fault *fault);
void service_settings_done(struct service_settings *settings);

/*
 * `hz`, or what the kernel allows, as the file perf_event_max_sample_rate at `limit_path` tells, if
 * that is less; where it cannot be read, all is allowed.
 */
uint64_t service_settings_allowed_hz(uint64_t hz, const char *limit_path);

/* Makes the folders that are not there. Returns 0 or -errno with `fault`. */
int service_settings_make_folders(const struct service_settings *settings, struct fault *fault);
