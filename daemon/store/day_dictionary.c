/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_KNOWN = UINT32_MAX, PATH_NODES = 512 };

int day_dictionary_init(struct day_dictionary *dictionary)
{
	*dictionary = (struct day_dictionary){ 0 };
	return day_tables_init(&dictionary->tables);
}

void day_dictionary_done(struct day_dictionary *dictionary)
{
	day_tables_done(&dictionary->tables);
	hash_index_done(&dictionary->binaries);
	id_index_done(&dictionary->locations);
	id_index_done(&dictionary->nodes);
	hash_index_done(&dictionary->threads);
}

uint64_t day_dictionary_content_bytes(const struct day_dictionary *dictionary)
{
	const struct day_tables *tables = &dictionary->tables;

	return tables->strings.size + tables->binaries.count * sizeof(*tables->binaries.items) +
	       tables->frames.count * sizeof(*tables->frames.items) +
	       tables->locations.count * sizeof(*tables->locations.items) +
	       tables->nodes.count * sizeof(*tables->nodes.items) +
	       tables->threads.count * sizeof(*tables->threads.items);
}

size_t day_dictionary_bytes(const struct day_dictionary *dictionary)
{
	return day_tables_bytes(&dictionary->tables) + hash_index_bytes(&dictionary->binaries) +
	       id_index_bytes(&dictionary->locations) + id_index_bytes(&dictionary->nodes) +
	       hash_index_bytes(&dictionary->threads);
}

/* --- identity --- */

static bool binary_equal(const void *owner, uint32_t id, const void *key)
{
	return profile_binary_equal(&((const struct day_tables *)owner)->binaries.items[id], key);
}

/*
 * A location with a name differs from the same location without one. Names come with later samples,
 * and a stored location never changes.
 */
struct location_key {
	const struct day_location *location;
	const struct profile_frame *frames;
};

static bool location_equal(const void *owner, uint32_t id, const void *key)
{
	const struct day_tables *tables = owner;
	const struct day_location *a = &tables->locations.items[id];
	const struct location_key *wanted = key;
	const struct day_location *b = wanted->location;

	if (a->address != b->address || a->binary != b->binary || a->function != b->function ||
		a->frame_count != b->frame_count)
		return false;
	return a->frame_count == 0 || memcmp(&tables->frames.items[a->first_frame], wanted->frames,
					      a->frame_count * sizeof(*wanted->frames)) == 0;
}

static uint64_t location_hash(
	const struct day_location *location, const struct profile_frame *frames)
{
	uint64_t name = 0;

	/* Many locations of JIT code may differ only in the line. */
	if (location->frame_count > 0)
		name = hash_pair((uint64_t)frames[0].function << 32 | frames[0].file,
			(uint64_t)frames[0].line << 32 | frames[0].column);
	return hash_pair(location->address,
		hash_pair((uint64_t)location->function << 32 | location->binary, name));
}

static bool node_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_node *a = &((const struct day_tables *)owner)->nodes.items[id];
	const struct profile_node *b = key;

	return a->parent == b->parent && a->location == b->location;
}

static uint64_t node_hash(const struct profile_node *node)
{
	return hash_pair(node->parent, node->location);
}

static uint64_t hash_location(const void *owner, uint32_t id)
{
	const struct day_tables *tables = owner;
	const struct day_location *location = &tables->locations.items[id];

	return location_hash(location,
		location->frame_count > 0 ? &tables->frames.items[location->first_frame] : NULL);
}

static uint64_t hash_node(const void *owner, uint32_t id)
{
	return node_hash(&((const struct day_tables *)owner)->nodes.items[id]);
}

static bool thread_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_thread *a = &((const struct day_tables *)owner)->threads.items[id];
	const struct profile_thread *b = key;

	return a->process_start_ns == b->process_start_ns && a->tgid == b->tgid &&
	       a->tid == b->tid && a->comm == b->comm && a->exe == b->exe &&
	       a->cgroup == b->cgroup && a->claims == b->claims && a->owner == b->owner;
}

