/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine's side of sampling: the BPF maps, the perf events that fill them, and the rings of the
 * side-band. Everything that needs privilege is done by the capture host (capture_host.h), in this
 * process or behind a socket; this side only holds descriptors. It never reads samples; drain does,
 * through the descriptors in struct capture_maps. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/cgroup_choice.h"
#include "capture/map_sizes.h"
#include "capture/sideband.h"
#include "capture/walk_maps.h"
#include "pilotlight/capture_message.h"
#include "pilotlight/counted_event.h"
#include "pilotlight/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct capture_probe;

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
	/* All other sources together take no more samples than CPU time, instead of ten times as
	 * many: each sample then stands for more periods. A capture server sets it for a limited
	 * engine. */
	bool is_sparing;
	/* Samples of time blocked come with the stack of who ended the wait. Not for a limited
	 * engine. */
	bool wants_wakers;
	/* Frames of interpreters are not walked, and the sampler is verified without that, which
	 * takes less time. No such description may be set. */
	bool skips_interpreted;
	size_t map_budget_bytes; /* for all BPF maps together */
	uint32_t stack_slots;	 /* 0: computed from rate × CPUs × drain period; else forced */
	/* The part of it for unwind tables; 0: only the kernel walks user stacks. */
	size_t unwind_budget_bytes;
	/* What is sampled: bit mask of 1 << enum pilotlight_source; 0: CPU time alone. */
	uint32_t sources;
	/* In units of the source. Not used: that of CPU time, whose rate is rate_hz, and those of
	 * sources that are off. */
	uint64_t periods[PILOTLIGHT_SOURCES];
	/* Those of `sources` that capture_survey() samples (bpf/survey.bpf.h): time off the CPU,
	 * and in run queues. Switches of threads then cost nothing. */
	uint32_t surveyed;
	/* Whose cgroups are recorded; NULL: all. Borrowed for the call. capture_connect() ignores
	 * it: the server's process has its own. */
	const struct cgroup_choice *choice;
	/* What the sources from PILOTLIGHT_SOURCE_COUNTED on count. */
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
	/* As many; borrowed. NULL: there are no probes. Only of the capture host: a client's count
	 * for nothing. */
	const struct capture_probe *probes;
};

/* The maps that drain reads; borrowed from the capture. */
struct capture_maps {
	struct capture_map_set {
		int stacks_fd;		/* raw ips, user and kernel */
		int build_id_stacks_fd; /* user */
		int counts_fd;		/* pilotlight_sample_key → pilotlight_sample_count */
	} sets[2];
	int known_stacks_fd; /* pilotlight_known_stack_key → pilotlight_known_stack */
	int counters_fd; /* by pilotlight_counters_index(): pilotlight_counters for each possible
			    CPU */
	int ring_fd;
	int live_fd;	      /* pilotlight_live_key → pilotlight_live */
	int cache_names_fd;   /* names of the kernel's caches, by number (enum pilotlight_kmem_kind)
			       */
	int block_disks_fd;   /* struct pilotlight_block_disk, by the disk's number less 1 */
	int barrier_fd;	      /* updating it waits until running programs have ended */
	int barrier_inner_fd; /* the value of that update */
	volatile uint32_t *active_window; /* the programs' own variable, mapped */
	struct map_sizes sizes;
};

/* The cost of capture since it was opened. */
struct capture_cost {
	uint64_t program_runs;	 /* from the kernel's BPF statistics, not our own counters */
	uint64_t program_ns;	 /* without visits of threads, which are in the reader's CPU time */
	uint64_t map_bytes;	 /* as the kernel charges them */
	uint64_t mapped_bytes;	 /* the part of map_bytes that also counts as our resident memory */
	uint64_t sideband_bytes; /* of the perf rings */
	/* Of the broker, including its ended children; 0 if the programs are in this process. */
	uint64_t broker_cpu_ns, broker_resident_bytes;
	/* Not a cost: processes that were not sampled because the filter was full. */
	uint64_t children_not_followed;
	/* ... and events of kernel memory that the kernel did not show the sampler: each happened
	 * while the same program ran on the CPU. */
	uint64_t skipped_events;
	/* ... and calls of allocators whose return was not seen. */
	uint64_t allocator_calls_lost;
};

/*
 * Loads the programs and maps and opens the side-band, all in this process. Nothing samples yet.
 * Rates are 1 to 100,000 Hz; a budget above 1 GiB counts as 1 GiB. On failure `fault` says what to
 * do.
 */
int capture_open(
	const struct capture_settings *settings, struct capture **ret_capture, struct fault *fault);

/*
 * The same through the capture_server at the other end of the SOCK_SEQPACKET socket `fd`, in the
 * broker, where everything that needs privilege stays. Only one capture may be connected at a time.
 *
 * If an earlier engine opened a capture there with the same settings, it is taken over while it
 * goes on sampling; the sampler's information about files, which that engine had added, is removed.
 *
 * Takes ownership of `fd` on success. All functions below can then also fail with the errors of
 * broker_connect(); functions that report state then return the last known state.
 */
