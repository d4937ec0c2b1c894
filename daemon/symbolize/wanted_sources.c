/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/wanted_sources.h"

#include "base/clock.h"

#include <errno.h>

enum { RETRY_S = 24 * 60 * 60 };

int wanted_identify(const struct symbol_binary *binary, struct symbol_identity *ret_identity)
{
	if (binary->build_id.size > 0) {
		*ret_identity = symbol_identity_of_build_id(&binary->build_id);
		return 0;
	}
	if (binary->fd < 0 && binary->debug_fd < 0)
		return -ENOENT;
	return symbol_identity_read_file(
		binary->fd >= 0 ? binary->fd : binary->debug_fd, ret_identity);
}

void wanted_find_debug_files(
	struct broker *broker, const struct wanted *wanted, struct debug_files *ret_files)
{
	struct symbol_binary binary = {
		.path = wanted->path,
		.fd = wanted->fd,
		.debug_fd = wanted->debug_fd,
		.debug_path = wanted->debug_path,
	};

	if (wanted->identity.kind == PILOTLIGHT_SYMBOL_BUILD_ID)
		binary.build_id = wanted->identity.id;
	debug_files_find(broker, &binary, ret_files);
}

bool wanted_has_better(struct broker *broker, const struct wanted *wanted,
	const struct pilotlight_symbol_header *header, bool is_eager)
{
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;
	struct debug_files files;
	bool is_better;

	wanted_find_debug_files(broker, wanted, &files);
	is_better = files.debug_fd >= 0 && files.rank > header->rank &&
		    (is_eager || files.changed_s >= (int64_t)header->created_s ||
			    now_s > header->created_s + RETRY_S);
	debug_files_done(&files);
	return is_better;
}
