/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_table.h"

#include "base/array.h"
#include "base/string_pool.h"
#include "resolve/vdso_image.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	ANCESTORS_MAX = 4,     /* whose mount namespace is tried for a process that is gone */
	OPEN_ATTEMPTS_MAX = 3, /* for a file that another process may still lead to */
};

const struct binary_table_limits binary_table_default_limits = {
	.binaries_max = 16384,
	.descriptors_max = 512,
};

enum identity_kind {
	IDENTITY_BUILD_ID,
	IDENTITY_FILE,	 /* first: the process table's file */
	IDENTITY_KERNEL, /* first: the image of kernel_symbols */
	IDENTITY_JIT,	 /* first: pid, second: its start */
	IDENTITY_VDSO,
};

/* Compared as bytes: without padding. */
struct identity {
	uint64_t kind;
	uint64_t first, second;
	uint8_t build_id[BUILD_ID_BYTES];
	uint32_t reserved;
};
_Static_assert(sizeof(struct identity) == 48, "padding");

struct entry {
	struct identity identity;
	enum binary_kind kind;
	struct build_id build_id;
	uint32_t path;
	struct elf_image *image;
	int fd;
	bool is_sampled;
	uint8_t attempts;
};

struct binary_table {
	struct binary_table_limits limits;
	struct broker *broker;
	struct process_table *processes;
	struct string_pool paths;
	struct entry *entries;
	size_t count, capacity;
	struct hash_index index;
	size_t descriptors;
	size_t oldest_unsampled; /* no open, unsampled entry stands before it */
	uint64_t vdso_bytes;	 /* of our own; 0: not known */
};

static void entry_close(struct binary_table *table, struct entry *entry)
{
	if (entry->fd < 0)
		return;
	(void)close(entry->fd);
	entry->fd = -1;
	table->descriptors--;
}

void binary_table_free(struct binary_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++) {
		entry_close(table, &table->entries[i]);
		free(table->entries[i].image);
	}
	string_pool_done(&table->paths);
	hash_index_done(&table->index);
	free(table->entries);
	free(table);
}

