/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz targets link the stages, not the commands, so the tested code is included here. */
#include "tools/top/folded_line.c"
#include "tools/top/top_profile.c"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The accounts close: a node's total is its own count plus those of its callees. */
static void check_tree(const struct top_profile *profile)
{
	uint64_t self = 0;

	for (size_t i = 0; i < profile->node_count; i++) {
		const struct top_node *node = &profile->nodes[i];
		uint64_t sum = node->self;

		for (uint32_t callee = node->first_callee; callee != TOP_PROFILE_NONE;
			callee = profile->nodes[callee].next_callee) {
			assert(callee > i && profile->nodes[callee].caller == i);
			sum += profile->nodes[callee].total;
		}
		assert(sum == node->total && node->depth <= TOP_PROFILE_DEPTH_MAX);
		self += node->self;
	}
	assert(self == profile->samples && profile->nodes[TOP_PROFILE_ROOT].total == self);
}

static void check_functions(const struct top_profile *profile)
{
	for (uint32_t name = 0; name < profile->function_count; name++) {
		const struct top_function *function = &profile->functions[name];
		enum folded_kind kind;
		size_t size;
		const char *text = top_profile_name(profile, name, &size, &kind);

		assert(function->self <= function->total && function->total <= profile->samples);
		assert(size <= strlen(text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct top_profile *profile;

	if (top_profile_new((const char *)bytes, size, &profile) < 0)
		return 0;
	check_tree(profile);
	check_functions(profile);
	top_profile_free(profile);
	return 0;
}
