/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes windows coarser with age: the windows of a minute become one, later those of ten minutes.
 * Also folds the windows of ten minutes into one (store_fold.c), and merges folds into coarser
 * ones. A step takes the first slot that has windows of the stage, and merges the first window with
 * all that belong to it; later steps take the others. Each step is one transaction, so a crash
 * leaves the old windows or the new one.
 */
#include "base/clock.h"
#include "base/event_source.h"
#include "store/accounts_blob.h"
#include "store/day_file.h"
#include "store/merge_group.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>

enum {
	MINUTE_S = 60,
	HOUR_S = 3600,
	TIMES_LEVEL_MAX = 1, /* coarser windows drop the times of their samples */
	KEPT_PARTS = 32,     /* of the byte limit, for the windows that incidents of a day keep */
	SHORT_WINDOWS = 6,   /* of a minute: more are shorter than those of ten seconds */
};

/* Two windows are contiguous only if no clock shows a larger gap. */
static const uint64_t gap_ns = NSEC_PER_SEC;

/* In this order, because each stage uses the results of the earlier ones. */
static const struct stage {
	uint32_t from, to; /* levels; `from` is unused if the stage folds */
	uint64_t width_s;
	bool folds, is_late; /* is_late: after minutes_s instead of minute_s */
	bool drops_times;    /* after fine_s; all other fields but the width are unused */
} stages[STORE_STAGES] = {
	{ .width_s = MINUTE_S, .drops_times = true },
	{ .from = 0, .to = 1, .width_s = MINUTE_S },
	{ .to = DAY_FOLD_LEVEL, .width_s = 10 * MINUTE_S, .folds = true },
	{ .from = DAY_FOLD_LEVEL, .to = DAY_FOLD_LEVEL + 1, .width_s = 4 * HOUR_S },
	{ .from = 1, .to = 2, .width_s = 10 * MINUTE_S, .is_late = true },
	{ .from = DAY_FOLD_LEVEL + 1,
		.to = DAY_FOLD_LEVEL + 2,
		.width_s = 24 * HOUR_S,
		.is_late = true },
};

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= gap_ns;
}

/* True if the window continues the group by both clocks and matches it otherwise. */
static bool belongs(const struct merge_group *group, const struct day_window *window)
{
	const struct day_window *merged = &group->merged;

	return memcmp(window->generations, merged->generations, sizeof(merged->generations)) == 0 &&
	       window->period_ns == merged->period_ns && window->fold == merged->fold &&
	       memcmp(window->boot_id, merged->boot_id, sizeof(merged->boot_id)) == 0 &&
	       strcmp(window->event, merged->event) == 0 &&
	       window->start_ns <= merged->end_ns + gap_ns &&
	       is_near(window->start_ns - merged->start_ns,
		       window->monotonic_ns - merged->monotonic_ns);
}

static int take_accounts(struct accounts *sum, const struct day_window *window)
{
	struct accounts accounts;
	int r = accounts_blob_read(&accounts, window->accounts, window->accounts_size);

	if (r == 0)
		accounts_add(sum, &accounts);
	return r;
}

static void join(struct merge_group *group, const struct day_window *window)
{
	struct day_window *merged = &group->merged;

	if (group->count == 0)
		*merged = *window;
	if (window->end_ns > merged->end_ns)
		merged->end_ns = window->end_ns;
	if (window->cpu_count > merged->cpu_count)
		merged->cpu_count = window->cpu_count;
	merged->is_supplement = merged->is_supplement && window->is_supplement;
	group->windows[group->count++] = *window;
}

/* Keeps the first windows of those that were read. */
static void keep_first(struct merge_group *group, size_t count)
{
	group->count = 0;
	for (size_t i = 0; i < count; i++)
		join(group, &group->windows[i]);
}

/*
 * Reads the next group. A damaged row at the start forms its own group; later ones wait for their
 * turn.
 */
