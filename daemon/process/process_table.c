/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_table.h"

#include "process/file_table.h"
#include "process/image_table.h"
#include "process/mapping_set.h"
#include "process/maps_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAPPINGS_PER_IMAGE_MEAN = 16,
	IMAGE_SHARE = 4, /* one image may use 1/4 of the files and of the path bytes */
};

struct process_table {
	struct process_table_counters counters;
	struct user_excess excess;
	struct image_table images;
	struct mapping_budget budget;
	struct file_table files;
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
	size_t files_per_image = limits->files / IMAGE_SHARE;
	int r;

	if (!table)
		return -ENOMEM;
	table->budget = (struct mapping_budget){
		.limit = limits->mappings ? limits->mappings
					  : limits->images * MAPPINGS_PER_IMAGE_MEAN,
		.count_per_set = limits->mappings_per_image < files_per_image
					 ? limits->mappings_per_image
					 : files_per_image,
		.path_bytes_per_set = limits->path_bytes / IMAGE_SHARE,
		.files = &table->files,
	};
	table->budget.share.capacity = table->budget.limit;
	r = image_table_init(&table->images, limits->images, &table->budget);
	if (r < 0)
		return r;
	r = file_table_init(&table->files, limits->files, limits->path_bytes);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	image_table_done(&table->images);
	file_table_done(&table->files);
	free(table);
}

/* --- facts --- */

/* `image`: the one that is like the new one; NULL: none. */
static uint64_t user_of(const struct image *image)
{
	return image ? image->user : USER_UNKNOWN;
}

static int begin_image(struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t user,
	struct image **ret_image)
{
	int r = image_table_begin(&table->images, pid, time_ns, user, ret_image);

	if (r == -E2BIG) {
		table->counters.images_refused++;
		user_excess_add(&table->excess, user, USER_PROCESSES, 1);
	}
	return r;
}

/*
 * A fact at `time_ns` shows that the image is alive, so an earlier end was wrong. Returns whether
 * it is live at that time.
 */
static bool is_live_at(struct process_table *table, struct image *image, uint64_t time_ns)
{
	if (image->end_ns == PROCESS_LIVE)
		return true;
	if (time_ns < image->end_ns)
		return false;
	image_table_revive(&table->images, image);
	image->threads = 1;
	return true;
}

static void add_thread(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct image *image = image_table_newest(&table->images, pid);

	if (!image || time_ns < image->start_ns || time_ns < image->counted_ns)
		return;
	if (is_live_at(table, image, time_ns) && image->threads < UINT32_MAX)
		image->threads++;
}

int process_table_fork(struct process_table *table, pid_t pid, pid_t parent, uint64_t time_ns)
{
	struct image *child, *source;
	int r;

	if (pid <= 0)
		return -EINVAL;
	if (pid == parent) {
		add_thread(table, pid, time_ns);
		return 0;
	}
	r = begin_image(
		table, pid, time_ns, user_of(image_table_newest(&table->images, parent)), &child);
	if (r < 0)
		return r;
	child->parent = parent;
	child->born_ns = time_ns;
	child->program_ns = child->start_ns;
	source = image_table_newest(&table->images, parent);
	if (source) {
		child->program_ns = source->program_ns;
		child->mappings = mapping_set_share(source->mappings);
		image_table_set_executable(&table->images, child, source->executable);
		image_table_inherit(&table->images, child, source);
	}
	return 0;
}

int process_table_exec(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct image *image;
	int r;

	if (pid <= 0)
		return -EINVAL;
	r = begin_image(
		table, pid, time_ns, user_of(image_table_newest(&table->images, pid)), &image);
	if (r < 0)
		return r;
	image->has_execed = true;
	image->program_ns = image->start_ns;
	return 0;
}

void process_table_exit(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct image *image = image_table_newest(&table->images, pid);

	if (!image || time_ns < image->start_ns)
		return;
	if (image->end_ns == PROCESS_LIVE) {
		if (time_ns < image->counted_ns)
			return;
		if (image->threads > 1) {
			image->threads--;
			return;
		}
	} else if (image->end_ns < time_ns) {
		/* The thread count was too low: the later of two ends counts. */
		image_table_revive(&table->images, image);
	}
	image_table_end(&table->images, image, time_ns);
}

void process_table_gone(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	struct image *image = image_table_newest(&table->images, pid);

	if (image && image->start_ns <= time_ns)
		image_table_end(&table->images, image, time_ns);
}

void process_table_set_threads(
	struct process_table *table, pid_t pid, uint64_t time_ns, uint32_t threads)
{
	struct image *image = image_table_newest(&table->images, pid);

