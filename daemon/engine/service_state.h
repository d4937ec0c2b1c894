/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an engine of the service is made of. Of the service*.c alone. */
#pragma once

#include "api/api.h"
#include "engine/history_writer.h"
#include "engine/loss_record.h"
#include "engine/pipeline.h"
#include "engine/seal_request.h"
#include "engine/service_settings.h"
#include "pilotlight/engine_notice.h"
#include "steer/rate_governor.h"

#include <stdbool.h>
#include <stdint.h>

/* What an engine waits for. */
enum service_event {
	SERVICE_SIGNALS,
	SERVICE_PIPELINE,
	SERVICE_API,
	SERVICE_WRITER,
	SERVICE_EVENTS,
};

/* What had been used by some moment. */
struct service_use {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0: nothing is known yet */
	uint64_t bpf_ns, engine_ns, drain_ns, broker_ns, busy_samples;
};

struct service {
	struct service_settings settings;
	struct broker *broker;
	struct pipeline *pipeline;
	struct history_writer *writer; /* NULL: no history is kept */
	struct api *api;
	struct loss_record *loss_record;
	struct rate_governor governor;
	uint32_t rate_hz;
	int epoll_fd, signal_fd, statm_fd;
	uint8_t boot_id[16];

	uint64_t started_ns; /* CLOCK_REALTIME */
	uint64_t engines, lost_samples;
	uint64_t next_cut_ns; /* CLOCK_MONOTONIC */
	uint64_t ended_ns;    /* likewise, when the last window was, or the first one began */
	/* Windows that are sealed or dropped, and when the last of them ended, CLOCK_MONOTONIC. */
	struct accounts closed;
	uint64_t closed_until_ns;
	struct seal_request seal_request;

	struct service_use use;	       /* when the governor was last told */
	uint64_t told_ns, told_drains; /* the supervisor, of progress; CLOCK_MONOTONIC */

	struct accounts last_window;
	uint64_t windows_sealed, windows_dropped, sealed_until_ns;
	bool is_history_failing;
	char history_fault[160];
	char listen_fault[100]; /* "": all addresses are listened on */

	bool is_ending, wants_renewal;
	bool has_mistake;      /* the configuration; there is nothing else then */
	bool has_new_sampling; /* and the next engine cannot take over the maps */
};

struct engine_options {
	const char *config; /* NULL: where it is by default */
	size_t listen_count;
};

/* Opens everything, and gives up all privileges on the way. Returns 0 or -errno with `fault`. */
int service_open(
	struct service *service, const struct engine_options *options, struct fault *fault);

/* When the open window should end; CLOCK_MONOTONIC. */
uint64_t service_next_cut_ns(const struct service *service);
/* Ends windows, hands them to the history, and hears what became of them, if the writer has results
 * to tell: whatever is due now. */
int service_run_windows(struct service *service, bool has_results, struct fault *fault);
/* When that should be called next; CLOCK_MONOTONIC. */
uint64_t service_windows_due_ns(const struct service *service);
/* Ends and writes what is open; the engine is about to end. */
int service_finish_windows(struct service *service, struct fault *fault);
/* Updates the loss record; pipeline_settings.drained. */
void service_record_losses(void *context);
/* Of api.h. */
void service_want_sealed(void *context, uint64_t until_ns);

/* Steers the rate by what has been used since the last call. Returns the rate from now on. */
uint32_t service_steer(struct service *service);
/* Of api.h. */
void service_fill_status(void *context, struct service_status *ret_status);

/* Tells the supervisor. */
void service_notify(enum pilotlight_notice_kind kind, const char *text);
