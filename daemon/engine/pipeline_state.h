/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline's private state. Only the pipeline*.c files include this. */
#pragma once

#include "aggregate/aggregator.h"
#include "broker/broker.h"
#include "drain/drain.h"
#include "engine/heap_watch.h"
#include "engine/pipeline.h"
#include "engine/unwinding.h"
#include "jit/jit_table.h"
#include "labels/cgroup_table.h"
#include "labels/claim_table.h"
#include "process/process_scan.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "resolve/kernel_symbols.h"
#include "resolve/late_samples.h"
#include "resolve/live_table.h"
#include "resolve/waker_table.h"
#include "symbol/symbol_cache.h"

/* A source's part of a window. */
struct pipeline_part {
	struct profile *profile; /* NULL: the source is off */
	struct aggregator *aggregator;
	struct accounts accounts;
	size_t binaries_seen; /* the profile's first binaries: their symbols were requested */
	/* Late samples that did not fit into the profile. The accounts do not include them yet. */
	uint64_t late_refused[PILOTLIGHT_PATH_COUNT];
};

/* The parts of a window share its memory. CPU time always has a quarter of it. */
struct pipeline_room {
	struct profile_pool pool;
	struct aggregator_quota all, others; /* of all sources; of those but CPU time */
};

/* An open window, or an ended one that waits for its last samples. */
struct pipeline_window {
	bool is_there;
	bool has_live;	  /* what lives was added */
	bool keeps_times; /* of its samples */
	/* When it last asked for the time of blocked threads, CLOCK_MONOTONIC; 0: not yet. */
	uint64_t asked_blocked_ns;
	uint32_t number;
	struct pipeline_room *room; /* owned */
	struct pipeline_part parts[PILOTLIGHT_SOURCES];
	uint64_t monotonic_ns; /* start of the window; CLOCK_MONOTONIC */
	uint64_t waiting;      /* its entries in late_samples */
};

/* The state of symbol extraction for one binary of the table. */
struct pipeline_symbols {
	struct symbol_identity identity; /* id.size 0: unknown */
	uint32_t serial;		 /* of the binary; 0: none */
	bool is_requested;		 /* once, whatever the result */
};

/* The next survey of all threads. Times are of CLOCK_MONOTONIC. */
struct pipeline_survey {
	uint64_t begin_ns, end_ns; /* the time that it stands for */
	uint64_t due_ns;	   /* a random moment of it; UINT64_MAX: none is wanted */
	uint64_t cost_ns;	   /* of the last ones, in the host; 0: not known yet */
	uint32_t periods;	   /* that the survey under way stands for; 0: none is */
	bool is_failing;
};

/* The event sources of the epoll descriptor. */
enum pipeline_event {
	PIPELINE_TIMER,
	PIPELINE_SIDEBAND,
	PIPELINE_RING, /* half full */
	PIPELINE_SYMBOLS,
	PIPELINE_UNWINDING,
	PIPELINE_WALK_REQUEST, /* the sampler requests unwind tables */
	PIPELINE_HEAP,	       /* an allocator's file was read */
	PIPELINE_EVENTS,
};

struct pipeline {
	struct pipeline_settings settings; /* capture.sources always has CPU time */
	struct binary_table_limits binary_limits;
	struct broker *broker; /* borrowed */
	struct capture *capture;
	struct drain *drain;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct jit_table *jit;
	struct runtime_names *names;
	struct resolver *resolver;
	struct late_samples *late;
	struct waker_table *wakers;   /* NULL: wakers are not wanted */
	struct live_table *live;      /* NULL: no source counts what lives */
	bool has_swept_live;	      /* since the last drain began */
	bool lacks_live_room;	      /* the last window could not hold all that lives */
	struct cgroup_table *cgroups; /* NULL: labels are off */
	struct claim_table *claims;   /* the same */
	struct pipeline_window open, ended;
	struct symbol_cache *symbol_cache; /* NULL: none */
	struct symbolizer *symbolizer;
	struct unwinding *unwinding;		/* NULL: only the kernel walks user stacks */
	struct heap_watch *heap;		/* NULL: no heaps are sampled */
	struct pipeline_symbols *symbol_states; /* indexed by id of the binary table */
	size_t symbol_state_count, symbol_state_capacity;
	int epoll_fd, timer_fd;
	bool is_sideband_watched;
	bool lacks_cpus;	/* the last attempt to follow CPUs failed */
	bool misses_blocked;	/* the last attempt to take the time of blocked threads failed */
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	uint64_t next_drain_ns; /* CLOCK_MONOTONIC */
	uint64_t last_flip_ns;
	uint64_t last_request_ns; /* CLOCK_MONOTONIC; last read of the sampler's requests */
	uint64_t next_cpus_ns;	  /* CLOCK_MONOTONIC */
	uint64_t next_cgroups_ns; /* CLOCK_MONOTONIC; next read of all cgroups */
	uint64_t sideband_lost;	  /* lost records when the last rescan of /proc began */
	struct process_rescan rescan;
	uint64_t rescan_began_ns, next_rescan_ns; /* CLOCK_MONOTONIC */
	struct pipeline_survey survey;
	struct pipeline_report report;
};

/* Creates all stages except capture, which must be open. Returns 0 or -errno. */
int pipeline_open_stages(struct pipeline *pipeline);
/* Opens the epoll descriptor and the timer. Returns 0 or -errno. */
int pipeline_open_polling(struct pipeline *pipeline);

/* Applies the side-band's records. If records were lost, rescans /proc for them, in steps. Returns
 * 0 or -errno. */
