/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that a client turns on for a time. */
#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "base/time_text.h"
#include "engine/service_state.h"

#include <errno.h>
#include <string.h>

/* The answer leaves first. */
#define ANSWER_NS 200000000ULL

#define FOR_NS_MIN ((uint64_t)NSEC_PER_SEC)
#define FOR_NS_MAX (24ULL * 3600 * NSEC_PER_SEC)

static uint32_t configured_sources(const struct service *service)
{
	uint64_t periods[PILOTLIGHT_SOURCES];

	return service_settings_sources(&service->settings.config, periods);
}

static int check_source(const struct service *service, const struct api_event_order *order,
	enum pilotlight_source i, struct fault *fault)
{
	const struct event_source *source = &event_sources[i];
	uint32_t allowed = config_allowed_events(&service->settings.config);
	uint64_t least = service_settings_least_period(i);

	if (configured_sources(service) & 1U << i)
		return fault_set(fault, -EPERM,
			"'%s' is on by the configuration: change pilotlight.conf(5) and reload",
			source->name);
	if (!order->is_on)
		return 0;
	if (source->service_period == 0)
		return fault_set(fault, -EINVAL,
			"the service cannot sample '%s': use `pilotlight record -e %s`",
			source->name, source->name);
	if (!(allowed & 1U << i))
		return fault_set(fault, -EPERM,
			"'%s' may not be turned on: add it to AllowEvents= in [Sampling] of "
			"pilotlight.conf(5) and reload",
			source->name);
	if (order->period && (order->period < least || order->period > source->greatest_period))
		return fault_set(fault, -EINVAL,
			"the period of '%s' is out of range: ask for %llu to %llu %s", source->name,
			(unsigned long long)least, (unsigned long long)source->greatest_period,
			source->unit);
	return 0;
}

static int check(const struct service *service, const struct api_event_order *order,
	uint32_t sources, struct fault *fault)
{
	int r = 0;

	if (sources == 0)
		return fault_set(fault, -EINVAL, "'cpu' is always on: name another event");
	if (order->is_on && (order->for_ns < FOR_NS_MIN || order->for_ns > FOR_NS_MAX))
		return fault_set(fault, -EINVAL, "the time is out of range: ask for 1s to 1d");
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			r = check_source(service, order, i, fault);
	return r;
}

static void log_order(const struct api_event_order *order, uint32_t sources)
{
	char duration[TIME_TEXT_BYTES];

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(sources & 1U << i))
			continue;
		if (order->is_on)
			log_info("a client turns the event %s on for %s", event_sources[i].name,
				time_text_format_duration(order->for_ns, duration));
		else
			log_info("a client turns the event %s off", event_sources[i].name);
	}
}

/* Is there memory for them? The next engine would drop them otherwise. */
static int check_memory(const struct service *service, uint32_t sources,
	const uint64_t periods[PILOTLIGHT_SOURCES], struct fault *fault)
{
	struct service_settings settings = service->settings;
	struct fault cause = { 0 };
	int r = service_settings_order(&settings, sources, periods, &cause);

	return r < 0 ? fault_set(fault, r, "there is not enough memory: [Memory] MaxBytes: %.400s",
			       cause.text)
		     : 0;
}

int service_order_events(void *context, const struct api_event_order *order, struct fault *fault)
{
	struct service *service = context;
	uint32_t sources = order->sources & ~(1U << PILOTLIGHT_SOURCE_CPU), before;
	uint64_t periods[PILOTLIGHT_SOURCES], periods_before[PILOTLIGHT_SOURCES];
	uint64_t now_ns = clock_monotonic_ns();
	int r = check(service, order, sources, fault);

	if (r < 0)
		return r;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		periods[i] = order->period ? order->period : event_sources[i].service_period;
	if (order->is_on)
		r = check_memory(service, sources, periods, fault);
	if (r < 0)
		return r;
	log_order(order, sources);
	before = event_orders_sources(service->orders, now_ns, periods_before);
	if (order->is_on)
		event_orders_enable(service->orders, sources, periods, now_ns + order->for_ns);
	else
		event_orders_disable(service->orders, sources);
	/* A new end alone needs no new engine. */
	if (event_orders_sources(service->orders, now_ns, periods) != before ||
		memcmp(periods, periods_before, sizeof(periods)) != 0)
		service->renew_ns = now_ns + ANSWER_NS;
	return 0;
}

void service_apply_orders(const struct service *service, struct service_settings *settings)
{
	uint64_t periods[PILOTLIGHT_SOURCES];
	uint32_t sources = event_orders_sources(service->orders, clock_monotonic_ns(), periods);
	uint32_t allowed = config_allowed_events(&settings->config);
	struct fault fault = { 0 };

	/* The configuration may have changed since. */
	event_orders_disable(service->orders, sources & ~allowed);
	if (service_settings_order(settings, sources & allowed, periods, &fault) == 0)
		return;
	log_error("%s; continuing without the events that were turned on", fault.text);
	event_orders_disable(service->orders, sources);
}

/* Which of its events were turned on by orders? */
static uint32_t ordered_sources(const struct service *service)
{
	return service->settings.sources & ~configured_sources(service);
}

static bool has_ended(const struct service *service, uint64_t now_ns)
{
	uint64_t periods[PILOTLIGHT_SOURCES];

	return ordered_sources(service) & ~event_orders_sources(service->orders, now_ns, periods);
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

void service_fill_events(const struct service *service, struct service_status *status)
{
	uint64_t now_ns = clock_monotonic_ns(), today_ns = clock_realtime_ns();

	status->allowed_events = config_allowed_events(&service->settings.config);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		uint64_t until_ns = event_orders_until_ns(service->orders, i, now_ns);

		status->ordered_until_ns[i] = until_ns ? today_ns + (until_ns - now_ns) : 0;
	}
}
