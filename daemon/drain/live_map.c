/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/live_map.h"

#include <bpf/bpf.h>
#include <errno.h>

bool live_map_has(int map_fd, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	struct pilotlight_live live;

	return bpf_map_lookup_elem(map_fd, key, &live) == 0 && live.time_ns <= time_ns;
}

void live_map_forget(int map_fd, const struct pilotlight_live_key *key)
{
	(void)bpf_map_delete_elem(map_fd, key);
}

int live_map_clear(int map_fd)
{
	struct pilotlight_live_key key;

	/* From the beginning each time: the program may delete the key, and then none would follow
	 * it. */
	while (bpf_map_get_next_key(map_fd, NULL, &key) == 0)
		if (bpf_map_delete_elem(map_fd, &key) && errno != ENOENT)
			return -errno;
	return errno == ENOENT ? 0 : -errno;
}
