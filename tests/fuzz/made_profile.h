/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile made of a fuzzer's input. */
#pragma once

#include "aggregate/profile.h"
#include "base/utf8.h"

#include <assert.h>

enum { BUDGET = 1 << 20, STRINGS = 8, STEPS_MAX = 200 };

struct bytes {
	const uint8_t *next, *end;
};

static inline uint8_t take(struct bytes *input)
{
	return input->next < input->end ? *input->next++ : 0;
}

#define MADE_CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const char *const cgroups[] = { "", "/", "/system.slice/a.service", "/system.slice/b.scope",
	("/system.slice/docker-" MADE_CONTAINER ".scope") };
static const char *const events[] = { "cycles", "offcpu", "runqueue", "wall" };

static inline uint32_t take_string(struct bytes *input, struct profile *profile)
{
	char text[STRINGS], clean[UTF8_CLEAN_BYTES];
	size_t size = take(input) % sizeof(text);
	uint32_t id = 0;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)take(input);
	(void)utf8_clean(clean, text, size);
	(void)profile_add_string(profile, clean, &id);
	return id;
}

static inline void add_code(struct bytes *input, struct profile *profile)
{
	struct profile_binary binary = {
		.kind = take(input) % BINARY_SYNTHETIC,
		.path = take_string(input, profile),
		.text_vaddr = take(input),
		.text_bytes = take(input) % 2 ? UINT64_MAX : take(input),
		.build_id = { .size = take(input) % 21 },
	};
	struct profile_frame frames[2] = { 0 };
	uint32_t id, location;

	if (profile_add_binary(profile, &binary, &id) < 0 ||
		profile_add_location(profile, id, take(input), &location) < 0)
		return;
	for (size_t i = 0; i < 2; i++)
		frames[i] = (struct profile_frame){
			.function = take_string(input, profile),
			.file = take_string(input, profile),
			.line = take(input),
		};
	(void)profile_name_location(profile, location, frames, take(input) % 3);
}

static inline void add_node(struct bytes *input, struct profile *profile)
{
	uint32_t node, locations = (uint32_t)profile->locations.count;

	if (locations > 0)
		(void)profile_add_node(profile, (uint32_t)(take(input) % profile->nodes.count),
			take(input) % locations, &node);
}

static inline void add_sample(struct bytes *input, struct profile *profile)
{
	struct profile_sample sample = { .count = take(input) };
	struct profile_thread thread = { .tgid = take(input) % 4, .tid = take(input) % 4 };

	thread.comm = take_string(input, profile);
	(void)profile_add_string(profile,
		cgroups[take(input) % (sizeof(cgroups) / sizeof(cgroups[0]))], &thread.cgroup);
	sample.node = (uint32_t)(take(input) % profile->nodes.count);
	if (profile_add_thread(profile, &thread, &sample.thread) == 0)
		(void)profile_add_sample(profile, &sample);
}

static inline struct profile *make_profile(struct bytes *input)
{
	struct profile *profile = NULL;
	int r = profile_new(BUDGET, &profile);

	assert(r == 0);
	(void)r;
	profile->period_ns = 1;
	profile->start_ns = take(input);
	profile->end_ns = take(input);
	(void)profile_add_string(profile, events[take(input) % 4], &profile->event);
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = take(input);
	for (int i = 0; i < STEPS_MAX && input->next < input->end; i++)
		switch (take(input) % 3) {
		case 0:
			add_code(input, profile);
			break;
		case 1:
			add_node(input, profile);
			break;
		default:
			add_sample(input, profile);
		}
	return profile;
}
