/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that were walked by unwind tables, of addresses of this very process. */
#include "base/array.h"
#include "tests/resolve/walk_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

static int resolve(
	struct fixture *fixture, const uint64_t *frames, size_t count, enum pilotlight_walk_end end)
{
	const struct raw_sample sample = {
		.process = { .tgid = (uint32_t)getpid() },
		.comm = "self",
		.count = 5,
		.first_ns = 2000,
		.last_ns = 3000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.walker = PILOTLIGHT_WALKER_TABLES,
		.source = fixture->source,
		.walk_frames = frames,
		.walk_count = count,
		.walk_end = end,
	};
	bool lacks_build_ids = false;
	int r = resolver_resolve(fixture->resolver, &sample, fixture->frames, &lacks_build_ids);

	assert_false(lacks_build_ids);
	return r;
}

static uint64_t vaddr_of(uint64_t address)
{
	struct link_map *map;
	Dl_info info;

	assert_int_not_equal(
		dladdr1((void *)(uintptr_t)address, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
	return address - map->l_addr;
}

static void file_offsets_become_vaddrs_and_return_addresses_calls(void **state)
{
	struct fixture fixture;
	uint64_t frames[4];

	open_fixture(&fixture);
	frames[0] = file_frame(&fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	frames[1] = file_frame(&fixture, FILE_ID, here() + 1);
	/* What a signal interrupted is no return address, wherever in the stack it is. */
	frames[2] = file_frame(&fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	frames[3] = here() + 1;
	assert_int_equal(resolve(&fixture, frames, 4, PILOTLIGHT_WALK_ROOT), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(fixture.frames[i].address, vaddr_of(here()));
		assert_int_equal(fixture.frames[i].binary, fixture.binary);
	}
	close_fixture(&fixture);
}

static void files_that_nobody_knows_and_kinds_to_come_are_unknown(void **state)
{
	struct fixture fixture;
	uint64_t frames[3];

	open_fixture(&fixture);
	frames[0] = file_frame(&fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	frames[1] = file_frame(&fixture, OTHER_FILE_ID, here());
	frames[2] = 5ULL << PILOTLIGHT_FRAME_KIND_SHIFT | 123;
	assert_int_equal(resolve(&fixture, frames, 3, PILOTLIGHT_WALK_ROOT), 3);
	assert_string_equal(fixture.frames[0].name, "[unknown]");
	assert_string_equal(fixture.frames[1].name, "[unknown]");
	assert_int_equal(fixture.frames[2].binary, fixture.binary);

	resolver_set_files(fixture.resolver, NULL, NULL);
	assert_int_equal(resolve(&fixture, frames, 1, PILOTLIGHT_WALK_ROOT), 1);
	assert_string_equal(fixture.frames[0].name, "[unknown]");
	close_fixture(&fixture);
}

/* One that has ended since, and that nobody has looked at before. */
static void addresses_of_a_process_that_is_not_known_are_unknown(void **state)
{
	struct fixture fixture;
	uint64_t frames[2];
	struct raw_sample sample = {
		.process = { .tgid = INT32_MAX, .start_ns = 1 },
		.count = 1,
		.first_ns = 2000,
		.last_ns = 3000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.walker = PILOTLIGHT_WALKER_TABLES,
		.walk_frames = frames,
		.walk_count = 2,
		.walk_end = PILOTLIGHT_WALK_ROOT,
	};
	bool lacks_build_ids;

	open_fixture(&fixture);
	frames[0] = here() | PILOTLIGHT_FRAME_EXACT;
	frames[1] = file_frame(&fixture, FILE_ID, here() + 1);
	assert_int_equal(
		resolver_resolve(fixture.resolver, &sample, fixture.frames, &lacks_build_ids), 2);
	assert_int_equal(fixture.frames[0].binary, fixture.binary);
	assert_string_equal(fixture.frames[1].name, "[unknown]");
	close_fixture(&fixture);
}

/* By frame pointers, since there was no table: nobody knows whether it is whole. */
static void a_stack_of_the_kernels_is_cut(void **state)
{
	struct fixture fixture;
	uint64_t ip;
	struct raw_sample sample = {
		.process = { .tgid = (uint32_t)getpid() },
		.count = 1,
		.first_ns = 2000,
		.last_ns = 3000,
		.depth_max = PILOTLIGHT_STACK_DEPTH,
		.walker = PILOTLIGHT_WALKER_KERNEL,
		.user_ips = &ip,
		.user_ip_count = 1,
	};
	bool lacks_build_ids;

	open_fixture(&fixture);
	ip = here();
	assert_int_equal(
		resolver_resolve(fixture.resolver, &sample, fixture.frames, &lacks_build_ids), 2);
	assert_string_equal(fixture.frames[0].name, "[truncated: no unwind table]");
	assert_int_equal(fixture.frames[1].binary, fixture.binary);
	/* Where nothing else was asked for it is what there is. */
	resolver_set_files(fixture.resolver, NULL, NULL);
	assert_int_equal(
		resolver_resolve(fixture.resolver, &sample, fixture.frames, &lacks_build_ids), 1);
	close_fixture(&fixture);
}

static void why_a_walk_ended_is_drawn_and_counted(void **state)
{
	static const struct {
		enum pilotlight_walk_end end;
		enum resolver_cut cut;
		const char *frame;
	} ends[] = {
		{ PILOTLIGHT_WALK_NO_TABLE, RESOLVER_CUT_NO_TABLE, "[truncated: no unwind table]" },
		{ PILOTLIGHT_WALK_NO_FUNCTION, RESOLVER_CUT_NO_FUNCTION,
			"[truncated: no unwind rule]" },
		{ PILOTLIGHT_WALK_UNREADABLE, RESOLVER_CUT_UNREADABLE,
			"[truncated: stack unreadable]" },
		{ PILOTLIGHT_WALK_UNSUPPORTED, RESOLVER_CUT_UNSUPPORTED,
			"[truncated: unsupported rule]" },
		{ PILOTLIGHT_WALK_NO_CODE, RESOLVER_CUT_GARBAGE, "[truncated: no code there]" },
		{ PILOTLIGHT_WALK_LOOPED, RESOLVER_CUT_LOOPED, "[truncated: stack loops]" },
		{ PILOTLIGHT_WALK_NO_FRAME_POINTER, RESOLVER_CUT_NO_FRAME_POINTER,
			"[truncated: JIT code without frame pointer]" },
		{ PILOTLIGHT_WALK_BLOCKED, RESOLVER_CUT_BLOCKED, "[truncated: still blocked]" },
		{ PILOTLIGHT_WALK_DEEP, RESOLVER_CUT_DEPTH, "[truncated: depth]" },
		{ PILOTLIGHT_WALK_ENDS, RESOLVER_CUT_MISSING, "[truncated: stack missing]" },
	};
	struct resolver_counters counters;
	struct fixture fixture;
	uint64_t frame;

	open_fixture(&fixture);
	frame = file_frame(&fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		assert_int_equal(resolve(&fixture, &frame, 1, ends[i].end), 2);
		assert_string_equal(fixture.frames[0].name, ends[i].frame);
		resolver_counters(fixture.resolver, &counters);
		assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][ends[i].cut], 5);
	}
	assert_int_equal(ARRAY_SIZE(ends), PILOTLIGHT_WALK_ENDS);
	/* Each source has its own unit. */
	fixture.source = PILOTLIGHT_SOURCE_OFFCPU;
	(void)resolve(&fixture, &frame, 1, PILOTLIGHT_WALK_DEEP);
	resolver_counters(fixture.resolver, &counters);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_CPU][RESOLVER_CUT_DEPTH], 5);
	assert_int_equal(counters.cuts[PILOTLIGHT_SOURCE_OFFCPU][RESOLVER_CUT_DEPTH], 5);
	close_fixture(&fixture);
}

/* As of Mono: a frame pointer that generated code does not keep may lead to the root all the same,
 * without the callers in between. */
static void a_root_is_doubted_behind_code_that_keeps_no_frame_pointer(void **state)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fixture fixture;
	uint64_t frames[2];

	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	frames[0] = (uint64_t)(uintptr_t)code | PILOTLIGHT_FRAME_EXACT;
	frames[1] = file_frame(&fixture, FILE_ID, here());
	assert_int_equal(resolve(&fixture, frames, 2, PILOTLIGHT_WALK_ROOT), 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(resolve(&fixture, frames, 1, PILOTLIGHT_WALK_NO_FRAME_POINTER), 2);
	assert_int_equal(resolve(&fixture, frames, 2, PILOTLIGHT_WALK_ROOT), 3);
	assert_string_equal(fixture.frames[0].name, "[truncated: JIT code without frame pointer]");
	/* Other ends keep their reasons, and other code is believed. */
	assert_int_equal(resolve(&fixture, frames, 2, PILOTLIGHT_WALK_DEEP), 3);
	assert_string_equal(fixture.frames[0].name, "[truncated: depth]");
	assert_int_equal(resolve(&fixture, frames + 1, 1, PILOTLIGHT_WALK_ROOT), 1);
	close_fixture(&fixture);
	(void)munmap(code, bytes);
}

static void the_deepest_stack_has_room(void **state)
{
	uint64_t frames[PILOTLIGHT_WALK_DEPTH];
	struct fixture fixture;

	open_fixture(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = file_frame(&fixture, FILE_ID, here() + 1);
	assert_int_equal(resolve(&fixture, frames, ARRAY_SIZE(frames), PILOTLIGHT_WALK_DEEP),
		PILOTLIGHT_WALK_DEPTH + 1);
	close_fixture(&fixture);
}

static void an_offset_in_no_code_ends_the_stack(void **state)
{
	struct fixture fixture;
	uint64_t frames[2];

	open_fixture(&fixture);
	frames[0] = file_frame(&fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	frames[1] = (file_frame(&fixture, FILE_ID, here()) & ~PILOTLIGHT_FRAME_OFFSET_MASK) |
		    (1ULL << 39);
	assert_int_equal(resolve(&fixture, frames, 2, PILOTLIGHT_WALK_ROOT), 2);
	assert_string_equal(fixture.frames[0].name, "[truncated: no code there]");
	close_fixture(&fixture);
}

/* --- frames of interpreters --- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_offsets_become_vaddrs_and_return_addresses_calls),
		cmocka_unit_test(files_that_nobody_knows_and_kinds_to_come_are_unknown),
		cmocka_unit_test(addresses_of_a_process_that_is_not_known_are_unknown),
		cmocka_unit_test(a_stack_of_the_kernels_is_cut),
		cmocka_unit_test(why_a_walk_ended_is_drawn_and_counted),
		cmocka_unit_test(a_root_is_doubted_behind_code_that_keeps_no_frame_pointer),
		cmocka_unit_test(the_deepest_stack_has_room),
		cmocka_unit_test(an_offset_in_no_code_ends_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
