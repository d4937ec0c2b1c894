/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_file.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DATE_CHARACTERS = 10 };

static const char *const companions[] = { "-wal", "-shm", "-journal" };

uint32_t day_of(uint64_t realtime_ns)
{
	return (uint32_t)(realtime_ns / DAY_NS);
}

static void format_date(char date[DATE_CHARACTERS + 1], uint32_t day)
{
	time_t seconds = (time_t)day * 86400;
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(date, DATE_CHARACTERS + 1, "%Y-%m-%d", &tm);
}

/* Parses "2026-11-20"; false for any other text. */
static bool parse_date(const char *text, uint32_t *ret_day)
{
	char date[DATE_CHARACTERS + 1];
	struct tm tm = { 0 };
	time_t seconds;

	if (sscanf(text, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm);
	if (seconds < 0 || seconds / 86400 > (time_t)(INT64_MAX / DAY_NS))
		return false;
	/* Each date has one spelling. */
	format_date(date, (uint32_t)(seconds / 86400));
	if (strncmp(date, text, DATE_CHARACTERS) != 0)
		return false;
	*ret_day = (uint32_t)(seconds / 86400);
	return true;
}

/* Parses "DATE.db" and "DATE.db.damaged-N". `ret_rest` is the suffix that SQLite appended. */
static bool parse_name(const char *name, struct day_file *ret_file, const char **ret_rest)
{
	struct day_file file = { 0 };
	const char *rest;
	int length = 0;

	if (!parse_date(name, &file.day) || strncmp(name + DATE_CHARACTERS, ".db", 3) != 0)
		return false;
	rest = name + DATE_CHARACTERS + 3;
	if (strncmp(rest, ".damaged-", 9) == 0) {
		if (rest[9] < '1' || rest[9] > '9' ||
			sscanf(rest + 9, "%9u%n", &file.damaged, &length) != 1)
			return false;
		rest += 9 + length;
	}
	*ret_file = file;
	*ret_rest = rest;
	return true;
}

static int format_path(char path[DAY_PATH_BYTES], const char *folder, const struct day_file *file,
	const char *companion)
{
	char date[DATE_CHARACTERS + 1], damaged[24] = "";
	int length;

	format_date(date, file->day);
	if (file->damaged > 0)
		(void)snprintf(damaged, sizeof(damaged), ".damaged-%u", file->damaged);
	length = snprintf(path, DAY_PATH_BYTES, "%s/%s.db%s%s", folder, date, damaged, companion);
	return length < DAY_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

int day_file_path(char path[DAY_PATH_BYTES], const char *folder, uint32_t day)
{
	return format_path(path, folder, &(struct day_file){ .day = day }, "");
}

void day_files_done(struct day_files *files)
{
	free(files->items);
	*files = (struct day_files){ 0 };
}

static int compare_files(const void *a, const void *b)
{
	const struct day_file *first = a, *second = b;

	if (first->day != second->day)
		return first->day < second->day ? -1 : 1;
	return (first->damaged > second->damaged) - (first->damaged < second->damaged);
}

typedef int (*name_function)(void *context, int folder, const char *name);

static int each_name(const char *folder, name_function function, void *context, struct fault *fault)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;
	int r = 0;

	if (!stream && errno == ENOENT)
		return 0;
	while (r == 0 && stream) {
		errno = 0;
		entry = readdir(stream);
		if (!entry)
			break;
		r = function(context, dirfd(stream), entry->d_name);
	}
	if (r == 0)
		r = -errno;
	if (stream)
		(void)closedir(stream);
	if (r < 0)
		return fault_set(fault, r, "cannot read the folder %s: %s", folder, strerror(-r));
	return 0;
}

/* Returns 0 for anything but a regular file. */
static uint64_t bytes_on_disk(int folder, const char *name, bool *ret_is_file)
{
	struct stat status;

	*ret_is_file =
		fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
	return *ret_is_file ? (uint64_t)status.st_blocks * 512 : 0;
}

static int take_file(void *context, int folder, const char *name)
{
	struct day_files *files = context;
	struct day_file file;
	char companion[NAME_MAX + 1];
	const char *rest;
	bool is_file;
	int r;

	if (!parse_name(name, &file, &rest) || *rest != '\0' || files->count == DAY_FILES_MAX)
		return 0;
	file.bytes = bytes_on_disk(folder, name, &is_file);
	if (!is_file) {
		files->others_set_aside += file.damaged > 0;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
		(void)snprintf(companion, sizeof(companion), "%s%s", name, companions[i]);
		file.bytes += bytes_on_disk(folder, companion, &is_file);
	}
	r = ARRAY_RESERVE(files->items, &files->capacity, files->count + 1, DAY_FILES_MAX);
	if (r < 0)
		return r;
	files->items[files->count++] = file;
	files->bytes += file.bytes;
	return 0;
}

int day_files_read(struct day_files *ret_files, const char *folder, struct fault *fault)
{
	struct day_files files = { 0 };
	int r = each_name(folder, take_file, &files, fault);

	if (r < 0) {
		day_files_done(&files);
		return r;
	}
	if (files.count > 0)
		qsort(files.items, files.count, sizeof(*files.items), compare_files);
	*ret_files = files;
	return 0;
}

int day_file_remove(const char *folder, const struct day_file *file, struct fault *fault)
{
	char path[DAY_PATH_BYTES];
	int r = format_path(path, folder, file, "");

	/* The database goes first: a reader must not find it without its -wal. */
	if (r == 0 && unlink(path) < 0 && errno != ENOENT)
		r = -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(companions); i++) {
		r = format_path(path, folder, file, companions[i]);
		if (r == 0 && unlink(path) < 0 && errno != ENOENT)
			r = -errno;
	}
	if (r < 0)
		return fault_set(fault, r, "cannot remove %s: %s", path, strerror(-r));
	return 0;
}

