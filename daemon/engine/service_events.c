/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that a client turns on for a time. */
#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "base/time_text.h"
#include "config/config_events.h"
#include "engine/service_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The answer leaves first. */
#define ANSWER_NS 200000000ULL

#define FOR_NS_MIN ((uint64_t)NSEC_PER_SEC)
#define FOR_NS_MAX (24ULL * 3600 * NSEC_PER_SEC)

static void read_configured(const struct service *service, struct service_sampling *ret_sampling)
{
	service_settings_sampling(&service->settings.config, ret_sampling);
}

static int refuse_configured(const char *name, struct fault *fault)
{
	return fault_set(fault, -EPERM,
		"'%s' is on by the configuration: change pilotlight.conf(5) and reload", name);
}

static int refuse_unlisted(const char *name, struct fault *fault)
{
	return fault_set(fault, -EPERM,
		"'%s' may not be turned on: add it to AllowEvents= in [Sampling] of "
		"pilotlight.conf(5) and reload",
		name);
}

static int check_period(const char *name, const struct event_source *source, uint64_t period,
	uint64_t least, struct fault *fault)
{
	if (period == 0 || (period >= least && period <= source->greatest_period))
		return 0;
	return fault_set(fault, -EINVAL,
		"the period of '%s' is out of range: ask for %llu to %llu %s", name,
		(unsigned long long)least, (unsigned long long)source->greatest_period,
		source->unit);
}

/* What service and order say of the events that an order names. */
struct judgement {
	struct service_sampling configured, ordered; /* what is on already */
	struct config_events allowed;
	struct service_sampling wanted; /* what the order turns on or off */
};

static int judge_source(struct judgement *judgement, const struct api_event_order *order,
	enum pilotlight_source i, struct fault *fault)
{
	const struct event_source *source = &event_sources[i];
	uint64_t least = judgement->allowed.periods[i] ? judgement->allowed.periods[i]
						       : service_settings_least_period(i);

	if (service_sampling_exact(&judgement->configured) & 1U << i)
		return refuse_configured(source->name, fault);
	judgement->wanted.sources |= 1U << i;
	if (!order->is_on)
		return 0;
	if (source->service_period == 0)
		return fault_set(fault, -EINVAL,
			"the service cannot sample '%s': use `pilotlight record -e %s`",
			source->name, source->name);
	if (!(judgement->allowed.sources & 1U << i))
		return refuse_unlisted(source->name, fault);
	judgement->wanted.periods[i] = order->period			? order->period
				       : least > source->service_period ? least
									: source->service_period;
	return check_period(source->name, source, order->period, least, fault);
}

/* NULL: AllowEvents= does not have it. */
static const struct counted_limit *find_allowed(
	const struct config_events *allowed, const struct pilotlight_counted_event *event)
{
	for (size_t i = 0; i < allowed->counted_count; i++)
		if (memcmp(&allowed->counted[i].event, event, sizeof(*event)) == 0)
			return &allowed->counted[i];
	return NULL;
}

/* PILOTLIGHT_SOURCES: all places are taken. */
static enum pilotlight_source free_place(uint32_t taken)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_COUNTED;
		i <= PILOTLIGHT_SOURCE_COUNTED_LAST; i++)
		if (!(taken & 1U << i))
			return i;
	return PILOTLIGHT_SOURCES;
}

/* An event of perf, or a tracepoint. */
static int judge_counted(struct judgement *judgement, const struct api_event_order *order,
	const struct pilotlight_counted_event *event, struct fault *fault)
{
	enum pilotlight_source place = service_sampling_find(&judgement->ordered, event->name);
	const struct counted_limit *limit = find_allowed(&judgement->allowed, event);

	if (service_sampling_find(&judgement->configured, event->name) != PILOTLIGHT_SOURCES)
		return refuse_configured(event->name, fault);
	if (!order->is_on) {
		judgement->wanted.sources |= place < PILOTLIGHT_SOURCES ? 1U << place : 0;
		return 0;
	}
	if (!limit)
		return refuse_unlisted(event->name, fault);
	if (place == PILOTLIGHT_SOURCES)
		place = service_sampling_find(&judgement->wanted, event->name);
	if (place == PILOTLIGHT_SOURCES)
		place = free_place(judgement->configured.sources | judgement->ordered.sources |
				   judgement->wanted.sources);
	if (place == PILOTLIGHT_SOURCES)
		return fault_set(fault, -EBUSY,
			"there is no room for '%s': at most %d events of perf can be on at a time",
			event->name, PILOTLIGHT_COUNTED_EVENTS);
	judgement->wanted.sources |= 1U << place;
	judgement->wanted.periods[place] = order->period ? order->period : limit->least_period;
	judgement->wanted.counted[place - PILOTLIGHT_SOURCE_COUNTED] = *event;
	return check_period(
		event->name, &event_sources[place], order->period, limit->least_period, fault);
}

