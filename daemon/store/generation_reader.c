/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/generation_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_KNOWN = UINT32_MAX };

static int make_map(uint32_t **ret_map, size_t count)
{
	*ret_map = reallocarray(NULL, count ? count : 1, sizeof(**ret_map));
	if (!*ret_map)
		return -ENOMEM;
	memset(*ret_map, 0xff, count * sizeof(**ret_map));
	return 0;
}

static int make_maps(struct generation_reader *reader)
{
	const struct day_tables *tables = &reader->tables;

	if (make_map(&reader->strings, tables->strings.count) < 0 ||
		make_map(&reader->binaries, tables->binaries.count) < 0 ||
		make_map(&reader->locations, tables->locations.count) < 0 ||
		make_map(&reader->nodes, tables->nodes.count) < 0 ||
		make_map(&reader->threads, tables->threads.count) < 0)
		return -ENOMEM;
	reader->nodes[PROFILE_ROOT] = PROFILE_ROOT;
	reader->node_is_needed = calloc(tables->nodes.count, sizeof(*reader->node_is_needed));
	return reader->node_is_needed ? 0 : -ENOMEM;
}

/* Asks which binaries are wanted. One pass marks the nodes: parents come before children. */
static int ask_for_binaries(struct generation_reader *reader)
{
	const struct store_selection *selection = reader->selection;
	const struct day_tables *tables = &reader->tables;
	_cleanup_free_ bool *wanted = NULL;

	if (!selection->wants_binary)
		return 0;
	wanted = calloc(tables->binaries.count + 1, sizeof(*wanted));
	reader->node_is_wanted = calloc(tables->nodes.count, sizeof(*reader->node_is_wanted));
	if (!wanted || !reader->node_is_wanted)
		return -ENOMEM;
	for (size_t i = 0; i < tables->binaries.count; i++) {
		const struct profile_binary *binary = &tables->binaries.items[i];

		wanted[i] = selection->wants_binary(selection->context, binary,
			string_pool_get(&tables->strings, binary->path));
	}
	for (size_t i = 1; i < tables->nodes.count; i++) {
		const struct profile_node *node = &tables->nodes.items[i];

		reader->node_is_wanted[i] = reader->node_is_wanted[node->parent] ||
					    wanted[tables->locations.items[node->location].binary];
	}
	return 0;
}

int generation_reader_load(struct generation_reader *reader, struct day_database *database,
	int64_t generation, struct fault *fault)
{
	int r;

	generation_reader_done(reader);
	r = day_tables_init(&reader->tables);
	if (r == 0)
		r = day_database_load(database, reader->part, generation, &reader->tables, fault);
	if (r == 0)
		r = make_maps(reader);
	if (r == 0)
		r = ask_for_binaries(reader);
	reader->generation = generation;
	if (r < 0)
		generation_reader_done(reader);
	return r;
}

void generation_reader_done(struct generation_reader *reader)
{
	day_tables_done(&reader->tables);
	free(reader->strings);
	free(reader->binaries);
	free(reader->locations);
	free(reader->nodes);
	free(reader->threads);
	free(reader->node_is_wanted);
	free(reader->node_is_needed);
	reader->strings = reader->binaries = reader->locations = NULL;
	reader->nodes = reader->threads = NULL;
	reader->node_is_wanted = reader->node_is_needed = NULL;
}

static int carry_string(struct generation_reader *reader, uint32_t string, uint32_t *ret_string)
{
	uint32_t *known = &reader->strings[string];
	int r;

	if (*known == NOT_KNOWN) {
		r = profile_add_string(
			reader->profile, string_pool_get(&reader->tables.strings, string), known);
		if (r < 0)
			return r;
	}
	*ret_string = *known;
	return 0;
}

static bool binary_equal(const void *owner, uint32_t id, const void *key)
{
	return profile_binary_equal(&((const struct profile *)owner)->binaries.items[id], key);
}

static int carry_binary(struct generation_reader *reader, uint32_t number, uint32_t *ret_binary)
{
	struct profile_binary binary = reader->tables.binaries.items[number];
	uint32_t id = reader->binaries[number];
	uint64_t hash;
	int r;

	if (id == NOT_KNOWN) {
		r = carry_string(reader, binary.path, &binary.path);
		if (r < 0)
			return r;
		hash = profile_binary_hash(&binary);
		id = hash_index_find(
			reader->binary_index, hash, binary_equal, reader->profile, &binary);
		if (id == HASH_INDEX_NONE) {
			r = hash_index_reserve(reader->binary_index);
			if (r == 0)
				r = profile_add_binary(reader->profile, &binary, &id);
			if (r < 0)
				return r;
			hash_index_insert(reader->binary_index, hash, id);
		}
		reader->binaries[number] = id;
	}
	*ret_binary = id;
	return 0;
}

static int carry_frames(struct generation_reader *reader, const struct day_location *location,
	struct profile_frame frames[DAY_FRAME_DEPTH_MAX])
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < location->frame_count; i++) {
		frames[i] = reader->tables.frames.items[location->first_frame + i];
		r = carry_string(reader, frames[i].function, &frames[i].function);
		if (r == 0)
			r = carry_string(reader, frames[i].file, &frames[i].file);
	}
	return r;
}

