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
	LIVE_SEEN_MAX = 64, /* the biggest of so many live images is evicted */
};

static const struct image_list empty_list = { .first = NONE, .last = NONE };

int image_table_init(struct image_table *table, size_t limit, struct mapping_budget *budget)
{
	*table = (struct image_table){
		.limit = limit < NONE ? limit : NONE - 1,
		.free = NONE,
		.ended = empty_list,
		.bucket_count = BUCKETS_MIN,
		.budget = budget,
		.share.capacity = limit,
	};
	for (size_t i = 0; i < USER_SHARE_COUNTERS; i++)
		table->live_of[i] = table->ended_of[i] = empty_list;
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
		.user = image->user,
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

/* --- the lists --- */

static struct image_list *list_of(
	struct image_table *table, const struct image *image, enum image_list_kind kind)
{
	size_t counter = user_share_counter(image->user);

	if (kind == IMAGE_LIST_ENDED)
		return &table->ended;
	return image->end_ns == PROCESS_LIVE ? &table->live_of[counter] : &table->ended_of[counter];
}

/* By the end. Ends arrive in time order, except where two sources report them, so the search is
 * short. */
static void list(struct image_table *table, struct image *image, enum image_list_kind kind)
{
	struct image_list *list = list_of(table, image, kind);
	uint32_t id = (uint32_t)(image - table->images), before = list->last;
	struct image_link *link = &image->links[kind];

	while (before != NONE && table->images[before].end_ns > image->end_ns)
		before = table->images[before].links[kind].before;
	link->before = before;
	link->after = before == NONE ? list->first : table->images[before].links[kind].after;
	if (before == NONE)
		list->first = id;
	else
		table->images[before].links[kind].after = id;
	if (link->after == NONE)
		list->last = id;
	else
		table->images[link->after].links[kind].before = id;
}

static void unlist(struct image_table *table, struct image *image, enum image_list_kind kind)
{
	struct image_list *list = list_of(table, image, kind);
	const struct image_link *link = &image->links[kind];

	if (link->before == NONE)
		list->first = link->after;
	else
		table->images[link->before].links[kind].after = link->after;
	if (link->after == NONE)
		list->last = link->before;
	else
		table->images[link->after].links[kind].before = link->before;
}

static void begin_life(struct image_table *table, struct image *image)
{
	image->end_ns = PROCESS_LIVE;
	list(table, image, IMAGE_LIST_OF_USER);
	table->live_count++;
}

static void end_life(struct image_table *table, struct image *image, uint64_t time_ns)
{
	unlist(table, image, IMAGE_LIST_OF_USER);
	image->end_ns = time_ns < PROCESS_LIVE ? time_ns : PROCESS_LIVE - 1;
	table->live_count--;
}

static void list_ended(struct image_table *table, struct image *image)
{
	list(table, image, IMAGE_LIST_OF_USER);
	list(table, image, IMAGE_LIST_ENDED);
	table->ended_count++;
}

static void unlist_ended(struct image_table *table, struct image *image)
{
	unlist(table, image, IMAGE_LIST_OF_USER);
	unlist(table, image, IMAGE_LIST_ENDED);
	table->ended_count--;
}

void image_table_end(struct image_table *table, struct image *image, uint64_t time_ns)
{
	if (image->end_ns != PROCESS_LIVE)
		return;
	end_life(table, image, time_ns);
	list_ended(table, image);
	report_end(table, image);
}

void image_table_revive(struct image_table *table, struct image *image)
{
	if (image->end_ns == PROCESS_LIVE)
		return;
	unlist_ended(table, image);
	begin_life(table, image);
	report_end(table, image);
}

/* --- room --- */

/* The image is in no list any more. */
static void drop(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];

	unchain(table, id);
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

static void remove_ended(struct image_table *table, uint32_t id)
{
	unlist_ended(table, &table->images[id]);
	drop(table, id);
}

static void remove_live(struct image_table *table, uint32_t id)
{
	struct image *image = &table->images[id];

	end_life(table, image, image->start_ns);
	report_end(table, image);
	drop(table, id);
}

bool image_table_is_crowded(const struct image_table *table)
{
	size_t room = table->limit - table->live_count;

	return table->ended_count > room - room / 4;
}

static uint32_t biggest_live_of(const struct image_table *table, size_t counter)
{
	uint32_t biggest = NONE, most = 0, id = table->live_of[counter].first;

	for (size_t seen = 0; id != NONE && seen < LIVE_SEEN_MAX; seen++) {
		const struct image *image = &table->images[id];
		uint32_t mappings = image->mappings ? image->mappings->count : 0;

		if (biggest == NONE || mappings > most) {
			biggest = id;
			most = mappings;
		}
		id = image->links[IMAGE_LIST_OF_USER].after;
	}
	return biggest;
}

bool image_table_evict(struct image_table *table, const struct user_share *share, uint64_t user)
{
	const struct user_counter *greatest = user_share_greatest(share);
	size_t counter = (size_t)(greatest - share->counters);
	uint32_t ended = table->ended_of[counter].first, live = NONE;

	if (ended == NONE && !user_share_is_counter(share, greatest, user))
		live = biggest_live_of(table, counter);
	if (ended != NONE)
		remove_ended(table, ended);
	else if (live != NONE)
		remove_live(table, live);
	else
		return false;
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
	uint32_t id = table->ended.first;

	while (id != NONE && table->images[id].end_ns < time_ns) {
		const struct image *image = &table->images[id];
		uint32_t next = image->links[IMAGE_LIST_ENDED].after;

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
		.version = ++table->last_version,
		.threads = 1,
		.executable = IMAGE_NO_FILE,
		.user = user,
	};
	user_share_add(&table->share, user, 1);
	older = *newest_place(table, pid);
	if (older != NONE) {
		image_table_end(table, &table->images[older], time_ns);
		if (image->start_ns < table->images[older].start_ns)
			image->start_ns = table->images[older].start_ns;
	}
	chain_newest(table, id);
	begin_life(table, image);
	*ret_image = image;
	return 0;
}

void image_table_charge(struct image_table *table, struct image *image, uint64_t user)
{
	uint64_t from = image->user;

	user_share_remove(&table->share, from, 1);
	user_share_add(&table->share, user, 1);
	unlist(table, image, IMAGE_LIST_OF_USER);
	image->user = user;
	list(table, image, IMAGE_LIST_OF_USER);
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

size_t image_table_bytes(const struct image_table *table)
{
	return table->capacity * sizeof(*table->images) +
	       table->bucket_count * sizeof(*table->buckets);
}
