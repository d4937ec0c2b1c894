/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store.h"

#include "base/log.h"
#include "store/day_file.h"
#include "store/store_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

const struct store_limits store_default_limits = {
	.bytes = 1ULL << 30,
	.age_s = 30 * 86400,
	.minute_s = 2 * 3600,
	.minutes_s = 2 * 86400,
	.fine_s = 86400,
};

/* The lock file stays when the store closes; only the lock on it has a meaning. */
static int take_lock(const char *folder, int *ret_fd, struct fault *fault)
{
	_cleanup_close_ int directory = -1, fd = -1;
	int r;

	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return fault_set(fault, -errno, "cannot open the history's folder %s: %s", folder,
			strerror(errno));
	fd = openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return fault_set(fault, -errno, "cannot make %s/lock: %s", folder, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		return fault_set(fault, r,
			r == -EBUSY ? "the history in %s is written to by another process (%s)"
				    : "cannot lock %s/lock: %s",
			folder, strerror(-r));
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int read_incidents(struct store *store, struct fault *fault)
{
	struct incident_list list;
	int r = incident_log_read(store->folder, &list, fault);

	if (r < 0)
		return r;
	incident_list_times(&list, &store->incidents);
	incident_list_done(&list);
	return 0;
}

int store_open(const char *folder, const struct store_limits *limits, struct store **ret_store,
	struct fault *fault)
{
	_cleanup_(store_closep) struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->lock_fd = -1;
	store->limits = *limits;
	if (store->limits.minutes_s < limits->minute_s)
		store->limits.minutes_s = limits->minute_s;
	store->folder = strdup(folder);
	if (!store->folder)
		return -ENOMEM;
	r = take_lock(folder, &store->lock_fd, fault);
	if (r == 0)
		r = day_files_remove_orphans(folder, fault);
	if (r == 0)
		r = read_incidents(store, fault);
	if (r < 0)
		return r;
	*ret_store = TAKE_PTR(store);
	return 0;
}

int store_add_incident(struct store *store, struct incident *incident, struct fault *fault)
{
	struct incident_list list;
	int r = incident_log_read(store->folder, &list, fault);

	if (r < 0)
		return r;
	r = incident_log_add(store->folder, &list, incident, fault);
	if (r == 0)
		incident_list_times(&list, &store->incidents);
	incident_list_done(&list);
	return r;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store_leave_day(store);
	day_database_close(store->old);
	if (store->lock_fd >= 0)
		(void)close(store->lock_fd);
	free(store->folder);
	free(store);
}

int store_set_aside(struct store *store, uint32_t day, struct fault *fault)
{
	log_debug("the history of day %u is damaged: set aside", day);
	return day_file_set_aside(store->folder, day, fault);
}

int store_open_database(
	struct store *store, uint32_t day, struct day_database **ret_database, struct fault *fault)
{
	struct fault damage = { 0 };
	int r = day_database_open(store->folder, day, DAY_WRITE, ret_database, &damage);

	if (r == -EBADMSG) {
		r = store_set_aside(store, day, fault);
		if (r < 0)
			return r;
		return day_database_open(store->folder, day, DAY_WRITE, ret_database, fault);
	}
	if (r < 0)
		return fault_set(fault, r, "%s", damage.text);
	return 0;
}

int store_part_next_generation(struct store_part *part)
{
	day_dictionary_done(&part->dictionary);
	part->generation++;
	part->saved = (struct store_written){ 0 };
	if (day_dictionary_init(&part->dictionary) < 0)
		return -ENOMEM;
	part->saved.mark = day_tables_mark(&part->dictionary.tables);
	return 0;
}

int store_part_load(struct store_part *part, struct day_database *database, enum day_part name,
	struct fault *fault)
{
	struct day_dictionary *dictionary = &part->dictionary;
	struct fault damage = { 0 };
	struct day_mark none;
	int r = day_database_number(
		database, DAY_LAST_GENERATION, name, 0, &part->generation, fault);

	if (r == 0)
		r = day_dictionary_init(dictionary);
	if (r < 0)
		return r;
	none = day_tables_mark(&dictionary->tables);
	r = day_database_load(database, name, part->generation, &dictionary->tables, &damage);
	if (r == 0)
		r = day_dictionary_index(dictionary, &none);
	if (r == -EBADMSG)
		return store_part_next_generation(part);
	if (r < 0)
		return fault_set(fault, r, "%s", damage.text);
	part->saved = (struct store_written){ .mark = day_tables_mark(&dictionary->tables) };
	return 0;
}

/*
 * Closes databases that were removed or replaced: windows appended to them would be unreadable.
 * Closing may leave a -wal that does not belong to the new database, so orphans are removed.
 */
static int leave_what_is_gone(struct store *store, struct fault *fault)
{
	bool is_gone = false;

	if (store->database && !day_database_is_in_place(store->database)) {
		store_leave_day(store);
		is_gone = true;
	}
	if (store->old && !day_database_is_in_place(store->old)) {
		day_database_close(TAKE_PTR(store->old));
		is_gone = true;
	}
	return is_gone ? day_files_remove_orphans(store->folder, fault) : 0;
}

int store_use_day(struct store *store, uint32_t day, struct fault *fault)
{
	int r = leave_what_is_gone(store, fault);

	if (r < 0)
		return r;
	if (store->database && store->database->day == day)
		return 0;
	store_leave_day(store);
	if (store->old && store->old->day == day)
		store->database = TAKE_PTR(store->old);
	else
		r = store_open_database(store, day, &store->database, fault);
	for (enum day_part part = 0; r == 0 && part < DAY_PARTS; part++)
		r = store_part_load(&store->parts[part], store->database, part, fault);
	if (r < 0)
		store_leave_day(store);
	return r;
}

void store_leave_day(struct store *store)
{
	day_database_close(TAKE_PTR(store->database));
	store->begun_generation = 0;
	for (enum day_part part = 0; part < DAY_PARTS; part++)
		day_dictionary_done(&store->parts[part].dictionary);
}