int capture_connect(int fd, const struct capture_settings *settings, struct capture **ret_capture,
	struct fault *fault);
/* Was it taken over from an earlier engine? */
bool capture_is_taken_over(const struct capture *capture);
/*
 * Counts of samples that earlier engines did not drain and whose maps were dropped, because the
 * settings changed or capture_forget() was called; by source. The next engine gets them again,
 * unless this one calls capture_start().
 */
const struct pilotlight_counters *capture_left_behind(const struct capture *capture);
/*
 * What the machine lacks for a source, which is then not sampled; "": nothing, or it is not known,
 * as in `record`.
 */
const char *capture_missing(const struct capture *capture, enum pilotlight_source source);
/*
 * Stops sampling and drops what the host has loaded, so that the next engine cannot take it over.
 * Captured samples can still be drained; all other functions fail with -ENXIO.
 */
int capture_forget(struct capture *capture);

void capture_free(struct capture *capture);
DEFINE_CLEANUP(struct capture, capture_free);

/* Samples this process, too, and all that it forks from now on. */
int capture_follow(struct capture *capture, pid_t pid);

/*
 * Makes the sampler request all files that running programs have mapped executable, for
 * walk_maps_drain_requests(). Lists for at most a second; if a process holds its mmap lock longer,
 * the files of the processes after it are not requested. Returns 0; -EOPNOTSUPP if the sampler does
 * not walk stacks; or -errno.
 */
int capture_list_files(struct capture *capture);

/*
 * Takes samples of the threads that have been blocked since before `before_ns` (CLOCK_MONOTONIC),
 * for the time that is not accounted for yet, in whole periods. Otherwise all of it is taken when a
 * thread wakes, maybe hours later. They have a kernel stack and end with PILOTLIGHT_WALK_BLOCKED.
 * Call it before the last drain of a window or of a recording. Returns 0; -EOPNOTSUPP if time off
 * the CPU is not sampled; or -errno. -EAGAIN: the rest of the threads keep their time, since the
 * ring has no room to spare, or to bound the time of a call. Drain, and call again with the same
 * `before_ns` to go on.
 */
int capture_take_blocked(struct capture *capture, uint64_t before_ns);

/*
 * Visits all threads once, and takes a sample of `periods` of each that is blocked, or ready and
 * without a CPU, for the sources that are surveyed. Call it at a random moment of so many periods.
 * Returns the CPU time that it took, in us, or -errno, see PILOTLIGHT_CAPTURE_SURVEY. -EAGAIN:
 * drain, and call again to go on.
 */
int capture_survey(struct capture *capture, uint32_t periods);

/*
 * If heaps are sampled: sets probes at an allocator's function in a process that is followed, and
 * in what it forks from now on. Returns 0 or -errno, see PILOTLIGHT_CAPTURE_PROBE.
 */
int capture_set_probe(struct capture *capture, const struct pilotlight_capture_probe *probe);

/*
 * Gives the sampler the description of an interpreter, for files that say so (struct
 * pilotlight_walk_file). Returns 0 or -errno, see PILOTLIGHT_CAPTURE_SET_RUNTIME.
 */
int capture_set_runtime(
	struct capture *capture, uint32_t number, const struct pilotlight_runtime *runtime);

/*
 * Attaches the sampler to all online CPUs. Call it last before time counts. CPUs that came online
 * meanwhile may lack a side-band ring until capture_follow_cpus().
 */
int capture_start(struct capture *capture, struct fault *fault);
/*
 * Changes the rate. The maps still hold samples of the old rate, so drain them first. The maps keep
 * their size: a rate above that of the settings is -ERANGE.
 */
int capture_set_rate(struct capture *capture, uint32_t rate_hz);
/* At first the rate of the settings, or of the earlier engine if it was taken over. */
uint32_t capture_rate_hz(const struct capture *capture);
/* Detaches the sampler. Captured samples can still be drained. */
void capture_stop(struct capture *capture);

/*
 * Adapts to CPUs that went online or offline since the last call; cheap if none did. Returns the
 * number of sampled CPUs, or -errno: then some CPUs may not be sampled until a later call;
 * capture_cpu_count() gives the number.
 */
int capture_follow_cpus(struct capture *capture);

/* The event that drives the sampler: "cycles" or "cpu-clock". Valid after capture_start(). */
const char *capture_event_name(const struct capture *capture);
uint32_t capture_cpu_count(const struct capture *capture);

const struct capture_maps *capture_maps(const struct capture *capture);

/*
 * The maps of the sampler's own stack walk. NULL if it does not walk: not requested, or a kernel
 * before 6.1, which keeps mappings in another structure. Borrowed.
 */
const struct walk_maps *capture_walk_maps(const struct capture *capture);
struct sideband *capture_sideband(struct capture *capture);

/*
 * How many samples should have fired since it was opened, also for earlier engines, from the
 * enabled time of the events and their periods. 0 if there is no fixed period (a PMU in frequency
 * mode).
 */
uint64_t capture_expected_samples(struct capture *capture);

/* The cost since it was opened. */
void capture_read_cost(const struct capture *capture, struct capture_cost *ret_cost);
