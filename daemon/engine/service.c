/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/service_state.h"
#include "pilotlight/engine_notice.h"
#include "supervise/journal.h"
#include "supervise/supervisor.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sysexits.h>

enum {
	PROGRESS_PERIOD_MS = 1000,
	STATUS_PERIOD_S = 10,
	SEALED_TIMEOUT_NS = 1000000000,
};

static void send_notice(enum pilotlight_notice_kind kind, const char *text)
{
	struct pilotlight_notice notice = { .version = PILOTLIGHT_NOTICE_VERSION, .kind = kind };

	(void)snprintf(
		notice.text, sizeof(notice.text), "%.*s", (int)sizeof(notice.text) - 1, text);
	/* If the socket is full, drop this notice: another one follows soon. */
	(void)send(ENGINE_NOTICE_FD, &notice, sizeof(notice), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Begins this engine in the loss record. The history's thread has had the time since it started to
 * read what the last engine sealed; a disk that hangs must not delay the first drain (I5).
 */
static void begin_loss_record(struct service *service, const struct source_accounts *left_behind,
	struct loss_record_beginning *ret_beginning)
{
	struct loss_record_sealed unread = { .error = -ETIMEDOUT };
	const struct loss_record_sealed *sealed = NULL;

	if (service->reads_sealed)
		sealed = history_writer_wait_first(service->writer, SEALED_TIMEOUT_NS)
				 ? &service->sealed
				 : &unread;
	if (sealed == &unread)
		log_debug("cannot read in time what the last engine sealed, continuing with the "
			  "loss record alone");
	loss_record_begin(service->loss_record, sealed, left_behind, ret_beginning);
}

static int start(struct service *service, struct fault *fault)
{
	struct loss_record_beginning beginning;
	struct source_accounts left_behind;
	uint32_t rate_hz = pipeline_rate_hz(service->pipeline);
	int r = 0;

	/* The maps are made for the rate after an incident. */
	if (rate_hz > service->settings.config.frequency_hz)
		r = pipeline_set_rate(
			service->pipeline, (uint32_t)service->settings.config.frequency_hz, fault);
	if (r == 0)
		r = pipeline_start(service->pipeline, fault);
	if (r < 0)
		return r;
	/* Record this at once: if this engine is killed, nothing else knows of these losses. */
	pipeline_left_behind(service->pipeline, &left_behind);
	begin_loss_record(service, &left_behind, &beginning);
	loss_record_name_events(
		service->loss_record, service->settings.sampling.counted, &beginning);
	service->engines = beginning.engines;
	service->lost_samples = beginning.lost_samples;
	service->closed_until_ns =
		pipeline_add_lost(service->pipeline, &beginning.lost, beginning.closed_until_ns);
	service_record_losses(service);
	service_log_missing(service);
	service->started_ns = clock_realtime_ns();
	rate_governor_init(&service->governor, (uint32_t)service->settings.config.frequency_hz,
		service->settings.config.max_cost_ppm);
	service->rate_hz = service->governor.rate_hz = pipeline_rate_hz(service->pipeline);
	service->ended_ns = clock_monotonic_ns();
	service->next_cut_ns = service_next_cut_ns(service);
	(void)service_steer(service);
	send_notice(PILOTLIGHT_NOTICE_READY, "");
	return 0;
}

static void close_service(struct service *service)
{
	function_meter_free(service->meter);
	push_free(service->push);
	for (size_t i = 0; i < CONFIG_SINKS_MAX; i++)
		free(service->attributes[i]);
	spool_thread_free(service->spools);
	api_free(service->api);
	history_writer_free(service->writer);
	pipeline_free(service->pipeline);
	broker_free(service->broker);
	loss_record_close(service->loss_record);
	event_orders_close(service->orders);
	incident_state_close(service->incident_state);
	service_settings_done(&service->settings);
}

/* --- running --- */

static void notify_progress(struct service *service)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t drains = pipeline_drains(service->pipeline);
	char text[1024]; /* send_notice() truncates it to fit */

	if (now_ns < service->notified_ns + PROGRESS_PERIOD_MS * 1000000ULL)
		return;
	service_trim_heap(service);
	if (drains != service->notified_drains)
		send_notice(PILOTLIGHT_NOTICE_PROGRESS, "");
	service->notified_drains = drains;
	if (service->notified_ns / NSEC_PER_SEC / STATUS_PERIOD_S !=
		now_ns / NSEC_PER_SEC / STATUS_PERIOD_S) {
		(void)snprintf(text, sizeof(text),
			"%u Hz on %u CPUs, cost %.3f %%, %llu windows kept%s%s%s%s",
			service->rate_hz, pipeline_cpu_count(service->pipeline),
			rate_governor_cost_ppm(&service->governor) / 10000,
			(unsigned long long)service->windows_sealed,
			service->is_history_failing ? "; history: " : "", service->history_fault,
			service->listen_fault[0] ? "; " : "", service->listen_fault);
		send_notice(PILOTLIGHT_NOTICE_STATUS, text);
	}
	service->notified_ns = now_ns;
}

/* Compares the settings that are fixed when sampling starts (capture_settings). */
static bool has_same_sampling(
	const struct service_settings *before, const struct service_settings *after)
{
	const struct config *was = &before->config, *is = &after->config;
	struct cgroup_choice choice_was, choice;

	service_settings_choice(was, &choice_was);
	service_settings_choice(is, &choice);

	return service_sampling_equals(&before->sampling, &after->sampling) &&
	       cgroup_choice_equals(&choice_was, &choice) &&
	       was->frequency_hz == is->frequency_hz && was->incident_hz == is->incident_hz &&
	       was->kernel_stacks == is->kernel_stacks && strcmp(was->event, is->event) == 0 &&
	       before->shares.map_bytes == after->shares.map_bytes &&
	       before->shares.unwind_bytes == after->shares.unwind_bytes;
}

/* Checks the new configuration. If it is valid, this engine ends and the next one reads it. */
static void reload(struct service *service)
{
	struct service_settings settings;
	struct fault fault = { 0 };

	send_notice(PILOTLIGHT_NOTICE_RELOADING, "");
	if (service_settings_load(service->settings.config_path, true, &settings, &fault) < 0) {
		log_error("%s; keeping the previous configuration", fault.text);
		service->is_config_refused = true;
		send_notice(PILOTLIGHT_NOTICE_READY, "");
		return;
	}
	service_apply_orders(service, &settings);
	service->has_new_sampling = !has_same_sampling(&service->settings, &settings);
	service_settings_done(&settings);
	service->needs_restart = true;
}

static void handle_signals(struct service *service)
{
	struct signalfd_siginfo info;

	while (read(service->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(service);
		else
			service->is_ending = true;
	}
}

static int timeout_ms(const struct service *service)
{
	uint64_t now_ns = clock_monotonic_ns(), due_ns = service_windows_due_ns(service);
	uint64_t due_in_ns = due_ns > now_ns ? due_ns - now_ns : 0;
	uint64_t left_ns = api_timeout_ns(service->api);

	if (service_orders_due_ns(service) < due_ns)
		due_in_ns = service_orders_due_ns(service) > now_ns
				    ? service_orders_due_ns(service) - now_ns
				    : 0;
	if (due_in_ns < left_ns)
		left_ns = due_in_ns;
	return left_ns / 1000000 < PROGRESS_PERIOD_MS ? (int)(left_ns / 1000000) + 1
						      : PROGRESS_PERIOD_MS;
}

static int run_once(struct service *service, struct fault *fault)
{
	struct epoll_event events[SERVICE_EVENTS];
	bool has[SERVICE_EVENTS] = { false };
	int n, r = 0;

	n = epoll_wait(service->epoll_fd, events, SERVICE_EVENTS, timeout_ms(service));
	if (n < 0 && errno != EINTR)
		return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		has[events[i].data.u32] = true;
	if (has[SERVICE_SIGNALS])
		handle_signals(service);
	if (has[SERVICE_PIPELINE])
		r = pipeline_run(service->pipeline, fault);
	if (r == 0)
		r = service_run_windows(service, has[SERVICE_WRITER], fault);
	if (r == 0 && (has[SERVICE_API] || api_timeout_ns(service->api) < 1000000))
		r = api_run(service->api);
	if (r == 0 && service->push)
		push_run(service->push, pipeline_symbols_pending(service->pipeline) > 0);
	if (r == 0 && service->meter)
		function_meter_run(service->meter, pipeline_symbols_pending(service->pipeline) > 0);
	notify_progress(service);
	service_run_orders(service);
	service->needs_restart |= pipeline_needs_restart(service->pipeline);
	return r;
}

static int run(struct service *service, struct fault *fault)
{
	int r = 0;

	while (r == 0 && !service->is_ending && !service->needs_restart)
		r = run_once(service, fault);
	return r;
}

static bool parse(int argc, char **argv, struct engine_options *ret_options)
{
	static const struct option long_options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "listen", required_argument, NULL, 'l' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	struct engine_options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
		switch (option) {
		case 'c':
			options.config = optarg;
			break;
		case 'l':
			options.listen_count = strtoul(optarg, NULL, 10);
			break;
		case 'v':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		default:
			return false;
		}
	if (optind < argc || options.listen_count > ENGINE_LISTEN_MAX)
		return false;
	*ret_options = options;
	return true;
}

int service_engine_main(int argc, char **argv)
{
	struct service service = { .epoll_fd = -1, .signal_fd = -1, .statm_fd = -1 };
	struct engine_options options;
	struct fault fault = { 0 };
	bool has_begun;
	int r;

	log_set_level(LOG_LEVEL_INFO);
	if (!parse(argc, argv, &options)) {
		log_error("only pilotlightd starts this role");
		return PILOTLIGHT_ENGINE_EXIT_FAILED;
	}
	journal_begin("engine");
	r = service_open(&service, &options, &fault);
	if (r == 0)
		r = start(&service, &fault);
	has_begun = r == 0;
	if (!has_begun)
		service_drop_orders(&service);
	if (r == 0)
		r = run(&service, &fault);
	if (r == 0)
		r = service_finish_windows(&service, &fault);
	if (r == 0)
		pipeline_retire(service.pipeline);
	if (r < 0)
		log_error("%s", fault.text[0] ? fault.text : strerror(-r));
	close_service(&service);
	if (service.has_invalid_config)
		return PILOTLIGHT_ENGINE_EXIT_MISTAKE;
	/* After a successful start, a restart may help. */
	if (r < 0)
		return has_begun ? EX_SOFTWARE : PILOTLIGHT_ENGINE_EXIT_FAILED;
	return service.is_ending ? PILOTLIGHT_ENGINE_EXIT_DONE : PILOTLIGHT_ENGINE_EXIT_RENEW;
}