static int read_group(
	struct merge_group *group, const struct stage *stage, uint64_t first_ns, uint64_t end_ns)
{
	sqlite3_stmt *statement;
	struct day_window window;
	int r = day_database_statement(
		group->database, stage->folds ? DAY_FOLD_SLOT : DAY_SLOT, &statement, group->fault);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, stage->folds ? DAY_FOLD_NOT_YET : stage->from);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)first_ns);
	(void)sqlite3_bind_int64(statement, 3, (int64_t)end_ns);
	while (group->count < MERGE_GROUP_MAX &&
		(r = day_database_step(group->database, statement, group->fault)) == 1) {
		r = day_database_get_window(group->database, statement, &window, group->fault);
		if (r == -EBADMSG && group->count == 0) {
			group->windows[group->count++].id = sqlite3_column_int64(statement, 0);
			group->is_damaged = true;
			r = 0;
			break;
		}
		if (r < 0 && r != -EBADMSG)
			break;
		if (r == 0 && (group->count == 0 || belongs(group, &window)))
			join(group, &window);
	}
	(void)sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

/* --- steps --- */

static int merge(struct merge_group *group, struct merge_product *ret_product)
{
	struct day_window *merged = &group->merged;
	struct accounts accounts = { 0 };
	int r = group->count > 1 ? 0 : -E2BIG;

	for (size_t i = merge_group_first_summed(group); r == 0 && i < group->count; i++)
		r = take_accounts(&accounts, &group->windows[i]);
	if (r == 0)
		r = merge_rows_make(group, ret_product);
	if (r == 0)
		merged->accounts_size = accounts_blob_write(&accounts, merged->accounts);
	return r;
}

/* Keeps windows that cannot be merged, and marks them so that they are not tried again. */
static int keep(struct merge_group *group, const struct stage *stage)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++)
		r = stage->folds ? day_database_change(group->database, DAY_SET_FOLD,
					   DAY_FOLD_NEVER, group->windows[i].id, group->fault)
				 : day_database_change(group->database, DAY_SET_LEVEL, stage->to,
					   group->windows[i].id, group->fault);
	return r;
}

/* Deletes merged windows. Folded ones stay and refer to the fold. */
static int leave(struct merge_group *group, const struct stage *stage, int64_t merged)
{
	struct day_database *database = group->database;
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++) {
		int64_t id = group->windows[i].id;

		if (stage->folds) {
			r = day_database_change(database, DAY_SET_FOLD, merged, id, group->fault);
			continue;
		}
		if (stage->from >= DAY_FOLD_LEVEL)
			r = day_database_change(database, DAY_MOVE_FOLD, merged, id, group->fault);
		if (r == 0)
			r = day_database_change(database, DAY_REMOVE_WINDOW, id, 0, group->fault);
		if (r == 0)
			r = day_database_change(database, DAY_REMOVE_BODY, id, 0, group->fault);
		if (r == 0)
			r = day_database_change(database, DAY_REMOVE_TIMES, id, 0, group->fault);
	}
	return r;
}

/* Counts the samples whose times are dropped although they should be kept. */
static void count_untimed(struct merge_group *group, const struct stage *stage)
{
	struct fault unused = { 0 };
	const void *blob = NULL;
	size_t size;

	if (!group->drops_times || stage->to > TIMES_LEVEL_MAX)
		return;
	for (size_t i = 0; i < group->count; i++)
		if (day_database_get_times(
			    group->database, group->windows[i].id, &blob, &size, &unused) < 0 ||
			blob)
			group->untimed += group->windows[i].samples;
}

static int replace(
	struct merge_group *group, const struct stage *stage, const struct merge_product *product)
{
	struct day_database *database = group->database;
	int64_t id;
	int r = 0;

	if (product->dictionary)
		r = day_database_add_dictionary(database, DAY_FOLDED,
			group->merged.generations[DAY_THREADS], product->dictionary,
			product->dictionary_size, &id, group->fault);
	if (r == 0)
		r = day_database_add_window(database, &group->merged, product->body,
			product->body_size, &id, group->fault);
	if (r == 0 && product->times)
		r = day_database_add_times(database, id, group->merged.start_ns, product->times,
			product->times_size, group->fault);
	return r < 0 ? r : leave(group, stage, id);
}

/* Does an incident keep the group's windows, within the budget of the day? Folds are further sums:
 * they take no window away. What was kept as minutes stays so. */
