/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/image_table.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	IMAGES_PER_PID = 256,
	BUCKETS_MIN = 64,
};

int image_table_init(struct image_table *table, size_t limit, struct mapping_budget *budget)
{
	*table = (struct image_table){
		.limit = limit < NONE ? limit : NONE - 1,
		.free = NONE,
		.first_ended = NONE,
		.last_ended = NONE,
		.bucket_count = BUCKETS_MIN,
		.budget = budget,
		.share.capacity = limit,
	};
	while (table->bucket_count < table->limit)
		table->bucket_count *= 2;
	table->buckets = malloc(table->bucket_count * sizeof(*table->buckets));
	if (!table->buckets)
		return -ENOMEM;
	memset(table->buckets, 0xff, table->bucket_count * sizeof(*table->buckets));
	return 0;
}

void image_table_done(struct image_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		mapping_set_release(table->images[i].mappings, table->budget);
		image_table_set_executable(table, &table->images[i], IMAGE_NO_FILE);
	}
	free(table->images);
	free(table->buckets);
}

/* --- the chains --- */

static uint32_t *bucket_of(const struct image_table *table, pid_t pid)
{
	return &table->buckets[hash_pair((uint64_t)pid, 0) & (table->bucket_count - 1)];
}

/* Returns the link to the newest image of `pid`, or to the end of its bucket. */
static uint32_t *newest_place(const struct image_table *table, pid_t pid)
{
	uint32_t *place = bucket_of(table, pid);

	while (*place != NONE && table->images[*place].pid != pid)
		place = &table->images[*place].next;
	return place;
}

struct image *image_table_newest(const struct image_table *table, pid_t pid)
{
	uint32_t id = *newest_place(table, pid);

	return id == NONE ? NULL : &table->images[id];
}

struct image *image_table_at(const struct image_table *table, pid_t pid, uint64_t time_ns)
{
	uint32_t id = *newest_place(table, pid);

	while (id != NONE && table->images[id].start_ns > time_ns)
		id = table->images[id].older;
	return id == NONE ? NULL : &table->images[id];
}

static void chain_newest(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];
	uint32_t *place = newest_place(table, image->pid);

	image->newer = NONE;
	image->older = *place;
	image->next = NONE;
	if (image->older != NONE) {
		image->next = table->images[image->older].next;
		table->images[image->older].newer = id;
	}
	*place = id;
}

static void unchain(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];
	uint32_t *place;

	if (image->older != NONE)
		table->images[image->older].newer = image->newer;
	if (image->newer != NONE) {
		table->images[image->newer].older = image->older;
		return;
	}
	place = newest_place(table, image->pid);
	*place = image->next;
	if (image->older != NONE) {
		table->images[image->older].next = image->next;
		*place = image->older;
	}
}

/* --- the follower's data --- */

struct process_image image_table_facts(const struct image_table *table, const struct image *image)
{
	return (struct process_image){
		.id = (uint32_t)(image - table->images),
		.pid = image->pid,
		.parent = image->parent,
		.start_ns = image->start_ns,
		.end_ns = image->end_ns,
		.program_ns = image->program_ns,
		.data = image->data,
	};
}

void image_table_inherit(struct image_table *table, struct image *child, const struct image *parent)
{
	const struct process_image facts = image_table_facts(table, child);

	if (parent->data && parent->end_ns == PROCESS_LIVE)
		child->data = table->follower.forked(table->follower.context, parent->data, &facts);
}

static void report_end(const struct image_table *table, const struct image *image)
{
	if (image->data)
		table->follower.ended(table->follower.context, image->data, image->end_ns);
}

/* --- the list of ended images --- */

static void unlist(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];

	if (image->ended_before == NONE)
		table->first_ended = image->ended_after;
	else
		table->images[image->ended_before].ended_after = image->ended_after;
	if (image->ended_after == NONE)
		table->last_ended = image->ended_before;
	else
		table->images[image->ended_after].ended_before = image->ended_before;
	image->end_ns = PROCESS_LIVE;
	table->ended_count--;
	table->live_count++;
}

/* Ends arrive in time order, except where two sources report them, so this search is short. */
static void list_ended(struct image_table *table, uint32_t id, uint64_t time_ns)
{
	struct image *image = &table->images[id];
	uint32_t before = table->last_ended;

	if (image->end_ns != PROCESS_LIVE)
		return;
	image->end_ns = time_ns < PROCESS_LIVE ? time_ns : PROCESS_LIVE - 1;
	table->live_count--;
	table->ended_count++;
	while (before != NONE && table->images[before].end_ns > image->end_ns)
		before = table->images[before].ended_before;
	image->ended_before = before;
	image->ended_after =
		before == NONE ? table->first_ended : table->images[before].ended_after;
	if (before == NONE)
		table->first_ended = id;
	else
		table->images[before].ended_after = id;
	if (image->ended_after == NONE)
		table->last_ended = id;
	else
		table->images[image->ended_after].ended_before = id;
	report_end(table, image);
}

static void remove_ended(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];

	unlist(table, id);
	unchain(table, id);
	table->live_count--;
	mapping_set_release(image->mappings, table->budget);
	image_table_set_executable(table, image, IMAGE_NO_FILE);
	if (image->data)
		table->follower.free(table->follower.context, image->data);
	user_share_remove(&table->share, image->user, 1);
	/* pid 0 marks the slot as free. */
	*image = (struct image){
		.end_ns = PROCESS_LIVE,
		.executable = IMAGE_NO_FILE,
		.next = table->free,
	};
	table->free = id;
}

bool image_table_is_crowded(const struct image_table *table)
{
	size_t room = table->limit - table->live_count;

	return table->ended_count > room - room / 4;
}

