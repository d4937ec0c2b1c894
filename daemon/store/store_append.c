/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "labels/cgroup_path.h"
#include "store/accounts_blob.h"
#include "store/appended_rows.h"
#include "store/day_file.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>

enum {
	RUN_ROWS = 32,
	RUN_ELEMENTS = 8192,
	GENERATIONS = 4, /* at least, in a day that fills the byte limit */
	/* What the day's dictionary may grow by: a part of the byte limit, but at least enough for
	 * an ordinary day. */
	DAY_PARTS_OF_LIMIT = 16,
	DAY_BYTES_MIN = 4 << 20,
	/* Weighed before a sample is added: hardly any sample adds more. */
	SAMPLE_CONTENT_BYTES = 4096,
	/* Of each user in each generation, outside the share. */
	GENERATION_FREE_BYTES = 64 << 10,
	ROOT = 0,	    /* of the host: the history is its own */
	ROWS_MAX = 1 << 15, /* further rows become a supplement */
};

#define OVER_QUOTA UINT32_MAX
static const char over_quota[] = "[names over quota]";

/*
 * A window being written. If the current generation lacks room, the rows so far go with it. The
 * other rows go with the next generation, as a supplement of the window.
 */
struct appending {
	struct store *store;
	const struct profile *profile;
	struct day_window window;
	struct day_mapping mappings[DAY_PARTS];
	struct appended_rows rows;	       /* not yet written */
	struct store_written saved[DAY_PARTS]; /* the state after this transaction */
	struct user_excess excess;
	uint64_t untimed[STORE_UNTIMED_REASONS];
	struct fault *fault;
};

static int drop_run(struct appending *appending, enum day_part name)
{
	const struct store *store = appending->store;
	sqlite3_stmt *statement;
	int r = day_database_statement(store->database, DAY_DROP_RUN, &statement, appending->fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, name);
	(void)sqlite3_bind_int64(statement, 2, store->parts[name].generation);
	(void)sqlite3_bind_int64(statement, 3, appending->saved[name].run_id);
	return day_database_step(store->database, statement, appending->fault);
}

/* Large dictionary rows stay as they are: rewriting them would take memory. */
static bool is_long(const struct store_written *written)
{
	const struct day_mark *from = &written->run_mark, *to = &written->mark;

	return to->nodes - from->nodes > RUN_ELEMENTS || to->threads - from->threads > RUN_ELEMENTS;
}

/*
 * Writes all dictionary elements that are not on disk, including those of an earlier window that
 * failed.
 */
static int write_dictionary(struct appending *appending, enum day_part name)
{
	struct store_part *part = &appending->store->parts[name];
	struct day_database *database = appending->store->database;
	const struct day_tables *tables = &part->dictionary.tables;
	struct store_written *saved = &appending->saved[name], to = *saved;
	_cleanup_free_ uint8_t *blob = NULL;
	size_t size = 0;
	int64_t id = 0;
	int r = 0;

	to.mark = day_tables_mark(tables);
	if (memcmp(&to.mark, &saved->mark, sizeof(to.mark)) == 0)
		return 0;
	if (is_long(&to))
		to.run_rows = 0;
	if (to.run_rows == 0)
		to.run_mark = saved->mark;
	if (to.run_rows + 1 == RUN_ROWS)
		r = drop_run(appending, name);
	if (r == 0)
		r = day_tables_write(tables,
			to.run_rows + 1 == RUN_ROWS ? &to.run_mark : &saved->mark,
			STORE_APPEND_EFFORT, &blob, &size);
	if (r == 0)
		r = day_database_add_dictionary(
			database, name, part->generation, blob, size, &id, appending->fault);
	if (r < 0)
		return r;
	if (to.run_rows == 0)
		to.run_id = id;
	to.run_rows = (to.run_rows + 1) % RUN_ROWS;
	*saved = to;
	return 0;
}

static int write_blobs(struct appending *appending, const struct appended_blobs *blobs)
{
	struct store *store = appending->store;
	struct day_window *window = &appending->window;
	int64_t id;
	int r;

	window->samples = blobs->samples;
	window->body_bytes = blobs->body_size;
	appending->untimed[STORE_UNTIMED_TOO_LARGE] += blobs->untimed;
	r = day_database_add_window(
		store->database, window, blobs->body, blobs->body_size, &id, appending->fault);
	if (r < 0 || !blobs->times)
		return r;
	return day_database_add_times(store->database, id, window->start_ns, blobs->times,
		blobs->times_size, appending->fault);
}

