/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A resolver that knows this very process, and frames in its code. */
#pragma once

#include "process/process_scan.h"
#include "resolve/resolver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_ID = 77, OTHER_FILE_ID = 78 };

struct fixture {
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct resolver *resolver;
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	uint32_t binary; /* of this program */
	uint64_t start, offset;
	enum pilotlight_source source;
};

static inline uint32_t find_file(void *context, uint32_t file_id)
{
	struct fixture *fixture = context;

	return file_id == FILE_ID ? fixture->binary : UINT32_MAX;
}

static inline uint64_t here(void)
{
	return (uint64_t)(uintptr_t)here;
}

static inline void open_fixture(struct fixture *fixture)
{
	const struct broker_options options = { .proc_root = "/proc" };
	const struct broker_process self = { .pid = getpid() };
	struct process_mapping mapping;

	*fixture = (struct fixture){ 0 };
	assert_int_equal(broker_new(&options, &fixture->broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &fixture->processes), 0);
	assert_int_equal(kernel_symbols_new(fixture->broker, &fixture->kernel), 0);
	assert_int_equal(binary_table_new(&binary_table_default_limits, fixture->broker,
				 fixture->processes, &fixture->binaries),
		0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	assert_int_equal(process_scan_one(fixture->broker, fixture->processes, getpid(), 1000), 0);
	assert_true(process_table_find(fixture->processes, getpid(), 2000, here(), &mapping));
	assert_int_equal(binary_table_find_mapping(
				 fixture->binaries, &self, 2000, &mapping, &fixture->binary),
		0);
	fixture->start = mapping.start;
	fixture->offset = mapping.offset;
	resolver_set_files(fixture->resolver, find_file, fixture);
}

static inline void close_fixture(struct fixture *fixture)
{
	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	kernel_symbols_free(fixture->kernel);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

static inline uint64_t file_frame(const struct fixture *fixture, uint32_t file_id, uint64_t address)
{
	return (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT |
	       (uint64_t)file_id << PILOTLIGHT_FRAME_FILE_SHIFT |
	       (address - fixture->start + fixture->offset);
}
