/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of the sampler's walk, made as capture makes them. */
#include "base/array.h"
#include "capture/walk_maps.h"
#include "tests/harness/privilege.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes_keep_to_the_budget(void **state)
{
	for (size_t budget = 0; budget <= (size_t)64 << 20; budget = budget * 3 + 1000) {
		struct walk_map_sizes sizes = walk_map_sizes_compute(budget);

		assert_true(
			sizes.pages > 0 && sizes.lines > 0 && sizes.rules > 0 && sizes.escapes > 0);
		assert_int_equal(sizes.pages % 2, 0);
		assert_true(walk_map_sizes_bytes(&sizes) <= budget + 128);
		if (budget > 4096)
			assert_true(walk_map_sizes_bytes(&sizes) > budget / 100 * 97);
	}
	assert_true(walk_map_sizes_compute(SIZE_MAX).lines < UINT32_MAX / 64);
}

struct fixture {
	struct walk_map_sizes sizes;
	struct walk_map_fds fds;
	struct walk_maps maps;
};

static int make_array(uint32_t entry_bytes, uint32_t entries)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, entry_bytes, entries, &options);
}

static void open_fixture(struct fixture *fixture)
{
	struct walk_map_fds *fds = &fixture->fds;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	fixture->sizes = walk_map_sizes_compute(1 << 20);
	fds->files = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct pilotlight_file_key),
		sizeof(struct pilotlight_walk_file), 64, NULL);
	fds->requests = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct pilotlight_file_key),
		sizeof(struct pilotlight_walk_request), 512, NULL);
	fds->wakeup = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, 4096, NULL);
	fds->pages = make_array(8, fixture->sizes.pages / 2);
	fds->lines = make_array(sizeof(struct pilotlight_unwind_line), fixture->sizes.lines);
	fds->rules = make_array(sizeof(struct pilotlight_unwind_rule), fixture->sizes.rules);
	fds->escapes = make_array(sizeof(struct pilotlight_unwind_escape), fixture->sizes.escapes);
	assert_true(fds->files >= 0 && fds->requests >= 0 && fds->wakeup >= 0 && fds->pages >= 0 &&
		    fds->lines >= 0 && fds->rules >= 0 && fds->escapes >= 0);
	assert_int_equal(walk_maps_init(&fixture->maps, fds, &fixture->sizes), 0);
}

static void close_fixture(struct fixture *fixture)
{
	walk_maps_done(&fixture->maps);
	walk_maps_done(&fixture->maps);
	for (size_t i = 0; i < sizeof(fixture->fds) / sizeof(int); i++)
		(void)close(((int *)&fixture->fds)[i]);
}

/* BPF finds at an index what was written to the mapped memory there. */
static void arrays_are_the_maps_memory(void **state)
{
	struct pilotlight_unwind_line line;
	struct fixture fixture;
	uint32_t pair[2], number;

	open_fixture(&fixture);
	for (uint32_t i = 0; i < fixture.sizes.pages; i++)
		fixture.maps.pages[i] = i * 3;
	number = fixture.sizes.pages / 2 - 1;
	assert_int_equal(bpf_map_lookup_elem(fixture.fds.pages, &number, pair), 0);
	assert_int_equal(pair[1], (fixture.sizes.pages - 1) * 3);

	number = fixture.sizes.lines - 1;
	fixture.maps.lines[number].base = 12345;
	assert_int_equal(bpf_map_lookup_elem(fixture.fds.lines, &number, &line), 0);
	assert_int_equal(line.base, 12345);
	fixture.maps.rules[fixture.sizes.rules - 1].offset = 1;
	fixture.maps.escapes[fixture.sizes.escapes - 1].row = 1;
	close_fixture(&fixture);
}