static uint64_t thread_hash(const struct profile_thread *thread)
{
	return hash_pair(hash_pair(thread->tid, thread->tgid),
		hash_pair(thread->process_start_ns ^ thread->comm,
			(uint64_t)thread->exe << 32 | thread->cgroup));
}

/* --- indexing of elements read back --- */

static int index_one(struct hash_index *index, uint64_t hash, hash_index_equal equal,
	const struct day_tables *tables, uint32_t id, const void *key)
{
	int r;

	if (hash_index_find(index, hash, equal, tables, key) != HASH_INDEX_NONE)
		return -EBADMSG;
	r = hash_index_reserve(index);
	if (r == 0)
		hash_index_insert(index, hash, id);
	return r;
}

static int index_id(struct id_index *index, id_index_hash hash, id_index_equal equal,
	const struct day_tables *tables, uint32_t id, const void *key)
{
	uint64_t place = hash(tables, id);
	int r;

	if (id_index_find(index, place, equal, tables, key) != ID_INDEX_NONE)
		return -EBADMSG;
	r = id_index_reserve(index, hash, tables);
	if (r == 0)
		id_index_insert(index, place, id);
	return r;
}

int day_dictionary_index(struct day_dictionary *dictionary, const struct day_mark *from)
{
	const struct day_tables *tables = &dictionary->tables;
	int r = 0;

	for (uint32_t i = from->binaries; r == 0 && i < tables->binaries.count; i++) {
		const struct profile_binary *binary = &tables->binaries.items[i];

		r = index_one(&dictionary->binaries, profile_binary_hash(binary), binary_equal,
			tables, i, binary);
	}
	for (uint32_t i = from->locations; r == 0 && i < tables->locations.count; i++) {
		struct location_key key = { .location = &tables->locations.items[i] };

		if (key.location->frame_count > 0)
			key.frames = &tables->frames.items[key.location->first_frame];
		r = index_id(
			&dictionary->locations, hash_location, location_equal, tables, i, &key);
	}
	/* The root is in no index. */
	for (uint32_t i = from->nodes > 0 ? from->nodes : 1; r == 0 && i < tables->nodes.count;
		i++) {
		const struct profile_node *node = &tables->nodes.items[i];

		r = index_id(&dictionary->nodes, hash_node, node_equal, tables, i, node);
	}
	for (uint32_t i = from->threads; r == 0 && i < tables->threads.count; i++) {
		const struct profile_thread *thread = &tables->threads.items[i];

		r = index_one(
			&dictionary->threads, thread_hash(thread), thread_equal, tables, i, thread);
	}
	return r;
}

/* --- mapping of a profile's ids --- */

static int fresh_map(uint32_t **map, size_t count)
{
	*map = reallocarray(NULL, count ? count : 1, sizeof(**map));
	if (!*map)
		return -ENOMEM;
	return 0;
}

int day_mapping_init(struct day_mapping *mapping, const struct profile *profile, bool is_of_stacks)
{
	int r;

	*mapping = (struct day_mapping){ .profile = profile };
	r = fresh_map(&mapping->strings, profile->strings.count);
	if (r == 0 && !is_of_stacks)
		r = fresh_map(&mapping->threads, profile->threads.count);
	if (r == 0 && is_of_stacks)
		r = fresh_map(&mapping->binaries, profile->binaries.count);
	if (r == 0 && is_of_stacks)
		r = fresh_map(&mapping->locations, profile->locations.count);
	if (r == 0 && is_of_stacks)
		r = fresh_map(&mapping->nodes, profile->nodes.count);
	if (r < 0)
		day_mapping_done(mapping);
	else
		day_mapping_clear(mapping);
	return r;
}

static void clear_map(uint32_t *map, size_t count)
{
	if (map)
		memset(map, 0xff, count * sizeof(*map));
}