static int find_kept(const struct store *store, struct merge_group *group,
	const struct stage *stage, bool *ret_is_kept)
{
	int64_t bytes;
	int r;

	*ret_is_kept = !group->is_damaged && !stage->folds && stage->from < DAY_FOLD_LEVEL &&
		       incident_times_keep(
			       &store->incidents, group->merged.start_ns, group->merged.end_ns);
	if (!*ret_is_kept || stage->from > 0)
		return 0;
	/* A minute of merged windows is some ms shorter or longer, as timers fire. */
	r = day_database_number(group->database, DAY_SHORT_BYTES, stage->to,
		(int64_t)(stage->width_s * NSEC_PER_SEC * 3 / 4), &bytes, group->fault);
	*ret_is_kept = r == 0 && (uint64_t)bytes < store->limits.bytes / KEPT_PARTS;
	return r;
}

static int merge_group(struct merge_group *group, const struct stage *stage, bool is_kept)
{
	_cleanup_(merge_product_done) struct merge_product product = { 0 };
	const size_t all = group->count;
	int r = -EBADMSG;

	/*
	 * If the group is too large, retry with half of the windows, and of short windows with half
	 * of those. If these are too large with their times, retry with all and without times,
	 * since windows that stay apart cost more. If it is damaged, retry without times. A fold
	 * would sum what lives.
	 */
	while (!group->is_damaged && !is_kept && !(stage->folds && merge_group_is_live(group))) {
		merge_product_done(&product);
		r = stage->folds ? store_fold_make(group, &product) : merge(group, &product);
		if (r == -EBADMSG && !stage->folds && !group->drops_times) {
			group->drops_times = true;
			group->why_untimed = STORE_UNTIMED_DAMAGED;
			continue;
		}
		if (r != -E2BIG || group->count < 2)
			break;
		if (stage->folds || group->drops_times || (group->count == all && all > 2) ||
			group->count > SHORT_WINDOWS) {
			keep_first(group, (group->count + 1) / 2);
		} else {
			group->drops_times = true;
			group->why_untimed = STORE_UNTIMED_TOO_LARGE;
			keep_first(group, all);
		}
	}
	/* A damaged or too large window stays unchanged. */
	if (r < 0 && r != -EBADMSG && r != -E2BIG)
		return r;
	day_database_rollback(group->database);
	group->merged.level = stage->to;
	r = day_database_begin(group->database, group->fault);
	if (r < 0)
		return r;
	if (product.body)
		count_untimed(group, stage);
	r = product.body ? replace(group, stage, &product) : keep(group, stage);
	if (r == 0)
		return day_database_commit(group->database, group->fault);
	day_database_rollback(group->database);
	return r;
}

static int merge_slot(struct store *store, struct day_database *database, const struct stage *stage,
	uint64_t first_ns, uint64_t end_ns, struct fault *fault)
{
	struct merge_group group = {
		.database = database,
		.drops_times = stage->to > TIMES_LEVEL_MAX,
		.fault = fault,
	};
	bool is_kept = false;
	int r;

	group.windows = calloc(MERGE_GROUP_MAX, sizeof(*group.windows));
	if (!group.windows)
		return -ENOMEM;
	r = read_group(&group, stage, first_ns, end_ns);
	/* `first_ns` is a window's: the index is damaged, and would name it for ever. */
	if (r == 0 && group.count == 0)
		r = -EBADMSG;
	if (r == 0)
		r = find_kept(store, &group, stage, &is_kept);
	if (r == 0)
		r = merge_group(&group, stage, is_kept);
	if (r == 0)
		store->untimed[group.why_untimed] += group.untimed;
	free(group.windows);
	return r;
}

/* Merges one slot of the day before `end_ns`. Returns 0 if there is none and no page to release. */
static int merge_in_day(struct store *store, struct day_database *database, int number,
	uint64_t end_ns, struct fault *fault)
{
	const struct stage *stage = &stages[number];
	uint64_t slot_end_ns, width_ns = stage->width_s * NSEC_PER_SEC;
	int64_t first_ns;
	int r;

	if (stage->drops_times)
		return store_drop_times(
			store, database, &store->merged_ns[number], end_ns, UINT64_MAX, fault);
	r = day_database_number(database, stage->folds ? DAY_NEXT_FOLD : DAY_NEXT_MERGE,
		stage->folds ? DAY_FOLD_NOT_YET : stage->from, (int64_t)end_ns, &first_ns, fault);

	if (r < 0)
		return r;
	/* The day being written soon reuses its free pages. */
	if (first_ns == INT64_MAX)
		return database == store->database ? 0 : day_database_shrink(database, fault);
	slot_end_ns = ((uint64_t)first_ns / width_ns + 1) * width_ns;
	r = merge_slot(store, database, stage, (uint64_t)first_ns, slot_end_ns, fault);
	return r < 0 ? r : 1;
}

