/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/live_table.h"

#include "base/array.h"
#include "base/event_source.h"
#include "base/hash_index.h"
#include "base/string_pool.h"
#include "resolve/late_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Divisors of limits.bytes_max: for labels and for names of frames. Stacks have the rest,
	 * whose arrays double when they grow. */
	LABELS_SHARE = 8,
	NAMES_SHARE = 8,
	STACKS_SHARE = 2,
	STACK_BYTES = 32, /* of a stack, beside its frames: its range, and its place in the index */
	STACKS_BYTES_MIN = 65536, /* do not rebuild a smaller set of stacks */
	THINNED_MIN = 1024,	  /* the sum of those that stay has an error of 4 % */
	THINNINGS_MAX = 32,	  /* chance has so many bits */
	LITTLE_SHARE = 8,
};

struct live_entry {
	struct pilotlight_live_key key;
	struct pilotlight_process process;
	uint64_t time_ns;
	uint64_t count;
	uint64_t cgroup_id, share_user;
	uint32_t tid;
	uint32_t user;
	uint32_t stack;
	uint32_t exe, cgroup; /* labels */
	uint8_t thinnings;    /* it counts as 2^thinnings periods, or as `count` if that is more */
	char comm[PILOTLIGHT_COMM_BYTES];
};

/* A slot of the index takes 8 bytes, and up to 8/3 of them are there for an entry. */
_Static_assert(sizeof(struct live_entry) + 8 * 3 <= LIVE_ENTRY_BYTES, "as the header says");

/* What entries refer to. Single elements are never removed: a sweep builds a new set. */
struct live_stacks {
	struct late_stacks stacks;
	struct string_pool labels;
};

/* What the last refused sample lacked room for. */
enum shortage { SHORT_OF_ENTRIES, SHORT_OF_STACKS, SHORT_OF_STRINGS };

struct live_table {
	struct live_table_limits limits;
	struct live_entry *entries;
	size_t count, capacity;
	struct hash_index index; /* by key */
	struct live_stacks kept;
	size_t kept_bytes; /* size of `kept` when last rebuilt */
	struct user_share share;
	struct user_share
		stack_share; /* bytes of `kept`; a stack is of the user who had it first */
	enum shortage shortage;
	bool lacks_stacks;			/* since `kept` was last rebuilt */
	uint8_t thinnings[USER_SHARE_COUNTERS]; /* of what comes */
	struct live_counters counters[PILOTLIGHT_SOURCES];
	struct user_excess excess;
};

static size_t bytes_of(const struct live_stacks *kept)
{
	return late_stacks_bytes(&kept->stacks) + string_pool_bytes(&kept->labels);
}

static void live_stacks_done(struct live_stacks *kept)
{
	late_stacks_done(&kept->stacks);
	string_pool_done(&kept->labels);
}

/* Returns 0 or -ENOMEM; call live_stacks_done() in both cases. */
static int live_stacks_init(struct live_stacks *kept, size_t bytes_max)
{
	int r;

	*kept = (struct live_stacks){ 0 };
	r = late_stacks_init(&kept->stacks, bytes_max / NAMES_SHARE);
	return r < 0 ? r : string_pool_init(&kept->labels, bytes_max / LABELS_SHARE);
}

