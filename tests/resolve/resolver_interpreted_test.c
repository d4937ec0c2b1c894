/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreters' functions take the places of the native frames that run them. */
#include "base/array.h"
#include "tests/resolve/runtime_code_record.h"
#include "tests/resolve/walk_fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static int resolve_frames(struct fixture *fixture, enum pilotlight_runtime_language language,
	const struct pilotlight_runtime_frame *interpreted, size_t interpreted_count,
	enum pilotlight_runtime_end end, const uint64_t *frames, size_t native_count,
	enum pilotlight_walk_end walk_end)
{
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
		.walk_end = walk_end,
		.runtime_frames = interpreted,
		.runtime_count = interpreted_count,
		.runtime_end = end,
		.runtime_language = language,
		.runtime_file = FILE_ID,
	};
	bool lacks_build_ids;

	return resolver_resolve(fixture->resolver, &sample, fixture->frames, &lacks_build_ids);
}

/* Native frames are all `here`. */
static int resolve_runtime(struct fixture *fixture, enum pilotlight_runtime_language language,
	const struct pilotlight_runtime_frame *interpreted, size_t interpreted_count,
	enum pilotlight_runtime_end end, size_t native_count)
{
	uint64_t frames[8];

	for (size_t i = 0; i < native_count; i++)
		frames[i] = file_frame(fixture, FILE_ID, here()) | PILOTLIGHT_FRAME_EXACT;
	return resolve_frames(fixture, language, interpreted, interpreted_count, end, frames,
		native_count, PILOTLIGHT_WALK_ROOT);
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

static void a_task_that_awaits_is_told_from_a_caller(void **state)
{
	static const struct pilotlight_runtime_frame interpreted[] = { INTERPRETED(1, 1),
		{ .code = 2,
			.place = PILOTLIGHT_RUNTIME_PLACE_UNKNOWN,
			.flags = PILOTLIGHT_RUNTIME_AWAITS },
		GROUP_END(3, 1) };
	struct runtime_names *names;
	struct fixture fixture;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	count = resolve_interpreted(&fixture, interpreted, 3, PILOTLIGHT_RUNTIME_ROOT, 3);
	check_names(&fixture, count, "- - outer middle [awaits task] leaf -");
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

static void functions_of_v8_stay_if_names_are_full(void **state)
{
	static const struct pilotlight_runtime_frame functions[] = { GROUP_END(1, 0),
		GROUP_END(5, 1), GROUP_END(3, 3) };
	struct runtime_names *names;
	struct runtime_names_counters counters = { .refused = 0 };
	struct binary binary;
	struct fixture fixture;
	struct raw_code code;
	int count;

	open_fixture(&fixture);
	open_names(&fixture, &names);
	for (uint64_t hash = 10; counters.refused == 0; hash++) {
		code = code_record(hash, "", "");
		runtime_names_add(names, INTERPRETED_USER, 0, &code);
		runtime_names_counters(names, &counters);
	}
	/* The functions are known, but not which of them their native code runs. */
	code = native_code_record(5);
	runtime_names_add(names, INTERPRETED_USER, 0, &code);
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_V8, functions, 3, PILOTLIGHT_RUNTIME_ROOT, 4);
	check_names(&fixture, count, "- outer - - [javascript: no name] - leaf");
	/* There was no time for more. */
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_V8, functions, 3, PILOTLIGHT_RUNTIME_DEEP, 4);
	check_names(&fixture, count, "- outer - - [javascript: no name] - leaf");
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

/* Of the two functions of Ruby's loop, the one that only calls the other is left out; of Perl's,
 * the one that catches, and its caller. */
static void frames_that_only_lead_to_the_loop_go_with_it(void **state)
{
	struct pilotlight_runtime_frame functions[] = {
		INTERPRETED(1, 1),
		{ .code = 2,
			.place = 1,
			.flags = PILOTLIGHT_RUNTIME_GROUP_END |
				 1 << PILOTLIGHT_RUNTIME_CALLERS_SHIFT },
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
	functions[1].flags += 1 << PILOTLIGHT_RUNTIME_CALLERS_SHIFT;
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_PERL, functions, 3, PILOTLIGHT_RUNTIME_ROOT, 6);
	check_names(&fixture, count, "- - [perl: no name] - middle leaf -");
	count = resolve_runtime(
		&fixture, PILOTLIGHT_RUNTIME_PERL, functions, 2, PILOTLIGHT_RUNTIME_UNREADABLE, 3);
	check_names(&fixture, count, "- [truncated: Perl frame unreadable] middle leaf -");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
}

/* Where Ruby's functions have places, the sampler knew where the code that runs them returns to;
 * others are doubted if many walks find no frame pointer. */
static void generated_code_that_has_functions_is_believed(void **state)
{
	static const struct pilotlight_runtime_frame placed[] = { GROUP_END(1, 0) },
						     unplaced[] = { INTERPRETED(1, 1) };
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct runtime_names *names;
	struct fixture fixture;
	uint64_t frames[2];
	int count;

	assert_ptr_not_equal(code, MAP_FAILED);
	open_fixture(&fixture);
	open_names(&fixture, &names);
	frames[0] = (uint64_t)(uintptr_t)code | PILOTLIGHT_FRAME_EXACT;
	frames[1] = file_frame(&fixture, FILE_ID, here());
	for (int i = 0; i < 20; i++)
		(void)resolve_frames(&fixture, PILOTLIGHT_RUNTIME_RUBY, NULL, 0,
			PILOTLIGHT_RUNTIME_NOT_WALKED, frames, 1, PILOTLIGHT_WALK_NO_FRAME_POINTER);
	count = resolve_frames(&fixture, PILOTLIGHT_RUNTIME_RUBY, placed, 1,
		PILOTLIGHT_RUNTIME_ROOT, frames, 2, PILOTLIGHT_WALK_ROOT);
	check_names(&fixture, count, "- - leaf");
	count = resolve_frames(&fixture, PILOTLIGHT_RUNTIME_RUBY, unplaced, 1,
		PILOTLIGHT_RUNTIME_ROOT, frames, 2, PILOTLIGHT_WALK_ROOT);
	assert_string_equal(fixture.frames[0].name, "[truncated: JIT code without frame pointer]");
	resolver_free(TAKE_PTR(fixture.resolver));
	runtime_names_free(names);
	close_fixture(&fixture);
	(void)munmap(code, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreted_frames_are_called_by_the_native_frame_that_runs_them),
		cmocka_unit_test(a_task_that_awaits_is_told_from_a_caller),
		cmocka_unit_test(native_code_has_all_functions_that_it_runs),
		cmocka_unit_test(groups_without_a_place_stay_in_their_order),
		cmocka_unit_test(an_interpreters_stack_that_is_cut_says_so),
		cmocka_unit_test(functions_of_v8_stay_if_names_are_full),
		cmocka_unit_test(one_native_frame_may_be_several_methods),
		cmocka_unit_test(frames_that_only_lead_to_the_loop_go_with_it),
		cmocka_unit_test(generated_code_that_has_functions_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
