/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_names.h"

#include "query/naming.h"

#include <errno.h>

/* A binary without an image has file offsets for addresses, which symbols cannot match. */
static int open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	const struct profile *profile = context;
	const struct profile_binary *binary = &profile->binaries.items[profile_binary];

	if (binary->text_bytes == 0 || (binary->build_id.size == 0 && binary->symbols.id.size == 0))
		return -ENOENT;
	/* Omits the path: the string may move while names are added, and no code opens it. */
	*ret_binary = (struct symbol_binary){
		.build_id = binary->build_id,
		.identity = binary->symbols,
		.path = "",
		.fd = -1,
		.debug_fd = -1,
	};
	return 0;
}

int answer_names_run(struct profile *profile, struct symbol_source *source)
{
	struct naming_counters counters;

	return naming_run(profile, source, open_binary, profile, &counters);
}
