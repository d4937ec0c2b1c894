/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_table.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "resolve/binary_file.h"
#include "resolve/owned_binaries.h"
#include "resolve/vdso_image.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	OPEN_ATTEMPTS_MAX = 3, /* another process may still make the file reachable */
	SHORT_PATH_BYTES =
		48, /* half of path_bytes_max has room for as many as there are entries */
};

const struct binary_table_limits binary_table_default_limits = {
	.binaries_max = 16384,
	.descriptors_max = 512,
	.path_bytes_max = 4 << 20,
};

enum identity_kind {
	IDENTITY_BUILD_ID, /* first: 0 if trusted, else the owner's user id plus 1 */
	IDENTITY_FILE,	   /* first: the file's identity in the process table */
	IDENTITY_KERNEL,   /* first: the image of kernel_symbols */
	IDENTITY_JIT,	   /* first: pid; second: its start time */
	IDENTITY_VDSO,	   /* first: its size */
	IDENTITY_UNREAD,   /* first: the binary that it replaces */
};

/* Compared with memcmp(), so it has no padding. */
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
	char *path; /* the kernel's bytes, to open the file; clean them before showing them */
	struct elf_image *image;
	int fd;
	bool is_sampled;
	uint8_t attempts;
};

struct binary_table {
	struct binary_table_limits limits;
	struct broker *broker;
	struct process_table *processes;
	size_t path_bytes;
	struct entry *entries;
	size_t count, capacity;
	struct hash_index index;
	size_t descriptors;
	size_t oldest_unsampled; /* no entry before it is open and unsampled */
	struct owned_binaries owned;
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
		free(table->entries[i].path);
	}
	owned_binaries_done(&table->owned);
	hash_index_done(&table->index);
	free(table->entries);
	free(table);
}

int binary_table_new(const struct binary_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct binary_table **ret_table)
{
	_cleanup_(binary_table_freep) struct binary_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->broker = broker;
	table->processes = processes;
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

/*
 * Keeps the end of a long path once half of the room is used. Otherwise one user's long paths would
 * take the room of all later binaries. What is left does not begin with '/', so nobody opens it.
 */
static const char *shorten(const struct binary_table *table, const char *path)
{
	size_t length = strlen(path);

	if (length < SHORT_PATH_BYTES || table->path_bytes <= table->limits.path_bytes_max / 2)
		return path;
	path += length - (SHORT_PATH_BYTES - 1);
	return path + strspn(path, "/");
}

static int add(struct binary_table *table, const struct identity *identity, enum binary_kind kind,
	const char *path, uint32_t *ret_binary)
{
	struct entry entry = { .identity = *identity, .kind = kind, .fd = -1 };
	size_t path_bytes;
	int r;

	path = shorten(table, path);
	path_bytes = strlen(path) + 1;
	if (table->path_bytes + path_bytes > table->limits.path_bytes_max)
		return -E2BIG;
	r = ARRAY_RESERVE(
		table->entries, &table->capacity, table->count + 1, table->limits.binaries_max);
	if (r < 0)
		return r;
	r = hash_index_reserve(&table->index);
	if (r < 0)
		return r;
	entry.path = strdup(path);
	if (!entry.path)
		return -ENOMEM;
	table->path_bytes += path_bytes;
	*ret_binary = (uint32_t)table->count++;
	table->entries[*ret_binary] = entry;
	hash_index_insert(&table->index, hash_bytes(identity, sizeof(*identity)), *ret_binary);
	return 0;
}

/* Keeps `fd` for the entry. At the bound it closes the oldest file that no sample has used. */
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

static bool is_shared_object_name(const char *path)
{
	const char *ending = strstr(path, ".so");

	while (ending && ending[3] != '\0' && ending[3] != '.')
		ending = strstr(ending + 3, ".so");
	return ending != NULL;
}

/*
 * The file's name tells programs from libraries. Their ELF type is the same, ET_DYN, for programs
 * that are position-independent. An interpreter does not tell: libc.so.6 has one; a static program
 * has none, and neither has ld.so.
 */
static enum binary_kind kind_of_file(const struct elf_image *image, const char *path)
{
	const char *base = strrchr(path, '/');

	if (image->type == ET_EXEC)
		return BINARY_EXECUTABLE;
	return is_shared_object_name(base ? base : path) ? BINARY_LIBRARY : BINARY_EXECUTABLE;
}

/* Stores the file's image in the entry. Without memory the entry stays without an image. */
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
	entry->kind = kind_of_file(image, entry->path);
	keep_descriptor(table, entry, fd);
}

static int open_file(struct binary_table *table, const struct binary_whereabouts *where,
	const struct build_id *expected, struct binary_file *ret_file)
{
	return binary_file_open(table->broker, table->processes, where, expected, ret_file);
}

/* `result` is open_file()'s. -EAGAIN does not count: the broker did not look. */
static void count_attempt(struct entry *entry, int result)
{
	if (result != -EAGAIN)
		entry->attempts++;
}

