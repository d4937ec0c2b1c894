/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervise/journal.h"

#include <errno.h>
#include <string.h>

/* The minimum length of a window, even on request. */
#define WINDOW_NS_MIN ((uint64_t)NSEC_PER_SEC)

/* How long an ended window may wait for JIT names while a client waits for it. */
#define HURRY_NS 300000000ULL

/* The polling period while a client or an ended window waits. */
#define WAITING_PERIOD_NS 50000000ULL

void service_record_losses(void *context)
{
	struct service *service = context;

	loss_record_update(service->loss_record, pipeline_accounts(service->pipeline),
		&service->closed, service->closed_until_ns);
}

/* Windows end at round wall-clock times, so that hosts and days compare. */
uint64_t service_next_cut_ns(const struct service *service)
{
	uint64_t window_ns = service->settings.config.window_ns;

	return clock_monotonic_ns() + window_ns - clock_realtime_ns() % window_ns;
}

/* Is it time to end the open window, at the end of its time or for a client? */
static bool is_cut_due(const struct service *service, uint64_t now_ns)
{
	return now_ns >= service->next_cut_ns ||
	       (service->is_seal_requested && now_ns >= service->ended_ns + WINDOW_NS_MIN);
}

static void log_rate(const struct service *service)
{
	char rate[16], configured[16], cost[32];
	const struct log_field fields[] = {
		{ "RATE_HZ", rate },
		{ "WANTED_RATE_HZ", configured },
		{ "COST_PPM", cost },
	};
	const struct log_event event = {
		.level = LOG_LEVEL_INFO,
		.id = JOURNAL_RATE_CHANGED,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	double ppm = rate_governor_cost_ppm(&service->governor);

	(void)snprintf(rate, sizeof(rate), "%u", service->rate_hz);
	(void)snprintf(configured, sizeof(configured), "%u", service->governor.configured_hz);
	(void)snprintf(cost, sizeof(cost), "%.0f", ppm);
	log_event(&event, "sampling at %u Hz from now on: it costs %.3f %% of the machine",
		service->rate_hz, ppm / 10000);
}

static int steer(struct service *service, struct fault *fault)
{
	uint32_t rate_hz = service_steer(service);
	int r;

	if (rate_hz == service->rate_hz)
		return 0;
	r = pipeline_set_rate(service->pipeline, rate_hz, fault);
	if (r < 0)
		return r;
	service->rate_hz = rate_hz;
	log_rate(service);
	return 0;
}

/* A new rate starts with a window, except between setting it and flipping the maps. */
static int cut(struct service *service, struct fault *fault)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = steer(service, fault);

	if (r == 0)
		r = pipeline_cut(service->pipeline, fault);
	if (r < 0)
		return r;
	service->is_hurried = service->is_seal_requested;
	service->is_seal_requested = false;
	service->ended_ns = now_ns;
	service->next_cut_ns = service_next_cut_ns(service);
	return 0;
}

