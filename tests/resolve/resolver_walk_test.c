/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that were walked by unwind tables, of addresses of this very process. */
#include "base/array.h"
#include "process/process_scan.h"
#include "resolve/resolver.h"
#include "tests/resolve/runtime_code_record.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
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

static uint32_t find_file(void *context, uint32_t file_id)
{
	struct fixture *fixture = context;

	return file_id == FILE_ID ? fixture->binary : UINT32_MAX;
}

static uint64_t here(void)
{
	return (uint64_t)(uintptr_t)here;
}

static void open_fixture(struct fixture *fixture)
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

static void close_fixture(struct fixture *fixture)
{
	resolver_free(fixture->resolver);
	binary_table_free(fixture->binaries);
	kernel_symbols_free(fixture->kernel);
	process_table_free(fixture->processes);
	broker_free(fixture->broker);
}

static uint64_t file_frame(const struct fixture *fixture, uint32_t file_id, uint64_t address)
{
	return (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT |
	       (uint64_t)file_id << PILOTLIGHT_FRAME_FILE_SHIFT |
	       (address - fixture->start + fixture->offset);
}

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

enum { INTERPRETED_UID = 0, INTERPRETED_CGROUP = 5 };
#define INTERPRETED_USER (7ULL << 32) /* as a container's */

static void open_names(struct fixture *fixture, struct runtime_names **ret_names)
{
	static const char *const functions[] = { "leaf", "middle", "outer", "root" };
	struct raw_code code;

	assert_int_equal(runtime_names_new(1 << 20, ret_names), 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(functions); i++) {
		code = code_record(i + 1, functions[i], "/srv/app.py");

		/* The last came before the container was known. */
		if (i + 1 < ARRAY_SIZE(functions))
			runtime_names_add(*ret_names, INTERPRETED_USER, 0, &code);
		else
			runtime_names_add(*ret_names, INTERPRETED_UID, INTERPRETED_CGROUP, &code);
	}
	code = code_record(1, "lie", "/srv/app.py");
	runtime_names_add(*ret_names, INTERPRETED_UID, 0, &code);
	resolver_set_names(fixture->resolver, *ret_names);
}

/* Native frames are all `here`. */
static int resolve_runtime(struct fixture *fixture, enum pilotlight_runtime_language language,
	const struct pilotlight_runtime_frame *interpreted, size_t interpreted_count,
	enum pilotlight_runtime_end end, size_t native_count)
{
	uint64_t frames[8];
	const struct raw_sample sample = {
		.process = { .tgid = (uint32_t)getpid() },
		.cgroup_id = INTERPRETED_CGROUP,
		.user = INTERPRETED_UID,
		.share_user = INTERPRETED_USER,
		.comm = "self",
		.count = 5,
		.first_ns = 2000,
		.last_ns = 3000,
		.walker = PILOTLIGHT_WALKER_TABLES,
		.walk_frames = frames,
		.walk_count = native_count,
		.walk_end = PILOTLIGHT_WALK_ROOT,
		.runtime_frames = interpreted,
		.runtime_count = interpreted_count,
		.runtime_end = end,
		.runtime_language = language,
		.runtime_file = FILE_ID,
	};
	bool lacks_build_ids;

	for (size_t i = 0; i < native_count; i++)
		frames[i] = file_frame(fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	return resolver_resolve(fixture->resolver, &sample, fixture->frames, &lacks_build_ids);
}

static int resolve_interpreted(struct fixture *fixture,
	const struct pilotlight_runtime_frame *interpreted, size_t interpreted_count,
	enum pilotlight_runtime_end end, size_t native_count)
{
	return resolve_runtime(fixture, PILOTLIGHT_RUNTIME_PYTHON, interpreted, interpreted_count,
		end, native_count);
}

/* The names of the frames, root first; "-" for native ones. */
static void check_names(const struct fixture *fixture, int count, const char *expected)
{
	char text[512] = "";

	for (int i = 0; i < count; i++) {
		const struct resolved_frame *frame = &fixture->frames[i];

		(void)strcat(text, i > 0 ? " " : "");
		(void)strcat(text, frame->is_interpreted ? frame->name : "-");
	}
	assert_string_equal(text, expected);
}

#define INTERPRETED(code_, unit_)                                                       \
	{                                                                               \
		.code = code_, .unit = unit_, .place = PILOTLIGHT_RUNTIME_PLACE_UNKNOWN \
	}
#define GROUP_END(code_, place_)                                                      \
	{                                                                             \
		.code = code_, .place = place_, .flags = PILOTLIGHT_RUNTIME_GROUP_END \
	}

static void interpreted_frames_are_called_by_the_native_frame_that_runs_them(void **state)
{
	static const struct pilotlight_runtime_frame interpreted[] = { INTERPRETED(1, 1),
		GROUP_END(2, 1), GROUP_END(3, 3) };
	struct runtime_names *names;
	struct binary binary, native;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_interpreted(&fixture, interpreted, 3, PILOTLIGHT_RUNTIME_ROOT, 5);
	check_names(&fixture, count, "- - outer - - middle leaf -");
	assert_string_equal(fixture.frames[6].file, "/srv/app.py");
	assert_int_equal(fixture.frames[6].line, 11);
	assert_int_equal(fixture.frames[6].address, 1);
	assert_int_equal(fixture.frames[2].line, 10);
	/* The code is that of any program which this interpreter runs. */
	binary_table_get(fixture.binaries, fixture.frames[2].binary, &binary);
	binary_table_get(fixture.binaries, fixture.binary, &native);
	assert_int_equal(binary.kind, BINARY_PYTHON);
	assert_true(build_id_equal(&binary.build_id, &native.build_id));
	assert_string_equal(binary.path, native.path);
	assert_null(binary.image);
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

/* Code 5 is native code of the functions 3 and, called by it, 2 and 1. */
static void native_code_has_all_functions_that_it_runs(void **state)
{
	static const struct pilotlight_runtime_frame frames[] = {
		{ .code = 5, .unit = 4, .place = 1, .flags = PILOTLIGHT_RUNTIME_GROUP_END },
		GROUP_END(2, 2)
	};
	struct pilotlight_runtime_frame many[PILOTLIGHT_RUNTIME_FRAMES_MAX - 1];
	struct runtime_names *names;
	struct raw_code code;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	code = native_code_record(5);
	runtime_names_add(names, INTERPRETED_USER, 0, &code);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_V8, frames, 2, PILOTLIGHT_RUNTIME_ROOT, 4);
	check_names(&fixture, count, "- - middle - outer middle leaf -");
	/* Of more frames than there may be, the outermost stay. */
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = frames[0];
	count = resolve_runtime(&fixture, PILOTLIGHT_RUNTIME_V8, many, ARRAY_SIZE(many),
		PILOTLIGHT_RUNTIME_ROOT, 2);
	assert_true(count <= PILOTLIGHT_RUNTIME_FRAMES_MAX + 2);
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

static void groups_without_a_place_stay_in_their_order(void **state)
{
	static const struct pilotlight_runtime_frame
		between[] = { GROUP_END(1, PILOTLIGHT_RUNTIME_PLACE_UNKNOWN), GROUP_END(2, 1),
			GROUP_END(3, PILOTLIGHT_RUNTIME_PLACE_UNKNOWN),
			/* It is not known where it ends. */
			INTERPRETED(4, 0) },
		nowhere[] = { GROUP_END(1, 7) };
	struct resolver_counters counters;
	struct runtime_names *names;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_interpreted(&fixture, between, 4, PILOTLIGHT_RUNTIME_ROOT, 3);
	check_names(&fixture, count, "outer - - middle leaf -");
	resolver_counters(fixture.resolver, &counters);
	assert_int_equal(counters.interpreted, 5);
	assert_int_equal(counters.interpreted_frames, 3);
	assert_int_equal(counters.interpreted_unplaced, 1);
	/* Of a native frame that is not there. */
	count = resolve_interpreted(&fixture, nowhere, 1, PILOTLIGHT_RUNTIME_ROOT, 2);
	check_names(&fixture, count, "leaf - -");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

static void an_interpreters_stack_that_is_cut_says_so(void **state)
{
	static const struct pilotlight_runtime_frame interpreted[] = { GROUP_END(9, 0) },
						     endless[] = { INTERPRETED(1, 1) };
	struct resolver_counters counters;
	struct runtime_names *names;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_interpreted(&fixture, interpreted, 1, PILOTLIGHT_RUNTIME_DEEP, 2);
	check_names(&fixture, count, "- - [truncated: depth] [python: no name]");
	count = resolve_interpreted(&fixture, interpreted, 1, PILOTLIGHT_RUNTIME_UNREADABLE, 1);
	check_names(&fixture, count, "- [truncated: Python frame unreadable] [python: no name]");
	resolver_counters(fixture.resolver, &counters);
	assert_int_equal(counters.interpreted_nameless, 2);
	/* The group of the innermost frames is deeper than what is walked. */
	count = resolve_interpreted(&fixture, endless, 1, PILOTLIGHT_RUNTIME_DEEP, 2);
	check_names(&fixture, count, "[truncated: depth] - -");
	count = resolve_interpreted(&fixture, endless, 1, PILOTLIGHT_RUNTIME_UNREADABLE, 2);
	check_names(&fixture, count, "- -");
	/* Without any frame nothing is known to be missing. */
	count = resolve_interpreted(&fixture, interpreted, 0, PILOTLIGHT_RUNTIME_UNREADABLE, 1);
	check_names(&fixture, count, "-");
	resolver_set_names(fixture.resolver, NULL);
	count = resolve_interpreted(&fixture, interpreted, 1, PILOTLIGHT_RUNTIME_ROOT, 1);
	check_names(&fixture, count, "-");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

static void native_frames_of_nameless_functions_of_v8_stay(void **state)
{
	static const struct pilotlight_runtime_frame functions[] = { GROUP_END(1, 0),
		GROUP_END(9, 1), GROUP_END(3, 3) };
	struct runtime_names *names;
	struct binary binary;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_V8, functions, 3, PILOTLIGHT_RUNTIME_ROOT, 4);
	check_names(&fixture, count, "- outer - - - leaf");
	/* There was no time for more. */
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_V8, functions, 3, PILOTLIGHT_RUNTIME_DEEP, 4);
	check_names(&fixture, count, "- outer - - - leaf");
	binary_table_get(fixture.binaries, fixture.frames[1].binary, &binary);
	assert_int_equal(binary.kind, BINARY_JAVASCRIPT);
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

/* A frame without a name between them would be missed otherwise. */
static void one_native_frame_may_be_several_methods(void **state)
{
	static const struct pilotlight_runtime_frame methods[] = { INTERPRETED(1, 1),
		INTERPRETED(9, 0), GROUP_END(2, 0), GROUP_END(9, 1), GROUP_END(3, 2) };
	struct runtime_names *names;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_HOTSPOT, methods, 5, PILOTLIGHT_RUNTIME_ROOT, 3);
	check_names(&fixture, count, "- outer - - middle [java: no name] leaf");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

/* Of the two functions of Ruby's loop, the one that only calls the other is left out. */
static void a_frame_that_only_leads_to_the_loop_goes_with_it(void **state)
{
	static const struct pilotlight_runtime_frame functions[] = {
		INTERPRETED(1, 1),
		{ .code = 2,
			.place = 1,
			.flags = PILOTLIGHT_RUNTIME_GROUP_END | PILOTLIGHT_RUNTIME_HAS_CALLER },
		GROUP_END(9, 4),
	};
	struct runtime_names *names;
	struct binary binary;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_RUBY, functions, 3, PILOTLIGHT_RUNTIME_ROOT, 6);
	check_names(&fixture, count, "- - [ruby: no name] - - middle leaf -");
	binary_table_get(fixture.binaries, fixture.frames[2].binary, &binary);
	assert_int_equal(binary.kind, BINARY_RUBY);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_RUBY, functions, 2, PILOTLIGHT_RUNTIME_UNREADABLE, 3);
	check_names(&fixture, count, "- [truncated: Ruby frame unreadable] middle leaf -");
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_PHP, functions, 2, PILOTLIGHT_RUNTIME_UNREADABLE, 3);
	check_names(&fixture, count, "- [truncated: PHP frame unreadable] middle leaf -");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

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
		cmocka_unit_test(interpreted_frames_are_called_by_the_native_frame_that_runs_them),
		cmocka_unit_test(native_code_has_all_functions_that_it_runs),
		cmocka_unit_test(groups_without_a_place_stay_in_their_order),
		cmocka_unit_test(an_interpreters_stack_that_is_cut_says_so),
		cmocka_unit_test(native_frames_of_nameless_functions_of_v8_stay),
		cmocka_unit_test(one_native_frame_may_be_several_methods),
		cmocka_unit_test(a_frame_that_only_leads_to_the_loop_goes_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