static const struct file_owner trusted_owner = { .is_trusted = true };

static struct identity build_id_identity(const struct build_id *id, const struct file_owner *owner)
{
	struct identity identity = {
		.kind = IDENTITY_BUILD_ID,
		.first = owner->is_trusted ? 0 : (uint64_t)owner->uid + 1,
	};

	memcpy(identity.build_id, id->bytes, sizeof(identity.build_id));
	return identity;
}

/* Finds or adds the entry of a build-id. */
static int know_build_id(struct binary_table *table, const struct build_id *id,
	const struct file_owner *owner, const char *path, uint32_t *ret_binary)
{
	struct identity identity = build_id_identity(id, owner);
	uint32_t binary = find(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_LIBRARY, path, &binary);
		if (r < 0)
			return r;
		table->entries[binary].build_id = *id;
	}
	*ret_binary = binary;
	return 0;
}

static bool may_try_again(const struct entry *entry)
{
	return !entry->image && entry->attempts < OPEN_ATTEMPTS_MAX;
}

/*
 * Finds the binary of a mapped file whose build-id is unknown: reads the file, and stores its
 * build-id in the process table. A file that cannot be opened gets an entry too, and a retry when
 * another process maps it.
 */
static int read_file(struct binary_table *table, const struct broker_process *process,
	uint64_t time_ns, const struct process_mapping *mapping, const struct mapped_file *file,
	uint32_t *ret_binary)
{
	struct binary_whereabouts where = {
		.process = *process,
		.time_ns = time_ns,
		.start = mapping->start,
		.end = mapping->end,
		.inode = file->inode,
		.device_major = file->device_major,
		.device_minor = file->device_minor,
		.path = file->path,
	};
	struct identity identity = { .kind = IDENTITY_FILE, .first = file->identity };
	_cleanup_(binary_file_done) struct binary_file opened = { .fd = -1 };
	uint32_t binary;
	int opening, r;

	binary = find(table, &identity);
	if (binary != HASH_INDEX_NONE && !may_try_again(&table->entries[binary])) {
		*ret_binary = binary;
		return 0;
	}
	opening = open_file(table, &where, NULL, &opened);
	if (opening == 0 && opened.image.build_id.size > 0) {
		identity = build_id_identity(&opened.image.build_id, &opened.owner);
		binary = find(table, &identity);
	}
	if (binary == HASH_INDEX_NONE) {
		r = add(table, &identity, BINARY_LIBRARY, where.path, &binary);
		if (r < 0)
			return r;
	}
	count_attempt(&table->entries[binary], opening);
	*ret_binary = binary;
	if (opening < 0)
		return 0;
	take_image(table, binary, &opened.image, &opened.fd);
	if (opened.image.build_id.size > 0)
		process_table_set_build_id(table->processes, mapping->file, &opened.image.build_id);
	return 0;
}

void binary_table_note_mapping(
	struct binary_table *table, pid_t pid, const struct process_mapping *mapping)
{
	const struct broker_process process = { .pid = pid };
	struct mapped_file file;
	uint32_t binary;

	process_table_file(table->processes, mapping->file, &file);
	/* Ignores a full table: the resolver counts the samples that it then cuts. */
	if (file.is_regular && file.build_id.size == 0)
		(void)read_file(table, &process, UINT64_MAX, mapping, &file, &binary);
}

/* Finds the process's mapping of the file with `id`. Reads mapped files without a known id. */
static bool find_in_process(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, struct process_mapping *ret_mapping)
{
	pid_t pid = process->pid;
	const struct process_mapping *mappings;
	size_t count = process_table_mappings(table->processes, pid, time_ns, &mappings);

	for (size_t i = 0; i < count; i++) {
		struct process_mapping mapping;
		struct mapped_file file;
		uint32_t binary;

		/* Reading a file changes the table and invalidates `mappings`. */
		count = process_table_mappings(table->processes, pid, time_ns, &mappings);
		if (i >= count)
			break;
		mapping = mappings[i];
		process_table_file(table->processes, mapping.file, &file);
		if (!file.is_regular)
			continue;
		if (file.build_id.size == 0 &&
			read_file(table, process, time_ns, &mapping, &file, &binary) == 0)
			process_table_file(table->processes, mapping.file, &file);
		if (file.build_id.size > 0 && build_id_equal(&file.build_id, id)) {
			*ret_mapping = mapping;
			return true;
		}
	}
	return false;
}

/*
 * Finds where the file with `id` is mapped: in the sampled process (`is_own`), or in any other that
 * is known.
 */
static bool find_whereabouts(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, struct binary_whereabouts *where)
{
	struct process_mapping mapping = { 0 };
	struct mapped_file file;

	*where = (struct binary_whereabouts){ .process = *process, .time_ns = time_ns };
	where->is_own = find_in_process(table, id, process, time_ns, &mapping);
	if (!where->is_own && !process_table_find_build_id(table->processes, id, &mapping.file))
		return false;
	process_table_file(table->processes, mapping.file, &file);
	where->start = mapping.start;
	where->end = mapping.end;
	where->path = file.path;
	return true;
}

