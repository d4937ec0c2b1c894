/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/mount_table.h"

#include "base/array.h"
#include "base/line_reader.h"

#include <errno.h>
#include <string.h>

enum {
	READ_BYTES_MAX = 4 << 20,
	MOUNTS_MAX = 1 << 16,
	/*
	 * Neither paths nor the layers of an overlay are bounded by the kernel. Those of hundreds
	 * of layers come to less.
	 */
	LINE_BYTES_MAX = 128 << 10,
};

struct mount {
	uint32_t id, parent;
	uint32_t device_major, device_minor;
	uint32_t point, point_size; /* in the table's text, from '/' on */
	enum mount_kind kind;
};

struct mount_table {
	struct mount *mounts; /* by parent and point, once all are read */
	size_t count, capacity;
	char *text;
	size_t text_bytes, text_capacity;
	bool is_incomplete; /* there are mounts that it does not tell of */
};

struct span {
	const char *at, *end;
};

static enum mount_kind worse(enum mount_kind first, enum mount_kind second)
{
	return first > second ? first : second;
}

static size_t size_of(const struct span *span)
{
	return (size_t)(span->end - span->at);
}

static bool is_text(const struct span *span, const char *text)
{
	return size_of(span) == strlen(text) && memcmp(span->at, text, size_of(span)) == 0;
}

/* Only what is known never to wait for anybody but the kernel and its disks. */
static enum mount_kind kind_of_type(const struct span *type)
{
	static const char *const local[] = { "aufs", "bcachefs", "binfmt_misc", "bpf", "btrfs",
		"cgroup", "cgroup2", "configfs", "cpuset", "cramfs", "debugfs", "devpts",
		"devtmpfs", "efivarfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fusectl",
		"hfs", "hfsplus", "hugetlbfs", "iso9660", "jffs2", "jfs", "minix", "mqueue",
		"msdos", "nilfs2", "nsfs", "ntfs", "ntfs3", "overlay", "proc", "pstore", "ramfs",
		"reiserfs", "resctrl", "romfs", "rootfs", "securityfs", "selinuxfs", "smackfs",
		"squashfs", "sysfs", "tmpfs", "tracefs", "ubifs", "udf", "ufs", "vfat", "xfs",
		"zfs", "zonefs" };

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (is_text(type, local[i]))
			return MOUNT_LOCAL;
	return MOUNT_REMOTE;
}

/* What a space ends: in a line that is whole something follows all the fields asked for. */
static bool take_field(struct span *rest, struct span *ret_field)
{
	const char *space = memchr(rest->at, ' ', size_of(rest));

	if (!space || space == rest->at)
		return false;
	*ret_field = (struct span){ .at = rest->at, .end = space };
	rest->at = space + 1;
	return true;
}

