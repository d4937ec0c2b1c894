/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images of one pid are a chain from the newest to the oldest; the newest hangs in a hash
 * bucket of its pid. Images that have ended are also in a list by the time of their end, whose
 * first is the next to go. An image is live until it is in that list.
 */
#include "process/process_table.h"

#include "base/array.h"
#include "process/file_table.h"
#include "process/mapping_set.h"

#include <errno.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	IMAGES_PER_PID = 256,
	MAPPINGS_PER_IMAGE_MEAN = 16,
};

#define LIVE UINT64_MAX

struct image {
	pid_t pid, parent;
	uint64_t start_ns, end_ns; /* end: LIVE, or when it did */
	struct mapping_set *mappings;
	uint64_t version; /* another one after each change of the mappings */
	uint32_t older, newer;		    /* of the same pid */
	uint32_t next;			    /* in the bucket, or of the free ones */
	uint32_t ended_before, ended_after; /* neighbours in the list of ended images */
};

struct process_table {
	struct process_table_limits limits;
	struct process_table_counters counters;
	struct image *images;
	size_t image_count, image_capacity;
	uint32_t free_image;
	uint32_t first_ended, last_ended;
	uint32_t *buckets;   /* newest image of each pid */
	size_t bucket_count; /* a power of two */
	struct mapping_budget budget;
	struct file_table files;
	uint64_t last_version;
};

const struct process_table_limits process_table_default_limits = {
	.images = 16384,
	.mappings_per_image = 4096,
	.files = 16384,
	.path_bytes = 4 << 20,
	.mappings = 262144,
};

int process_table_new(const struct process_table_limits *limits, struct process_table **ret_table)
{
	_cleanup_(process_table_freep) struct process_table *table = calloc(1, sizeof(*table));
	size_t bucket_count = 64;

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	if (table->limits.images >= NONE)
		table->limits.images = NONE - 1;
	table->budget.limit = limits->mappings;
	if (table->budget.limit == 0)
		table->budget.limit = table->limits.images * MAPPINGS_PER_IMAGE_MEAN;
	table->free_image = table->first_ended = table->last_ended = NONE;
	file_table_init(&table->files, limits->files, limits->path_bytes);

	while (bucket_count < table->limits.images)
		bucket_count *= 2;
	table->buckets = malloc(bucket_count * sizeof(*table->buckets));
	if (!table->buckets)
		return -ENOMEM;
	memset(table->buckets, 0xff, bucket_count * sizeof(*table->buckets));
	table->bucket_count = bucket_count;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->image_count; i++)
		mapping_set_release(table->images[i].mappings, &table->budget);
	free(table->images);
	free(table->buckets);
	file_table_done(&table->files);
	free(table);
}

/* --- the chains --- */

static uint32_t *bucket_of(const struct process_table *table, pid_t pid)
{
	return &table->buckets[hash_pair((uint64_t)pid, 0) & (table->bucket_count - 1)];
}

/* Where the id of the newest image of `pid` stands, or the end of its bucket. */
static uint32_t *newest_place(const struct process_table *table, pid_t pid)
{
	uint32_t *place = bucket_of(table, pid);

	while (*place != NONE && table->images[*place].pid != pid)
		place = &table->images[*place].next;
	return place;
}

static struct image *newest_image(const struct process_table *table, pid_t pid)
{
	uint32_t id = *newest_place(table, pid);

	return id == NONE ? NULL : &table->images[id];
}

static const struct image *image_at(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	uint32_t id = *newest_place(table, pid);

	while (id != NONE && table->images[id].start_ns > time_ns)
		id = table->images[id].older;
	return id == NONE ? NULL : &table->images[id];
}

static void chain_newest(struct process_table *table, uint32_t id)
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

static void unchain(struct process_table *table, uint32_t id)
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

/* --- the list of the ended --- */

static void unlist(struct process_table *table, uint32_t id)
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
	image->end_ns = LIVE;
}

/* Ends come in the order of time but for those that two sources report, so the place is near. */
static void list_ended(struct process_table *table, uint32_t id, uint64_t time_ns)
{
	struct image *image = &table->images[id];
	uint32_t before = table->last_ended;

	if (image->end_ns != LIVE)
		return;
	image->end_ns = time_ns < LIVE ? time_ns : LIVE - 1;
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
}