void day_mapping_clear(struct day_mapping *mapping)
{
	const struct profile *profile = mapping->profile;

	clear_map(mapping->strings, profile->strings.count);
	clear_map(mapping->binaries, profile->binaries.count);
	clear_map(mapping->locations, profile->locations.count);
	clear_map(mapping->nodes, profile->nodes.count);
	clear_map(mapping->threads, profile->threads.count);
	if (mapping->nodes)
		mapping->nodes[PROFILE_ROOT] = PROFILE_ROOT;
}

void day_mapping_done(struct day_mapping *mapping)
{
	free(mapping->strings);
	free(mapping->binaries);
	free(mapping->locations);
	free(mapping->nodes);
	free(mapping->threads);
	*mapping = (struct day_mapping){ 0 };
}

static int add_string(struct day_dictionary *dictionary, const char *string, uint32_t *ret_string)
{
	struct string_pool *strings = &dictionary->tables.strings;
	int r;

	/* The bound on bytes does not limit the strings' index, so this one must. */
	if (strings->count >= DAY_STRINGS_MAX && !dictionary->is_frozen)
		return -E2BIG;
	r = string_pool_intern_within(strings, string, strlen(string),
		dictionary->is_frozen ? 0 : strings->limit_bytes, ret_string);
	return r == -E2BIG && dictionary->is_frozen ? -EDQUOT : r;
}

static int find_string(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_string, uint32_t *ret_string)
{
	uint32_t *known = &mapping->strings[profile_string];
	int r;

	if (*known == NOT_KNOWN) {
		r = add_string(dictionary,
			string_pool_get(&mapping->profile->strings, profile_string), known);
		if (r < 0)
			return r;
	}
	*ret_string = *known;
	return 0;
}

static int add_binary(struct day_dictionary *dictionary, const struct profile_binary *binary,
	uint32_t *ret_binary)
{
	struct day_tables *tables = &dictionary->tables;
	uint64_t hash = profile_binary_hash(binary);
	uint32_t id = hash_index_find(&dictionary->binaries, hash, binary_equal, tables, binary);
	int r;

	if (id == HASH_INDEX_NONE) {
		id = (uint32_t)tables->binaries.count;
		r = dictionary->is_frozen ? -EDQUOT : hash_index_reserve(&dictionary->binaries);
		if (r == 0)
			r = day_tables_add_binary(tables, binary);
		if (r < 0)
			return r;
		hash_index_insert(&dictionary->binaries, hash, id);
	}
	*ret_binary = id;
	return 0;
}

static int find_binary(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_binary, uint32_t *ret_binary)
{
	struct profile_binary binary = mapping->profile->binaries.items[profile_binary];
	uint32_t *known = &mapping->binaries[profile_binary];
	int r;

	if (*known == NOT_KNOWN) {
		r = find_string(dictionary, mapping, binary.path, &binary.path);
		if (r == 0)
			r = add_binary(dictionary, &binary, known);
		if (r < 0)
			return r;
	}
	*ret_binary = *known;
	return 0;
}

/* Translates a location to the dictionary's ids. File names are not kept: they come late. */
static int translate_location(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_location, struct day_location *ret_location, struct profile_frame *frames)
{
	const struct profile *profile = mapping->profile;
	const struct profile_location *from = &profile->locations.items[profile_location];
	enum binary_kind kind = profile->binaries.items[from->binary].kind;
	struct day_location location = { .address = from->address };
	int r;

	r = find_binary(dictionary, mapping, from->binary, &location.binary);
	if (r == 0)
		r = find_string(dictionary, mapping, from->function, &location.function);
	/* The address of a synthetic location is an id of the profile. */
	if (kind == BINARY_SYNTHETIC)
		location.address = 0;
	if (kind != BINARY_EXECUTABLE && kind != BINARY_LIBRARY)
		location.frame_count = from->frame_count < DAY_FRAME_DEPTH_MAX
					       ? from->frame_count
					       : DAY_FRAME_DEPTH_MAX;
	for (uint32_t i = 0; r == 0 && i < location.frame_count; i++) {
		frames[i] = profile->frames.items[from->first_frame + i];
		r = find_string(dictionary, mapping, frames[i].function, &frames[i].function);
		if (r == 0)
			r = find_string(dictionary, mapping, frames[i].file, &frames[i].file);
	}
	if (r == 0)
		*ret_location = location;
	return r;
}

