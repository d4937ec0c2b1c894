/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/naming.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A source that knows even addresses, each as an inlined chain of two. */
struct even_source {
	struct symbol_source base;
	unsigned lookups;
	uint64_t last_vaddr;
	int answer;	  /* to all lookups */
	int first_answer; /* to the first one */
};

static int add_frame(struct symbol_batch *batch, const char *name)
{
	uint32_t function;
	int r = string_pool_intern(batch->strings, name, strlen(name), &function);

	if (r == 0)
		r = ARRAY_RESERVE(
			batch->frames, &batch->frame_capacity, batch->frame_count + 1, 1000);
	if (r == 0)
		batch->frames[batch->frame_count++] = (struct symbol_frame){ .function = function };
	return r;
}

static int even_lookup(
	struct symbol_source *base, const struct symbol_binary *binary, struct symbol_batch *batch)
{
	struct even_source *source = (struct even_source *)base;
	char name[64];
	int r = 0;

	source->lookups++;
	source->last_vaddr = 0;
	if (source->answer < 0)
		return source->answer;
	if (source->lookups == 1 && source->first_answer < 0)
		return source->first_answer;
	for (size_t i = 0; i < batch->request_count && r == 0; i++) {
		struct symbol_request *request = &batch->requests[i];

		if (i > 0)
			assert_true(request->vaddr > source->last_vaddr);
		source->last_vaddr = request->vaddr;
		if (request->vaddr % 2)
			continue;
		request->first_frame = (uint32_t)batch->frame_count;
		(void)snprintf(name, sizeof(name), "%s:inner", binary->path);
		r = add_frame(batch, name);
		(void)snprintf(name, sizeof(name), "%s:%u", binary->path, (unsigned)request->vaddr);
		if (r == 0)
			r = add_frame(batch, name);
		request->frame_count = 2;
	}
	return r;
}

static int open_by_number(void *context, uint32_t binary, struct symbol_binary *ret_binary)
{
	static const char *const paths[] = { "program", "library", "kernel", "gone" };

	if (binary == 3)
		return -ENOENT;
	ret_binary->path = paths[binary];
	return 0;
}

static int build_profile(struct profile **ret_profile)
{
	const enum binary_kind kinds[] = { BINARY_EXECUTABLE, BINARY_LIBRARY, BINARY_KERNEL,
		BINARY_LIBRARY };
	const uint64_t addresses[] = { 8, 3, 4, 2 };
	uint32_t location;
	int r = profile_new(16 << 20, ret_profile);

	for (uint32_t i = 0; i < 4 && r == 0; i++) {
		struct profile_binary binary = { .kind = kinds[i] };
		uint32_t id;

		r = profile_add_binary(*ret_profile, &binary, &id);
		for (size_t j = 0; j < 4 && r == 0; j++)
			r = profile_add_location(*ret_profile, id, addresses[j], &location);
	}
	return r;
}

static const char *name_of(const struct profile *profile, uint32_t location, uint32_t frame)
{
	uint32_t first = profile->locations.items[location].first_frame;

	return string_pool_get(&profile->strings, profile->frames.items[first + frame].function);
}

static void locations_get_their_chains(void **state)
{
	struct even_source source = { .base = { .lookup = even_lookup } };
	struct naming_counters counters;
	struct profile *profile;

	assert_int_equal(build_profile(&profile), 0);
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_int_equal(source.lookups, 2); /* once a binary, and not for the kernel's */
	assert_int_equal(profile->locations.items[0].frame_count, 2);
	assert_string_equal(name_of(profile, 0, 0), "program:inner");
	assert_string_equal(name_of(profile, 0, 1), "program:8");
	assert_int_equal(profile->locations.items[1].frame_count, 0);
	assert_string_equal(name_of(profile, 4, 1), "library:8");
	assert_int_equal(profile->locations.items[8].frame_count, 0);
	assert_int_equal(counters.locations, 12);
	assert_int_equal(counters.named, 6);
	assert_int_equal(counters.binaries, 3);
	assert_int_equal(counters.binaries_failed, 1);
	profile_free(profile);
}