static void log_history(const struct service *service, const char *id, const char *what)
{
	char dropped[32];
	const struct log_field fields[] = {
		{ "WINDOWS_DROPPED", dropped },
		{ "HISTORY", service->settings.history },
	};
	const struct log_event event = {
		.level = service->is_history_failing ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING,
		.id = id,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	(void)snprintf(
		dropped, sizeof(dropped), "%llu", (unsigned long long)service->windows_dropped);
	log_event(&event, "the history: %s; windows not written: %s, sampling continues", what,
		dropped);
}

/* The status reports damaged databases while they exist; the log reports them once. */
static void report_damage(struct service *service)
{
	char text[sizeof(service->history_fault)] = "";
	struct store_summary summary;

	history_writer_summary(service->writer, &summary);
	if (summary.days_set_aside > 0)
		(void)snprintf(text, sizeof(text),
			"damaged databases set aside as *.damaged-N in the history's folder: %llu",
			(unsigned long long)summary.days_set_aside);
	if (strcmp(text, service->history_fault) == 0)
		return;
	memcpy(service->history_fault, text, sizeof(text));
	if (text[0])
		log_warning("the history: %s", text);
}

static void window_written(struct service *service, const struct history_result *result)
{
	service->windows_sealed++;
	service->sealed_until_ns = result->end_ns;
	if (!service->is_history_failing) {
		report_damage(service);
		return;
	}
	service->is_history_failing = false;
	service->history_fault[0] = '\0';
	log_history(service, JOURNAL_HISTORY_RECOVERED, "it is written again");
}

static void window_dropped(struct service *service, const char *why)
{
	service->windows_dropped++;
	(void)snprintf(service->history_fault, sizeof(service->history_fault), "%.*s",
		(int)sizeof(service->history_fault) - 1, why);
	if (service->is_history_failing)
		return;
	service->is_history_failing = true;
	log_history(service, JOURNAL_HISTORY_FAILED, why);
}

static void close_window(
	struct service *service, const struct source_accounts *accounts, uint64_t end_monotonic_ns)
{
	source_accounts_add(&service->closed, accounts);
	service->closed_until_ns = end_monotonic_ns;
}

static void handle_results(struct service *service)
{
	struct history_result result;

	while (service->writer && history_writer_next_result(service->writer, &result) == 0) {
		if (result.error == 0)
			window_written(service, &result);
		else
			window_dropped(service, result.fault);
		if (result.has_incident && result.incident.number > 0)
			service_incidents_written(&service->incidents, &result.incident);
		else if (result.has_incident)
			service_incidents_give_back(&service->incidents, &result.incident);
		close_window(service, &result.accounts, result.end_monotonic_ns);
		user_excess_merge(&service->history_excess, &result.excess);
		service->history_holdings = result.holdings;
		api_sealed(service->api, result.end_ns);
		if (service->push)
			push_sealed(service->push, result.start_ns, result.end_ns);
		if (service->meter)
			function_meter_sealed(service->meter, result.end_ns);
		incident_state_save(
			service->incident_state, &service->incidents, clock_monotonic_ns());
	}
}

/* What follows is sampled at a higher rate from a second on. */
static void raise_rate(struct service *service)
{
	const struct config *config = &service->settings.config;

	if (config->incident_hz <= config->frequency_hz)
		return;
	rate_governor_raise(
		&service->governor, (uint32_t)config->incident_hz, config->incident_raise_ns);
	service->is_seal_requested |= service->governor.raised_hz > 0;
}

static void hand_over(struct service *service, struct profile_set *profiles, uint64_t monotonic_ns)
{
	const struct profile *profile = profiles->of[PILOTLIGHT_SOURCE_CPU];
	struct store_window window = { .monotonic_ns = monotonic_ns };
	const struct incident *incident;
	uint64_t end_ns = profile->end_ns;

	memcpy(window.boot_id, service->boot_id, sizeof(window.boot_id));
	profile_set_accounts(profiles, &service->last_window);
	if (!service->writer) {
		close_window(service, &service->last_window,
			monotonic_ns + (end_ns - profile->start_ns));
		profile_set_done(profiles);
		api_sealed(service->api, end_ns);
		return;
	}
	/* Late names may have moved samples from stored to dropped since the last drain. */
	service_record_losses(service);
	service_incidents_measure(&service->incidents, profiles);
	incident = service_incidents_take(&service->incidents);
	if (incident)
		raise_rate(service);
	if (history_writer_add(service->writer, &window, incident, profiles) < 0) {
		if (incident)
			service_incidents_give_back(&service->incidents, incident);
		window_dropped(service, "the disk is too slow");
		/* Earlier windows are still being written: they end the closed time. */
		close_window(service, &service->last_window, service->closed_until_ns);
		api_sealed(service->api, end_ns);
	}
}

/* Takes the ended window once its last JIT names are ready, or at once if `is_hurried`. */
static int take_window(struct service *service, bool is_hurried, struct fault *fault)
{
	struct profile_set profiles;
	uint64_t monotonic_ns;
	int r = pipeline_take_window(
		service->pipeline, is_hurried, &profiles, &monotonic_ns, fault);

	if (r == 0)
		hand_over(service, &profiles, monotonic_ns);
	return r == -EAGAIN ? 0 : r;
}

uint64_t service_windows_due_ns(const struct service *service)
{
	if (service->is_seal_requested || pipeline_has_window(service->pipeline))
		return clock_monotonic_ns() + WAITING_PERIOD_NS;
	return service->next_cut_ns;
}

int service_run_windows(struct service *service, bool has_results, struct fault *fault)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	if (has_results)
		handle_results(service);
	if (pipeline_has_window(service->pipeline))
		r = take_window(service,
			service->is_hurried && now_ns > service->ended_ns + HURRY_NS, fault);
	if (r == 0 && is_cut_due(service, now_ns)) {
		/* A window that still waits for names has used up its time. */
		r = take_window(service, true, fault);
		if (r == 0)
			r = cut(service, fault);
		if (r == 0)
			r = take_window(service, false, fault);
	}
	service_record_losses(service);
	return r;
}

int service_finish_windows(struct service *service, struct fault *fault)
{
	bool is_taken_over = !service->is_ending && !service->has_new_sampling;
	int r = take_window(service, true, fault);

	if (r == 0)
		r = pipeline_prepare_end(service->pipeline, is_taken_over, fault);
	if (r == 0)
		r = pipeline_cut(service->pipeline, fault);
	if (r == 0)
		r = take_window(service, true, fault);
	if (service->writer)
		history_writer_finish(service->writer);
	handle_results(service);
	service_record_losses(service);
	return r;
}

void service_request_seal(void *context, uint64_t until_ns)
{
	struct service *service = context;
	uint64_t now_ns = clock_realtime_ns(), ago_ns = now_ns > until_ns ? now_ns - until_ns : 0;

	/* Until then by CLOCK_MONOTONIC, since the wall clock may have been set meanwhile. */
	service->is_seal_requested |= clock_monotonic_ns() > service->ended_ns + ago_ns;
	service->is_hurried = true;
}

int service_note_incident(void *context, const char *text)
{
	struct service *service = context;

	return service->writer ? service_incidents_note(&service->incidents, text) : -EOPNOTSUPP;
}