static int add_location(struct day_dictionary *dictionary, const struct day_location *location,
	const struct profile_frame *frames, uint32_t *ret_location)
{
	const struct location_key key = { .location = location, .frames = frames };
	struct day_tables *tables = &dictionary->tables;
	uint64_t hash = location_hash(location, frames);
	uint32_t id = id_index_find(&dictionary->locations, hash, location_equal, tables, &key);
	int r;

	if (id == ID_INDEX_NONE) {
		id = (uint32_t)tables->locations.count;
		r = dictionary->is_frozen
			    ? -EDQUOT
			    : id_index_reserve(&dictionary->locations, hash_location, tables);
		if (r == 0)
			r = day_tables_add_location(tables, location, frames);
		if (r < 0)
			return r;
		id_index_insert(&dictionary->locations, hash, id);
	}
	*ret_location = id;
	return 0;
}

static int find_location(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_location, uint32_t *ret_location)
{
	struct profile_frame frames[DAY_FRAME_DEPTH_MAX];
	uint32_t *known = &mapping->locations[profile_location];
	struct day_location location;
	int r;

	if (*known == NOT_KNOWN) {
		r = translate_location(dictionary, mapping, profile_location, &location, frames);
		if (r == 0)
			r = add_location(dictionary, &location, frames, known);
		if (r < 0)
			return r;
	}
	*ret_location = *known;
	return 0;
}

static int add_node(
	struct day_dictionary *dictionary, const struct profile_node *node, uint32_t *ret_node)
{
	struct day_tables *tables = &dictionary->tables;
	uint64_t hash = node_hash(node);
	uint32_t id = id_index_find(&dictionary->nodes, hash, node_equal, tables, node);
	int r;

	if (id == ID_INDEX_NONE) {
		id = (uint32_t)tables->nodes.count;
		r = dictionary->is_frozen ? -EDQUOT
					  : id_index_reserve(&dictionary->nodes, hash_node, tables);
		if (r == 0)
			r = day_tables_add_node(tables, node);
		if (r < 0)
			return r;
		id_index_insert(&dictionary->nodes, hash, id);
	}
	*ret_node = id;
	return 0;
}

/* Finds or adds a node whose parent is already mapped. */
static int find_node(
	struct day_dictionary *dictionary, struct day_mapping *mapping, uint32_t profile_node)
{
	const struct profile_node *from = &mapping->profile->nodes.items[profile_node];
	struct profile_node node = { .parent = mapping->nodes[from->parent] };
	int r = find_location(dictionary, mapping, from->location, &node.location);

	return r < 0 ? r : add_node(dictionary, &node, &mapping->nodes[profile_node]);
}

int day_dictionary_synthetic_node(
	struct day_dictionary *dictionary, const char *text, uint32_t *ret_node)
{
	const struct profile_binary binary = { .kind = BINARY_SYNTHETIC };
	struct day_location location = { .frame_count = 1 };
	struct profile_node node = { .parent = PROFILE_ROOT };
	struct profile_frame frame = { 0 };
	int r = add_string(dictionary, text, &frame.function);

	if (r == 0)
		r = add_binary(dictionary, &binary, &location.binary);
	if (r == 0)
		r = add_location(dictionary, &location, &frame, &node.location);
	return r < 0 ? r : add_node(dictionary, &node, ret_node);
}