/* Returns the first existing day at or after `day`, or UINT32_MAX if there is none. */
static int find_day(struct store *store, uint32_t day, uint32_t *ret_day, struct fault *fault)
{
	struct day_files files;
	uint32_t found = UINT32_MAX;
	int r = day_files_read(&files, store->folder, fault);

	if (r < 0)
		return r;
	for (size_t i = 0; i < files.count && found == UINT32_MAX; i++)
		if (files.items[i].damaged == 0 && files.items[i].day >= day)
			found = files.items[i].day;
	day_files_done(&files);
	*ret_day = found;
	return 0;
}

/* Returns the connection to a day, which may be the day being written. */
static int use_database(
	struct store *store, uint32_t day, struct day_database **ret_database, struct fault *fault)
{
	int r = 0;

	if (store->database && store->database->day == day) {
		*ret_database = store->database;
		return 0;
	}
	if (!store->old || store->old->day != day) {
		day_database_close(TAKE_PTR(store->old));
		r = store_open_database(store, day, &store->old, fault);
	}
	if (r == 0)
		*ret_database = store->old;
	return r;
}

static int set_aside(struct store *store, uint32_t day, struct fault *fault)
{
	if (store->old && store->old->day == day)
		day_database_close(TAKE_PTR(store->old));
	if (store->database && store->database->day == day)
		store_leave_day(store);
	return store_set_aside(store, day, fault);
}

/* True for errors that affect the whole folder, not only one day. */
static bool is_of_the_folder(int error)
{
	return error == -ENOMEM || error == -ENOSPC || error == -EROFS || error == -EBUSY;
}

/*
 * Runs a step in the first day that may have work. A permanent failure skips the day, so that the
 * others get their turn.
 */
static int merge_first_day(
	struct store *store, int number, uint64_t horizon_ns, struct fault *fault)
{
	uint64_t *merged_ns = &store->merged_ns[number], end_ns;
	struct day_database *database;
	struct fault damage = { 0 };
	uint32_t day;
	int r = find_day(store, day_of(*merged_ns), &day, fault);

	if (r < 0)
		return r;
	if (day > day_of(horizon_ns)) {
		*merged_ns = horizon_ns;
		day_database_close(TAKE_PTR(store->old));
		return 0;
	}
	end_ns = (day + 1) * DAY_NS < horizon_ns ? (day + 1) * DAY_NS : horizon_ns;
	r = use_database(store, day, &database, &damage);
	if (r == 0)
		r = merge_in_day(store, database, number, end_ns, &damage);
	if (r == 0 || (r < 0 && r != -EBADMSG && !is_of_the_folder(r)))
		*merged_ns = end_ns;
	if (r == -EBADMSG)
		r = set_aside(store, day, fault);
	else if (r < 0)
		return fault_set(fault, r, "cannot make history coarser: %s",
			damage.text[0] ? damage.text : strerror(-r));
	return r < 0 ? r : 1;
}

int store_merge_step(struct store *store, uint64_t now_ns, struct fault *fault)
{
	for (int i = 0; i < STORE_STAGES; i++) {
		const struct stage *stage = &stages[i];
		uint64_t age_s = stage->drops_times ? store->limits.fine_s
				 : stage->is_late   ? store->limits.minutes_s
						    : store->limits.minute_s;
		uint64_t age_ns, horizon_ns, width_ns = stage->width_s * NSEC_PER_SEC;

		if (__builtin_mul_overflow(age_s, (uint64_t)NSEC_PER_SEC, &age_ns) ||
			age_ns > now_ns || now_ns > INT64_MAX)
			continue;
		/* Only slots that have passed completely. */
		horizon_ns = (now_ns - age_ns) / width_ns * width_ns;
		if (store->merged_ns[i] < horizon_ns) {
			int r = merge_first_day(store, i, horizon_ns, fault);

			if (r != 0)
				return r;
		}
	}
	return 0;
}
