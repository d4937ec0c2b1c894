/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What samples, as an engine has it: the BPF maps, the perf events that fill them, and the
 * side-band rings. All that takes privilege is the other half (capture_host.h), in this process or
 * in another one; here are descriptors of it. It never looks at a sample; drain does, through the
 * descriptors in struct capture_maps. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/map_sizes.h"
#include "capture/sideband.h"
#include "capture/walk_maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;

/* What drives the sampler. */
enum capture_event {
	CAPTURE_EVENT_AUTO, /* cycles where the PMU opens, else the clock */
	CAPTURE_EVENT_CYCLES,
	CAPTURE_EVENT_CLOCK,
};

struct capture_settings {
	uint32_t rate_hz;
	enum capture_event event;
	bool wants_kernel;
	bool filters_processes; /* only processes that capture_follow() named, and their children */
	size_t map_budget_bytes; /* for all BPF maps together */
	uint32_t stack_slots;	 /* 0: computed from rate × CPUs × drain period; else forced */
	/* Of these, for unwind tables; 0: the kernel alone walks user stacks. */
	size_t unwind_budget_bytes;
};

/* What drain needs; borrowed from the capture. */
struct capture_maps {
	struct capture_map_set {
		int stacks_fd;		/* raw ips, user and kernel */
		int build_id_stacks_fd; /* user */
		int counts_fd;		/* pilotlight_sample_key → pilotlight_sample_count */
	} sets[2];
	int known_stacks_fd; /* pilotlight_known_stack_key → pilotlight_known_stack */
	int counters_fd;     /* by set: pilotlight_counters for each possible CPU */
	int ring_fd;
	int barrier_fd;			  /* updating it waits for running programs */
	int barrier_inner_fd;		  /* what it is updated with */
	volatile uint32_t *active_window; /* the programs' own variable, mapped */
	struct map_sizes sizes;
};

/* What capture has cost so far. */
struct capture_cost {
	uint64_t program_runs; /* by the kernel's BPF statistics, apart from our own counters */
	uint64_t program_ns;
	uint64_t map_bytes;	 /* as the kernel charges them */
	uint64_t mapped_bytes;	 /* of these, what is in our resident set too */
	uint64_t sideband_bytes; /* of the perf rings */
	/* Of the process that holds the programs, and of its children that have ended; 0 where that
	 * is this process. */
	uint64_t broker_cpu_ns, broker_resident_bytes;
	/* Not a cost but a want: processes that should have been sampled, beyond the filter's
	 * bound. */
	uint64_t children_not_followed;
};

/*
 * Loads programs and maps and opens the side-band, all in this process; nothing samples yet. Rates
 * are 1 to 100,000 Hz, budgets above 1 GiB count as that. On failure `fault` says what to do about
 * it.
 */
int capture_open(
	const struct capture_settings *settings, struct capture **ret_capture, struct fault *fault);

/*
 * The same by way of the broker that has a capture_server at the other end of the SOCK_SEQPACKET
 * socket `fd`, where all that needs privilege stays: here are the maps, through their descriptors.
 * What was open there with these settings is taken over as it is, still sampling, and what an
 * engine that is gone has told of files is taken back; there must not be another one. Takes `fd` if
 * it returns 0. All functions below may then fail with what broker_connect() names, too; what they
 * tell of the state is then what was last heard.
 */
int capture_connect(int fd, const struct capture_settings *settings, struct capture **ret_capture,
	struct fault *fault);
/* Was it open already, for an engine that is gone? */
bool capture_is_taken_over(const struct capture *capture);
/*
 * What an engine that is gone had neither drained nor taken with it, where its maps are not there
 * any more: its settings were others, or it had them forgotten. The next engine is told again,
 * unless this one starts.
 */
const struct pilotlight_counters *capture_left_behind(const struct capture *capture);
/*
 * What was loaded is not to be handed to the next engine. It samples no more; what was captured can
 * still be drained, and all else is -ENXIO.
 */
int capture_forget(struct capture *capture);

void capture_free(struct capture *capture);
DEFINE_CLEANUP(struct capture, capture_free);

/* Adds a process to those that are sampled, with all that it forks from now on. */
int capture_follow(struct capture *capture, pid_t pid);

/*
 * Has the sampler request the files that running programs have mapped executable, for
 * walk_maps_take_requests(). Returns 0; -EOPNOTSUPP where it does not walk; or -errno.
 */
int capture_list_files(struct capture *capture);

/*
 * Attaches the sampler to every CPU that is online: the last thing before time counts. The
 * side-band of those that came meanwhile may have to wait for capture_follow_cpus().
 */
int capture_start(struct capture *capture, struct fault *fault);
/*
 * Samples at another rate from now on; what is in the maps was sampled at the old one, so the
 * caller drains first. Maps stay as they are: a rate above that of the settings is -ERANGE.
 */
int capture_set_rate(struct capture *capture, uint32_t rate_hz);
/* That of the settings at first; that of the engine before where it was taken over. */
uint32_t capture_rate_hz(const struct capture *capture);
/* Detaches it. What was captured can still be drained. */
void capture_stop(struct capture *capture);

/*
 * Follows CPUs that have come or gone since the last call; cheap when none has. Returns the number
 * of CPUs sampled, or -errno: then some may be missing until a later call, as capture_cpu_count()
 * tells.
 */
int capture_follow_cpus(struct capture *capture);

/* "cycles" or "cpu-clock": what drives the sampler. Valid after capture_start(). */
const char *capture_event_name(const struct capture *capture);
uint32_t capture_cpu_count(const struct capture *capture);

const struct capture_maps *capture_maps(const struct capture *capture);

/*
 * What the sampler's own walk reads; NULL where it does not walk, since nobody asked for it or this
 * kernel keeps mappings in another way (before 6.1). Borrowed.
 */
const struct walk_maps *capture_walk_maps(const struct capture *capture);
struct sideband *capture_sideband(struct capture *capture);

/*
 * How many samples should have fired, since it was opened and whoever took it over, by the time
 * that the events were enabled and their periods; 0 where there are none (a PMU's frequency mode).
 */
uint64_t capture_expected_samples(struct capture *capture);

/* Since it was opened, too. */
void capture_read_cost(const struct capture *capture, struct capture_cost *ret_cost);