static void names_that_are_there_stay(void **state)
{
	struct even_source source = { .base = { .lookup = even_lookup } };
	struct profile_frame frame = { 0 };
	struct naming_counters counters;
	struct profile *profile;

	assert_int_equal(build_profile(&profile), 0);
	assert_int_equal(profile_add_string(profile, "known", &frame.function), 0);
	assert_int_equal(profile_name_location(profile, 0, &frame, 1), 0);
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_string_equal(name_of(profile, 0, 0), "known");
	assert_int_equal(counters.locations, 11);
	profile_free(profile);
}

/* A function that was known only by its place gets its name; without a better one nothing grows. */
static void names_of_places_give_way(void **state)
{
	struct even_source source = { .base = { .lookup = even_lookup } };
	struct profile_frame frame = { 0 };
	struct naming_counters counters;
	struct profile *profile;
	size_t frames;

	assert_int_equal(build_profile(&profile), 0);
	assert_int_equal(
		profile_add_string(profile, "[program function at +0x8]", &frame.function), 0);
	assert_int_equal(profile_name_location(profile, 0, &frame, 1), 0);
	assert_int_equal(profile_name_location(profile, 1, &frame, 1), 0);
	source.answer = -ENODATA;
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_string_equal(name_of(profile, 0, 0), "[program function at +0x8]");
	source.answer = 0;
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_int_equal(counters.locations, 12);
	assert_string_equal(name_of(profile, 0, 1), "program:8");
	assert_string_equal(name_of(profile, 1, 0), "[program function at +0x8]");
	frames = profile->frames.count;
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_int_equal(counters.named, 0);
	assert_int_equal(profile->frames.count, frames);
	naming_drop_places(profile);
	assert_string_equal(name_of(profile, 0, 1), "program:8");
	assert_int_equal(profile->locations.items[1].frame_count, 0);
	profile_free(profile);
}

static void binaries_without_symbols_cost_only_their_names(void **state)
{
	struct even_source source = { .base = { .lookup = even_lookup }, .answer = -ENODATA };
	struct naming_counters counters;
	struct profile *profile;

	assert_int_equal(build_profile(&profile), 0);
	assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
	assert_int_equal(counters.named, 0);
	assert_int_equal(counters.binaries_failed, 3);
	profile_free(profile);
}

/* A file system may answer anything, and a file be as odd as it likes. */
static void a_binary_that_fails_does_not_cost_the_others(void **state)
{
	static const int errors[] = { -EFBIG, -EIO, -ESTALE, -ENOEXEC, -ENODATA, -EACCES, -EBADF };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct even_source source = {
			.base = { .lookup = even_lookup },
			.first_answer = errors[i],
		};
		struct naming_counters counters;
		struct profile *profile;

		assert_int_equal(build_profile(&profile), 0);
		assert_int_equal(
			naming_run(profile, &source.base, open_by_number, NULL, &counters), 0);
		assert_int_equal(source.lookups, 2);
		assert_int_equal(profile->locations.items[0].frame_count, 0);
		assert_string_equal(name_of(profile, 4, 1), "library:8");
		assert_int_equal(counters.named, 3);
		assert_int_equal(counters.binaries_failed, 2);
		profile_free(profile);
	}
}

static void what_no_binary_would_survive_stops(void **state)
{
	static const int errors[] = { -ENOMEM, -E2BIG };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct even_source source = {
			.base = { .lookup = even_lookup },
			.first_answer = errors[i],
		};
		struct naming_counters counters;
		struct profile *profile;

		assert_int_equal(build_profile(&profile), 0);
		assert_int_equal(naming_run(profile, &source.base, open_by_number, NULL, &counters),
			errors[i]);
		assert_int_equal(source.lookups, 1);
		assert_int_equal(counters.binaries, 1);
		profile_free(profile);
	}
}

static int build_and_name(void)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct even_source source = { .base = { .lookup = even_lookup } };
	struct naming_counters counters;
	int r = build_profile(&profile);

	return r < 0 ? r : naming_run(profile, &source.base, open_by_number, NULL, &counters);
}

static void failing_allocations_are_reported(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(build_and_name(), -ENOMEM, true, 0) > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locations_get_their_chains),
		cmocka_unit_test(names_that_are_there_stay),
		cmocka_unit_test(names_of_places_give_way),
		cmocka_unit_test(binaries_without_symbols_cost_only_their_names),
		cmocka_unit_test(a_binary_that_fails_does_not_cost_the_others),
		cmocka_unit_test(what_no_binary_would_survive_stops),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