static void remove_ended(struct process_table *table, uint32_t id)
{
	struct image *image = &table->images[id];

	unlist(table, id);
	unchain(table, id);
	mapping_set_release(image->mappings, &table->budget);
	image->mappings = NULL;
	image->next = table->free_image;
	table->free_image = id;
}

static bool evict_oldest_ended(struct process_table *table)
{
	if (table->first_ended == NONE)
		return false;
	remove_ended(table, table->first_ended);
	table->counters.images_evicted++;
	return true;
}

/* Else a process that does nothing but execve() would push out the images of all others. */
static void evict_oldest_of_pid(struct process_table *table, pid_t pid)
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
	table->counters.images_evicted++;
}

/* --- facts --- */

static bool has_free_slot(const struct process_table *table)
{
	return table->free_image != NONE || table->image_count < table->limits.images;
}

static int take_slot(struct process_table *table, uint32_t *ret_id)
{
	int r;

	if (!has_free_slot(table) && !evict_oldest_ended(table))
		return -E2BIG;
	if (table->free_image != NONE) {
		*ret_id = table->free_image;
		table->free_image = table->images[*ret_id].next;
		return 0;
	}
	r = ARRAY_RESERVE(table->images, &table->image_capacity, table->image_count + 1,
		table->limits.images);
	if (r < 0)
		return r;
	*ret_id = (uint32_t)table->image_count++;
	return 0;
}

/*
 * The next image of `pid`, which ends the one before. It begins at `time_ns`, but 0 stands for as
 * early as may be. Its mappings are none yet.
 */
static int begin_image(
	struct process_table *table, pid_t pid, uint64_t time_ns, struct image **ret_image)
{
	struct image *newest = newest_image(table, pid);
	pid_t parent = newest ? newest->parent : 0;
	struct image *image;
	uint32_t id, older;
	int r;

	if (newest && !has_free_slot(table))
		list_ended(table, (uint32_t)(newest - table->images), time_ns);
	evict_oldest_of_pid(table, pid);
	r = take_slot(table, &id);
	if (r == -E2BIG)
		table->counters.images_refused++;
	if (r < 0)
		return r;
	image = &table->images[id];
	*image = (struct image){
		.pid = pid,
		.parent = parent,
		.start_ns = time_ns,
		.end_ns = LIVE,
		.version = ++table->last_version,
		.ended_before = NONE,
		.ended_after = NONE,
	};
	older = *newest_place(table, pid);
	if (older != NONE) {
		list_ended(table, older, time_ns);
		if (image->start_ns < table->images[older].start_ns)
			image->start_ns = table->images[older].start_ns;
	}
	chain_newest(table, id);
	*ret_image = image;
	return 0;
}

int process_table_fork(struct process_table *table, pid_t pid, pid_t parent, uint64_t time_ns)
{
	struct image *child, *source;
	int r;

	if (pid <= 0)
		return -EINVAL;
	if (pid == parent)
		return 0;
	r = begin_image(table, pid, time_ns, &child);
	if (r < 0)
		return r;
	child->parent = parent;
	source = newest_image(table, parent);
	if (source)
		child->mappings = mapping_set_share(source->mappings);
	return 0;
}

int process_table_exec(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct image *image;

	if (pid <= 0)
		return -EINVAL;
	return begin_image(table, pid, time_ns, &image);
}

void process_table_exit(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	uint32_t id = *newest_place(table, pid);

	if (id == NONE)
		return;
	/* Of two ends the later one counts. */
	if (table->images[id].end_ns < time_ns)
		unlist(table, id);
	list_ended(table, id, time_ns);
}

/* The image that a mapping goes to, taken off the list of the ended, so that it cannot be evicted.
 */
static int mapped_image(
	struct process_table *table, pid_t pid, struct image **ret_image, uint64_t *ret_end_ns)
{
	struct image *image = newest_image(table, pid);