	if (!image || image->end_ns != PROCESS_LIVE || time_ns < image->start_ns)
		return;
	image->threads = threads > 0 ? threads : 1;
	image->counted_ns = time_ns;
}

void process_table_set_user(struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t user)
{
	struct image *image = image_table_at(&table->images, pid, time_ns);

	if (!image || (image->user == user && (!image->mappings || image->mappings->user == user)))
		return;
	image_table_charge(&table->images, image, user);
}

/*
 * Evicts images while there is no room. Those that share their mappings make none until the last of
 * them leaves, but each leaves in constant time, and a fork has paid for it.
 */
static int put_mapping(struct process_table *table, struct image *image,
	const struct process_mapping *mapping, bool *is_changed)
{
	int r;

	do
		r = mapping_set_put(&image->mappings, mapping, &table->budget, is_changed);
	while (r == -ENOSPC &&
		image_table_evict(&table->images, &table->budget.share, image->user));
	if (r == -E2BIG || r == -ENOSPC) {
		table->counters.mappings_refused++;
		user_excess_add(&table->excess, image->user, USER_MAPPINGS, 1);
		return -E2BIG;
	}
	return r;
}

/* Has another user's image made room for a file that was refused? */
static bool evict_for_file(struct process_table *table, const struct image *image)
{
	const struct user_share *share = table->files.lacking;

	return share && !user_share_is_counter(share, user_share_greatest(share), image->user) &&
	       image_table_evict(&table->images, share, image->user);
}

static int intern_file(struct process_table *table, const struct image *image,
	const struct process_mapping_event *event, uint32_t *ret_file)
{
	int r;

	table->files.user = image->user;
	do
		r = file_table_intern(&table->files, event, ret_file);
	while (r == -E2BIG && evict_for_file(table, image));
	if (r == -E2BIG) {
		table->counters.files_refused++;
		user_excess_add(&table->excess, image->user, USER_FILES, 1);
	}
	return r;
}

static int map_file(struct process_table *table, struct image *image,
	const struct process_mapping_event *event, bool *is_changed, uint32_t *ret_file)
{
	struct process_mapping mapping = {
		.start = event->start,
		.end = event->end,
		.offset = event->offset,
	};
	int r = intern_file(table, image, event, &mapping.file);

	if (r < 0)
		return r;
	r = put_mapping(table, image, &mapping, is_changed);
	file_table_drop(&table->files, mapping.file);
	if (r == 0)
		*ret_file = mapping.file;
	return r;
}

static int find_or_begin_image(struct process_table *table, pid_t pid, struct image **ret_image)
{
	*ret_image = image_table_newest(&table->images, pid);
	return *ret_image ? 0 : begin_image(table, pid, 0, USER_UNKNOWN, ret_image);
}

/*
 * The kernel maps the program before its interpreter. If the program is refused, the executable
 * stays unknown, since the next file is another one.
 */
static void note_executable(struct process_table *table, struct image *image,
	const struct process_mapping_event *event, const uint32_t *file)
{
	struct mapped_file mapped;

	if (!image->has_execed || event->was_there)
		return;
	if (file)
		file_table_get(&table->files, *file, &mapped);
	if (file ? !mapped.is_regular : event->path[0] != '/')
		return;
	image->has_execed = false;
	if (file)
		image_table_set_executable(&table->images, image, *file);
}

int process_table_map(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event, uint32_t *ret_file)
{
	bool is_changed = false;
	struct image *image;
	uint64_t end_ns;
	uint32_t file;
	int r;

	if (pid <= 0 || event->start >= event->end)
		return -EINVAL;
	r = find_or_begin_image(table, pid, &image);
	if (r < 0)
		return r;
	/* Revived for the moment, so that making room for its mapping cannot evict it. */
	end_ns = is_live_at(table, image, time_ns) ? PROCESS_LIVE : image->end_ns;
	image_table_revive(&table->images, image);
	r = map_file(table, image, event, &is_changed, &file);
	note_executable(table, image, event, r == 0 ? &file : NULL);
	if (r == 0 && ret_file)
		*ret_file = file;
	if (r < 0)
		mapping_set_cut(
			&image->mappings, event->start, event->end, &table->budget, &is_changed);
	if (is_changed)
		image->version = ++table->images.last_version;
	if (end_ns != PROCESS_LIVE)
		image_table_end(&table->images, image, end_ns);
	return r;
}

