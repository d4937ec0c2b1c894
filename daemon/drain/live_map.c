/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/live_map.h"

#include <bpf/bpf.h>
#include <errno.h>

enum { ROUNDS_MAX = 64 };

bool live_map_has(int map_fd, const struct pilotlight_live_key *key, uint64_t time_ns)
{
	struct pilotlight_live live;

	return bpf_map_lookup_elem(map_fd, key, &live) == 0 && live.time_ns <= time_ns;
}

void live_map_forget(int map_fd, const struct pilotlight_live_key *key)
{
	(void)bpf_map_delete_elem(map_fd, key);
}

/*
 * Forgets all keys from the first to the last. The key after one is asked for while that one is
 * still there, as the search for the first key passes all places that are free. Returns 0: there
 * may be more; -ENOENT: there was none; or -errno.
 */
static int clear_once(int map_fd)
{
	struct pilotlight_live_key key, next;
	bool has_next = bpf_map_get_next_key(map_fd, NULL, &next) == 0;

	if (!has_next)
		return -errno;
	while (has_next) {
		key = next;
		has_next = bpf_map_get_next_key(map_fd, &key, &next) == 0;
		if (!has_next && errno != ENOENT)
			return -errno;
		/* Without this key, which the program has deleted, the next one is the first. */
		if (bpf_map_delete_elem(map_fd, &key))
			return errno == ENOENT ? 0 : -errno;
	}
	return 0;
}

int live_map_clear(int map_fd)
{
	int r = 0;

	for (int i = 0; r == 0 && i < ROUNDS_MAX; i++)
		r = clear_once(map_fd);
	return r == -ENOENT ? 0 : r;
}