static uint32_t oldest_ended_of(const struct image_table *table, const struct user_share *share,
	const struct user_counter *counter)
{
	uint32_t id = table->first_ended;

	while (id != NONE && !user_share_is_counter(share, counter, table->images[id].user))
		id = table->images[id].ended_after;
	return id;
}

static uint32_t biggest_live_of(const struct image_table *table, const struct user_share *share,
	const struct user_counter *counter)
{
	uint32_t biggest = NONE, most = 0;

	for (uint32_t id = 0; id < table->count; id++) {
		const struct image *image = &table->images[id];
		uint32_t mappings = image->mappings ? image->mappings->count : 0;

		if (image->pid == 0 || image->end_ns != PROCESS_LIVE ||
			!user_share_is_counter(share, counter, image->user) ||
			(biggest != NONE && mappings <= most))
			continue;
		biggest = id;
		most = mappings;
	}
	return biggest;
}

bool image_table_evict(struct image_table *table, const struct user_share *share, uint64_t user)
{
	const struct user_counter *greatest = user_share_greatest(share);
	uint32_t id = oldest_ended_of(table, share, greatest);

	if (id == NONE && !user_share_is_counter(share, greatest, user)) {
		id = biggest_live_of(table, share, greatest);
		if (id != NONE)
			list_ended(table, id, table->images[id].start_ns);
	}
	if (id == NONE)
		return false;
	remove_ended(table, id);
	table->evicted++;
	return true;
}

/* Otherwise a process that keeps calling execve() would evict the images of all others. */
static void evict_oldest_of_pid(struct image_table *table, pid_t pid)
{
	uint32_t id = *newest_place(table, pid);
	size_t count = 0;

	while (id != NONE && ++count < IMAGES_PER_PID)
		id = table->images[id].older;
	if (id == NONE)
		return;
	while (table->images[id].older != NONE)
		id = table->images[id].older;
	remove_ended(table, id);
	table->evicted++;
}

void image_table_retire(struct image_table *table, uint64_t time_ns)
{
	const struct process_follower *follower = &table->follower;
	uint32_t id = table->first_ended;

	while (id != NONE && table->images[id].end_ns < time_ns) {
		const struct image *image = &table->images[id];
		uint32_t next = image->ended_after;

		if (!image->data || follower->is_finished(follower->context, image->data))
			remove_ended(table, id);
		id = next;
	}
}

/* --- new images --- */

static bool has_free_slot(const struct image_table *table)
{
	return table->free != NONE || table->count < table->limit;
}

static int take_slot(struct image_table *table, uint64_t user, uint32_t *ret_id)
{
	int r;

	if (!has_free_slot(table) && !image_table_evict(table, &table->share, user))
		return -E2BIG;
	if (table->free != NONE) {
		*ret_id = table->free;
		table->free = table->images[*ret_id].next;
		return 0;
	}
	r = ARRAY_RESERVE(table->images, &table->capacity, table->count + 1, table->limit);
	if (r < 0)
		return r;
	*ret_id = (uint32_t)table->count++;
	return 0;
}

int image_table_begin(struct image_table *table, pid_t pid, uint64_t time_ns, uint64_t user,
	struct image **ret_image)
{
	struct image *newest = image_table_newest(table, pid);
	pid_t parent = newest ? newest->parent : 0;
	uint64_t born_ns = newest ? newest->born_ns : 0;
	struct image *image;
	uint32_t id, older;
	int r;

	if (newest && !has_free_slot(table))
		image_table_end(table, newest, time_ns);
	evict_oldest_of_pid(table, pid);
	r = take_slot(table, user, &id);
	if (r < 0)
		return r;
	image = &table->images[id];
	*image = (struct image){
		.pid = pid,
		.parent = parent,
		.born_ns = born_ns,
		.start_ns = time_ns,
		.end_ns = PROCESS_LIVE,
		.version = ++table->last_version,
		.threads = 1,
		.executable = IMAGE_NO_FILE,
		.user = user,
		.ended_before = NONE,
		.ended_after = NONE,
	};
	user_share_add(&table->share, user, 1);
	older = *newest_place(table, pid);
	if (older != NONE) {
		list_ended(table, older, time_ns);
		if (image->start_ns < table->images[older].start_ns)
			image->start_ns = table->images[older].start_ns;
	}
	chain_newest(table, id);
	table->live_count++;
	*ret_image = image;
	return 0;
}

void image_table_charge(struct image_table *table, struct image *image, uint64_t user)
{
	uint64_t from = image->user;

	user_share_remove(&table->share, from, 1);
	user_share_add(&table->share, user, 1);
	image->user = user;
	mapping_set_charge(image->mappings, from, user, table->budget);
}

void image_table_set_executable(struct image_table *table, struct image *image, uint32_t file)
{
	uint32_t before = image->executable;

	if (file != IMAGE_NO_FILE)
		file_table_take(table->budget->files, file);
	image->executable = file;
	if (before != IMAGE_NO_FILE)
		file_table_drop(table->budget->files, before);
}

void image_table_end(struct image_table *table, struct image *image, uint64_t time_ns)
{
	list_ended(table, (uint32_t)(image - table->images), time_ns);
}

void image_table_revive(struct image_table *table, struct image *image)
{
	if (image->end_ns == PROCESS_LIVE)
		return;
	unlist(table, (uint32_t)(image - table->images));
	report_end(table, image);
}

size_t image_table_bytes(const struct image_table *table)
{
	return table->capacity * sizeof(*table->images) +
	       table->bucket_count * sizeof(*table->buckets);
}