/* Prefers the file as mapped: fstat() and maps may report different identities for it. */
static bool find_mapped(const struct process_table *table, const struct image *image,
	const char *path, uint32_t *ret_file)
{
	size_t count = image->mappings ? image->mappings->count : 0, size = strlen(path);
	struct mapped_file file;

	(void)maps_line_strip_deleted(path, &size);
	for (size_t i = 0; i < count; i++) {
		file_table_get(&table->files, image->mappings->mappings[i].file, &file);
		if (strlen(file.path) == size && memcmp(file.path, path, size) == 0) {
			*ret_file = image->mappings->mappings[i].file;
			return true;
		}
	}
	return false;
}

int process_table_set_executable(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event)
{
	struct image *image = image_table_newest(&table->images, pid);
	uint32_t file;
	int r;

	if (!image || image->end_ns != PROCESS_LIVE || time_ns < image->start_ns)
		return 0;
	image->has_execed = false;
	if (find_mapped(table, image, event->path, &file)) {
		image_table_set_executable(&table->images, image, file);
		return 0;
	}
	r = intern_file(table, image, event, &file);
	if (r < 0)
		return r;
	image_table_set_executable(&table->images, image, file);
	file_table_drop(&table->files, file);
	return 0;
}

void process_table_retire(struct process_table *table, uint64_t time_ns)
{
	image_table_retire(&table->images, time_ns);
}

void process_table_follow(struct process_table *table, const struct process_follower *follower)
{
	table->images.follower = follower ? *follower : (struct process_follower){ 0 };
	for (size_t i = 0; i < table->images.count && !follower; i++)
		table->images.images[i].data = NULL;
}

void process_table_set_data(struct process_table *table, uint32_t image, void *data)
{
	table->images.images[image].data = data;
}

/* --- questions --- */

bool process_table_is_crowded(const struct process_table *table)
{
	return image_table_is_crowded(&table->images);
}

bool process_table_image(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct process_image *ret_image)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);

	if (image)
		*ret_image = image_table_facts(&table->images, image);
	return image;
}

bool process_table_has(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	return image_table_at(&table->images, pid, time_ns) != NULL;
}

bool process_table_is_live(const struct process_table *table, pid_t pid)
{
	const struct image *image = image_table_newest(&table->images, pid);

	return image && image->end_ns == PROCESS_LIVE;
}

uint64_t process_table_version(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);

	return image ? image->version : 0;
}

pid_t process_table_parent(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);

	return image ? image->parent : 0;
}

bool process_table_birth(const struct process_table *table, pid_t pid, uint64_t time_ns,
	pid_t *ret_parent, uint64_t *ret_born_ns)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);

	if (!image || image->parent <= 0 || image->born_ns == 0)
		return false;
	*ret_parent = image->parent;
	*ret_born_ns = image->born_ns;
	return true;
}

bool process_table_has_ended(const struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);
	const struct image *newest = image_table_newest(&table->images, pid);

	return image && (newest->end_ns != PROCESS_LIVE || newest->born_ns != image->born_ns);
}

bool process_table_executable(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct mapped_file *ret_file)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);

	if (!image || image->executable == IMAGE_NO_FILE)
		return false;
	file_table_get(&table->files, image->executable, ret_file);
	return true;
}

bool process_table_find(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip,
	struct process_mapping *ret_mapping)
{
	const struct image *image = image_table_at(&table->images, pid, time_ns);
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
	const struct image *image = image_table_at(&table->images, pid, time_ns);

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
	ret->images_evicted = table->images.evicted;
	ret->images = table->images.count;
	ret->mappings = table->budget.used;
}

bool process_table_next_live(const struct process_table *table, size_t *cursor, pid_t *ret_pid)
{
	while (*cursor < table->images.count) {
		const struct image *image = &table->images.images[(*cursor)++];

		if (image->pid > 0 && image->end_ns == PROCESS_LIVE) {
			*ret_pid = image->pid;
			return true;
		}
	}
	return false;
}

size_t process_table_bytes(const struct process_table *table)
{
	return sizeof(*table) + image_table_bytes(&table->images) +
	       table->budget.used * sizeof(struct process_mapping) +
	       file_table_bytes(&table->files);
}

void process_table_users(const struct process_table *table, struct user_excess *excess,
	struct user_holdings *holdings)
{
	user_excess_merge(excess, &table->excess);
	user_holdings_add(holdings, USER_PROCESSES, &table->images.share);
	user_holdings_add(holdings, USER_MAPPINGS, &table->budget.share);
	user_holdings_add(holdings, USER_FILES, &table->files.share);
}
