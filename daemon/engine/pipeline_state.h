/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pipeline is made of. Of the pipeline*.c alone. */
#pragma once

#include "aggregate/aggregator.h"
#include "broker/broker.h"
#include "drain/drain.h"
#include "engine/pipeline.h"
#include "engine/unwinding.h"
#include "jit/jit_table.h"
#include "labels/cgroup_table.h"
#include "process/process_scan.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "resolve/kernel_symbols.h"
#include "resolve/late_samples.h"
#include "symbol/symbol_cache.h"

/* A window that is open, or has ended and waits for its last samples. */
struct pipeline_window {
	uint32_t number;
	struct profile *profile; /* NULL: there is none */
	struct aggregator *aggregator;
	struct accounts accounts;
	uint64_t monotonic_ns; /* its beginning */
	size_t binaries_seen;  /* of the profile's: symbols of them are wanted */
	uint64_t waiting;      /* entries of late_samples that are of it */
	/* Samples that the profile had no room for when they came late; not in the accounts as yet.
	 */
	uint64_t late_refused[PILOTLIGHT_PATH_COUNT];
};

/* A binary of the table whose symbols may be wanted. */
struct pipeline_wanted {
	struct symbol_identity symbols; /* id.size 0: not known */
	bool has_been;			/* then not again, by any window or segment of it */
};

/* What a pipeline waits for. */
enum pipeline_event {
	PIPELINE_TIMER,
	PIPELINE_SIDEBAND,
	PIPELINE_RING, /* half full */
	PIPELINE_SYMBOLS,
	PIPELINE_UNWINDING,
	PIPELINE_WALK_REQUEST, /* the sampler asks for unwind tables */
	PIPELINE_EVENTS,
};

struct pipeline {
	struct pipeline_settings settings;
	struct binary_table_limits binary_limits;
	struct broker *broker, *own_broker; /* the second is freed */
	struct capture *capture;
	struct drain *drain;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct jit_table *jit;
	struct resolver *resolver;
	struct late_samples *late;
	struct cgroup_table *cgroups; /* NULL: no labels are wanted */
	struct pipeline_window open, ended;
	struct symbol_cache *symbol_cache; /* NULL: none */
	struct symbolizer *symbolizer;
	struct unwinding *unwinding;	/* NULL: the kernel alone walks user stacks */
	struct pipeline_wanted *wanted; /* by id of the binary table */
	size_t wanted_count, wanted_capacity;
	int epoll_fd, timer_fd;
	bool is_sideband_watched;
	bool lacks_cpus;	/* the last attempt to follow them failed */
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	uint64_t next_drain_ns; /* CLOCK_MONOTONIC */
	uint64_t last_flip_ns;
	uint64_t last_request_ns; /* CLOCK_MONOTONIC; when the sampler's were last taken */
	uint64_t next_cpus_ns;	  /* CLOCK_MONOTONIC */
	uint64_t next_cgroups_ns; /* CLOCK_MONOTONIC; when they are to be read anew */
	uint64_t sideband_lost;	  /* records, when /proc was last read for them */
	struct process_rescan rescan;
	uint64_t rescan_began_ns, next_rescan_ns; /* CLOCK_MONOTONIC */
	struct pipeline_report report;
};

/* Makes the stages; capture is there already. Returns 0 or -errno. */
int pipeline_open_stages(struct pipeline *pipeline);
/* What the pipeline is driven by. Returns 0 or -errno. */
int pipeline_open_polling(struct pipeline *pipeline);

/* Takes what the side-band has told; where it has lost records, /proc has to tell. */
int pipeline_read_sideband(struct pipeline *pipeline);

/*
 * Reads of /proc and of cgroups what the side-band has told nobody, until `until_ns`; the rest in
 * steps, by pipeline_read_sideband(). Returns 0 or -errno.
 */
int pipeline_scan(struct pipeline *pipeline, uint64_t until_ns);
bool pipeline_is_scanning(const struct pipeline *pipeline);

/* Returns 0 or -errno; `window` is as it was then. */
int pipeline_window_begin(struct pipeline *pipeline, uint32_t number, uint64_t monotonic_ns,
	struct pipeline_window *ret_window);
void pipeline_window_done(struct pipeline_window *window);
/* When and of what it is, but for its names; its accounts are complete. Returns 0 or -errno. */
int pipeline_window_end(
	struct pipeline *pipeline, struct pipeline_window *window, uint64_t end_monotonic_ns);
/* Enters what the profile had no room for when it came late. */
void pipeline_window_account(struct pipeline *pipeline, struct pipeline_window *window);

/* A drain_function: resolves, and adds to the open window or to those that wait. */
int pipeline_take_sample(void *context, const struct raw_sample *sample);
/* A late_function: adds a sample that has waited for the names of its JIT code. */
int pipeline_take_late(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);

/* A naming_open: a binary of the open window's profile, for its symbols. */
int pipeline_open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary);
/*
 * Symbols of binaries that are new are extracted from now on: the file may soon be gone. What they
 * will be found by is entered with the window's binaries.
 */
void pipeline_want_symbols(struct pipeline *pipeline, struct pipeline_window *window);