static void files_are_added_and_removed(void **state)
{
	const struct pilotlight_file_key key = { .inode = 5 };
	struct pilotlight_walk_file file = { .id = 9, .used_window = 3 };
	struct fixture fixture;
	uint32_t window = 0;

	open_fixture(&fixture);
	assert_int_equal(walk_maps_used_window(&fixture.maps, &key, &window), -ENOENT);
	assert_int_equal(walk_maps_drop_file(&fixture.maps, &key), 0);
	assert_int_equal(walk_maps_put_file(&fixture.maps, &key, &file), 0);
	assert_int_equal(walk_maps_used_window(&fixture.maps, &key, &window), 0);
	assert_int_equal(window, 3);
	assert_int_equal(walk_maps_drop_file(&fixture.maps, &key), 0);
	assert_int_equal(walk_maps_used_window(&fixture.maps, &key, &window), -ENOENT);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(walk_maps_put_file(&fixture.maps,
					 &(struct pilotlight_file_key){ .inode = i }, &file),
			0);
	assert_int_equal(walk_maps_put_file(&fixture.maps,
				 &(struct pilotlight_file_key){ .inode = 64 }, &file),
		-E2BIG);
	close_fixture(&fixture);
}

static void count_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	uint64_t *seen = context;

	assert_int_equal(request->start, key->inode * 4096);
	assert_true(key->inode < 500);
	seen[key->inode]++;
}

static void each_request_is_drained_once(void **state)
{
	uint64_t seen[500] = { 0 };
	struct fixture fixture;

	open_fixture(&fixture);
	assert_int_equal(walk_maps_drain_requests(&fixture.maps, count_request, seen), 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(seen); i++) {
		const struct pilotlight_file_key key = { .inode = i };
		const struct pilotlight_walk_request request = { .start = i * 4096 };

		assert_int_equal(
			bpf_map_update_elem(fixture.fds.requests, &key, &request, BPF_ANY), 0);
	}
	assert_int_equal(walk_maps_drain_requests(&fixture.maps, count_request, seen), 500);
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(walk_maps_drain_requests(&fixture.maps, count_request, seen), 0);
	close_fixture(&fixture);
}

static void files_of_an_earlier_engine_are_removed(void **state)
{
	const struct pilotlight_walk_request request = { .start = 0 };
	const struct pilotlight_walk_file file = { .id = 9 };
	struct fixture fixture;
	uint64_t seen[500] = { 0 };
	uint32_t window;

	open_fixture(&fixture);
	assert_int_equal(walk_maps_clear(&fixture.maps), 0);
	for (uint64_t i = 0; i < 64; i++) {
		const struct pilotlight_file_key key = { .inode = i };

		assert_int_equal(walk_maps_put_file(&fixture.maps, &key, &file), 0);
		assert_int_equal(
			bpf_map_update_elem(fixture.fds.requests, &key, &request, BPF_ANY), 0);
	}
	assert_int_equal(walk_maps_clear(&fixture.maps), 0);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(walk_maps_used_window(&fixture.maps,
					 &(struct pilotlight_file_key){ .inode = i }, &window),
			-ENOENT);
	assert_int_equal(walk_maps_drain_requests(&fixture.maps, count_request, seen), 0);
	close_fixture(&fixture);
}

static void maps_of_other_kinds_are_refused(void **state)
{
	struct walk_maps maps;
	struct fixture fixture;
	struct walk_map_fds fds;

	open_fixture(&fixture);
	for (size_t i = 2; i < sizeof(fds) / sizeof(int); i++) {
		fds = fixture.fds;
		((int *)&fds)[i] = fixture.fds.files; /* cannot be mapped, and is no ring */
		assert_true(walk_maps_init(&maps, &fds, &fixture.sizes) < 0);
	}
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_keep_to_the_budget),
		cmocka_unit_test(arrays_are_the_maps_memory),
		cmocka_unit_test(files_are_added_and_removed),
		cmocka_unit_test(each_request_is_drained_once),
		cmocka_unit_test(files_of_an_earlier_engine_are_removed),
		cmocka_unit_test(maps_of_other_kinds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
