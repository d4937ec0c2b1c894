/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/event_orders.h"

#include "base/event_source.h"
#include "base/state_file.h"
#include "capture/counted_event.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* "PLORDER", and the version of the layout. */
#define MAGIC 0x015245445244504cULL

struct event_orders {
	uint64_t magic;
	uint64_t bytes; /* of this struct: there may be more sources than before */
	uint8_t boot_id[16];
	uint64_t service;
	struct {
		uint64_t until_ns; /* CLOCK_MONOTONIC; 0: off */
		uint64_t period;
	} of[PILOTLIGHT_SOURCES];
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
};

/* NULL: it is no source of events that a user has named. */
static struct pilotlight_counted_event *counted_of(
	struct event_orders *orders, enum pilotlight_source source)
{
	return event_source_is_counted(source)
		       ? &orders->counted[source - PILOTLIGHT_SOURCE_COUNTED]
		       : NULL;
}

/* A killed engine may have written half of an order, but not the time that makes it one. */
static bool is_valid(struct event_orders *orders)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct pilotlight_counted_event *counted = counted_of(orders, i);
		const struct event_source *source = &event_sources[i];
		uint64_t period = orders->of[i].period;

		if (orders->of[i].until_ns &&
			(i == PILOTLIGHT_SOURCE_CPU || period < source->least_period ||
				period > source->greatest_period ||
				(counted && (counted->kind == PILOTLIGHT_COUNTED_NONE ||
						    !counted_event_is_valid(counted)))))
			return false;
	}
	return true;
}

int event_orders_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct event_orders **ret_orders, struct fault *fault)
{
	struct event_orders *orders;
	void *memory;
	int r = state_file_map(path, sizeof(*orders), &memory);

	if (r < 0)
		return fault_set(fault, r, "cannot use the file %s: %s", path, strerror(-r));
	orders = memory;
	if (orders->magic != MAGIC || orders->bytes != sizeof(*orders) ||
		memcmp(orders->boot_id, boot_id, sizeof(orders->boot_id)) != 0 ||
		orders->service != service || !is_valid(orders)) {
		memset(orders, 0, sizeof(*orders));
		memcpy(orders->boot_id, boot_id, sizeof(orders->boot_id));
		orders->service = service;
		orders->bytes = sizeof(*orders);
		orders->magic = MAGIC;
	}
	*ret_orders = orders;
	return 0;
}

void event_orders_close(struct event_orders *orders)
{
	if (orders)
		(void)munmap(orders, sizeof(*orders));
}

void event_orders_enable(
	struct event_orders *orders, const struct service_sampling *sampling, uint64_t until_ns)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		struct pilotlight_counted_event *counted = counted_of(orders, i);

		if (!(sampling->sources & 1U << i))
			continue;
		orders->of[i].period = sampling->periods[i];
		if (counted)
			*counted = sampling->counted[i - PILOTLIGHT_SOURCE_COUNTED];
		__atomic_store_n(&orders->of[i].until_ns, until_ns, __ATOMIC_RELEASE);
	}
}

void event_orders_disable(struct event_orders *orders, uint32_t sources)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			orders->of[i].until_ns = 0;
}

void event_orders_move(
	struct event_orders *orders, enum pilotlight_source from, enum pilotlight_source to)
{
	orders->of[to].period = orders->of[from].period;
	*counted_of(orders, to) = *counted_of(orders, from);
	__atomic_store_n(&orders->of[to].until_ns, orders->of[from].until_ns, __ATOMIC_RELEASE);
	orders->of[from].until_ns = 0;
}

uint64_t event_orders_until_ns(
	const struct event_orders *orders, enum pilotlight_source source, uint64_t now_ns)
{
	uint64_t until_ns = orders->of[source].until_ns;

	return until_ns > now_ns ? until_ns : 0;
}

void event_orders_sampling(
	const struct event_orders *orders, uint64_t now_ns, struct service_sampling *ret_sampling)
{
	struct service_sampling sampling = { .sources = 0 };

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (event_orders_until_ns(orders, i, now_ns) == 0)
			continue;
		sampling.sources |= 1U << i;
		sampling.periods[i] = orders->of[i].period;
		if (event_source_is_counted(i))
			sampling.counted[i - PILOTLIGHT_SOURCE_COUNTED] =
				orders->counted[i - PILOTLIGHT_SOURCE_COUNTED];
	}
	*ret_sampling = sampling;
}

uint64_t event_orders_next_ns(const struct event_orders *orders, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		uint64_t until_ns = event_orders_until_ns(orders, i, now_ns);

		if (until_ns && until_ns < next_ns)
			next_ns = until_ns;
	}
	return next_ns;
}