int binary_table_new(const struct binary_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct binary_table **ret_table)
{
	_cleanup_(binary_table_freep) struct binary_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->broker = broker;
	table->processes = processes;
	r = string_pool_init(&table->paths, limits->binaries_max * 256);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

static bool identity_equal(const void *owner, uint32_t id, const void *key)
{
	const struct binary_table *table = owner;

	return memcmp(&table->entries[id].identity, key, sizeof(struct identity)) == 0;
}

static uint32_t find(const struct binary_table *table, const struct identity *identity)
{
	return hash_index_find(&table->index, hash_bytes(identity, sizeof(*identity)),
		identity_equal, table, identity);
}

static int add(struct binary_table *table, const struct identity *identity, enum binary_kind kind,
	const char *path, uint32_t *ret_binary)
{
	struct entry entry = { .identity = *identity, .kind = kind, .fd = -1 };
	int r;

	r = ARRAY_RESERVE(
		table->entries, &table->capacity, table->count + 1, table->limits.binaries_max);
	if (r < 0)
		return r;
	r = hash_index_reserve(&table->index);
	if (r < 0)
		return r;
	r = string_pool_intern(&table->paths, path, strlen(path), &entry.path);
	if (r < 0)
		return r;
	*ret_binary = (uint32_t)table->count++;
	table->entries[*ret_binary] = entry;
	hash_index_insert(&table->index, hash_bytes(identity, sizeof(*identity)), *ret_binary);
	return 0;
}

/* Keeps `fd` for the entry, at the cost of the oldest file that no sample has asked for. */
static void keep_descriptor(struct binary_table *table, struct entry *entry, int *fd)
{
	size_t i = table->oldest_unsampled;

	if (table->descriptors >= table->limits.descriptors_max) {
		while (i < table->count &&
			(table->entries[i].fd < 0 || table->entries[i].is_sampled))
			i++;
		table->oldest_unsampled = i;
		if (i == table->count)
			return;
		entry_close(table, &table->entries[i]);
	}
	entry->fd = TAKE_FD(*fd);
	table->descriptors++;
}

/* A program is what the kernel executes; what is loaded into one has a name with ".so" in it. */
static enum binary_kind kind_of_file(const struct elf_image *image, const char *path)
{
	const char *base = strrchr(path, '/');
	bool is_shared_object = strstr(base ? base : path, ".so") != NULL;

	if (image->type == 2 /* ET_EXEC */)
		return BINARY_EXECUTABLE;
	return is_shared_object ? BINARY_LIBRARY : BINARY_EXECUTABLE;
}

/* Where a file may be found: the mapping of a process, by range and by path. */
struct whereabouts {
	pid_t pid;
	uint64_t time_ns;
	uint64_t start, end; /* 0: by path only */
	uint64_t inode;	     /* 0: not known */
	const char *path;
};

/* A path may lead to another file by now: an upgrade, a build. */
static int check_inode(int fd, uint64_t inode)
{
	struct stat status;

	if (inode == 0)
		return 0;
	if (fstat(fd, &status) < 0)
		return -errno;
	return status.st_ino == inode ? 0 : -ESTALE;
}

/*
 * Opens and reads headers: in the process, in the mount namespaces of its ancestors if it is gone,
 * in our own. `expected` (may be NULL) decides whether a path leads to the same file.
 */
static int open_file(struct binary_table *table, const struct whereabouts *where,
	const struct build_id *expected, int *ret_fd, struct elf_image *ret_image)
{
	struct broker_process process = { .pid = where->pid };
	int r = -ESRCH;

	for (int i = 0; i <= ANCESTORS_MAX + 1; i++) {
		_cleanup_close_ int fd = -1;
		struct elf_image image;

		if (i <= ANCESTORS_MAX && process.pid > 0) {
			r = broker_open_mapping(table->broker, &process, i == 0 ? where->start : 0,
				i == 0 ? where->end : 0, where->path, &fd);
			process.pid =
				process_table_parent(table->processes, process.pid, where->time_ns);
		} else {
			i = ANCESTORS_MAX + 1;
			r = broker_open_path(table->broker, where->path, &fd);
		}
		if (r < 0)
			continue;
		r = check_inode(fd, where->inode);
		if (r == 0)
			r = elf_image_read(fd, &image);
		if (r < 0)
			continue;
		if (expected && !build_id_equal(&image.build_id, expected)) {
			r = -ESTALE;
			continue;
		}
		*ret_fd = TAKE_FD(fd);
		*ret_image = image;
		return 0;
	}
	return r;
}

/* Gives the entry what its file says. Memory that is short costs the image, nothing else. */
static void take_image(
	struct binary_table *table, uint32_t binary, const struct elf_image *image, int *fd)
{
	struct entry *entry = &table->entries[binary];

	if (entry->image)
		return;
	entry->image = malloc(sizeof(*entry->image));
	if (!entry->image)
		return;
	*entry->image = *image;
	entry->build_id = image->build_id;
	entry->kind = kind_of_file(image, string_pool_get(&table->paths, entry->path));
	keep_descriptor(table, entry, fd);
}

static struct identity build_id_identity(const struct build_id *id)
{
	struct identity identity = { .kind = IDENTITY_BUILD_ID };

	memcpy(identity.build_id, id->bytes, sizeof(identity.build_id));
	return identity;
}

static int add_build_id(struct binary_table *table, const struct build_id *id, const char *path,
	uint32_t *ret_binary)
{
	struct identity identity = build_id_identity(id);
	int r = add(table, &identity, BINARY_LIBRARY, path, ret_binary);

	if (r == 0)
		table->entries[*ret_binary].build_id = *id;
	return r;
}

static bool may_try_again(const struct entry *entry)
{
	return !entry->image && entry->attempts < OPEN_ATTEMPTS_MAX;
}

/* One attempt at the file of an entry that has no image yet. */
static void try_open(struct binary_table *table, uint32_t binary, const struct whereabouts *where)
{
	struct entry *entry = &table->entries[binary];
	_cleanup_close_ int fd = -1;
	struct elf_image image;

	if (!may_try_again(entry))
		return;
	entry->attempts++;
	if (open_file(table, where, &entry->build_id, &fd, &image) == 0)
		take_image(table, binary, &image, &fd);
}

/*
 * The binary of a mapped file whose build-id is not known: reads it, and tells the process table
 * what it is. A file that cannot be opened has an identity all the same, and another chance with
 * the next process that maps it.
 */
static int read_file(struct binary_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping, const struct mapped_file *file, uint32_t *ret_binary)
{
	struct whereabouts where = {
		.pid = pid,
		.time_ns = time_ns,
		.start = mapping->start,
		.end = mapping->end,
		.inode = file->inode,
		.path = file->path,
	};
	struct identity identity = { .kind = IDENTITY_FILE, .first = mapping->file };
	_cleanup_close_ int fd = -1;
	struct elf_image image;
	uint32_t binary;
	bool is_open;
	int r;

	binary = find(table, &identity);
	if (binary != HASH_INDEX_NONE && !may_try_again(&table->entries[binary])) {
		*ret_binary = binary;
		return 0;
	}
	is_open = open_file(table, &where, NULL, &fd, &image) == 0;
	if (is_open && image.build_id.size > 0) {
		identity = build_id_identity(&image.build_id);
		binary = find(table, &identity);
	}
	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_LIBRARY, where.path, &binary);
		if (r < 0)
			return r;
	}
	table->entries[binary].attempts++;
	*ret_binary = binary;
	if (!is_open)
		return 0;
	take_image(table, binary, &image, &fd);
	if (image.build_id.size > 0)
		process_table_set_build_id(table->processes, mapping->file, &image.build_id);
	return 0;
}