/* Removes the oldest ones until one more fits. `ret_next` is a free number for `day`. */
static int make_room_for_damaged(
	const char *folder, uint32_t day, uint32_t *ret_next, struct fault *fault)
{
	struct day_files files = { 0 };
	size_t damaged = 0;
	uint32_t next = 1;
	int r = day_files_read(&files, folder, fault);

	for (size_t i = 0; i < files.count; i++) {
		const struct day_file *file = &files.items[i];

		damaged += file->damaged > 0;
		if (file->day == day && file->damaged >= next)
			next = file->damaged + 1;
	}
	for (size_t i = 0; r == 0 && i < files.count && damaged >= DAY_DAMAGED_MAX; i++) {
		if (files.items[i].damaged == 0)
			continue;
		r = day_file_remove(folder, &files.items[i], fault);
		damaged--;
	}
	day_files_done(&files);
	if (r == 0)
		*ret_next = next;
	return r;
}

/* Finds the first unused name from `to` on. Any kind of file occupies its name. */
static int find_free_name(char path[DAY_PATH_BYTES], const char *folder, struct day_file *to)
{
	struct stat status;

	for (int i = 0; i < DAY_FILES_MAX; i++, to->damaged++) {
		int r = format_path(path, folder, to, "");

		if (r < 0)
			return r;
		if (lstat(path, &status) < 0)
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

int day_file_set_aside(const char *folder, uint32_t day, struct fault *fault)
{
	struct day_file from = { .day = day }, to = from;
	char path[DAY_PATH_BYTES], aside[DAY_PATH_BYTES];
	int r = make_room_for_damaged(folder, day, &to.damaged, fault);

	if (r < 0)
		return r;
	r = format_path(path, folder, &from, "");
	if (r == 0)
		r = find_free_name(aside, folder, &to);
	if (r == 0 && rename(path, aside) < 0)
		r = -errno;
	if (r < 0)
		return fault_set(fault, r, "cannot set %s aside: %s", path, strerror(-r));
	for (size_t i = 0; i < ARRAY_SIZE(companions); i++)
		if (format_path(path, folder, &from, companions[i]) == 0 &&
			format_path(aside, folder, &to, companions[i]) == 0 &&
			rename(path, aside) < 0 && errno != ENOENT)
			return fault_set(
				fault, -errno, "cannot set %s aside: %s", path, strerror(errno));
	return 0;
}

static int remove_orphan(void *context, int folder, const char *name)
{
	char database[NAME_MAX + 1];
	struct day_file file;
	const char *rest;
	struct stat status;

	(void)context;
	if (!parse_name(name, &file, &rest))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
		if (strcmp(rest, companions[i]) != 0)
			continue;
		(void)snprintf(database, sizeof(database), "%.*s", (int)(rest - name), name);
		if (fstatat(folder, database, &status, AT_SYMLINK_NOFOLLOW) < 0 &&
			errno == ENOENT && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int day_files_remove_orphans(const char *folder, struct fault *fault)
{
	return each_name(folder, remove_orphan, NULL, fault);
}