int live_table_new(const struct live_table_limits *limits, struct live_table **ret_table)
{
	_cleanup_(live_table_freep) struct live_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->share.capacity = limits->entries_max;
	table->stack_share.capacity = limits->bytes_max / STACKS_SHARE;
	r = live_stacks_init(&table->kept, limits->bytes_max);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void live_table_free(struct live_table *table)
{
	if (!table)
		return;
	free(table->entries);
	hash_index_done(&table->index);
	live_stacks_done(&table->kept);
	free(table);
}

struct pilotlight_live_key live_key_of(const struct raw_sample *sample)
{
	return (struct pilotlight_live_key){
		.address = sample->address,
		.tgid = event_source_is_kmem(sample->source) ? 0 : sample->process.tgid,
		.source = sample->source,
	};
}

static uint64_t hash_of(const struct pilotlight_live_key *key)
{
	return hash_bytes(key, sizeof(*key));
}

static bool has_key(const void *owner, uint32_t id, const void *key)
{
	const struct live_table *table = owner;

	return memcmp(&table->entries[id].key, key, sizeof(table->entries[id].key)) == 0;
}

/* --- adding --- */

static size_t stack_bytes(size_t frame_count)
{
	return STACK_BYTES + frame_count * LATE_FRAME_BYTES;
}

/* The entry's user answers for a stack that is new. Returns 0, -ENOMEM, -ENOBUFS: the user's share
 * has no room for it; or -E2BIG: there is none for strings. */
static int intern(struct live_stacks *kept, struct user_share *share,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count,
	struct live_entry *entry)
{
	const bool has_room = user_share_has_room(share, entry->share_user, stack_bytes(count));
	const size_t stacks = late_stacks_count(&kept->stacks);
	int r = late_stacks_intern_within(&kept->stacks, frames, count, has_room, &entry->stack);

	if (late_stacks_count(&kept->stacks) > stacks)
		user_share_add(share, entry->share_user, stack_bytes(count));
	if (r == 0)
		r = string_pool_intern(
			&kept->labels, labels->exe, strlen(labels->exe), &entry->exe);
	if (r == 0)
		r = string_pool_intern(
			&kept->labels, labels->cgroup, strlen(labels->cgroup), &entry->cgroup);
	return r;
}

static int refuse(struct live_table *table, enum shortage shortage)
{
	table->shortage = shortage;
	table->lacks_stacks |= shortage != SHORT_OF_ENTRIES;
	return -E2BIG;
}

/* Fills in what the entry refers to, within its user's share. */
static int keep(struct live_table *table, const struct live_labels *labels,
	const struct resolved_frame *frames, size_t count, struct live_entry *entry)
{
	int r = intern(&table->kept, &table->stack_share, labels, frames, count, entry);

	if (r == -ENOBUFS)
		return refuse(table, SHORT_OF_STACKS);
	return r == -E2BIG ? refuse(table, SHORT_OF_STRINGS) : r;
}

/* Makes room for an entry, and fills in what it refers to. */
static int prepare(struct live_table *table, const struct live_labels *labels,
	const struct resolved_frame *frames, size_t count, struct live_entry *entry)
{
	int r;

	if (!user_share_has_room(&table->share, entry->share_user, 1))
		return refuse(table, SHORT_OF_ENTRIES);
	r = ARRAY_RESERVE(
		table->entries, &table->capacity, table->count + 1, table->limits.entries_max);
	if (r == 0)
		r = hash_index_reserve(&table->index);
	return r < 0 ? r : keep(table, labels, frames, count, entry);
}

/* Only the key stays, and it gets another entry: two allocations of one address do not both live.
 */
static int replace(struct live_table *table, struct live_entry *old, const struct live_entry *new,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count)
{
	struct live_entry entry = *new;
	int r;

	if (entry.share_user != old->share_user &&
		!user_share_has_room(&table->share, entry.share_user, 1))
		return refuse(table, SHORT_OF_ENTRIES);
	r = keep(table, labels, frames, count, &entry);
	if (r < 0)
		return r;
	user_share_remove(&table->share, old->share_user, 1);
	user_share_add(&table->share, entry.share_user, 1);
	*old = entry;
	table->counters[entry.key.source].replaced++;
	return 0;
}

static int add(struct live_table *table, struct live_entry *entry, const struct live_labels *labels,
	const struct resolved_frame *frames, size_t count)
{
	uint64_t hash = hash_of(&entry->key);
	uint32_t id = hash_index_find(&table->index, hash, has_key, table, &entry->key);
	int r;

	if (id != HASH_INDEX_NONE && table->entries[id].time_ns > entry->time_ns) {
		/* It has waited for names while the address was allocated again. */
		table->counters[entry->key.source].replaced++;
		return 0;
	}
	if (id != HASH_INDEX_NONE)
		return replace(table, &table->entries[id], entry, labels, frames, count);
	r = prepare(table, labels, frames, count, entry);
	if (r < 0)
		return r;
	id = (uint32_t)table->count++;
	table->entries[id] = *entry;
	hash_index_insert(&table->index, hash, id);
	user_share_add(&table->share, entry->share_user, 1);
	return 0;
}

/*
 * Does it stay after so many thinnings, by a chance of count / 2^thinnings? Chance decides once for
 * each entry: what stays would have stayed after fewer.
 */
static bool outlives(const struct live_entry *entry, unsigned thinnings)
{
	const uint64_t chance = hash_pair(entry->key.address, entry->time_ns) >> 32;

	return entry->count >> thinnings > 0 || chance < entry->count
								 << (THINNINGS_MAX - thinnings);
}

static uint64_t periods_of(const struct live_entry *entry)
{
	const uint64_t least = 1ULL << entry->thinnings;

	return entry->count > least ? entry->count : least;
}

int live_table_add(struct live_table *table, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count)
{
	const uint8_t thinnings = table->thinnings[user_share_counter(sample->share_user)];
	struct live_entry entry = {
		.key = live_key_of(sample),
		.process = sample->process,
		.time_ns = sample->first_ns,
		.count = sample->count,
		.thinnings = thinnings,
		.cgroup_id = sample->cgroup_id,
		.share_user = sample->share_user,
		.tid = sample->tid,
		.user = sample->user,
	};
	struct live_counters *counters = &table->counters[sample->source];
	int r;

	if (!outlives(&entry, thinnings)) {
		counters->thinned++;
		return LIVE_TABLE_THINNED;
	}
	memcpy(entry.comm, sample->comm, strnlen(sample->comm, sizeof(entry.comm) - 1));
	r = add(table, &entry, labels, frames, count);
	if (r == 0)
		counters->added++;
	return r;
}

void live_table_refuse(struct live_table *table, const struct raw_sample *sample)
{
	const struct live_entry entry = {
		.count = sample->count,
		.thinnings = table->thinnings[user_share_counter(sample->share_user)],
	};
	struct live_counters *counters = &table->counters[sample->source];

	counters->refused++;
	counters->refused_periods += periods_of(&entry);
	user_excess_add(&table->excess, sample->share_user, USER_LIVE, 1);
}

/* --- sweeping --- */

static bool is_expired(
	const struct live_table *table, const struct live_entry *entry, uint64_t now_ns)
{
	return now_ns > entry->time_ns && now_ns - entry->time_ns > table->limits.age_ns_max;
}

static bool stays(struct live_table *table, const struct live_entry *entry, uint64_t now_ns,
	const struct live_objects *objects)
{
	if (!objects->lives(objects->context, &entry->key, entry->time_ns)) {
		table->counters[entry->key.source].freed++;
		return false;
	}
	if (!is_expired(table, entry, now_ns))
		return true;
	objects->forget(objects->context, &entry->key);
	table->counters[entry->key.source].expired++;
	return false;
}

/* Entries have moved. The index has room for as many as it had. */
static void index_again(struct live_table *table)
{
	hash_index_clear(&table->index);
	for (size_t i = 0; i < table->count; i++)
		hash_index_insert(&table->index, hash_of(&table->entries[i].key), (uint32_t)i);
}

static int copy_kept(const struct live_table *table, struct live_stacks *renewed,
	struct user_share *share, const struct live_entry *entry, struct live_entry *copy)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	const struct live_labels labels = {
		.exe = string_pool_get(&table->kept.labels, entry->exe),
		.cgroup = string_pool_get(&table->kept.labels, entry->cgroup),
	};
	size_t count = late_stacks_get(&table->kept.stacks, entry->stack, frames);

	return intern(renewed, share, &labels, frames, count, copy);
}