static int judge(const struct service *service, const struct api_event_order *order,
	struct service_sampling *ret_wanted, struct fault *fault)
{
	const uint32_t sources = order->sources & ~(1U << PILOTLIGHT_SOURCE_CPU);
	struct judgement judgement = { .wanted = { .sources = 0 } };
	int r = 0;

	if (sources == 0 && order->counted_count == 0)
		return fault_set(fault, -EINVAL, "'cpu' is always on: name another event");
	if (order->is_on && (order->for_ns < FOR_NS_MIN || order->for_ns > FOR_NS_MAX))
		return fault_set(fault, -EINVAL, "the time is out of range: ask for 1s to 1d");
	read_configured(service, &judgement.configured);
	event_orders_sampling(service->orders, clock_monotonic_ns(), &judgement.ordered);
	config_events_read_allowed(&service->settings.config, &judgement.allowed);
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			r = judge_source(&judgement, order, i, fault);
	for (size_t i = 0; r == 0 && i < order->counted_count; i++)
		r = judge_counted(&judgement, order, &order->counted[i], fault);
	if (r == 0)
		*ret_wanted = judgement.wanted;
	return r;
}

static void log_event_order(const struct api_event_order *order, const char *name)
{
	char duration[TIME_TEXT_BYTES];

	if (order->is_on)
		log_info("a client turns the event %s on for %s", name,
			time_text_format_duration(order->for_ns, duration));
	else
		log_info("a client turns the event %s off", name);
}

static void log_order(const struct api_event_order *order)
{
	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (order->sources & 1U << i)
			log_event_order(order, event_sources[i].name);
	for (size_t i = 0; i < order->counted_count; i++)
		log_event_order(order, order->counted[i].name);
}

/* Is there memory for them? The next engine would drop them otherwise. */
static int check_memory(
	const struct service *service, const struct service_sampling *wanted, struct fault *fault)
{
	struct service_settings settings = service->settings;
	struct fault cause = { 0 };
	int r = service_settings_order(&settings, wanted, &cause);

	return r < 0 ? fault_set(fault, r, "there is not enough memory: [Memory] MaxBytes: %.400s",
			       cause.text)
		     : 0;
}

int service_order_events(void *context, const struct api_event_order *order, struct fault *fault)
{
	struct service *service = context;
	struct service_sampling wanted, before, after;
	uint64_t now_ns = clock_monotonic_ns();
	int r = judge(service, order, &wanted, fault);

	if (r == 0 && order->is_on)
		r = check_memory(service, &wanted, fault);
	if (r < 0)
		return r;
	log_order(order);
	event_orders_sampling(service->orders, now_ns, &before);
	if (order->is_on)
		event_orders_enable(service->orders, &wanted, now_ns + order->for_ns);
	else
		event_orders_disable(service->orders, wanted.sources);
	event_orders_sampling(service->orders, now_ns, &after);
	/* A new end alone needs no new engine. */
	if (!service_sampling_equals(&before, &after))
		service->renew_ns = now_ns + ANSWER_NS;
	return 0;
}

/* Those that the configuration, which may have changed since, does not allow, or samples itself. */
static uint32_t stale_sources(
	const struct service_settings *settings, const struct service_sampling *ordered)
{
	struct config_events allowed;
	uint32_t stale = 0;

	config_events_read_allowed(&settings->config, &allowed);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct pilotlight_counted_event *event;

		if (!(ordered->sources & 1U << i))
			continue;
		if (!event_source_is_counted(i)) {
			stale |= allowed.sources & 1U << i ? 0 : 1U << i;
			continue;
		}
		event = &ordered->counted[i - PILOTLIGHT_SOURCE_COUNTED];
		if (!find_allowed(&allowed, event) || service_sampling_find(&settings->sampling,
							      event->name) != PILOTLIGHT_SOURCES)
			stale |= 1U << i;
	}
	return stale;
}