/* Replaces the path: an entry without an image may have that of another file with its build-id. */
static void set_path(struct binary_table *table, struct entry *entry, const char *path)
{
	size_t bytes, old_bytes = strlen(entry->path) + 1;
	char *copy;

	path = shorten(table, path);
	bytes = strlen(path) + 1;
	if (strcmp(entry->path, path) == 0 ||
		table->path_bytes - old_bytes + bytes > table->limits.path_bytes_max)
		return;
	copy = strdup(path);
	if (!copy)
		return;
	free(entry->path);
	entry->path = copy;
	table->path_bytes += bytes - old_bytes;
}

/*
 * Looks for the file that the build-id stands for in this process. A file of an untrusted owner
 * counts only for the processes that mapped it.
 */
static int look_for_build_id(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, uint32_t *ret_binary)
{
	_cleanup_(binary_file_done) struct binary_file opened = { .fd = -1 };
	struct file_owner owner = trusted_owner;
	struct binary_whereabouts where;
	const char *path = "";
	bool is_found = false;
	uint32_t binary;
	int opening = -ENOENT, r;

	if (find_whereabouts(table, id, process, time_ns, &where)) {
		path = where.path;
		opening = open_file(table, &where, id, &opened);
		is_found = opening == 0 && (opened.owner.is_trusted || where.is_own);
	}
	if (is_found)
		owner = opened.owner;
	r = know_build_id(table, id, &owner, path, &binary);
	if (r < 0)
		return r;
	count_attempt(&table->entries[binary], opening);
	if (is_found && !table->entries[binary].image) {
		set_path(table, &table->entries[binary], path);
		take_image(table, binary, &opened.image, &opened.fd);
	}
	if (!owner.is_trusted)
		(void)owned_binaries_add(&table->owned, process, id, binary);
	*ret_binary = binary;
	return 0;
}

int binary_table_find_build_id(struct binary_table *table, const struct build_id *id,
	const struct broker_process *process, uint64_t time_ns, uint32_t *ret_binary)
{
	struct identity identity = build_id_identity(id, &trusted_owner);
	uint32_t binary = find(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE || !table->entries[binary].image) {
		uint32_t owned = owned_binaries_find(&table->owned, process, id);

		if (owned != OWNED_BINARIES_UNKNOWN) {
			binary = owned;
		} else if (binary == HASH_INDEX_NONE || may_try_again(&table->entries[binary])) {
			r = look_for_build_id(table, id, process, time_ns, &binary);
			if (r < 0)
				return r;
		}
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
		/* A vdso of another size belongs to another word size. */
		if (vdso_image_open(&fd, &bytes) == 0 && bytes == identity.first &&
			elf_image_read(fd, &image) == 0)
			take_image(table, binary, &image, &fd);
		table->entries[binary].kind = BINARY_LIBRARY;
		table->entries[binary].is_sampled = true;
	}
	*ret_binary = binary;
	return 0;
}

int binary_table_find_mapping(struct binary_table *table, const struct broker_process *process,
	uint64_t time_ns, const struct process_mapping *mapping, uint32_t *ret_binary)
{
	struct mapped_file file;
	uint32_t binary;
	int r;

	process_table_file(table->processes, mapping->file, &file);
	if (strcmp(file.path, "[vdso]") == 0)
		return find_vdso(table, mapping, ret_binary);
	if (file.build_id.size > 0)
		return binary_table_find_build_id(
			table, &file.build_id, process, time_ns, ret_binary);
	r = read_file(table, process, time_ns, mapping, &file, &binary);
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
		r = add(table, &identity, BINARY_JIT, "[JIT]", &binary);
		if (r < 0)
			return r;
	}
	*ret_binary = binary;
	return 0;
}

void binary_table_set_jit_runtime(struct binary_table *table, uint32_t binary, const char *runtime)
{
	struct entry *entry = &table->entries[binary];
	char path[32];

	assert(binary < table->count && entry->kind == BINARY_JIT);
	if (!runtime[0])
		return;
	(void)snprintf(path, sizeof(path), "[JIT] %s", runtime);
	set_path(table, entry, path);
}

int binary_table_find_unread(struct binary_table *table, uint32_t binary, uint32_t *ret_binary)
{
	struct identity identity = { .kind = IDENTITY_UNREAD, .first = binary };
	uint32_t unread = find(table, &identity);
	int r;

	assert(binary < table->count);
	if (unread == HASH_INDEX_NONE) {
		r = add(table, &identity, table->entries[binary].kind, table->entries[binary].path,
			&unread);
		if (r < 0)
			return r;
		table->entries[unread].build_id = table->entries[binary].build_id;
		table->entries[unread].attempts = OPEN_ATTEMPTS_MAX;
	}
	*ret_binary = unread;
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
		.path = entry->path,
		.image = entry->image,
		.fd = entry->fd,
	};
}

size_t binary_table_count(const struct binary_table *table)
{
	return table->count;
}
