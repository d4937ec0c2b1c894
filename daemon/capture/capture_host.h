/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The half of capture that takes privilege: it loads the BPF programs and their maps, opens the
 * perf events that drive them and the rings of the side-band, follows the CPUs, and knows what all
 * that costs. It hands out descriptors and looks at nothing that is behind them but the counters.
 * What it holds outlives whoever drains it. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/sideband_rings.h"
#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture_host;
struct capture_settings;

/* Loads all; nothing samples yet. Returns 0 or -errno, with what to do about it in `fault`. */
int capture_host_open(const struct capture_settings *settings, struct capture_host **ret_host,
	struct fault *fault);
void capture_host_free(struct capture_host *host);
DEFINE_CLEANUP(struct capture_host, capture_host_free);

/* Was it opened with these settings? */
bool capture_host_has_settings(
	const struct capture_host *host, const struct capture_settings *settings);

/* All but what is of a ring, and of a taking over: zeros. */
void capture_host_layout(
	const struct capture_host *host, struct pilotlight_capture_layout *ret_layout);

/* The maps, by enum pilotlight_capture_fd: how many there are, and each of them; borrowed. */
size_t capture_host_fd_count(const struct capture_host *host);
int capture_host_fd(const struct capture_host *host, size_t index);

const struct sideband_rings *capture_host_rings(const struct capture_host *host);

/*
 * These return 0 or -errno. Starting twice does nothing; following CPUs before the start, or after
 * a stop, follows those of the side-band alone. Where some CPU cannot be followed for now all
 * others are; what has started once goes on so, whoever starts it again.
 */
int capture_host_start(struct capture_host *host, struct fault *fault);
void capture_host_stop(struct capture_host *host);
int capture_host_follow(struct capture_host *host, pid_t pid);
int capture_host_follow_cpus(struct capture_host *host);
/* As capture_list_files(). */
int capture_host_list_files(struct capture_host *host);
/* -ERANGE: above that of the settings, which the maps are made for. */
int capture_host_set_rate(struct capture_host *host, uint32_t rate_hz);

/* The state at any time is cheap; what the maps are charged is of the last capture_host_weigh(). */
void capture_host_read_state(struct capture_host *host, struct pilotlight_capture_state *ret_state);
void capture_host_weigh(struct capture_host *host);

/* Adds what has fired and was not drained, on all CPUs; at rest after a stop. Returns 0 or -errno,
 * and nothing is added then. */
int capture_host_add_counters(const struct capture_host *host, struct pilotlight_counters *sum);