int pipeline_read_sideband(struct pipeline *pipeline);

/*
 * Reads from /proc and the cgroups the state from before the side-band opened, until `until_ns`.
 * pipeline_read_sideband() reads the rest in steps. Returns 0 or -errno.
 */
int pipeline_scan(struct pipeline *pipeline, uint64_t until_ns);
bool pipeline_is_scanning(const struct pipeline *pipeline);

/* Begins a window. Returns 0, or -errno with `ret_window` untouched. */
int pipeline_window_begin(struct pipeline *pipeline, uint32_t number, uint64_t monotonic_ns,
	struct pipeline_window *ret_window);
void pipeline_window_done(struct pipeline_window *window);
/* How long the maps may fill up before they are drained. */
uint64_t pipeline_drain_period_ns(const struct pipeline *pipeline);
/* Reads what jitdump files and perf maps have since gained, and measures what it costs. */
int pipeline_read_jit_files(struct pipeline *pipeline, struct fault *fault);
/* Drains the maps into the open window, and measures what it costs. */
int pipeline_drain(struct pipeline *pipeline, struct fault *fault);
/*
 * Takes the time of threads that have been blocked since before `before_ns` and still are: drains
 * as often as the ring needs, and the last samples come with the next drain. Takes a bounded time,
 * a longer one if sampling ends (`is_last`). A failure to take is no error and is logged once: the
 * time is taken when the thread wakes.
 */
int pipeline_take_blocked(
	struct pipeline *pipeline, uint64_t before_ns, bool is_last, struct fault *fault);
/* Plans the first survey, if a source is surveyed. */
void pipeline_begin_surveys(struct pipeline *pipeline);
/* Surveys all threads if it is due, draining as often as the ring needs. */
int pipeline_run_survey(struct pipeline *pipeline, struct fault *fault);
/* When it began; CLOCK_REALTIME. */
void pipeline_window_set_start(struct pipeline_window *window, uint64_t start_ns);
/* Sets the event of CPU time to the one that the sampler counts; "" before it started. Returns 0 or
 * -errno. */
int pipeline_window_name_event(struct pipeline *pipeline, struct pipeline_window *window);
/* Adds what a drain has counted to the open window and to the total. Returns 0, or -EPROTO if a
 * source's accounts do not close, or if it is off and counted something. */
int pipeline_count(struct pipeline *pipeline, const struct source_accounts *accounts);
/* Sets each profile's accounts to those of its window. */
void pipeline_window_set_accounts(struct pipeline_window *window);
/* Sets the window's end and CPU count; names come later. Its accounts already count all its
 * samples. It allocates nothing: a window that is full must end like any other. */
void pipeline_window_end(
	struct pipeline *pipeline, struct pipeline_window *window, uint64_t end_monotonic_ns);
/* Accounts for late samples that did not fit into the profile. */
void pipeline_window_account(struct pipeline *pipeline, struct pipeline_window *window);

/* A drain_function: resolves a sample, then adds it to the open window or to late_samples. */
int pipeline_add_sample(void *context, const struct raw_sample *sample);
/* A drain_code_function: keeps the names of a code object for who answers for its process. */
void pipeline_add_code(void *context, const struct raw_code *code);

/* Makes the table of what lives, if a source counts that. Returns 0 or -errno. */
int pipeline_open_live(struct pipeline *pipeline);
/* Does the sampled allocation still live? True for samples of other sources. */
bool pipeline_lives(const struct pipeline *pipeline, const struct raw_sample *sample);
/* Keeps a sample of what lives, with its frames, or no longer watches for its end. Returns 0 or
 * -errno. */
int pipeline_keep_live(struct pipeline *pipeline, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count);
void pipeline_forget_live(const struct pipeline *pipeline, const struct raw_sample *sample);
/* Adds to the open window, once, all that lives now. Call it before the window ends. Returns 0 or
 * -errno. */
int pipeline_add_live(struct pipeline *pipeline);

enum { WAKER_LABEL_BYTES = PILOTLIGHT_COMM_BYTES + 16 };

/* Makes the table of wakers, if they are wanted. Returns 0 or -ENOMEM. */
int pipeline_open_wakers(struct pipeline *pipeline);
/* Keeps the stack of a waker for the sample of the thread that it woke. */
void pipeline_keep_waker(struct pipeline *pipeline, const struct raw_sample *waker);
/* Takes the waker of a sample's thread; NULL: it is not known. Borrowed until the next call. */
const struct raw_sample *pipeline_take_waker(
	struct pipeline *pipeline, const struct raw_sample *sample);
/* A waker with its frames, root first. All are borrowed. */
struct pipeline_waker {
	const char *comm;
	const struct resolved_frame *frames;
	size_t count;
};
/* Appends what a thread waited for, and its waker, to the frames of its sample. `text` holds the
 * waker's label. Returns the number of frames. */
size_t pipeline_join_waker(const struct raw_sample *sample, const struct pipeline_waker *waker,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX], size_t count,
	char text[WAKER_LABEL_BYTES]);

/* A late_function: adds a sample after its wait for the names of its JIT code. */
int pipeline_add_late_sample(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);

/* A profile of the open window, whose binaries are to be opened. */
struct pipeline_naming {
	struct pipeline *pipeline;
	const struct pipeline_part *part;
};
/* A naming_open: opens a binary of that profile for symbolization. */
int pipeline_open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary);
/*
 * Starts symbol extraction for new binaries, since the file may soon vanish. Stores the identity
 * that finds their symbols with the window's binaries.
 */
void pipeline_request_symbols(struct pipeline *pipeline, struct pipeline_window *window);