	*ret_end_ns = image ? image->end_ns : LIVE;
	if (!image)
		return begin_image(table, pid, 0, ret_image);
	if (image->end_ns != LIVE)
		unlist(table, (uint32_t)(image - table->images));
	*ret_image = image;
	return 0;
}

/* The room comes from the oldest ended images as long as there are any. */
static int put_mapping(
	struct process_table *table, struct image *image, const struct process_mapping *mapping)
{
	bool merges = file_table_is_anonymous(&table->files, mapping->file);
	int r;

	do
		r = mapping_set_put(&image->mappings, mapping, merges,
			table->limits.mappings_per_image, &table->budget);
	while (r == -ENOSPC && evict_oldest_ended(table));
	if (r == -E2BIG || r == -ENOSPC) {
		table->counters.mappings_refused++;
		return -E2BIG;
	}
	return r;
}

static int map_file(struct process_table *table, struct image *image,
	const struct process_mapping_event *event, uint32_t *ret_file)
{
	struct process_mapping mapping = {
		.start = event->start,
		.end = event->end,
		.offset = event->offset,
	};
	int r = file_table_intern(&table->files, event, &mapping.file);

	if (r == -E2BIG)
		table->counters.files_refused++;
	if (r == 0)
		r = put_mapping(table, image, &mapping);
	if (r == 0 && ret_file)
		*ret_file = mapping.file;
	return r;
}

int process_table_map(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event, uint32_t *ret_file)
{
	struct image *image;
	uint64_t end_ns;
	int r;

	if (pid <= 0 || event->start >= event->end)
		return -EINVAL;
	r = mapped_image(table, pid, &image, &end_ns);
	if (r < 0)
		return r;
	image->version = ++table->last_version;
	r = map_file(table, image, event, ret_file);
	if (r < 0)
		mapping_set_cut(&image->mappings, event->start, event->end,
			table->limits.mappings_per_image, &table->budget);
	/* Only a mapping after the end belies it. */
	if (end_ns != LIVE && time_ns < end_ns)
		list_ended(table, (uint32_t)(image - table->images), end_ns);
	return r;
}

uint64_t process_table_version(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct image *image = image_at(table, pid, time_ns);

	return image ? image->version : 0;
}

void process_table_retire(struct process_table *table, uint64_t time_ns)
{
	while (table->first_ended != NONE && table->images[table->first_ended].end_ns < time_ns)
		remove_ended(table, table->first_ended);
}

/* --- questions --- */

bool process_table_has(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	return image_at(table, pid, time_ns) != NULL;
}

pid_t process_table_parent(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct image *image = image_at(table, pid, time_ns);

	return image ? image->parent : 0;
}

bool process_table_find(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip,
	struct process_mapping *ret_mapping)
{
	const struct image *image = image_at(table, pid, time_ns);
	const struct process_mapping *mapping;

	if (!image)
		return false;
	mapping = mapping_set_find(image->mappings, ip);
	if (!mapping)
		return false;
	*ret_mapping = *mapping;
	return true;
}

size_t process_table_mappings(const struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping **ret_mappings)
{
	const struct image *image = image_at(table, pid, time_ns);

	if (!image || !image->mappings)
		return 0;
	*ret_mappings = image->mappings->mappings;
	return image->mappings->count;
}

void process_table_file(
	const struct process_table *table, uint32_t file, struct mapped_file *ret_file)
{
	file_table_get(&table->files, file, ret_file);
}

void process_table_set_build_id(
	struct process_table *table, uint32_t file, const struct build_id *id)
{
	file_table_set_build_id(&table->files, file, id);
}

bool process_table_find_build_id(
	const struct process_table *table, const struct build_id *id, uint32_t *ret_file)
{
	return file_table_find_build_id(&table->files, id, ret_file);
}

void process_table_counters(const struct process_table *table, struct process_table_counters *ret)
{
	*ret = table->counters;
}

size_t process_table_bytes(const struct process_table *table)
{
	return sizeof(*table) + table->image_capacity * sizeof(*table->images) +
	       table->bucket_count * sizeof(*table->buckets) +
	       table->budget.used * sizeof(struct process_mapping) +
	       file_table_bytes(&table->files);
}
