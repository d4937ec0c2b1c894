/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_status.h"

#include "base/cleanup.h"
#include "base/line_reader.h"

#include <errno.h>
#include <string.h>

enum {
	/* The longest line has 33 levels of pid namespaces, each of up to ten digits. */
	LINE_BYTES_MAX = 512,
	/* The line of groups has up to 65536 numbers of up to ten digits. */
	STATUS_BYTES_MAX = 1 << 20,
	UID_EFFECTIVE = 1, /* after the real one */
};

/* Returns the text after `name`, or NULL. */
static const char *value_of(const char *line, size_t size, const char *name)
{
	size_t length = strlen(name);

	return size > length && memcmp(line, name, length) == 0 ? line + length : NULL;
}

static int parse_count(const char *at, const char *end, uint32_t *ret_count)
{
	uint32_t count = 0;

	if (at == end)
		return -EINVAL;
	for (; at < end; at++)
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(count, 10, &count) ||
			__builtin_add_overflow(count, (uint32_t)(*at - '0'), &count))
			return -EINVAL;
	*ret_count = count;
	return 0;
}

/* Parses the number at `index` of a list with tabs; a negative index means the last one. */
static int parse_list(const char *at, const char *end, int index, uint32_t *ret_number)
{
	const char *tab;

	for (; (tab = memchr(at, '\t', (size_t)(end - at))) && index != 0; index--)
		at = tab + 1;
	if (index > 0)
		return -EINVAL;
	return parse_count(at, tab ? tab : end, ret_number);
}

static int parse_identity(const char *line, size_t size, struct process_status *status)
{
	const char *end = line + size;
	const char *value = value_of(line, size, "Uid:\t");

	if (value) {
		status->has_uid = true;
		return parse_list(value, end, UID_EFFECTIVE, &status->uid);
	}
	value = value_of(line, size, "PPid:\t");
	if (value)
		return parse_count(value, end, &status->parent);
	value = value_of(line, size, "NStgid:\t");
	if (value) {
		status->has_ns_pid = true;
		return parse_list(value, end, -1, &status->ns_pid);
	}
	return 0;
}

/* The kernel escapes newlines in the name, so a name cannot fake another line. */
int process_status_read(int fd, struct process_status *ret_status)
{
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	struct process_status status = { 0 };
	const char *line, *value;
	bool has_state = false;
	size_t size;
	int r = line_reader_init(&reader, fd, LINE_BYTES_MAX, STATUS_BYTES_MAX);

	if (r < 0)
		return r;
	while ((r = line_reader_next(&reader, &line, &size)) > 0) {
		value = value_of(line, size, "State:\t");
		if (value) {
			status.is_zombie = *value == 'Z' || *value == 'X';
			has_state = true;
		}
		r = parse_identity(line, size, &status);
		if (r < 0)
			return r;
		value = value_of(line, size, "Threads:\t");
		if (!value)
			continue;
		r = parse_count(value, line + size, &status.threads);
		if (r < 0 || !has_state)
			return -EINVAL;
		*ret_status = status;
		return 0;
	}
	return r < 0 ? r : -EINVAL;
}