static bool take_number(struct span *rest, char delimiter, uint32_t *ret_number)
{
	const char *first = rest->at;
	uint32_t number = 0;

	for (; rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9'; rest->at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint32_t)(*rest->at - '0'), &number))
			return false;
	if (rest->at == first || rest->at == rest->end || *rest->at != delimiter)
		return false;
	rest->at++;
	*ret_number = number;
	return true;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS" */
static bool parse(struct span rest, struct mount *ret_mount, struct span *ret_point)
{
	struct mount mount = { 0 };
	struct span field, point;

	if (!take_number(&rest, ' ', &mount.id) || !take_number(&rest, ' ', &mount.parent) ||
		!take_number(&rest, ':', &mount.device_major) ||
		!take_number(&rest, ' ', &mount.device_minor) || !take_field(&rest, &field) ||
		!take_field(&rest, &point) || *point.at != '/' || !take_field(&rest, &field))
		return false;
	do
		if (!take_field(&rest, &field))
			return false;
	while (!is_text(&field, "-"));
	if (!take_field(&rest, &field))
		return false;
	mount.kind = kind_of_type(&field);
	*ret_mount = mount;
	*ret_point = point;
	return true;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/*
 * The kernel writes space, tab, newline and backslash as \NNN, and no point with a " (deleted)" of
 * its own: one that ends so is called so. Returns the size, which is no greater than the field's.
 */
static uint32_t unescape(const struct span *field, char *text)
{
	uint32_t size = 0;

	for (const char *at = field->at; at < field->end; at++) {
		if (*at == '\\' && field->end - at > 3 && is_octal(at[1]) && at[1] <= '3' &&
			is_octal(at[2]) && is_octal(at[3])) {
			text[size++] =
				(char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			text[size++] = *at;
		}
	}
	return size;
}

/* Returns 0, -ENOMEM, or -E2BIG at the bounds. */
static int add_line(struct mount_table *table, const char *line, size_t size)
{
	struct span rest = { .at = line, .end = line + size }, point;
	struct mount mount;
	int r;

	if (!parse(rest, &mount, &point)) {
		table->is_incomplete = true;
		return 0;
	}
	r = ARRAY_RESERVE(table->mounts, &table->capacity, table->count + 1, MOUNTS_MAX);
	if (r == 0)
		r = ARRAY_RESERVE(table->text, &table->text_capacity,
			table->text_bytes + size_of(&point), READ_BYTES_MAX);
	if (r < 0)
		return r;
	mount.point = (uint32_t)table->text_bytes;
	mount.point_size = unescape(&point, table->text + table->text_bytes);
	table->text_bytes += mount.point_size;
	table->mounts[table->count++] = mount;
	return 0;
}

static int read_lines(struct mount_table *table, struct line_reader *reader)
{
	size_t told_bytes = 0, size;
	const char *line;
	int r;

	while ((r = line_reader_next(reader, &line, &size)) == 1) {
		told_bytes += size + 1;
		r = add_line(table, line, size);
		if (r < 0)
			break;
	}
	if (r < 0 && r != -E2BIG)
		return r;
	/* The reader passes over lines that are too long for it. */
	if (r == -E2BIG || told_bytes < READ_BYTES_MAX - reader->remaining_bytes)
		table->is_incomplete = true;
	return 0;
}

static int compare(uint32_t first, uint32_t second)
{
	return (first > second) - (first < second);
}

static int compare_mounts(const void *first_mount, const void *second_mount, void *text)
{
	const struct mount *first = first_mount, *second = second_mount;
	const char *bytes = text;
	int r = compare(first->parent, second->parent);

	if (r == 0)
		r = compare(first->point_size, second->point_size);
	if (r == 0)
		r = memcmp(bytes + first->point, bytes + second->point, first->point_size);
	return r;
}

int mount_table_read(
	struct broker *broker, const struct broker_process *process, struct mount_table **ret_table)
{
	_cleanup_(mount_table_freep) struct mount_table *table = NULL;
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	_cleanup_close_ int fd = -1;
	int r = broker_open_process_file(broker, process, BROKER_PROCESS_MOUNTINFO, &fd);

	/* One that has ended and is not waited for is in no namespace any more. */
	if (r < 0)
		return r == -EINVAL ? -ESRCH : r;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	r = line_reader_init(&reader, fd, LINE_BYTES_MAX, READ_BYTES_MAX);
	if (r == 0)
		r = read_lines(table, &reader);
	if (r < 0)
		return r;
	if (table->count > 0)
		qsort_r(table->mounts, table->count, sizeof(*table->mounts), compare_mounts,
			table->text);
	*ret_table = TAKE_PTR(table);
	return 0;
}

void mount_table_free(struct mount_table *table)
{
	if (!table)
		return;
	free(table->mounts);
	free(table->text);
	free(table);
}

enum mount_kind mount_table_of_device(
	const struct mount_table *table, uint32_t device_major, uint32_t device_minor)
{
	enum mount_kind kind = MOUNT_UNKNOWN;

	for (size_t i = 0; i < table->count; i++) {
		const struct mount *mount = &table->mounts[i];

		if (mount->device_major == device_major && mount->device_minor == device_minor)
			kind = worse(kind, mount->kind);
	}
	return kind;
}

/* As the kernel writes them: without this a point could go by another name. */
static bool is_canonical(const char *path)
{
	if (*path != '/')
		return false;
	while (*path) {
		size_t size = strcspn(++path, "/");

		if ((size == 0 && *path) || (size == 1 && path[0] == '.') ||
			(size == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += size;
	}
	return true;
}

static bool is_below(
	const struct mount_table *table, const struct mount *mount, const char *path, size_t size)
{
	size_t point_size = mount->point_size;

	if (point_size > size || memcmp(table->text + mount->point, path, point_size) != 0)
		return false;
	return point_size == 1 || point_size == size || path[point_size] == '/';
}

/*
 * Is another mounted on its root? Lines are in no order that would tell: mounts are moved, and put
 * beneath others. The root of the process is different: a walk begins in it and below whatever was
 * mounted on it since.
 */
static bool is_covered(const struct mount_table *table, const struct mount *mount)
{
	const struct mount cover = {
		.parent = mount->id,
		.point = mount->point,
		.point_size = mount->point_size,
	};
	size_t first = 0, last = table->count;

	if (mount->point_size == 1 || mount->id == mount->parent)
		return false;
	while (first < last) {
		size_t middle = first + (last - first) / 2;
		int r = compare_mounts(&table->mounts[middle], &cover, table->text);

		if (r == 0)
			return true;
		if (r < 0)
			first = middle + 1;
		else
			last = middle;
	}
	return false;
}

bool mount_table_is_whole(const struct mount_table *table)
{
	return !table->is_incomplete;
}

enum mount_kind mount_table_of_path(const struct mount_table *table, const char *path)
{
	enum mount_kind kind = MOUNT_UNKNOWN;
	size_t size = strlen(path);

	if (!is_canonical(path))
		return MOUNT_UNKNOWN;
	for (size_t i = 0; i < table->count; i++) {
		const struct mount *mount = &table->mounts[i];

		if (is_below(table, mount, path, size) && !is_covered(table, mount))
			kind = worse(kind, mount->kind);
	}
	return kind == MOUNT_LOCAL && table->is_incomplete ? MOUNT_UNKNOWN : kind;
}
