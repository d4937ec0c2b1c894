/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/throttling.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT_BYTES = 1024 };

#define PERIOD_NS 100000000ULL /* the kernel's default */
#define FALLEN	  0.75	       /* of the threshold, so that a share near it is one incident */

void throttling_open(struct throttling *throttling)
{
	/* Version 1 beside version 2: only one of them has the controller of CPU time. */
	static const char *const folders[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
		"/sys/fs/cgroup" };

	throttling->folder_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(folders) && throttling->folder_fd < 0; i++)
		throttling->folder_fd = open(folders[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void throttling_close(struct throttling *throttling)
{
	closep(&throttling->folder_fd);
}

void throttling_begin(struct throttling *throttling, uint64_t window_ns)
{
	throttling->window++;
	/* Twice, since a window is looked at some time after its end. */
	throttling->periods_max = 2 * window_ns / PERIOD_NS;
}

static bool take_counter(const char *text, const char *key, uint64_t *ret_value)
{
	const char *at = strstr(text, key);

	if (!at || (at != text && at[-1] != '\n'))
		return false;
	at += strlen(key);
	if (*at < '0' || *at > '9')
		return false;
	*ret_value = strtoull(at, NULL, 10);
	return true;
}

bool throttling_parse(const char *text, uint64_t *ret_periods, uint64_t *ret_throttled)
{
	uint64_t periods, throttled;

	if (!take_counter(text, "nr_periods ", &periods) ||
		!take_counter(text, "nr_throttled ", &throttled))
		return false;
	*ret_periods = periods;
	*ret_throttled = throttled;
	return true;
}

static bool read_counters(const struct throttling *throttling, const char *path,
	uint64_t *ret_periods, uint64_t *ret_throttled)
{
	char name[THROTTLING_PATH_BYTES + 16], text[STAT_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	/* Paths begin with '/', and come from the kernel. */
	(void)snprintf(name, sizeof(name), ".%s/cpu.stat", path);
	fd = openat(throttling->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	return throttling_parse(text, ret_periods, ret_throttled);
}

static struct throttling_entry *find(struct throttling *throttling, const char *path)
{
	for (size_t i = 0; i < throttling->count; i++)
		if (strcmp(throttling->entries[i].path, path) == 0)
			return &throttling->entries[i];
	return NULL;
}

static struct throttling_entry *add(struct throttling *throttling, const char *path)
{
	struct throttling_entry *entry = &throttling->entries[0];

	if (throttling->count < THROTTLING_MAX)
		entry = &throttling->entries[throttling->count++];
	else
		for (size_t i = 1; i < throttling->count; i++)
			if (throttling->entries[i].sampled < entry->sampled)
				entry = &throttling->entries[i];
	if (entry->sampled == throttling->window)
		return NULL;
	*entry = (struct throttling_entry){ 0 };
	memcpy(entry->path, path, strlen(path) + 1);
	return entry;
}

static double share(const struct throttling_entry *entry, uint64_t periods, uint64_t throttled)
{
	double percent;

	/* Fewer than before: another cgroup has that path now. */
	if (periods <= entry->periods || throttled < entry->throttled + THROTTLING_LEAST)
		return 0;
	percent =
		100.0 * (double)(throttled - entry->throttled) / (double)(periods - entry->periods);
	return percent > 100 ? 100 : percent;
}

static void ask_entry(struct throttling *throttling, struct throttling_entry *entry)
{
	uint64_t periods = 0, throttled = 0;

	entry->asked = throttling->window;
	entry->percent = -1;
	if (!read_counters(throttling, entry->path, &periods, &throttled))
		return;
	if (entry->periods > 0 || periods <= throttling->periods_max)
		entry->percent = share(entry, periods, throttled);
	else
		entry->is_high = true; /* if its first share is, it has risen earlier */
	entry->periods = periods;
	entry->throttled = throttled;
}

/* Returns false if the cgroup has been asked for already, and so those above it, or has no place.
 */
static bool ask_one(struct throttling *throttling, const char *path)
{
	struct throttling_entry *entry = find(throttling, path);

	if (entry && entry->asked == throttling->window)
		return false;
	if (!entry)
		entry = add(throttling, path);
	if (!entry)
		return false;
	entry->sampled = throttling->window;
	ask_entry(throttling, entry);
	return true;
}

void throttling_ask(struct throttling *throttling, const char *path)
{
	char part[THROTTLING_PATH_BYTES];

	if (throttling->folder_fd < 0 || path[0] != '/' || strlen(path) >= sizeof(part) ||
		strstr(path, "/../"))
		return;
	memcpy(part, path, strlen(path) + 1);
	while (part[0] && part[1] && ask_one(throttling, part))
		*strrchr(part, '/') = '\0';
}

/* Notes whether the cgroup is high, unless it waits. Returns whether it has risen. What is unknown
 * neither rises nor falls. */
static bool has_risen(
	const struct throttling *throttling, struct throttling_entry *entry, uint64_t now_ns)
{
	const bool was_high = entry->is_high || entry->risen_ns > 0;
	const double threshold = throttling->threshold * (was_high ? FALLEN : 1);
	const bool is_now = entry->percent > 0 && entry->percent >= threshold;

	if (entry->percent < 0)
		return false;
	if (!is_now || entry->is_high) {
		entry->is_high = is_now;
		entry->risen_ns = 0;
		return false;
	}
	if (entry->risen_ns == 0)
		entry->risen_ns = now_ns;
	return true;
}

double throttling_end(struct throttling *throttling, uint64_t now_ns, const char **ret_path,
	uint64_t *ret_risen_ns)
{
	struct throttling_entry *worst = NULL;

	*ret_path = "";
	*ret_risen_ns = 0;
	if (throttling->folder_fd < 0)
		return -1;
	for (size_t i = 0; i < throttling->count; i++) {
		struct throttling_entry *entry = &throttling->entries[i];

		/* With a small quota a cgroup has windows without a sample, in which its share must
		 * not fall. One that has none for long took nothing. */
		if (entry->asked != throttling->window) {
			entry->percent = -1;
			if (throttling->window - entry->sampled <= THROTTLING_WINDOWS)
				ask_entry(throttling, entry);
		}
		if (has_risen(throttling, entry, now_ns) &&
			(!worst || entry->percent > worst->percent))
			worst = entry;
	}
	if (!worst)
		return 0;
	*ret_path = worst->path;
	*ret_risen_ns = worst->risen_ns;
	return worst->percent;
}

static void tell(struct throttling_entry *entry)
{
	entry->is_high = true;
	entry->risen_ns = 0;
}

void throttling_tell(struct throttling *throttling, const char *path)
{
	tell(find(throttling, path));
}

void throttling_tell_until(struct throttling *throttling, uint64_t time_ns)
{
	for (size_t i = 0; i < throttling->count; i++)
		if (throttling->entries[i].risen_ns > 0 &&
			throttling->entries[i].risen_ns <= time_ns)
			tell(&throttling->entries[i]);
}
