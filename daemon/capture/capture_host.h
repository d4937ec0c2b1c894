/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The privileged side of capture. It loads the BPF programs and maps, opens the perf events that
 * drive them and the rings of the side-band, follows the CPUs, and measures the cost. It lends out
 * descriptors and reads nothing behind them but the counters. It can outlive the engine that drains
 * it. One owner, one thread.
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

/*
 * Loads everything; nothing samples yet. `event_service` is borrowed for the host's life; NULL: no
 * service opens events (perf_event_opener.h). Returns 0 or -errno; `fault` then says what to do.
 */
int capture_host_open(const struct capture_settings *settings, const char *event_service,
	struct capture_host **ret_host, struct fault *fault);
void capture_host_free(struct capture_host *host);
DEFINE_CLEANUP(struct capture_host, capture_host_free);

/* The settings with which it was opened; borrowed. */
const struct capture_settings *capture_host_settings(const struct capture_host *host);

/* Fills in everything except the fields about a ring and is_taken_over, which are zero. */
void capture_host_layout(
	const struct capture_host *host, struct pilotlight_capture_layout *ret_layout);

/* The number of maps and each of them, by enum pilotlight_capture_fd; borrowed. */
size_t capture_host_fd_count(const struct capture_host *host);
int capture_host_fd(const struct capture_host *host, size_t index);

const struct sideband_rings *capture_host_rings(const struct capture_host *host);

/*
 * These return 0 or -errno. Starting twice does nothing. Before the start and after a stop,
 * following CPUs adapts only the side-band. If one CPU cannot be followed for now, all others are.
 * A later start goes on with what has started before.
 */
int capture_host_start(struct capture_host *host, struct fault *fault);
void capture_host_stop(struct capture_host *host);
int capture_host_follow(struct capture_host *host, pid_t pid);
int capture_host_follow_cpus(struct capture_host *host);
/* As capture_list_files(). */
int capture_host_list_files(struct capture_host *host);
/* As capture_take_blocked(). */
int capture_host_take_blocked(struct capture_host *host, uint64_t before_ns);
/* As capture_survey(), but returns 0; what the last one took. */
int capture_host_survey(struct capture_host *host, uint32_t periods);
int32_t capture_host_surveyed_us(const struct capture_host *host);

/* See PILOTLIGHT_CAPTURE_PROBE. */
int capture_host_set_probe(struct capture_host *host, const struct pilotlight_capture_probe *probe);
/* See PILOTLIGHT_CAPTURE_SET_RUNTIME. */
int capture_host_set_runtime(
	struct capture_host *host, uint64_t number, const struct pilotlight_runtime *runtime);
/* Another engine takes over: it lacks what the last one was sent once. */
void capture_host_new_engine(struct capture_host *host);
/* -ERANGE: above the rate of the settings, for which the maps were sized. */
int capture_host_set_rate(struct capture_host *host, uint32_t rate_hz);

/* Reading the state is cheap; its map_bytes are those of the last capture_host_weigh(). */
void capture_host_read_state(struct capture_host *host, struct pilotlight_capture_state *ret_state);
void capture_host_weigh(struct capture_host *host);

/*
 * Adds the counters of samples that were not drained, of all CPUs, by source. They no longer change
 * after a stop. Returns 0 or -errno, and then nothing was added.
 */
int capture_host_add_counters(
	const struct capture_host *host, struct pilotlight_counters sums[PILOTLIGHT_SOURCES]);
