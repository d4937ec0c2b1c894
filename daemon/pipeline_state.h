/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pipeline is made of. Of the pipeline*.c alone. */
#pragma once

#include "aggregate/aggregator.h"
#include "broker/broker.h"
#include "drain/drain.h"
#include "jit/jit_table.h"
#include "pipeline.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "resolve/kernel_symbols.h"
#include "resolve/late_samples.h"
#include "symbol/symbol_cache.h"
#include "unwinding.h"

struct pipeline {
	struct pipeline_settings settings;
	struct broker *broker;
	struct capture *capture;
	struct drain *drain;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct jit_table *jit;
	struct resolver *resolver;
	struct late_samples *late;
	struct profile *profile;
	struct aggregator *aggregator;
	struct symbol_cache *symbol_cache; /* NULL: none */
	struct symbolizer *symbolizer;
	struct unwinding *unwinding; /* NULL: the kernel alone walks user stacks */
	size_t binaries_wanted;	     /* of the profile's: the symbolizer was told of them */
	int epoll_fd, timer_fd;
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	uint64_t next_drain_ns; /* CLOCK_MONOTONIC */
	uint64_t last_flip_ns;
	uint64_t next_jit_ns;	/* CLOCK_MONOTONIC */
	uint64_t sideband_lost; /* records, when /proc was last read for them */
	/* Samples that the profile had no room for when they came late; not in the accounts as yet.
	 */
	uint64_t late_refused[PILOTLIGHT_PATH_COUNT];
	struct pipeline_report report;
};

/* Makes the stages; capture is there already. Returns 0 or -errno. */
int pipeline_open_stages(struct pipeline *pipeline);
/* What the pipeline is driven by. Returns 0 or -errno. */
int pipeline_open_polling(struct pipeline *pipeline);

/* Takes what the side-band has told; where it has lost records, /proc has to tell. */
int pipeline_read_sideband(struct pipeline *pipeline);

/* A late_function: adds a sample that has waited for the names of its JIT code. */
int pipeline_take_late(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);