void binary_table_note_mapping(
	struct binary_table *table, pid_t pid, const struct process_mapping *mapping)
{
	struct mapped_file file;
	uint32_t binary;

	process_table_file(table->processes, mapping->file, &file);
	/* At a bound the sample that needs it will be refused and counted. */
	if (file.is_regular && file.build_id.size == 0)
		(void)read_file(table, pid, UINT64_MAX, mapping, &file, &binary);
}

/* The mapping of `pid` that shows the file with `id`; files without a known id are read for it. */
static bool find_in_process(struct binary_table *table, const struct build_id *id, pid_t pid,
	uint64_t time_ns, struct process_mapping *ret_mapping)
{
	const struct process_mapping *mappings;
	size_t count = process_table_mappings(table->processes, pid, time_ns, &mappings);

	for (size_t i = 0; i < count; i++) {
		struct process_mapping mapping;
		struct mapped_file file;
		uint32_t binary;

		/* Reading a file changes the table, so what it has lent is asked for again. */
		count = process_table_mappings(table->processes, pid, time_ns, &mappings);
		if (i >= count)
			break;
		mapping = mappings[i];
		process_table_file(table->processes, mapping.file, &file);
		if (!file.is_regular)
			continue;
		if (file.build_id.size == 0 &&
			read_file(table, pid, time_ns, &mapping, &file, &binary) == 0)
			process_table_file(table->processes, mapping.file, &file);
		if (file.build_id.size > 0 && build_id_equal(&file.build_id, id)) {
			*ret_mapping = mapping;
			return true;
		}
	}
	return false;
}

/* Where the file with `id` may be: in the process that was sampled, or in any that is known. */
static bool find_whereabouts(struct binary_table *table, const struct build_id *id, pid_t pid,
	uint64_t time_ns, struct whereabouts *where)
{
	struct process_mapping mapping = { 0 };
	struct mapped_file file;

	*where = (struct whereabouts){ .pid = pid, .time_ns = time_ns };
	if (!find_in_process(table, id, pid, time_ns, &mapping) &&
		!process_table_find_build_id(table->processes, id, &mapping.file))
		return false;
	process_table_file(table->processes, mapping.file, &file);
	where->start = mapping.start;
	where->end = mapping.end;
	where->path = file.path;
	return true;
}

