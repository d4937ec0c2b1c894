/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A resolver that knows this very process, with made-up kernel symbols. The dynamic linker says
 * where the process's addresses ought to be.
 */
#pragma once

#include "process/process_scan.h"
#include "resolve/resolver.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct resolver *resolver;
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	bool lacks_build_ids;
};

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000100 T do_idle\n"
			       "ffffffff81000200 t schedule_inner\n"
			       "ffffffff81000300 T _etext\n";

static inline int open_fixture(struct fixture *fixture)
{
	const struct broker_options options = { .proc_root = "/proc",
		.debug_root = "/usr/lib/debug" };
	int r;

	*fixture = (struct fixture){ 0 };
	r = broker_new(&options, &fixture->broker);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &fixture->processes);
	if (r == 0)
		r = kernel_symbols_new(fixture->broker, &fixture->kernel);
	if (r == 0)
		r = kernel_symbols_parse(fixture->kernel, kallsyms, strlen(kallsyms));
	if (r == 0)
		r = binary_table_new(&binary_table_default_limits, fixture->broker,
			fixture->processes, &fixture->binaries);
	if (r == 0)
		r = resolver_new(fixture->broker, fixture->processes, fixture->kernel,
			fixture->binaries, &fixture->resolver);
	if (r == 0)
		r = process_scan_one(fixture->broker, fixture->processes, getpid(), 1000);
	return r;
}

static inline void close_fixture(struct fixture *fixture)
{
	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	kernel_symbols_free(fixture->kernel);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

static inline int resolve(struct fixture *fixture, const struct raw_sample *sample)
{
	return resolver_resolve(
		fixture->resolver, sample, fixture->frames, &fixture->lacks_build_ids);
}

static inline struct raw_sample sample_of_self(void)
{
	return (struct raw_sample){
		.process = { .tgid = (uint32_t)getpid() },
		.comm = "self",
		.count = 5,
		.first_ns = 2000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.last_ns = 3000,
	};
}

static inline uint64_t address_of(void *function)
{
	return (uint64_t)(uintptr_t)function;
}

/* What the dynamic linker says: the object's file, and the address without its load bias. */
static inline uint64_t vaddr_of(uint64_t address, const char **ret_path)
{
	struct link_map *map;
	Dl_info info;

	assert_int_not_equal(
		dladdr1((void *)(uintptr_t)address, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
	*ret_path = info.dli_fname;
	return address - map->l_addr;
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	return open_fixture(fixture);
}

static inline int tear_down(void **state)
{
	close_fixture(*state);
	free(*state);
	return 0;
}

#define RESOLVED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