/* Writes the rows at hand and the dictionary elements that they need. */
static int write_rows(struct appending *appending)
{
	_cleanup_(appended_blobs_done) struct appended_blobs blobs = { 0 };
	struct store *store = appending->store;
	struct day_window *window = &appending->window;
	int r = 0;

	for (enum day_part part = 0; r == 0 && part < DAY_PARTS; part++) {
		window->generations[part] = store->parts[part].generation;
		r = write_dictionary(appending, part);
	}
	if (r == 0)
		r = appended_rows_write(
			&appending->rows, appending->profile, STORE_APPEND_EFFORT, &blobs);
	if (r == 0)
		r = write_blobs(appending, &blobs);
	if (r < 0)
		return r;
	appending->rows.count = 0;
	window->is_supplement = true;
	window->accounts_size = accounts_blob_write(&(struct accounts){ 0 }, window->accounts);
	return 0;
}

/* Writes the rows that refer to the current generation, then begins the next one. */
static int next_generation(struct appending *appending, enum day_part name)
{
	struct store_part *part = &appending->store->parts[name];
	int r = 0;

	if (appending->rows.count > 0)
		r = write_rows(appending);
	if (r == 0)
		r = store_part_next_generation(part);
	if (r < 0)
		return r;
	appending->saved[name] = part->saved;
	day_mapping_clear(&appending->mappings[name]);
	return 0;
}

/*
 * Finds or adds an element of the profile, or the one that stands for all that are over quota. A
 * thread over quota keeps its owner, so that no other user sees it.
 */
static int find_in_generation(struct appending *appending, enum day_part part, uint32_t element,
	uint32_t owner, uint32_t *ret_id)
{
	struct day_dictionary *dictionary = &appending->store->parts[part].dictionary;
	struct day_mapping *mapping = &appending->mappings[part];

	if (part == DAY_THREADS)
		return element == OVER_QUOTA
			       ? day_dictionary_nameless_thread(
					 dictionary, over_quota, owner, ret_id)
			       : day_dictionary_thread(dictionary, mapping, element, ret_id);
	return element == OVER_QUOTA ? day_dictionary_synthetic_node(dictionary, over_quota, ret_id)
				     : day_dictionary_node(dictionary, mapping, element, ret_id);
}

/* Returns -E2BIG only if even an empty generation has no room. */
static int find(struct appending *appending, enum day_part part, uint32_t element, uint32_t owner,
	uint32_t *ret_id)
{
	int r = find_in_generation(appending, part, element, owner, ret_id);

	if (r == -E2BIG) {
		r = next_generation(appending, part);
		if (r == 0)
			r = find_in_generation(appending, part, element, owner, ret_id);
	}
	return r;
}

static uint64_t content_bytes(const struct store *store)
{
	uint64_t bytes = 0;

	for (enum day_part part = 0; part < DAY_PARTS; part++)
		bytes += day_dictionary_content_bytes(&store->parts[part].dictionary);
	return bytes;
}

/* Finds the element within the user's share, or else the one that stands for all over quota. */
static int find_shared(struct appending *appending, enum day_part part, uint32_t element,
	uint32_t owner, bool is_frozen, bool *has_excess, uint32_t *ret_id)
{
	struct store *store = appending->store;
	int r;

	store->parts[part].dictionary.is_frozen = is_frozen;
	r = find(appending, part, element, owner, ret_id);
	store->parts[part].dictionary.is_frozen = false;
	if (r != -EDQUOT)
		return r;
	*has_excess = true;
	return find(appending, part, OVER_QUOTA, owner, ret_id);
}

/* Each generation repeats what the one before had, so some of that is free. */
static void begin_generation(struct store *store)
{
	int64_t generation = 0;

	for (enum day_part part = 0; part < DAY_PARTS; part++)
		generation += store->parts[part].generation;
	if (store->shares.generation == generation)
		return;
	store->shares.generation = generation;
	store->shares.of_generation = (struct user_share){ 0 };
}

static void charge(struct store *store, uint64_t user, uint64_t bytes)
{
	const uint64_t held = user_share_held(&store->shares.of_generation, user);

	user_share_add(&store->shares.of_generation, user, bytes);
	if (held >= GENERATION_FREE_BYTES)
		user_share_add(&store->shares.of_day, user, bytes);
}

/* Finds the sample's thread and stack within the share of its user. */
static int find_row(struct appending *appending, struct appended_row *row)
{
	const struct profile *profile = appending->profile;
	const struct profile_sample *sample = &profile->samples.items[row->sample];
	const struct profile_thread *thread = &profile->threads.items[sample->thread];
	const char *cgroup = string_pool_get(&profile->strings, thread->cgroup);
	const uint64_t user = cgroup_path_user(thread->user, cgroup);
	/* Root whose cgroup is not known may be that of a container. */
	const bool is_root = user == ROOT && cgroup[0] == '/';
	struct store *store = appending->store;
	uint64_t before = content_bytes(store), now;
	bool is_frozen, has_excess = false;
	int r;

	begin_generation(store);
	is_frozen = !is_root &&
		    user_share_held(&store->shares.of_generation, user) >= GENERATION_FREE_BYTES &&
		    !user_share_has_room(&store->shares.of_day, user, SAMPLE_CONTENT_BYTES);
	r = find_shared(appending, DAY_THREADS, sample->thread, thread->owner, is_frozen,
		&has_excess, &row->thread);
	if (r == 0)
		r = find_shared(appending, DAY_STACKS, sample->node, thread->owner, is_frozen,
			&has_excess, &row->node);
	if (has_excess)
		user_excess_add(&appending->excess, user, USER_HISTORY, sample->count);
	/* A new generation begins with what the sample added. */
	now = content_bytes(store);
	if (!is_root)
		charge(store, user, now > before ? now - before : 0);
	return r;
}

