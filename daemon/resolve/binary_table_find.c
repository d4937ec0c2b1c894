/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_table_state.h"

#include "resolve/binary_file.h"
#include "resolve/vdso_image.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_USER = 0 };
enum { OPEN_ATTEMPTS_MAX = 3 }; /* another process may still make the file reachable */

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
	struct binary_entry *entry = &table->entries[binary];

	if (entry->image)
		return;
	entry->image = malloc(sizeof(*entry->image));
	if (!entry->image)
		return;
	*entry->image = *image;
	entry->build_id = image->build_id;
	entry->kind = kind_of_file(image, entry->path);
	binary_table_keep_descriptor(table, entry, fd);
}

static int open_file(struct binary_table *table, const struct binary_whereabouts *where,
	const struct build_id *expected, struct binary_file *ret_file)
{
	return binary_file_open(table->broker, table->processes, where, expected, ret_file);
}

/* `result` is open_file()'s. -EAGAIN does not count: the broker did not look. */
static void count_attempt(struct binary_entry *entry, int result)
{
	if (result != -EAGAIN)
		entry->attempts++;
}

static const struct file_owner trusted_owner = { .is_trusted = true };

static struct binary_identity build_id_identity(
	const struct build_id *id, const struct file_owner *owner)
{
	struct binary_identity identity = {
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
	struct binary_identity identity = build_id_identity(id, owner);
	uint32_t binary = binary_table_lookup(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = binary_table_add(table, &identity, BINARY_LIBRARY, path, table->user, &binary);
		if (r < 0)
			return r;
		table->entries[binary].build_id = *id;
	}
	*ret_binary = binary;
	return 0;
}

/* May a file be opened that may be new? A user over the share would have it opened for each sample.
 */
static bool may_look(struct binary_table *table, const struct binary_identity *identity)
{
	return table->user == USER_UNKNOWN || binary_table_has_room(table, identity, table->user);
}

static bool may_try_again(const struct binary_entry *entry)
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
	struct binary_identity identity = { .kind = IDENTITY_FILE, .first = file->identity };
	_cleanup_(binary_file_done) struct binary_file opened = { .fd = -1 };
	uint64_t user = table->user;
	uint32_t binary;
	int opening, r;

	binary = binary_table_lookup(table, &identity);
	if (binary != HASH_INDEX_NONE && !may_try_again(&table->entries[binary])) {
		*ret_binary = binary;
		return 0;
	}
	if (binary == HASH_INDEX_NONE && !may_look(table, &identity))
		return -E2BIG;
	opening = open_file(table, &where, NULL, &opened);
	if (opening == 0 && opened.image.build_id.size > 0) {
		identity = build_id_identity(&opened.image.build_id, &opened.owner);
		binary = binary_table_lookup(table, &identity);
	}
	if (binary == HASH_INDEX_NONE) {
		if (user == USER_UNKNOWN && opening == 0 && !opened.owner.is_trusted)
			user = opened.owner.uid;
		r = binary_table_add(table, &identity, BINARY_LIBRARY, where.path, user, &binary);
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
		binary_table_set_path(table, &table->entries[binary], path);
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
	struct binary_identity identity = build_id_identity(id, &trusted_owner);
	uint32_t binary = binary_table_lookup(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE || !table->entries[binary].image) {
		uint32_t owned = owned_binaries_find(&table->owned, process, id);

		if (owned != OWNED_BINARIES_UNKNOWN) {
			binary = owned;
		} else if (binary == HASH_INDEX_NONE || may_try_again(&table->entries[binary])) {
			if (binary == HASH_INDEX_NONE && !may_look(table, &identity))
				return -E2BIG;
			r = look_for_build_id(table, id, process, time_ns, &binary);
			if (r < 0)
				return r;
		}
	}
	binary_table_use(table, binary);
	*ret_binary = binary;
	return 0;
}

static int find_vdso(
	struct binary_table *table, const struct process_mapping *mapping, uint32_t *ret_binary)
{
	struct binary_identity identity = { .kind = IDENTITY_VDSO,
		.first = mapping->end - mapping->start };
	_cleanup_close_ int fd = -1;
	struct elf_image image;
	uint64_t bytes;
	uint32_t binary;
	int r;

	binary = binary_table_lookup(table, &identity);
	if (binary == HASH_INDEX_NONE) {
		r = binary_table_add(
			table, &identity, BINARY_LIBRARY, "[vdso]", KERNEL_USER, &binary);
		if (r < 0)
			return r;
		/* A vdso of another size belongs to another word size. */
		if (vdso_image_open(&fd, &bytes) == 0 && bytes == identity.first &&
			elf_image_read(fd, &image) == 0)
			take_image(table, binary, &image, &fd);
		table->entries[binary].kind = BINARY_LIBRARY;
	}
	binary_table_use(table, binary);
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
	binary_table_use(table, binary);
	*ret_binary = binary;
	return 0;
}

int binary_table_find_kernel_image(struct binary_table *table, uint32_t image,
	const struct kernel_image *description, uint32_t *ret_binary)
{
	struct binary_identity identity = { .kind = IDENTITY_KERNEL, .first = image };
	uint32_t binary = binary_table_lookup(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = binary_table_add(
			table, &identity, BINARY_KERNEL, description->name, KERNEL_USER, &binary);
		if (r < 0)
			return r;
		table->entries[binary].build_id = description->build_id;
	}
	binary_table_use(table, binary);
	*ret_binary = binary;
	return 0;
}

int binary_table_find_jit(
	struct binary_table *table, pid_t pid, uint64_t process_start_ns, uint32_t *ret_binary)
{
	struct binary_identity identity = {
		.kind = IDENTITY_JIT,
		.first = (uint64_t)pid,
		.second = process_start_ns,
	};
	uint32_t binary = binary_table_lookup(table, &identity);
	int r;

	if (binary == HASH_INDEX_NONE) {
		r = binary_table_add(table, &identity, BINARY_JIT, "[JIT]", table->user, &binary);
		if (r < 0)
			return r;
	}
	binary_table_use(table, binary);
	*ret_binary = binary;
	return 0;
}

/* Finds or adds an entry that has no image and no symbols, and stands for another one. */
static int find_stand_in(struct binary_table *table, uint32_t binary,
	enum identity_kind identity_kind, enum binary_kind kind, uint32_t *ret_binary)
{
	struct binary_identity identity = { .kind = identity_kind, .first = binary };
	uint32_t stand_in = binary_table_lookup(table, &identity);
	int r;

	assert(binary < table->count);
	if (stand_in == HASH_INDEX_NONE) {
		r = binary_table_add(table, &identity, kind, table->entries[binary].path,
			table->entries[binary].user, &stand_in);
		if (r < 0)
			return r;
		table->entries[stand_in].build_id = table->entries[binary].build_id;
		table->entries[stand_in].attempts = OPEN_ATTEMPTS_MAX;
	}
	binary_table_use(table, stand_in);
	*ret_binary = stand_in;
	return 0;
}

int binary_table_find_unread(struct binary_table *table, uint32_t binary, uint32_t *ret_binary)
{
	assert(binary < table->count);
	return find_stand_in(
		table, binary, IDENTITY_UNREAD, table->entries[binary].kind, ret_binary);
}

int binary_table_find_interpreted(
	struct binary_table *table, uint32_t binary, enum binary_kind kind, uint32_t *ret_binary)
{
	return find_stand_in(table, binary, IDENTITY_INTERPRETED, kind, ret_binary);
}
