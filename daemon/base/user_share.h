/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides a bounded resource among users, so that one user's excess costs that user only (I4).
 *
 * A user may hold twice as much as is free. So one user alone may fill two thirds, n users at a
 * time 2/(2n+1) each, and what they leave is there for the next. No number of users is assumed, and
 * little is kept for users who do not come. This is the dynamic threshold of shared-memory switches
 * (Choudhury and Hahne, 1998).
 *
 * A user is a 64-bit key: struct pilotlight_ring_sample's uid, or a container's hash above 32 zeros
 * (labels/cgroup_path.h). The counters are a hash table without chains, because there may be many
 * users: two users may share one, and reports then name the one who came last. A hostile user
 * cannot choose whose, because the hash is seeded. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { USER_SHARE_COUNTERS = 256 };

/* For what no user answers for yet. No process has this uid. */
#define USER_UNKNOWN ((uint64_t)UINT32_MAX)

/* Initialize with the capacity and zeros. */
struct user_share {
	uint64_t capacity, used;
	struct user_counter {
		uint64_t user, held;
	} counters[USER_SHARE_COUNTERS];
};

/* May the user hold `amount` more? */
bool user_share_has_room(const struct user_share *share, uint64_t user, uint64_t amount);

/* The user's counter, which is the same as long as the hash has its seed. */
size_t user_share_counter(uint64_t user);

/* What the user holds, with the users who share the counter. */
uint64_t user_share_held(const struct user_share *share, uint64_t user);

/* Also beyond the capacity: the caller decides. */
void user_share_add(struct user_share *share, uint64_t user, uint64_t amount);
/* `amount` is at most what was added for the user. */
void user_share_remove(struct user_share *share, uint64_t user, uint64_t amount);

/* The counter with the most; the first one if all are 0. */
const struct user_counter *user_share_greatest(const struct user_share *share);
/* Is it the user's counter? */
bool user_share_is_counter(
	const struct user_share *share, const struct user_counter *counter, uint64_t user);

/*
 * The most that each user could hold if all held `total` together, and users who need less left the
 * rest to others. UINT64_MAX: they hold no more than `total`.
 */
uint64_t user_share_level(const struct user_share *share, uint64_t total);

/* --- what was refused --- */

enum user_resource {
	/* Samples whose names or stack did not fit into the user's share: */
	USER_WINDOW,  /* of a window */
	USER_HISTORY, /* of a day */
	/* What did not fit into the user's share of all: */
	USER_BINARIES,	/* lookups of new binaries */
	USER_SYMBOLS,	/* requests of symbols and unwind tables */
	USER_UNWIND,	/* unwind tables in the sampler's arrays, which others may displace */
	USER_JIT,	/* names of JIT code: times when half of a file's names, or a file, left */
	USER_PROCESSES, /* images of processes */
	USER_MAPPINGS,	/* mappings, beyond the bound of one process, too */
	USER_FILES,	/* mapped files, or their paths */
	USER_LIVE,	/* sampled allocations that live */
	USER_RESOURCES,
};

enum { USER_EXCESS_LINES = 32, USER_EXCESS_NAME_BYTES = 48 };

/* The users with the most refusals, for reports. Initialize with zeros. */
struct user_excess {
	uint64_t total[USER_RESOURCES];
	struct user_excess_line {
		uint64_t user;
		uint64_t refused[USER_RESOURCES]; /* all 0: the line is free */
	} lines[USER_EXCESS_LINES];
};

bool user_excess_is_used(const struct user_excess_line *line);
/* "user 1000", "container 1a2b3c4d", by the container's hash, or "unknown". Returns `name`. */
const char *user_excess_name(uint64_t user, char name[USER_EXCESS_NAME_BYTES]);

void user_excess_merge(struct user_excess *into, const struct user_excess *from);

/* Without a free line, the user with the fewest refusals makes room. */
void user_excess_add(
	struct user_excess *excess, uint64_t user, enum user_resource resource, uint64_t count);

/* --- what is held --- */

/* What the users with the most hold now, for reports. Initialize with zeros. */
struct user_holdings {
	uint64_t capacity[USER_RESOURCES]; /* 0: unknown */
	struct user_holding {
		uint64_t user;
		uint64_t held[USER_RESOURCES]; /* all 0: the line is free */
	} lines[USER_EXCESS_LINES];
};

bool user_holding_is_used(const struct user_holding *line);

/* Adds the users of a share, and its capacity. Without a free line, the user who holds the smallest
 * part of any resource makes room. */
void user_holdings_add(struct user_holdings *holdings, enum user_resource resource,
	const struct user_share *share);
void user_holdings_merge(struct user_holdings *into, const struct user_holdings *from);