/* Copies a location in a binary, with its frames, if any. */
static int carry_place(
	struct generation_reader *reader, const struct day_location *location, uint32_t *ret_id)
{
	struct profile_frame frames[DAY_FRAME_DEPTH_MAX];
	struct profile *profile = reader->profile;
	uint32_t binary = 0;
	int r = carry_binary(reader, location->binary, &binary);

	if (r == 0)
		r = carry_frames(reader, location, frames);
	if (r < 0)
		return r;
	if (location->function > 0 && location->frame_count == 1)
		return profile_add_jit_location(profile, binary, location->address, frames, ret_id);
	r = profile_add_location(profile, binary, location->address, ret_id);
	if (r < 0 || location->frame_count == 0 ||
		profile->locations.items[*ret_id].frame_count > 0)
		return r;
	return profile_name_location(profile, *ret_id, frames, location->frame_count);
}

static int carry_location(struct generation_reader *reader, uint32_t number, uint32_t *ret_location)
{
	const struct day_location *location = &reader->tables.locations.items[number];
	struct profile *profile = reader->profile;
	uint32_t id = reader->locations[number], function;
	const struct day_tables *tables = &reader->tables;
	int r = 0;

	if (id == NOT_KNOWN && tables->binaries.items[location->binary].kind == BINARY_SYNTHETIC) {
		function = location->frame_count > 0
				   ? tables->frames.items[location->first_frame].function
				   : location->function;
		r = profile_add_synthetic(
			profile, string_pool_get(&tables->strings, function), &id);
	} else if (id == NOT_KNOWN) {
		r = carry_place(reader, location, &id);
	}
	if (r < 0)
		return r;
	reader->locations[number] = id;
	*ret_location = id;
	return 0;
}

/* Copies a node whose parent is already mapped. */
static int carry_node(struct generation_reader *reader, uint32_t number)
{
	const struct profile_node *node = &reader->tables.nodes.items[number];
	uint32_t location;
	int r = carry_location(reader, node->location, &location);

	return r < 0 ? r
		     : profile_add_node(reader->profile, reader->nodes[node->parent], location,
			       &reader->nodes[number]);
}

/* One pass in order of ids suffices: parents come before children. */
int generation_reader_carry(struct generation_reader *reader)
{
	const struct profile_node *nodes = reader->tables.nodes.items;
	uint32_t count = (uint32_t)reader->tables.nodes.count;
	int r = 0;

	for (uint32_t i = count - 1; i > PROFILE_ROOT; i--)
		if (reader->node_is_needed[i] && reader->nodes[i] == NOT_KNOWN)
			reader->node_is_needed[nodes[i].parent] = true;
	for (uint32_t i = 1; r == 0 && i < count; i++)
		if (reader->node_is_needed[i] && reader->nodes[i] == NOT_KNOWN)
			r = carry_node(reader, i);
	memset(reader->node_is_needed, 0, count * sizeof(*reader->node_is_needed));
	return r;
}

static bool is_wanted(const struct generation_reader *reader, const struct profile_thread *thread)
{
	const struct store_selection *selection = reader->selection;
	const struct string_pool *strings = &reader->tables.strings;

	return !selection->wants_thread ||
	       selection->wants_thread(selection->context,
		       &(struct store_thread){
			       .process_start_ns = thread->process_start_ns,
			       .tgid = thread->tgid,
			       .tid = thread->tid,
			       .owner = thread->owner,
			       .comm = string_pool_get(strings, thread->comm),
			       .exe = string_pool_get(strings, thread->exe),
			       .cgroup = string_pool_get(strings, thread->cgroup),
			       .claims = string_pool_get(strings, thread->claims),
		       });
}

static void forget_process(struct profile_thread *thread)
{
	thread->process_start_ns = 0;
	thread->tgid = thread->tid = 0;
}

int generation_reader_thread(
	struct generation_reader *reader, uint32_t number, uint32_t *ret_thread)
{
	const struct store_selection *selection = reader->selection;
	struct profile_thread thread = reader->tables.threads.items[number];
	uint32_t id = reader->threads[number];
	int r = 0;

	if (selection->merges_threads && !selection->wants_processes)
		forget_process(&thread);
	if (id == NOT_KNOWN && !is_wanted(reader, &thread)) {
		id = THREAD_NOT_WANTED;
	} else if (id == NOT_KNOWN) {
		if (selection->merges_threads)
			forget_process(&thread);
		r = carry_string(reader, thread.comm, &thread.comm);
		if (r == 0)
			r = carry_string(reader, thread.exe, &thread.exe);
		if (r == 0)
			r = carry_string(reader, thread.cgroup, &thread.cgroup);
		if (r == 0)
			r = carry_string(reader, thread.claims, &thread.claims);
		if (r == 0)
			r = profile_add_thread(reader->profile, &thread, &id);
	}
	if (r < 0)
		return r;
	reader->threads[number] = id;
	*ret_thread = id;
	return 0;
}
