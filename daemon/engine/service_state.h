/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service engine's private state. Only the service*.c files include this. */
#pragma once

#include "api/api.h"
#include "config/bearer_token.h"
#include "engine/event_orders.h"
#include "engine/history_writer.h"
#include "engine/incident_state.h"
#include "engine/loss_record.h"
#include "engine/pipeline.h"
#include "engine/service_incidents.h"
#include "engine/service_settings.h"
#include "push/function_meter.h"
#include "push/push.h"
#include "steer/heap_trim.h"
#include "steer/rate_governor.h"

#include <stdbool.h>
#include <stdint.h>

/* The event sources of the epoll descriptor. */
enum service_event {
	SERVICE_SIGNALS,
	SERVICE_PIPELINE,
	SERVICE_API,
	SERVICE_WRITER,
	SERVICE_PUSH,
	SERVICE_METER,
	SERVICE_EVENTS,
};

/* CPU time and samples used up to one moment. */
struct service_use {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0: unknown yet */
	/* In BPF programs, and in those that the rate drives: time off CPU is taken at each switch
	 * of threads, however low the rate. */
	uint64_t bpf_ns, rated_bpf_ns;
	/* Parts of both, spent on taking samples. Draining takes time in the same proportion. */
	uint64_t taking_ns, rated_taking_ns;
	uint64_t engine_ns, drain_ns, jit_ns, broker_ns, worker_ns, busy_samples;
};

/*
 * What the governor weighs, without the CPU count. The time of reading jitdumps and perf maps, and
 * of symbol workers, is left out: one user's files must not lower the rate for all.
 * jit_table_limits bounds the first, the symbolizer's time of users the second.
 */
void service_use_since(const struct service_use *before, const struct service_use *now,
	struct rate_governor_use *ret_use);

struct service {
	struct service_settings settings;
	struct broker *broker;
	struct pipeline *pipeline;
	struct history_writer *writer; /* NULL: history is off */
	struct spool_thread *spools;   /* NULL: no sinks, and `push` is NULL, too */
	struct push *push;
	struct function_meter *meter;	    /* NULL: no metrics */
	char *attributes[CONFIG_SINKS_MAX]; /* of sinks; NULL: none */
	char host_id[65];		    /* of this host (host_id.h), or its name */
	struct api *api;
	struct loss_record *loss_record;
	struct event_orders *orders;
	/* Written by the writer's thread until history_writer_wait_first() returns true. */
	struct loss_record_sealed sealed;
	bool reads_sealed;
	struct rate_governor governor;
	struct heap_trim trim;
	/* Of the broker and the maps at the last call of the governor. */
	uint64_t other_bytes;
	uint32_t rate_hz;
	int epoll_fd, signal_fd, statm_fd;
	uint8_t boot_id[16];

	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t engines, lost_samples;
	uint64_t next_cut_ns; /* CLOCK_MONOTONIC */
	uint64_t ended_ns;    /* CLOCK_MONOTONIC; end of the last window, or start of the first */
	/* The sum of all sealed or dropped windows, and when the last of them ended
	 * (CLOCK_MONOTONIC). */
	struct source_accounts closed;
	uint64_t closed_until_ns;
	bool is_seal_requested; /* a client waits for the end of the open window */
	bool is_hurried;	/* a client waits for the ended window */

	struct service_use use; /* at the last call of the governor */
	/* The last progress notice to the supervisor; CLOCK_MONOTONIC. */
	uint64_t notified_ns, notified_drains;

	struct source_accounts last_window;
	uint64_t windows_sealed, windows_dropped, sealed_until_ns;
	struct user_excess history_excess;
	struct user_holdings history_holdings; /* after the last window */
	struct service_incidents incidents;
	struct incident_state *incident_state;
	bool is_history_failing;
	char history_fault[160];
	char listen_fault[100]; /* "": listening on all addresses, with the token if one is needed
				 */
	char token[BEARER_TOKEN_BYTES]; /* "": TCP clients need none */
	bool is_token_missing;		/* refuse all TCP clients */

	bool is_ending, needs_restart;
	uint64_t renew_ns;	 /* CLOCK_MONOTONIC; for new orders of events; 0: there are none */
	bool has_invalid_config; /* service_open() failed */
	bool is_config_refused;	 /* at the last reload */
	bool has_new_sampling;	 /* sampling settings changed: the next engine cannot take over the
				    maps */
};

struct engine_options {
	const char *config; /* NULL: the default path */
	size_t listen_count;
};

/* Opens everything and drops all privileges. Returns 0 or -errno with `fault`. */
int service_open(
	struct service *service, const struct engine_options *options, struct fault *fault);

/* When the open window should end; CLOCK_MONOTONIC. */
uint64_t service_next_cut_ns(const struct service *service);
/* Does the work that is due: ends windows and passes them to the history writer. Reads the writer's
 * results if `has_results`. Returns 0 or -errno with `fault`. */
int service_run_windows(struct service *service, bool has_results, struct fault *fault);
/* When to call service_run_windows() next; CLOCK_MONOTONIC. */
uint64_t service_windows_due_ns(const struct service *service);
/* Ends the open window and waits until the history writer is done. Call before the engine exits. */
int service_finish_windows(struct service *service, struct fault *fault);
/* Updates the loss record. Called as pipeline_settings.drained. */
void service_record_losses(void *context);
/* A callback of api.h: a client waits for history up to `until_ns`. */
void service_request_seal(void *context, uint64_t until_ns);
/* A callback of api.h: a user notes an incident. */
int service_note_incident(void *context, const char *text);

/* Callbacks of api.h: turns events on for a time, or off; and tells which are on. */
int service_order_events(void *context, const struct api_event_order *order, struct fault *fault);
/* Adds the orders that hold to the settings. Those that there is no memory for end. */
void service_apply_orders(const struct service *service, struct service_settings *settings);
/* Asks for a new engine once one is due: an order has ended, or is new. */
void service_run_orders(struct service *service);
/* When to call it next; CLOCK_MONOTONIC. */
uint64_t service_orders_due_ns(const struct service *service);
/* Warns of events that are wanted, and that the machine cannot sample. */
void service_log_missing(const struct service *service);
/* Call if the engine cannot start: ends the orders, which may be the reason. */
void service_drop_orders(struct service *service);
void service_fill_events(const struct service *service, struct service_status *status);

/* Runs the governor on the CPU time used since the last call. Returns the rate from now on. */
uint32_t service_steer(struct service *service);
/* Gives freed heap back to the kernel if memory is short. Call about once a second. */
void service_trim_heap(struct service *service);
/* A callback of api.h: fills in the service's status. */
void service_fill_status(void *context, struct service_status *ret_status);
