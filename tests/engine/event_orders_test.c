/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/event_orders.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	OFFCPU = 1 << PILOTLIGHT_SOURCE_OFFCPU,
	RUNQUEUE = 1 << PILOTLIGHT_SOURCE_RUNQUEUE,
	COUNTED = 1 << (PILOTLIGHT_SOURCE_COUNTED + 2),
	MS = 1000000,
};

static const uint8_t boot[16] = "this boot", other_boot[16] = "another boot";
static char path[64];

static int make_file(void **state)
{
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/event_orders_test.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static struct event_orders *open_orders(const uint8_t boot_id[16], uint64_t service)
{
	struct event_orders *orders;
	struct fault fault = { 0 };

	assert_int_equal(event_orders_open(path, boot_id, service, &orders, &fault), 0);
	return orders;
}

static uint32_t sources_at(const struct event_orders *orders, uint64_t now_ns)
{
	struct service_sampling sampling;

	event_orders_sampling(orders, now_ns, &sampling);
	return sampling.sources;
}

static void enable(
	struct event_orders *orders, uint32_t sources, uint64_t period, uint64_t until_ns)
{
	struct service_sampling sampling = { .sources = sources };

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		sampling.periods[i] = sources & 1U << i ? period : 0;
	event_orders_enable(orders, &sampling, until_ns);
}

static void orders_end_at_their_time(void **state)
{
	struct event_orders *orders = open_orders(boot, 1);
	struct service_sampling sampling;

	assert_int_equal(sources_at(orders, 0), 0);
	assert_int_equal(event_orders_next_ns(orders, 0), UINT64_MAX);
	enable(orders, OFFCPU, 2 * MS, 100);
	enable(orders, RUNQUEUE, 3 * MS, 200);
	event_orders_sampling(orders, 99, &sampling);
	assert_int_equal(sampling.sources, OFFCPU | RUNQUEUE);
	assert_int_equal(sampling.periods[PILOTLIGHT_SOURCE_OFFCPU], 2 * MS);
	assert_int_equal(sampling.periods[PILOTLIGHT_SOURCE_RUNQUEUE], 3 * MS);
	assert_int_equal(event_orders_next_ns(orders, 99), 100);
	event_orders_sampling(orders, 100, &sampling);
	assert_int_equal(sampling.sources, RUNQUEUE);
	assert_int_equal(sampling.periods[PILOTLIGHT_SOURCE_OFFCPU], 0);
	assert_int_equal(event_orders_next_ns(orders, 100), 200);
	assert_int_equal(event_orders_until_ns(orders, PILOTLIGHT_SOURCE_RUNQUEUE, 100), 200);
	assert_int_equal(event_orders_until_ns(orders, PILOTLIGHT_SOURCE_OFFCPU, 100), 0);
	event_orders_disable(orders, RUNQUEUE);
	assert_int_equal(sources_at(orders, 0), OFFCPU);
	event_orders_close(orders);
}

static void another_engine_of_the_service_goes_on_with_them(void **state)
{
	struct event_orders *orders = open_orders(boot, 1);

	enable(orders, OFFCPU, MS, 100);
	event_orders_close(orders);
	orders = open_orders(boot, 1);
	assert_int_equal(sources_at(orders, 0), OFFCPU);
	event_orders_close(orders);
	/* Not another service, nor after a reboot. */
	orders = open_orders(boot, 2);
	assert_int_equal(sources_at(orders, 0), 0);
	enable(orders, OFFCPU, MS, 100);
	event_orders_close(orders);
	orders = open_orders(other_boot, 2);
	assert_int_equal(sources_at(orders, 0), 0);
	event_orders_close(orders);
}

static const struct service_sampling execs = {
	.sources = COUNTED,
	.periods = { [PILOTLIGHT_SOURCE_COUNTED + 2] = 5 },
	.counted = { [2] = { .name = "sched:sched_process_exec",
			     .kind = PILOTLIGHT_COUNTED_TRACEPOINT } },
};

static void named_events_are_kept_with_their_names(void **state)
{
	struct event_orders *orders = open_orders(boot, 1);
	struct service_sampling sampling;

	event_orders_enable(orders, &execs, 100);
	event_orders_close(orders);
	orders = open_orders(boot, 1);
	event_orders_sampling(orders, 99, &sampling);
	assert_true(service_sampling_equals(&sampling, &execs));
	event_orders_sampling(orders, 100, &sampling);
	assert_int_equal(sampling.counted[2].kind, PILOTLIGHT_COUNTED_NONE);
	event_orders_close(orders);
}

/* An engine that an attacker controls must not stop the next one by its file. */
static void damaged_orders_are_dropped(void **state)
{
	struct service_sampling breakpoint = execs;
	struct event_orders *orders = open_orders(boot, 1);

	enable(orders, OFFCPU | RUNQUEUE, 0, 100);
	event_orders_close(orders);
	orders = open_orders(boot, 1);
	assert_int_equal(sources_at(orders, 0), 0);
	event_orders_close(orders);
	assert_int_equal(truncate(path, 11), 0);
	orders = open_orders(boot, 1);
	assert_int_equal(sources_at(orders, 0), 0);
	for (int i = 0; i < 2; i++) {
		breakpoint.counted[2] = (struct pilotlight_counted_event){ .name = "",
			.kind = i ? PILOTLIGHT_COUNTED_NONE : PILOTLIGHT_COUNTED_KINDS };
		event_orders_enable(orders, &breakpoint, 100);
		event_orders_close(orders);
		orders = open_orders(boot, 1);
		assert_int_equal(sources_at(orders, 0), 0);
	}
	event_orders_close(orders);
}

static void the_file_may_be_out_of_reach(void **state)
{
	struct event_orders *orders = NULL;
	struct fault fault = { 0 };

	assert_int_equal(event_orders_open("/nowhere/orders", boot, 1, &orders, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nowhere/orders"));
	assert_null(orders);
	event_orders_close(NULL);
}

static void a_named_event_moves_to_another_place(void **state)
{
	struct event_orders *orders = open_orders(boot, 1);
	struct service_sampling sampling;

	event_orders_enable(orders, &execs, 100);
	event_orders_move(orders, PILOTLIGHT_SOURCE_COUNTED + 2, PILOTLIGHT_SOURCE_COUNTED + 1);
	event_orders_sampling(orders, 99, &sampling);
	assert_int_equal(sampling.sources, 1U << (PILOTLIGHT_SOURCE_COUNTED + 1));
	assert_int_equal(sampling.periods[PILOTLIGHT_SOURCE_COUNTED + 1], 5);
	assert_string_equal(sampling.counted[1].name, "sched:sched_process_exec");
	assert_int_equal(sources_at(orders, 100), 0);
	event_orders_close(orders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(orders_end_at_their_time, make_file, remove_file),
		cmocka_unit_test_setup_teardown(
			another_engine_of_the_service_goes_on_with_them, make_file, remove_file),
		cmocka_unit_test_setup_teardown(
			named_events_are_kept_with_their_names, make_file, remove_file),
		cmocka_unit_test_setup_teardown(
			a_named_event_moves_to_another_place, make_file, remove_file),
		cmocka_unit_test_setup_teardown(damaged_orders_are_dropped, make_file, remove_file),
		cmocka_unit_test(the_file_may_be_out_of_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