int day_dictionary_node(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_node, uint32_t *ret_node)
{
	const struct profile_node *nodes = mapping->profile->nodes.items;
	uint32_t path[PATH_NODES];

	/*
	 * Starts at the nearest mapped ancestor. A stack deeper than the path takes several turns.
	 */
	while (mapping->nodes[profile_node] == NOT_KNOWN) {
		size_t depth = 0;
		int r = 0;

		for (uint32_t node = profile_node; mapping->nodes[node] == NOT_KNOWN;
			node = nodes[node].parent)
			path[depth++ % PATH_NODES] = node;
		for (size_t n = 0; r == 0 && n < PATH_NODES && n < depth; n++)
			r = find_node(dictionary, mapping, path[(depth - 1 - n) % PATH_NODES]);
		if (r < 0)
			return r;
	}
	*ret_node = mapping->nodes[profile_node];
	return 0;
}

static int add_thread(struct day_dictionary *dictionary, const struct profile_thread *thread,
	uint32_t *ret_thread)
{
	struct day_tables *tables = &dictionary->tables;
	uint64_t hash = thread_hash(thread);
	uint32_t id = hash_index_find(&dictionary->threads, hash, thread_equal, tables, thread);
	int r;

	if (id == HASH_INDEX_NONE) {
		id = (uint32_t)tables->threads.count;
		r = dictionary->is_frozen ? -EDQUOT : hash_index_reserve(&dictionary->threads);
		if (r == 0)
			r = day_tables_add_thread(tables, thread);
		if (r < 0)
			return r;
		hash_index_insert(&dictionary->threads, hash, id);
	}
	*ret_thread = id;
	return 0;
}

int day_dictionary_thread(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_thread, uint32_t *ret_thread)
{
	struct profile_thread thread = mapping->profile->threads.items[profile_thread];
	uint32_t *known = &mapping->threads[profile_thread];
	int r = 0;

	if (*known == NOT_KNOWN) {
		thread.process_start_ns -= thread.process_start_ns % DAY_START_UNIT_NS;
		thread.user = 0;
		r = find_string(dictionary, mapping, thread.comm, &thread.comm);
		if (r == 0)
			r = find_string(dictionary, mapping, thread.exe, &thread.exe);
		if (r == 0)
			r = find_string(dictionary, mapping, thread.cgroup, &thread.cgroup);
		if (r == 0)
			r = find_string(dictionary, mapping, thread.claims, &thread.claims);
		if (r == 0)
			r = add_thread(dictionary, &thread, known);
	}
	if (r == 0)
		*ret_thread = *known;
	return r;
}

int day_dictionary_nameless_thread(
	struct day_dictionary *dictionary, const char *comm, uint32_t owner, uint32_t *ret_thread)
{
	struct profile_thread thread = { .owner = owner };
	int r = add_string(dictionary, comm, &thread.comm);

	return r < 0 ? r : add_thread(dictionary, &thread, ret_thread);
}

static int copy_string(struct day_dictionary *dictionary, const struct day_tables *from,
	uint32_t from_string, uint32_t *ret_string)
{
	return add_string(dictionary, string_pool_get(&from->strings, from_string), ret_string);
}

int day_dictionary_folded_thread(struct day_dictionary *dictionary, const struct day_tables *from,
	uint32_t from_thread, uint32_t *ret_thread)
{
	const struct profile_thread *thread = &from->threads.items[from_thread];
	struct profile_thread folded = { .owner = thread->owner };
	int r = copy_string(dictionary, from, thread->comm, &folded.comm);

	if (r == 0)
		r = copy_string(dictionary, from, thread->exe, &folded.exe);
	if (r == 0)
		r = copy_string(dictionary, from, thread->cgroup, &folded.cgroup);
	if (r == 0)
		r = copy_string(dictionary, from, thread->claims, &folded.claims);
	return r < 0 ? r : add_thread(dictionary, &folded, ret_thread);
}