static int add_sample(struct appending *appending, uint32_t sample)
{
	struct appended_row row = { .sample = sample };
	int r = find_row(appending, &row);

	if (r == 0 && appending->rows.count == ROWS_MAX)
		r = write_rows(appending);
	if (r == 0)
		r = ARRAY_RESERVE(appending->rows.items, &appending->rows.capacity,
			appending->rows.count + 1, ROWS_MAX);
	if (r == 0)
		appending->rows.items[appending->rows.count++] = row;
	return r;
}

/* Orders by thread and node, as rows are written, so that new ids ascend in that order. */
static int compare_samples(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct profile_sample *first = &profile->samples.items[*(const uint32_t *)a];
	const struct profile_sample *second = &profile->samples.items[*(const uint32_t *)b];
	const struct profile_thread *thread = &profile->threads.items[first->thread];
	const struct profile_thread *other = &profile->threads.items[second->thread];

	if (first->thread == second->thread)
		return first->node < second->node ? -1 : first->node > second->node;
	if (thread->process_start_ns != other->process_start_ns)
		return thread->process_start_ns < other->process_start_ns ? -1 : 1;
	if (thread->tgid != other->tgid)
		return thread->tgid < other->tgid ? -1 : 1;
	if (thread->tid != other->tid)
		return thread->tid < other->tid ? -1 : 1;
	return first->thread < second->thread ? -1 : 1;
}

static int add_samples(struct appending *appending)
{
	const struct profile *profile = appending->profile;
	_cleanup_free_ uint32_t *order = calloc(profile->samples.count + 1, sizeof(*order));
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, profile->samples.count, sizeof(*order), compare_samples, (void *)profile);
	for (size_t i = 0; r == 0 && i < profile->samples.count; i++)
		if (profile->samples.items[order[i]].count > 0)
			r = add_sample(appending, order[i]);
	return r;
}

static void describe(const struct store_window *window, const struct profile *profile,
	struct day_window *ret_window)
{
	*ret_window = (struct day_window){
		.start_ns = profile->start_ns,
		.end_ns = profile->end_ns,
		.monotonic_ns = window->monotonic_ns,
		.period_ns = profile->period_ns,
		.cpu_count = profile->cpu_count,
	};
	memcpy(ret_window->boot_id, window->boot_id, sizeof(ret_window->boot_id));
	(void)snprintf(ret_window->event, sizeof(ret_window->event), "%s",
		string_pool_get(&profile->strings, profile->event));
	ret_window->accounts_size = accounts_blob_write(&profile->accounts, ret_window->accounts);
}

static int append_profile(struct appending *appending, const struct store_window *window,
	const struct profile *profile)
{
	int r = 0;

	describe(window, profile, &appending->window);
	appending->profile = profile;
	appending->rows.count = 0;
	appending->untimed[STORE_UNTIMED_NO_ROOM] += profile->times_left_out;
	for (enum day_part part = 0; r == 0 && part < DAY_PARTS; part++)
		r = day_mapping_init(&appending->mappings[part], profile, part == DAY_STACKS);
	if (r == 0)
		r = add_samples(appending);
	if (r == 0)
		r = write_rows(appending);
	for (enum day_part part = 0; part < DAY_PARTS; part++)
		day_mapping_done(&appending->mappings[part]);
	return r;
}

static int append_once(struct appending *appending, const struct store_window *window,
	const struct profile *const *profiles, size_t count)
{
	struct store *store = appending->store;
	struct day_database *database = store->database;
	int r = day_database_begin(database, appending->fault);

	if (r < 0)
		return r;
	for (enum day_part part = 0; part < DAY_PARTS; part++)
		appending->saved[part] = store->parts[part].saved;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = append_profile(appending, window, profiles[i]);
	if (r == 0)
		r = day_database_commit(database, appending->fault);
	else
		day_database_rollback(database);
	/* On failure, the unwritten part of the dictionary goes with the next window. */
	for (enum day_part part = 0; r == 0 && part < DAY_PARTS; part++)
		store->parts[part].saved = appending->saved[part];
	return r;
}

