/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kernel_images.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* The number of BPF programs over time has no limit, so this leaves room for modules. */
	SYMBOL_IMAGES_MAX = KERNEL_IMAGES_MAX / 8 * 7,
	NAME_BYTES_MAX = KERNEL_IMAGES_MAX * 128,
	NOTES_BYTES_MAX = 16 * 1024,
	NOTE_ALIGNMENT = 4,
};

struct kernel_image_entry {
	uint32_t name;
	enum kernel_image_kind kind;
	bool is_current; /* no later image has its name */
	struct build_id build_id;
};

struct image_key {
	enum kernel_image_kind kind;
	const char *name; /* cleaned, as in the pool */
};

static bool is_current_image(const void *owner, uint32_t id, const void *wanted)
{
	const struct kernel_images *images = owner;
	const struct kernel_image_entry *entry = &images->entries[id];
	const struct image_key *key = wanted;

	return entry->is_current && entry->kind == key->kind &&
	       strcmp(string_pool_get(&images->names, entry->name), key->name) == 0;
}

static uint64_t hash_key(const struct image_key *key)
{
	return hash_pair(hash_bytes(key->name, strlen(key->name)), key->kind);
}

/* Interns the name last, so a refused image leaves nothing behind. */
static int add(struct kernel_images *images, const struct image_key *key, uint32_t *ret_image)
{
	size_t limit = key->kind == KERNEL_IMAGE_SYMBOL ? SYMBOL_IMAGES_MAX : KERNEL_IMAGES_MAX;
	uint64_t hash = hash_key(key);
	uint32_t name;
	int r;

	if (images->count >= limit)
		return -E2BIG;
	r = ARRAY_RESERVE(images->entries, &images->capacity, images->count + 1, KERNEL_IMAGES_MAX);
	if (r < 0)
		return r;
	r = hash_index_reserve(&images->index);
	if (r < 0)
		return r;
	r = string_pool_intern(&images->names, key->name, strlen(key->name), &name);
	if (r < 0)
		return r;
	*ret_image = (uint32_t)images->count++;
	images->entries[*ret_image] = (struct kernel_image_entry){
		.name = name,
		.kind = key->kind,
		.is_current = true,
	};
	hash_index_insert(&images->index, hash, *ret_image);
	return 0;
}

int kernel_images_init(struct kernel_images *images)
{
	static const char kernel[] = "[kernel.kallsyms]";
	uint32_t image;
	int r;

	*images = (struct kernel_images){ 0 };
	r = string_pool_init(&images->names, NAME_BYTES_MAX);
	if (r == 0)
		r = kernel_images_intern(
			images, KERNEL_IMAGE_KERNEL, kernel, strlen(kernel), &image);
	if (r < 0)
		kernel_images_done(images);
	return r;
}

void kernel_images_done(struct kernel_images *images)
{
	free(images->entries);
	string_pool_done(&images->names);
	hash_index_done(&images->index);
	*images = (struct kernel_images){ 0 };
}

int kernel_images_intern(struct kernel_images *images, enum kernel_image_kind kind,
	const char *name, size_t size, uint32_t *ret_image)
{
	char clean[UTF8_CLEAN_BYTES];
	struct image_key key = { .kind = kind, .name = clean };
	uint32_t image;

	(void)utf8_clean(clean, name, size);
	image = hash_index_find(&images->index, hash_key(&key), is_current_image, images, &key);
	if (image == HASH_INDEX_NONE)
		return add(images, &key, ret_image);
	*ret_image = image;
	return 0;
}

/* Rounds up to the next part of a note. 64 bits hold any sum of these sizes. */
static uint64_t align_note(uint64_t size)
{
	return (size + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
}

static int find_build_id(const uint8_t *notes, size_t size, struct build_id *ret_id)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t description, end;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		description = at + sizeof(note) + align_note(note.n_namesz);
		end = description + note.n_descsz;
		if (end > size)
			return -EINVAL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			memcmp(notes + at + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
			return build_id_set(ret_id, notes + description, note.n_descsz);
		if (align_note(end) > size)
			return -ENOENT;
		at = align_note(end);
	}
	return -ENOENT;
}

static int read_notes(int fd, struct build_id *ret_id)
{
	uint8_t notes[NOTES_BYTES_MAX];
	size_t used = 0;
	ssize_t size;

	do {
		size = read(fd, notes + used, sizeof(notes) - used);
		if (size < 0 && errno != EINTR)
			return -errno;
		if (size > 0)
			used += (size_t)size;
	} while (size != 0 && used < sizeof(notes));
	return find_build_id(notes, used, ret_id);
}

static int read_build_id(const struct kernel_images *images, struct broker *broker, uint32_t image,
	struct build_id *ret_id)
{
	const struct kernel_image_entry *entry = &images->entries[image];
	_cleanup_close_ int fd = -1;
	int r;

	if (entry->kind == KERNEL_IMAGE_KERNEL)
		r = broker_open_kernel_file(broker, BROKER_KERNEL_NOTES, &fd);
	else
		r = broker_open_module_note(
			broker, string_pool_get(&images->names, entry->name), &fd);
	return r < 0 ? r : read_notes(fd, ret_id);
}

int kernel_images_read_build_id(
	struct kernel_images *images, struct broker *broker, uint32_t *image)
{
	struct kernel_image_entry *entry = &images->entries[*image];
	char name[UTF8_CLEAN_BYTES];
	struct image_key key = { .kind = entry->kind, .name = name };
	struct build_id id;
	uint32_t successor;
	int r;

	if (read_build_id(images, broker, *image, &id) < 0)
		return 0;
	if (entry->build_id.size == 0)
		entry->build_id = id;
	if (build_id_equal(&entry->build_id, &id))
		return 0;
	/* Copies the name, since interning may move the pool's strings. */
	(void)snprintf(name, sizeof(name), "%s", string_pool_get(&images->names, entry->name));
	r = add(images, &key, &successor);
	if (r < 0)
		return r;
	images->entries[*image].is_current = false;
	images->entries[successor].build_id = id;
	*image = successor;
	return 0;
}

const char *kernel_images_name(const struct kernel_images *images, uint32_t image)
{
	assert(image < images->count);
	return string_pool_get(&images->names, images->entries[image].name);
}

const struct build_id *kernel_images_build_id(const struct kernel_images *images, uint32_t image)
{
	assert(image < images->count);
	return &images->entries[image].build_id;
}

size_t kernel_images_bytes(const struct kernel_images *images)
{
	return images->capacity * sizeof(*images->entries) + string_pool_bytes(&images->names) +
	       hash_index_bytes(&images->index);
}