/* Rebuilds the sets of stacks and labels without those that no entry uses. */
static int renew(struct live_table *table)
{
	_cleanup_free_ struct live_entry *copies = calloc(table->count + 1, sizeof(*copies));
	/* All of it fits: it did before, in another order. */
	struct user_share share = { .capacity = UINT64_MAX / 4 };
	struct live_stacks renewed;
	int r;

	if (!copies)
		return -ENOMEM;
	r = live_stacks_init(&renewed, table->limits.bytes_max);
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		copies[i] = table->entries[i];
		r = copy_kept(table, &renewed, &share, &table->entries[i], &copies[i]);
	}
	if (r < 0) {
		live_stacks_done(&renewed);
		return r;
	}
	if (table->count > 0)
		memcpy(table->entries, copies, table->count * sizeof(*copies));
	live_stacks_done(&table->kept);
	table->kept = renewed;
	share.capacity = table->stack_share.capacity;
	table->stack_share = share;
	table->lacks_stacks = false;
	table->kept_bytes = bytes_of(&renewed);
	return 0;
}

/* Have the sets doubled, or are they full, or did a user find no room in them? */
static bool has_grown(const struct live_table *table)
{
	size_t bytes = bytes_of(&table->kept);

	return table->lacks_stacks ||
	       (bytes > STACKS_BYTES_MIN &&
		       (bytes / 2 > table->kept_bytes ||
			       bytes > table->limits.bytes_max / STACKS_SHARE));
}

/* Who holds little can be sampled more closely again. */
static void thicken(struct live_table *table)
{
	for (size_t i = 0; i < USER_SHARE_COUNTERS; i++)
		if (table->thinnings[i] > 0 &&
			table->share.counters[i].held < table->share.capacity / LITTLE_SHARE)
			table->thinnings[i]--;
}

