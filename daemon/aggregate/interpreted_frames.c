/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/interpreted_frames.h"

#include <assert.h>
#include <string.h>

const char *const interpreted_frames_names[INTERPRETED_FRAMES_CHOICES] = {
	[INTERPRETED_FRAMES_SPLICED] = "spliced",
	[INTERPRETED_FRAMES_BOTH] = "both",
	[INTERPRETED_FRAMES_NATIVE] = "native",
};

bool interpreted_frames_find(const char *name, enum interpreted_frames *ret_choice)
{
	for (enum interpreted_frames i = 0; i < INTERPRETED_FRAMES_CHOICES; i++)
		if (strcmp(name, interpreted_frames_names[i]) == 0) {
			*ret_choice = i;
			return true;
		}
	return false;
}

static enum binary_kind kind_of(const struct profile *profile, uint32_t node)
{
	uint32_t location = profile->nodes.items[node].location;

	return profile->binaries.items[profile->locations.items[location].binary].kind;
}

static bool is_interpreted(const struct profile *profile, uint32_t node)
{
	enum binary_kind kind = node == PROFILE_ROOT ? BINARY_KERNEL : kind_of(profile, node);

	return kind == BINARY_PYTHON || kind == BINARY_JAVASCRIPT || kind == BINARY_RUBY ||
	       kind == BINARY_JAVA || kind == BINARY_PHP || kind == BINARY_PERL;
}

/* Is `node` of the loop that runs `interpreted`, or the function as V8, Ruby or a JVM generated it?
 */
static bool runs(const struct profile *profile, uint32_t node, uint32_t interpreted)
{
	enum binary_kind kind, language = kind_of(profile, interpreted);

	if (node == PROFILE_ROOT)
		return false;
	kind = kind_of(profile, node);
	if (kind == BINARY_JIT)
		return language != BINARY_PYTHON;
	return language != BINARY_JAVA && (kind == BINARY_EXECUTABLE || kind == BINARY_LIBRARY);
}

/* A native frame that calls an interpreted one runs it. Its parent is native, or at least not
 * interpreted, so it is not left out, too, where that has been looked at already. */
static void splice(struct profile *profile)
{
	for (uint32_t i = PROFILE_ROOT + 1; i < profile->nodes.count; i++) {
		struct profile_node *node = &profile->nodes.items[i];

		if (is_interpreted(profile, i) && runs(profile, node->parent, i))
			node->parent = profile->nodes.items[node->parent].parent;
	}
}

/* Parents come before their children, so one that is left out has the nearest that stays. */
static uint32_t nearest_native(const struct profile *profile, uint32_t node)
{
	return is_interpreted(profile, node) ? profile->nodes.items[node].parent : node;
}

static void leave_out(struct profile *profile)
{
	for (uint32_t i = PROFILE_ROOT + 1; i < profile->nodes.count; i++) {
		struct profile_node *node = &profile->nodes.items[i];

		node->parent = nearest_native(profile, node->parent);
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		struct profile_sample *sample = &profile->samples.items[i];

		sample->node = nearest_native(profile, sample->node);
	}
}

void interpreted_frames_choose(struct profile *profile, enum interpreted_frames choice)
{
	switch (choice) {
	case INTERPRETED_FRAMES_SPLICED:
		splice(profile);
		break;
	case INTERPRETED_FRAMES_NATIVE:
		leave_out(profile);
		break;
	case INTERPRETED_FRAMES_BOTH:
		break;
	case INTERPRETED_FRAMES_CHOICES:
		assert(false);
	}
}
