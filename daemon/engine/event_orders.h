/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that an administrator has turned on for a time, without the configuration. They are in a
 * file of the runtime folder, mapped by the engine, so that the next engine goes on with them: each
 * change takes a new engine, as a reload does. They end at their time, with the service, or with
 * the machine. One owner, one thread.
 */
#pragma once

#include "base/fault.h"
#include "engine/service_sampling.h"
#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

struct event_orders;

/*
 * Opens or creates the file. Orders of another boot, service or layout are dropped. `service` is as
 * in loss_record_open(). Returns 0 or -errno with `fault`.
 */
int event_orders_open(const char *path, const uint8_t boot_id[16], uint64_t service,
	struct event_orders **ret_orders, struct fault *fault);
void event_orders_close(struct event_orders *orders);

/* Turns what is to be sampled on until then (CLOCK_MONOTONIC). */
void event_orders_enable(
	struct event_orders *orders, const struct service_sampling *sampling, uint64_t until_ns);
/* Turns them off. */
void event_orders_disable(struct event_orders *orders, uint32_t sources);
/* Moves an event that a user has named to another place, whose event ends. */
void event_orders_move(
	struct event_orders *orders, enum pilotlight_source from, enum pilotlight_source to);

/* What is on at that time. */
void event_orders_sampling(
	const struct event_orders *orders, uint64_t now_ns, struct service_sampling *ret_sampling);
/* Until when a source is on, CLOCK_MONOTONIC; 0: it is not. */
uint64_t event_orders_until_ns(
	const struct event_orders *orders, enum pilotlight_source source, uint64_t now_ns);
/* When the first of them ends; UINT64_MAX: none is on. */
uint64_t event_orders_next_ns(const struct event_orders *orders, uint64_t now_ns);