int binary_table_find_build_id(struct binary_table *table, const struct build_id *id, pid_t pid,
	uint64_t time_ns, uint32_t *ret_binary)
{
	struct identity identity = build_id_identity(id);
	uint32_t binary = find(table, &identity);
	struct whereabouts where;
	bool has_file;
	int r;

	if (binary == HASH_INDEX_NONE || may_try_again(&table->entries[binary])) {
		has_file = find_whereabouts(table, id, pid, time_ns, &where);
		binary = find(table, &identity); /* reading the process's files may have made it */
		if (binary == HASH_INDEX_NONE) {
			r = add_build_id(table, id, has_file ? where.path : "", &binary);
			if (r < 0)
				return r;
		}
		if (has_file)
			try_open(table, binary, &where);
		else
			table->entries[binary].attempts++;
	}
	table->entries[binary].is_sampled = true;
	*ret_binary = binary;
	return 0;
}

static int find_vdso(
	struct binary_table *table, const struct process_mapping *mapping, uint32_t *ret_binary)
{
	struct identity identity = { .kind = IDENTITY_VDSO,
		.first = mapping->end - mapping->start };
	_cleanup_close_ int fd = -1;
	struct elf_image image;
	uint64_t bytes;
	uint32_t binary;
	int r;

	binary = find(table, &identity);
	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_LIBRARY, "[vdso]", &binary);
		if (r < 0)
			return r;
		/* Of another size, it is that of another word size. */
		if (vdso_image_open(&fd, &bytes) == 0 && bytes == identity.first &&
			elf_image_read(fd, &image) == 0)
			take_image(table, binary, &image, &fd);
		table->entries[binary].kind = BINARY_LIBRARY;
		table->entries[binary].is_sampled = true;
	}
	*ret_binary = binary;
	return 0;
}

int binary_table_find_mapping(struct binary_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping, uint32_t *ret_binary)
{
	struct mapped_file file;
	uint32_t binary;
	int r;

	process_table_file(table->processes, mapping->file, &file);
	if (strcmp(file.path, "[vdso]") == 0)
		return find_vdso(table, mapping, ret_binary);
	if (file.build_id.size > 0)
		return binary_table_find_build_id(table, &file.build_id, pid, time_ns, ret_binary);
	r = read_file(table, pid, time_ns, mapping, &file, &binary);
	if (r < 0)
		return r;
	table->entries[binary].is_sampled = true;
	*ret_binary = binary;
	return 0;
}

int binary_table_find_kernel_image(struct binary_table *table, uint32_t image,
	const struct kernel_image *description, uint32_t *ret_binary)
{
	struct identity identity = { .kind = IDENTITY_KERNEL, .first = image };
	uint32_t binary = find(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_KERNEL, description->name, &binary);
		if (r < 0)
			return r;
		table->entries[binary].build_id = description->build_id;
	}
	*ret_binary = binary;
	return 0;
}

int binary_table_find_jit(
	struct binary_table *table, pid_t pid, uint64_t process_start_ns, uint32_t *ret_binary)
{
	struct identity identity = {
		.kind = IDENTITY_JIT,
		.first = (uint64_t)pid,
		.second = process_start_ns,
	};
	uint32_t binary = find(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_JIT, "[anon]", &binary);
		if (r < 0)
			return r;
	}
	*ret_binary = binary;
	return 0;
}

void binary_table_get(const struct binary_table *table, uint32_t binary, struct binary *ret_binary)
{
	const struct entry *entry;

	assert(binary < table->count);
	entry = &table->entries[binary];
	*ret_binary = (struct binary){
		.kind = entry->kind,
		.build_id = entry->build_id,
		.path = string_pool_get(&table->paths, entry->path),
		.image = entry->image,
		.fd = entry->fd,
	};
}

size_t binary_table_count(const struct binary_table *table)
{
	return table->count;
}