/*
 * Begins a generation when the day has grown by a part of the byte limit, even if the dictionary
 * has room. If only one day is left, deletion removes whole generations, so the day needs several.
 */
static int keep_generations_small(struct store *store, struct fault *fault)
{
	struct store_part *stacks = &store->parts[DAY_STACKS];
	int64_t bodies = 0, bytes = 0;
	uint64_t used;
	int r = day_database_number(store->database, DAY_USED_BYTES, 0, 0, &bytes, fault);

	used = (uint64_t)bytes;
	if (r == 0 && store->begun_generation != stacks->generation) {
		r = day_database_number(store->database, DAY_GENERATION_BYTES, stacks->generation,
			0, &bodies, fault);
		store->begun_generation = r == 0 ? stacks->generation : 0;
		store->begun_bytes =
			used - (bodies > 0 && (uint64_t)bodies < used ? (uint64_t)bodies : 0);
	}
	if (r < 0)
		return r;
	/* Other parts of the day were deleted. */
	if (used < store->begun_bytes)
		store->begun_bytes = used;
	return used - store->begun_bytes < store->limits.bytes / GENERATIONS
		       ? 0
		       : store_part_next_generation(stacks);
}

static void begin_share(struct store *store, uint32_t day)
{
	const uint64_t bytes = store->limits.bytes / DAY_PARTS_OF_LIMIT;

	if (store->shares.day == day)
		return;
	store->shares.day = day;
	store->shares.of_day = (struct user_share){
		.capacity = bytes > DAY_BYTES_MIN ? bytes : DAY_BYTES_MIN,
	};
}

static int append_to_day(struct store *store, const struct store_window *window,
	const struct profile *const *profiles, size_t count, struct fault *fault)
{
	struct appending appending = { .store = store, .fault = fault };
	const uint32_t day = day_of(profiles[0]->start_ns);
	int r = store_use_day(store, day, fault);

	if (r == 0)
		begin_share(store, day);
	if (r == 0)
		r = keep_generations_small(store, fault);
	if (r == 0)
		r = append_once(&appending, window, profiles, count);
	free(appending.rows.items);
	for (size_t i = 0; r == 0 && i < STORE_UNTIMED_REASONS; i++)
		store->untimed[i] += appending.untimed[i];
	if (r == 0 && window->excess)
		user_excess_merge(window->excess, &appending.excess);
	/* After a permanent error, the next attempt needs a new connection. */
	if (r < 0 && r != -ENOSPC && r != -ENOMEM && r != -EBUSY && r != -E2BIG)
		store_leave_day(store);
	return r;
}

static int check(const struct profile *first, const struct profile *profile, struct fault *fault)
{
	if (profile->period_ns == 0 || profile->start_ns > profile->end_ns ||
		profile->end_ns > INT64_MAX || day_of(profile->start_ns) != day_of(first->start_ns))
		return fault_set(fault, -EINVAL, "a window from %llu to %llu, of period %llu",
			(unsigned long long)profile->start_ns, (unsigned long long)profile->end_ns,
			(unsigned long long)profile->period_ns);
	return 0;
}

int store_append_all(struct store *store, const struct store_window *window,
	const struct profile *const *profiles, size_t count, struct fault *fault)
{
	const uint64_t start_ns = profiles[0]->start_ns;
	struct fault damage = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = check(profiles[0], profiles[i], fault);
	if (r < 0)
		return r;
	r = append_to_day(store, window, profiles, count, &damage);
	if (r == -EBADMSG) {
		r = store_set_aside(store, day_of(start_ns), fault);
		if (r < 0)
			return r;
		store->shares.day = 0;
		r = append_to_day(store, window, profiles, count, fault);
	} else if (r < 0) {
		(void)fault_set(fault, r, "%s", damage.text[0] ? damage.text : strerror(-r));
	}
	if (r < 0)
		return fault_set(fault, r, "cannot append to the history: %s", strerror(-r));
	for (int stage = 0; stage < STORE_STAGES; stage++)
		if (start_ns < store->merged_ns[stage])
			store->merged_ns[stage] = start_ns;
	if (start_ns < store->spared_ns)
		store->spared_ns = start_ns;
	return 0;
}

int store_append(struct store *store, const struct store_window *window,
	const struct profile *profile, struct fault *fault)
{
	return store_append_all(store, window, &profile, 1, fault);
}

const struct store_shares *store_shares(const struct store *store)
{
	return &store->shares;
}

void store_take_untimed(struct store *store, uint64_t sums[STORE_UNTIMED_REASONS])
{
	for (size_t i = 0; i < STORE_UNTIMED_REASONS; i++)
		sums[i] += store->untimed[i];
	memset(store->untimed, 0, sizeof(store->untimed));
}

void store_set_shares(struct store *store, const struct store_shares *shares)
{
	store->shares = *shares;
}
