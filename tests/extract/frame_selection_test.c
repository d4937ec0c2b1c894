/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_selection.h"
#include "pilotlight/symbol_file.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRAMES = 40, BOUNDARIES = 20 };

struct fixture {
	struct scratch_fixture scratch;
	struct scratch_array frames, boundaries;
};

static void init(struct fixture *fixture, size_t frame_count, size_t boundary_count)
{
	struct scratch *scratch = &fixture->scratch.scratch;

	assert_true(scratch_fixture_init(&fixture->scratch, 1 << 24));
	assert_int_equal(scratch_array_init(&fixture->frames, scratch,
				 sizeof(struct pilotlight_symbol_frame), UINT32_MAX),
		0);
	assert_int_equal(scratch_array_init(&fixture->boundaries, scratch,
				 sizeof(struct pilotlight_symbol_boundary), UINT32_MAX),
		0);
	assert_int_equal(scratch_array_reserve(&fixture->frames, frame_count), 0);
	assert_int_equal(scratch_array_reserve(&fixture->boundaries, boundary_count), 0);
	fixture->frames.count = frame_count;
	fixture->boundaries.count = boundary_count;
}

static void done(struct fixture *fixture)
{
	scratch_array_done(&fixture->frames);
	scratch_array_done(&fixture->boundaries);
	scratch_fixture_done(&fixture->scratch);
}

/* Names are the ids of before. */
static void fill(struct fixture *fixture, uint32_t wanted[BOUNDARIES][FRAMES])
{
	struct pilotlight_symbol_frame *frames = fixture->frames.items;
	struct pilotlight_symbol_boundary *boundaries = fixture->boundaries.items;

	for (uint32_t i = 1; i < FRAMES; i++)
		frames[i] = (struct pilotlight_symbol_frame){
			.parent = (uint32_t)random() % i, .name = i, .call_low = i
		};
	for (uint32_t i = 0; i < BOUNDARIES; i++) {
		uint32_t depth = 0;

		boundaries[i].frame = (uint32_t)random() % FRAMES;
		for (uint32_t at = boundaries[i].frame; at > 0; at = frames[at].parent)
			wanted[i][depth++] = at;
		wanted[i][depth] = 0;
	}
}

static void chains_stay_and_nothing_else(void **state)
{
	(void)state;
	srandom(1);
	for (int round = 0; round < 300; round++) {
		uint32_t wanted[BOUNDARIES][FRAMES];
		bool is_used[FRAMES] = { true };
		const struct pilotlight_symbol_boundary *boundaries;
		const struct pilotlight_symbol_frame *frames;
		struct fixture fixture;
		size_t used = 0;

		init(&fixture, FRAMES, BOUNDARIES);
		fill(&fixture, wanted);
		assert_int_equal(frame_selection_run(&fixture.scratch.scratch, &fixture.frames,
					 &fixture.boundaries),
			0);
		frames = fixture.frames.items;
		boundaries = fixture.boundaries.items;
		for (size_t i = 0; i < BOUNDARIES; i++) {
			uint32_t at = boundaries[i].frame;

			for (size_t depth = 0;; depth++, at = frames[at].parent) {
				assert_true(at < fixture.frames.count);
				assert_int_equal(frames[at].name, wanted[i][depth]);
				assert_int_equal(frames[at].call_low, wanted[i][depth]);
				is_used[wanted[i][depth]] = true;
				if (at == 0)
					break;
				assert_true(frames[at].parent < at);
			}
		}
		for (size_t i = 0; i < FRAMES; i++)
			used += is_used[i];
		assert_int_equal(fixture.frames.count, used);
		done(&fixture);
	}
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture fixture;

	(void)state;
	init(&fixture, 3, 2);
	fixture.scratch.scratch.limit_bytes = fixture.scratch.scratch.used_bytes;
	assert_int_equal(
		frame_selection_run(&fixture.scratch.scratch, &fixture.frames, &fixture.boundaries),
		-EFBIG);
	assert_int_equal(fixture.frames.count, 3);
	done(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_stay_and_nothing_else),
		cmocka_unit_test(a_full_scratch_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