/* The configuration numbers its events from the first place on, also one that an order has. */
static void make_places(struct event_orders *orders, const struct service_settings *settings)
{
	struct service_sampling ordered;
	uint64_t now_ns = clock_monotonic_ns();

	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_COUNTED;
		i <= PILOTLIGHT_SOURCE_COUNTED_LAST; i++) {
		enum pilotlight_source place;

		event_orders_sampling(orders, now_ns, &ordered);
		if (!(ordered.sources & settings->sampling.sources & 1U << i))
			continue;
		place = free_place(ordered.sources | settings->sampling.sources);
		if (place < PILOTLIGHT_SOURCES) {
			event_orders_move(orders, i, place);
			continue;
		}
		log_warning(
			"there is no room for %s, which was turned on, beside the events of the "
			"configuration; turning it off",
			ordered.counted[i - PILOTLIGHT_SOURCE_COUNTED].name);
		event_orders_disable(orders, 1U << i);
	}
}

void service_apply_orders(const struct service *service, struct service_settings *settings)
{
	struct service_sampling ordered;
	struct fault fault = { 0 };
	uint32_t stale;

	event_orders_sampling(service->orders, clock_monotonic_ns(), &ordered);
	stale = stale_sources(settings, &ordered);
	event_orders_disable(service->orders, stale);
	make_places(service->orders, settings);
	event_orders_sampling(service->orders, clock_monotonic_ns(), &ordered);
	if (service_settings_order(settings, &ordered, &fault) == 0)
		return;
	log_error("%s; continuing without the events that were turned on", fault.text);
	event_orders_disable(service->orders, ordered.sources);
}

/* Which of its events were turned on by orders? */
static uint32_t ordered_sources(const struct service *service)
{
	struct service_sampling configured;

	read_configured(service, &configured);
	return service_sampling_exact(&service->settings.sampling) &
	       ~service_sampling_exact(&configured);
}

static bool has_ended(const struct service *service, uint64_t now_ns)
{
	struct service_sampling ordered;

	event_orders_sampling(service->orders, now_ns, &ordered);
	return ordered_sources(service) & ~ordered.sources;
}

void service_run_orders(struct service *service)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!(service->renew_ns && now_ns >= service->renew_ns) && !has_ended(service, now_ns))
		return;
	service->needs_restart = service->has_new_sampling = true;
}

uint64_t service_orders_due_ns(const struct service *service)
{
	uint64_t next_ns = event_orders_next_ns(service->orders, clock_monotonic_ns());

	return service->renew_ns && service->renew_ns < next_ns ? service->renew_ns : next_ns;
}

void service_drop_orders(struct service *service)
{
	if (!service->orders || !ordered_sources(service))
		return;
	log_error("the events that were turned on may be the reason; turning them off");
	event_orders_disable(service->orders, ~0U);
}

static const char *event_name(const struct service *service, enum pilotlight_source source)
{
	return event_source_is_counted(source)
		       ? service->settings.sampling.counted[source - PILOTLIGHT_SOURCE_COUNTED].name
		       : event_sources[source].name;
}

void service_log_missing(const struct service *service)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (service->settings.sampling.sources & 1U << i &&
			*pipeline_missing(service->pipeline, i))
			log_warning("cannot sample %s: %s; continuing without it",
				event_name(service, i), pipeline_missing(service->pipeline, i));
}

void service_fill_events(const struct service *service, struct service_status *status)
{
	uint64_t now_ns = clock_monotonic_ns(), today_ns = clock_realtime_ns();
	struct config_events allowed;

	config_events_read_allowed(&service->settings.config, &allowed);
	status->allowed_events = allowed.sources;
	status->wanted_sources = service->settings.sampling.sources;
	for (size_t i = 0; i < allowed.counted_count && i < SERVICE_STATUS_COUNTED_MAX; i++)
		(void)snprintf(status->allowed_counted[status->allowed_counted_count++],
			PILOTLIGHT_EVENT_NAME_BYTES, "%s", allowed.counted[i].event.name);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		uint64_t until_ns = event_orders_until_ns(service->orders, i, now_ns);

		(void)snprintf(status->missing[i], sizeof(status->missing[i]), "%s",
			pipeline_missing(service->pipeline, i));
		status->ordered_until_ns[i] = until_ns ? today_ns + (until_ns - now_ns) : 0;
		if (event_source_is_counted(i))
			(void)snprintf(status->counted[i - PILOTLIGHT_SOURCE_COUNTED],
				PILOTLIGHT_EVENT_NAME_BYTES, "%s",
				service->settings.sampling.counted[i - PILOTLIGHT_SOURCE_COUNTED]
					.name);
	}
}
