/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine's side of the map of sampled allocations that live (struct pilotlight_live_key). */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Does the allocation still live that was sampled at `time_ns`? Not if it cannot be looked up. */
bool live_map_has(int map_fd, const struct pilotlight_live_key *key, uint64_t time_ns);

/* The program no longer watches for its end. */
void live_map_forget(int map_fd, const struct pilotlight_live_key *key);

/* Forgets all, for instance those of an earlier engine; some are left if the program notes and
 * deletes others all the while. Returns 0 or -errno. */
int live_map_clear(int map_fd);
