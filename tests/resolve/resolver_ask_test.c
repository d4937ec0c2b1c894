/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom a resolver asks /proc for, how often and for how long: over a folder that stands for it. */
#include "resolve/resolver.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PID = 12 };

struct fixture {
	char proc[64];
	struct broker *broker;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct resolver *resolver;
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct broker_options options = { 0 };

	assert_non_null(fixture);
	strcpy(fixture->proc, "/tmp/resolver_ask_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->proc));
	options.proc_root = fixture->proc;
	assert_int_equal(broker_new(&options, &fixture->broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &fixture->processes), 0);
	assert_int_equal(kernel_symbols_new(fixture->broker, &fixture->kernel), 0);
	assert_int_equal(binary_table_new(&binary_table_default_limits, fixture->broker,
				 fixture->processes, &fixture->binaries),
		0);
	assert_int_equal(resolver_new(fixture->broker, fixture->processes, fixture->kernel,
				 fixture->binaries, &fixture->resolver),
		0);
	*state = fixture;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	kernel_symbols_free(fixture->kernel);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
	assert_int_equal(nftw(fixture->proc, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(fixture);
	return 0;
}

/* Of a process that has code of its own at 0x1000. */
static void write_maps(const struct fixture *fixture, pid_t pid)
{
	char path[128];
	FILE *maps;

	(void)snprintf(path, sizeof(path), "%s/%d", fixture->proc, (int)pid);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/%d/maps", fixture->proc, (int)pid);
	maps = fopen(path, "w");
	assert_non_null(maps);
	assert_true(fputs("1000-2000 rwxp 00000000 00:00 0 \n", maps) >= 0);
	assert_int_equal(fclose(maps), 0);
}

/* Is its process known once a stack of one walked frame is resolved? */
static bool knows_after(struct fixture *fixture, pid_t pid, uint64_t frame)
{
	const struct raw_sample sample = {
		.process = { .tgid = (uint32_t)pid },
		.comm = "a",
		.count = 1,
		.first_ns = 2000,
		.last_ns = 2000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.walker = PILOTLIGHT_WALKER_TABLES,
		.walk_frames = &frame,
		.walk_count = 1,
		.walk_end = PILOTLIGHT_WALK_ROOT,
	};
	bool lacks_build_ids, knows;
	int count = resolver_resolve(fixture->resolver, &sample, fixture->frames, &lacks_build_ids);

	assert_int_equal(count, 1);
	knows = process_table_has(fixture->processes, pid, 2000);
	/* An address is code of the process, or unknown. */
	if (frame >> PILOTLIGHT_FRAME_KIND_SHIFT == PILOTLIGHT_FRAME_ADDRESS)
		assert_int_equal(fixture->frames[0].jit, knows ? RESOLVED_JIT : RESOLVED_NO_JIT);
	return knows;
}

static uint64_t address_frame(void)
{
	return (uint64_t)PILOTLIGHT_FRAME_ADDRESS << PILOTLIGHT_FRAME_KIND_SHIFT | 0x1800;
}

static void an_address_is_asked_for_and_a_file_is_not(void **state)
{
	struct fixture *fixture = *state;
	uint64_t file = (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT | 0x1800;

	write_maps(fixture, PID);
	assert_false(knows_after(fixture, PID, file));
	assert_true(knows_after(fixture, PID, address_frame()));
}

static void an_unreadable_process_is_read_once_a_window(void **state)
{
	struct fixture *fixture = *state;

	resolver_begin_window(fixture->resolver, UINT64_MAX);
	assert_false(knows_after(fixture, PID, address_frame()));
	write_maps(fixture, PID);
	write_maps(fixture, PID + 1);
	assert_false(knows_after(fixture, PID, address_frame()));
	assert_true(knows_after(fixture, PID + 1, address_frame()));
	resolver_begin_window(fixture->resolver, UINT64_MAX);
	assert_true(knows_after(fixture, PID, address_frame()));
}

static void questions_end_with_their_time_and_go_on_in_the_next_window(void **state)
{
	struct fixture *fixture = *state;

	write_maps(fixture, PID);
	write_maps(fixture, PID + 1);
	resolver_begin_window(fixture->resolver, 0);
	assert_false(knows_after(fixture, PID, address_frame()));
	/* The first takes longer than there is time. */
	resolver_begin_window(fixture->resolver, 1);
	assert_true(knows_after(fixture, PID, address_frame()));
	assert_false(knows_after(fixture, PID + 1, address_frame()));
	resolver_begin_window(fixture->resolver, UINT64_MAX);
	assert_true(knows_after(fixture, PID + 1, address_frame()));
}

static void idle_and_later_images_are_not_read(void **state)
{
	struct fixture *fixture = *state;
	struct process_mapping mapping;

	write_maps(fixture, 0);
	assert_false(knows_after(fixture, 0, address_frame()));
	/* It has begun since: what /proc says is of another image. */
	write_maps(fixture, PID);
	assert_int_equal(process_table_exec(fixture->processes, PID, 3000), 0);
	assert_false(knows_after(fixture, PID, address_frame()));
	assert_false(process_table_find(fixture->processes, PID, 3000, 0x1800, &mapping));
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(an_address_is_asked_for_and_a_file_is_not),
		IN_TREE(an_unreadable_process_is_read_once_a_window),
		IN_TREE(questions_end_with_their_time_and_go_on_in_the_next_window),
		IN_TREE(idle_and_later_images_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