int live_table_sweep(struct live_table *table, uint64_t now_ns, const struct live_objects *objects)
{
	size_t kept = 0, before = table->count;

	for (size_t i = 0; i < before; i++) {
		if (stays(table, &table->entries[i], now_ns, objects))
			table->entries[kept++] = table->entries[i];
		else
			user_share_remove(&table->share, table->entries[i].share_user, 1);
	}
	table->count = kept;
	if (kept < before)
		index_again(table);
	thicken(table);
	return has_grown(table) ? renew(table) : 0;
}

/* --- thinning out --- */

/* Does the entry stay if its user's entries are thinned out so often? */
static bool thin(struct live_table *table, struct live_entry *entry, size_t counter,
	uint8_t thinnings, const struct live_objects *objects)
{
	if (user_share_counter(entry->share_user) != counter || entry->thinnings >= thinnings)
		return true;
	if (!outlives(entry, thinnings)) {
		objects->forget(objects->context, &entry->key);
		user_share_remove(&table->share, entry->share_user, 1);
		table->counters[entry->key.source].thinned++;
		return false;
	}
	entry->thinnings = thinnings;
	return true;
}

static size_t thin_once(
	struct live_table *table, size_t counter, const struct live_objects *objects)
{
	const uint8_t thinnings = ++table->thinnings[counter];
	const size_t before = table->count;
	size_t kept = 0;

	for (size_t i = 0; i < before; i++)
		if (thin(table, &table->entries[i], counter, thinnings, objects))
			table->entries[kept++] = table->entries[i];
	table->count = kept;
	return before - kept;
}

size_t live_table_thin(
	struct live_table *table, uint64_t share_user, const struct live_objects *objects)
{
	const size_t counter = user_share_counter(share_user);
	size_t thinned = 0;

	/* Strings have no share, so these may be others'. */
	if (table->shortage == SHORT_OF_STRINGS ||
		user_share_held(&table->share, share_user) < THINNED_MIN)
		return 0;
	while (thinned == 0 && table->thinnings[counter] < THINNINGS_MAX)
		thinned = thin_once(table, counter, objects);
	if (thinned > 0)
		index_again(table);
	/* Without memory for that, the stacks that are left have no more room than before. */
	if (table->shortage == SHORT_OF_STACKS && renew(table) < 0)
		return 0;
	return thinned;
}

/* --- reading --- */

static int visit(const struct live_table *table, const struct live_entry *entry,
	live_function function, void *context)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	const struct live_labels labels = {
		.exe = string_pool_get(&table->kept.labels, entry->exe),
		.cgroup = string_pool_get(&table->kept.labels, entry->cgroup),
	};
	const struct raw_sample sample = {
		.process = entry->process,
		.tid = entry->tid,
		.cgroup_id = entry->cgroup_id,
		.user = entry->user,
		.share_user = entry->share_user,
		.comm = entry->comm,
		.source = (enum pilotlight_source)entry->key.source,
		.count = periods_of(entry),
		.address = entry->key.address,
		.first_ns = entry->time_ns,
		.last_ns = entry->time_ns,
		.path = PILOTLIGHT_PATH_RING,
	};
	size_t count = late_stacks_get(&table->kept.stacks, entry->stack, frames);

	return function(context, &sample, &labels, frames, count);
}

int live_table_visit(const struct live_table *table, enum pilotlight_source source, uint32_t tgid,
	live_function function, void *context)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const struct live_entry *entry = &table->entries[i];

		if (entry->key.source == source && (tgid == 0 || entry->process.tgid == tgid))
			r = visit(table, entry, function, context);
	}
	return r;
}

void live_table_spare(const struct live_table *table, struct binary_table *binaries)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];

	for (uint32_t i = 0; i < late_stacks_count(&table->kept.stacks); i++) {
		size_t count = late_stacks_get(&table->kept.stacks, i, frames);

		for (size_t j = 0; j < count; j++)
			if (frames[j].binary != RESOLVED_SYNTHETIC)
				binary_table_spare(binaries, frames[j].binary);
	}
}

void live_table_counters(const struct live_table *table, enum pilotlight_source source,
	struct live_counters *ret_counters)
{
	*ret_counters = table->counters[source];
}

size_t live_table_count(const struct live_table *table)
{
	return table->count;
}

size_t live_table_bytes(const struct live_table *table)
{
	return table->capacity * sizeof(*table->entries) + hash_index_bytes(&table->index) +
	       bytes_of(&table->kept);
}

void live_table_users(
	const struct live_table *table, struct user_excess *excess, struct user_holdings *holdings)
{
	user_excess_merge(excess, &table->excess);
	user_holdings_add(holdings, USER_LIVE, &table->share);
}
