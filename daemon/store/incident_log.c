/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/incident_log.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 320, FILE_MODE = 0640 };

void incident_list_done(struct incident_list *list)
{
	free(list->items);
	*list = (struct incident_list){ 0 };
}

const struct incident *incident_list_find(const struct incident_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].number == number)
			return &list->items[i];
	return NULL;
}

void incident_list_times(const struct incident_list *list, struct incident_times *ret_times)
{
	for (size_t i = 0; i < list->count; i++)
		ret_times->items[i] = (struct incident_time){
			.from_ns = list->items[i].kept_from_ns,
			.to_ns = list->items[i].kept_to_ns,
		};
	ret_times->count = list->count;
}

bool incident_times_keep(const struct incident_times *times, uint64_t start_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < times->count; i++)
		if (start_ns < times->items[i].to_ns && end_ns > times->items[i].from_ns)
			return true;
	return false;
}

void incident_set_text(struct incident *incident, const char *text)
{
	char clean[UTF8_CLEAN_BYTES];
	size_t size = utf8_clean(clean, text, strlen(text)), used = 0;

	for (size_t step; used < size; used += step) {
		step = utf8_sequence(clean + used, size - used);
		if (step == 0 || used + step >= sizeof(incident->text))
			break;
	}
	memcpy(incident->text, clean, used);
	incident->text[used] = '\0';
}

static int path_of(const char *folder, const char *name, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Takes the number at `*at` and the space behind it. */
static bool take_number(char **at, uint64_t *ret_number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(*at, &end, 10);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool parse(char *line, struct incident *ret_incident)
{
	struct incident incident = { 0 };
	uint64_t version;
	size_t length;
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, &version) || version != 1 || !take_number(&at, &incident.number) ||
		!take_number(&at, &incident.time_ns) || !take_number(&at, &incident.kept_from_ns) ||
		!take_number(&at, &incident.kept_to_ns))
		return false;
	length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
	if (length == 0 || length >= sizeof(incident.cause) || at[length] != ' ')
		return false;
	memcpy(incident.cause, at, length);
	incident_set_text(&incident, at + length + 1);
	*ret_incident = incident;
	return true;
}

int incident_log_read(const char *folder, struct incident_list *ret_list, struct fault *fault)
{
	struct incident_list list = { .items = calloc(INCIDENTS_MAX, sizeof(*list.items)) };
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[LINE_BYTES];
	int r = path_of(folder, "incidents", path);

	if (!list.items)
		return -ENOMEM;
	if (r == 0) {
		file = fopen(path, "re");
		r = file || errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	}
	if (r < 0) {
		incident_list_done(&list);
		return fault_set(
			fault, r, "cannot read the incidents of %s: %s", folder, strerror(-r));
	}
	while (file && list.count < INCIDENTS_MAX && fgets(line, sizeof(line), file))
		if (parse(line, &list.items[list.count]))
			list.count++;
	*ret_list = list;
	return 0;
}

static int write_lines(FILE *file, const struct incident_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct incident *incident = &list->items[i];

		(void)fprintf(file, "1 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n",
			incident->number, incident->time_ns, incident->kept_from_ns,
			incident->kept_to_ns, incident->cause, incident->text);
	}
	if (fflush(file) != 0 || fsync(fileno(file)) < 0)
		return -errno;
	return 0;
}

static int write_file(const char *folder, const struct incident_list *list)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], other[PATH_MAX];
	int fd, r = path_of(folder, "incidents", path);

	if (r == 0)
		r = path_of(folder, "incidents.new", other);
	if (r < 0)
		return r;
	fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	file = fdopen(fd, "w");
	if (!file) {
		(void)close(fd);
		return -ENOMEM;
	}
	r = write_lines(file, list);
	if (r == 0 && rename(other, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(other);
	return r;
}

int incident_log_add(const char *folder, struct incident_list *list, struct incident *incident,
	struct fault *fault)
{
	struct incident_list longer = { .items = calloc(INCIDENTS_MAX, sizeof(*longer.items)) };
	size_t dropped = list->count == INCIDENTS_MAX;
	int r;

	if (!longer.items)
		return -ENOMEM;
	longer.count = list->count - dropped;
	if (longer.count > 0)
		memcpy(longer.items, list->items + dropped, longer.count * sizeof(*longer.items));
	incident->number = list->count > 0 ? list->items[list->count - 1].number + 1 : 1;
	longer.items[longer.count++] = *incident;
	r = write_file(folder, &longer);
	if (r < 0) {
		incident_list_done(&longer);
		return fault_set(
			fault, r, "cannot write the incidents of %s: %s", folder, strerror(-r));
	}
	incident_list_done(list);
	*list = longer;
	return 0;
}
