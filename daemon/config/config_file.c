/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one ini file with inih. That parser reports the line of the first error only, and no line
 * for an assignment. So this file passes it one line at a time and checks the result of each.
 */
#include "base/log.h"
#include "config/config_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	FILE_BYTES_MAX = 1 << 20,
	LINE_BYTES_MAX = 4096,
	LINE_BYTES_RESERVED = 3, /* inih's, for line ends and the NUL */
};

struct file_reader {
	struct config_reading reading;
	const char *next, *end;
	bool awaits_assignment; /* from the last line passed to inih */
	int error;
};

static void note(struct file_reader *reader, int r)
{
	if (reader->error == 0)
		reader->error = r;
}

static void report(struct file_reader *reader, const char *sentence)
{
	note(reader, config_problem_add(reader->reading.problems, reader->reading.file,
			     reader->reading.line, "%s", sentence));
}

static void end_line(struct file_reader *reader)
{
	if (reader->awaits_assignment)
		report(reader, "not Key=value, [Section] or a comment: begin a comment with '#'");
	reader->awaits_assignment = false;
}

static void check_section(struct file_reader *reader, const char *line, size_t size)
{
	const char *end = memchr(line, ']', size);
	char name[64];

	if (!end) {
		report(reader, "section name without ']': write [Section]");
		return;
	}
	size = (size_t)(end - line) - 1;
	if (size >= sizeof(name))
		size = sizeof(name) - 1;
	memcpy(name, line + 1, size);
	name[size] = '\0';
	note(reader, config_enter_section(&reader->reading, name));
}

/* Returns whether inih may see the line. */
static bool check_line(struct file_reader *reader, const char *line, size_t size)
{
	if (size == 0 || *line == '#' || *line == ';')
		return false;
	if (size > LINE_BYTES_MAX - LINE_BYTES_RESERVED) {
		report(reader, "line too long, ignored: split it");
		return false;
	}
	if (memchr(line, '\0', size)) {
		report(reader, "line contains a NUL byte, ignored: check that this is a text file");
		return false;
	}
	if (*line == '[')
		check_section(reader, line, size);
	else
		reader->awaits_assignment = true;
	return true;
}

/* An ini_reader like fgets(): returns the next line without leading and trailing blanks. */
static char *next_line(char *buffer, int capacity, void *context)
{
	struct file_reader *reader = context;
	const char *line = reader->next, *newline;
	size_t size;

	end_line(reader);
	if (line == reader->end || reader->error < 0)
		return NULL;
	newline = memchr(line, '\n', (size_t)(reader->end - line));
	reader->next = newline ? newline + 1 : reader->end;
	reader->reading.line++;
	size = (size_t)((newline ? newline : reader->end) - line);
	while (size > 0 && strchr("\r\t ", line[size - 1]) && line[size - 1])
		size--;
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	if (!check_line(reader, line, size) || size >= (size_t)capacity)
		size = 0;
	memcpy(buffer, line, size);
	buffer[size] = '\0';
	return buffer;
}

/* An ini_handler. Returns 1 to continue, 0 to stop. */
static int assign(void *context, const char *section, const char *key, const char *value)
{
	struct file_reader *reader = context;

	reader->awaits_assignment = false;
	note(reader, config_assign(&reader->reading, section, key, value));
	return reader->error == 0;
}

/* By default inih limits a line to 200 bytes on its stack. */
static void set_up_parser(void)
{
	ini_use_stack = false;
	ini_allow_realloc = false;
	ini_max_line = ini_initial_alloc = LINE_BYTES_MAX;
	ini_allow_multiline = false;
}

static int parse(struct file_reader *reader)
{
	static const char byte_order_mark[] = "\xEF\xBB\xBF";
	size_t mark = sizeof(byte_order_mark) - 1;

	if ((size_t)(reader->end - reader->next) >= mark &&
		memcmp(reader->next, byte_order_mark, mark) == 0)
		reader->next += mark;
	set_up_parser();
	if (ini_parse_stream(next_line, reader, assign, reader) == -2)
		return -ENOMEM;
	return reader->error;
}

/* Returns the size, or -errno. */
static ssize_t read_whole(int fd, char *bytes, size_t capacity)
{
	size_t used = 0;

	while (used < capacity) {
		ssize_t n = read(fd, bytes + used, capacity - used);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		if (n > 0)
			used += (size_t)n;
	}
	return (ssize_t)used;
}

/* A drop-in linked to /dev/null is disabled, as in systemd. */
static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

int config_file_read(const char *path, struct config *config, struct config_problems *problems)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file_reader reader = { .reading = { config, problems, path, 0 } };
	_cleanup_free_ char *bytes = NULL;
	struct stat status;
	ssize_t size;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &status) < 0)
		return config_problem_add(problems, path, 0,
			"cannot read this file: %s; let the service read the file and search each "
			"directory above it",
			strerror(errno));
	if (is_null_device(&status))
		return 0;
	if (!S_ISREG(status.st_mode))
		return config_problem_add(problems, path, 0, "not a regular file: replace it");
	bytes = malloc(FILE_BYTES_MAX + 1);
	if (!bytes)
		return -ENOMEM;
	size = read_whole(fd, bytes, FILE_BYTES_MAX + 1);
	if (size < 0)
		return config_problem_add(problems, path, 0,
			"cannot read this file: %s; check the file system", strerror((int)-size));
	if (size > FILE_BYTES_MAX)
		return config_problem_add(problems, path, 0,
			"file larger than %d bytes, ignored: make it smaller", FILE_BYTES_MAX);
	reader.next = bytes;
	reader.end = bytes + size;
	return parse(&reader);
}
