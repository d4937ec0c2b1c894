/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/naming.h"

#include "base/array.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <string.h>

enum {
	INLINE_DEPTH_MAX = 64,
	BATCH_MAX = 1 << 16, /* addresses: some 6 MiB in the source */
};

/* A location without a name, or with one that tells no more than its place. */
struct nameless {
	uint64_t address;
	uint32_t binary;
	uint32_t location;
};

struct naming {
	struct profile *profile;
	struct symbol_source *source;
	struct naming_counters counters;
};

static int compare_nameless(const void *a, const void *b)
{
	const struct nameless *first = a, *second = b;

	if (first->binary != second->binary)
		return first->binary < second->binary ? -1 : 1;
	return (first->address > second->address) - (first->address < second->address);
}

/* Drops the outermost frames of a chain that is too deep: time is spent in the innermost. */
static int name_location(struct profile *profile, uint32_t location,
	const struct symbol_frame *frames, uint32_t count)
{
	struct profile_frame chain[INLINE_DEPTH_MAX];

	if (count > INLINE_DEPTH_MAX)
		count = INLINE_DEPTH_MAX;
	for (uint32_t i = 0; i < count; i++)
		chain[i] = (struct profile_frame){
			.function = frames[i].function,
			.file = frames[i].file,
			.line = frames[i].line,
			.column = frames[i].column,
		};
	return profile_name_location(profile, location, chain, count);
}

/* A name that only tells the function's place may give way to a better one. */
static bool has_place_name(const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frame = &profile->frames.items[location->first_frame];

	return location->frame_count == 1 && frame->file == 0 &&
	       place_name_is(string_pool_get(&profile->strings, frame->function));
}

static bool has_that_name(const struct profile *profile, uint32_t location,
	const struct symbol_frame *frames, uint32_t count)
{
	const struct profile_location *known = &profile->locations.items[location];

	return known->frame_count == 1 && count == 1 && frames[0].file == 0 &&
	       profile->frames.items[known->first_frame].function == frames[0].function;
}

/* The addresses of one binary are distinct: (binary, address) is a location's identity. */
static int request_names(struct naming *naming, const struct symbol_binary *binary,
	const struct nameless *nameless, size_t count)
{
	_cleanup_free_ struct symbol_request *requests = calloc(count, sizeof(*requests));
	_cleanup_(symbol_batch_done) struct symbol_batch batch = {
		.requests = requests,
		.request_count = count,
		.strings = &naming->profile->strings,
	};
	int r;

	if (!requests)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		requests[i].vaddr = nameless[i].address;
	r = naming->source->lookup(naming->source, binary, &batch);
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	if (r < 0) {
		naming->counters.binaries_failed++;
		return 0;
	}

	for (size_t i = 0; i < count; i++) {
		const struct symbol_frame *frames = batch.frames + requests[i].first_frame;

		if (requests[i].frame_count == 0 ||
			has_that_name(naming->profile, nameless[i].location, frames,
				requests[i].frame_count))
			continue;
		r = name_location(
			naming->profile, nameless[i].location, frames, requests[i].frame_count);
		if (r < 0)
			return r;
		naming->counters.named++;
	}
	return 0;
}

static int ask_all(struct naming *naming, const struct symbol_binary *binary,
	const struct nameless *nameless, size_t count)
{
	int r = 0;

	for (size_t n; count > 0 && r == 0; nameless += n, count -= n) {
		n = count < BATCH_MAX ? count : BATCH_MAX;
		r = request_names(naming, binary, nameless, n);
	}
	return r;
}

static int collect(const struct profile *profile, struct nameless **ret_nameless, size_t *ret_count)
{
	_cleanup_free_ struct nameless *nameless = NULL;
	size_t count = 0, capacity = 0;
	int r;

	for (size_t i = 0; i < profile->locations.count; i++) {
		const struct profile_location *location = &profile->locations.items[i];
		enum binary_kind kind = profile->binaries.items[location->binary].kind;

		if ((location->frame_count > 0 && !has_place_name(profile, location)) ||
			(kind != BINARY_EXECUTABLE && kind != BINARY_LIBRARY))
			continue;
		r = ARRAY_RESERVE(nameless, &capacity, count + 1, profile->locations.count);
		if (r < 0)
			return r;
		nameless[count++] = (struct nameless){
			.address = location->address,
			.binary = location->binary,
			.location = (uint32_t)i,
		};
	}
	if (count > 0)
		qsort(nameless, count, sizeof(*nameless), compare_nameless);
	*ret_nameless = TAKE_PTR(nameless);
	*ret_count = count;
	return 0;
}

int naming_run(struct profile *profile, struct symbol_source *source, naming_open open_binary,
	void *context, struct naming_counters *ret_counters)
{
	_cleanup_free_ struct nameless *nameless = NULL;
	struct naming naming = { .profile = profile, .source = source };
	size_t count, next;
	int r;

	r = collect(profile, &nameless, &count);
	if (r < 0)
		return r;
	naming.counters.locations = count;
	for (size_t first = 0; first < count; first = next) {
		struct symbol_binary binary = { .fd = -1, .debug_fd = -1 };

		for (next = first; next < count && nameless[next].binary == nameless[first].binary;)
			next++;
		naming.counters.binaries++;
		if (open_binary(context, nameless[first].binary, &binary) < 0) {
			naming.counters.binaries_failed++;
			continue;
		}
		r = ask_all(&naming, &binary, nameless + first, next - first);
		if (binary.fd >= 0)
			(void)close(binary.fd);
		if (binary.debug_fd >= 0)
			(void)close(binary.debug_fd);
		if (r < 0)
			break;
	}
	*ret_counters = naming.counters;
	return r;
}

void naming_drop_places(struct profile *profile)
{
	for (size_t i = 0; i < profile->locations.count; i++) {
		struct profile_location *location = &profile->locations.items[i];

		if (location->frame_count > 0 && has_place_name(profile, location))
			location->frame_count = 0;
	}
}
