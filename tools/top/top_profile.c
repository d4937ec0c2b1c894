/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_profile.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

struct node_key {
	uint32_t caller, name;
};

static bool node_equal(const void *owner, uint32_t id, const void *key)
{
	const struct top_profile *profile = owner;
	const struct node_key *requested = key;

	return profile->nodes[id].caller == requested->caller &&
	       profile->nodes[id].name == requested->name;
}

static uint64_t path_of(const struct top_profile *profile, uint32_t caller, uint32_t name)
{
	const char *text = string_pool_get(&profile->names, name);

	return hash_pair(profile->nodes[caller].path, hash_bytes(text, strlen(text)));
}

static int add_callee(
	struct top_profile *profile, const struct node_key *key, uint64_t hash, uint32_t *ret_node)
{
	struct top_node *caller;
	uint32_t node;
	int r = ARRAY_RESERVE(profile->nodes, &profile->node_capacity, profile->node_count + 1,
		TOP_PROFILE_NODES_MAX);

	if (r == 0)
		r = hash_index_reserve(&profile->index);
	if (r < 0)
		return r;
	node = (uint32_t)profile->node_count++;
	caller = &profile->nodes[key->caller];
	profile->nodes[node] = (struct top_node){
		.path = path_of(profile, key->caller, key->name),
		.name = key->name,
		.caller = key->caller,
		.first_callee = TOP_PROFILE_NONE,
		.next_callee = caller->first_callee,
		.depth = caller->depth + 1,
	};
	caller->first_callee = node;
	hash_index_insert(&profile->index, hash, node);
	*ret_node = node;
	return 0;
}

static int enter(struct top_profile *profile, uint32_t caller, const char *frame, size_t size,
	uint32_t *ret_node)
{
	struct node_key key = { .caller = caller };
	uint64_t hash;
	uint32_t node;
	int r;

	if (profile->nodes[caller].depth >= TOP_PROFILE_DEPTH_MAX)
		return -E2BIG;
	r = string_pool_intern(&profile->names, frame, size, &key.name);
	if (r < 0)
		return r;
	hash = hash_pair(key.caller, key.name);
	node = hash_index_find(&profile->index, hash, node_equal, profile, &key);
	if (node == HASH_INDEX_NONE)
		return add_callee(profile, &key, hash, ret_node);
	*ret_node = node;
	return 0;
}

static int find_function(struct top_profile *profile, uint32_t name, struct top_function **ret)
{
	int r = ARRAY_RESERVE(
		profile->functions, &profile->function_capacity, (size_t)name + 1, UINT32_MAX);

	if (r < 0)
		return r;
	while (profile->function_count <= name) {
		profile->functions[profile->function_count] =
			(struct top_function){ .name = (uint32_t)profile->function_count };
		profile->function_count++;
	}
	*ret = &profile->functions[name];
	return 0;
}

static int count_function(struct top_profile *profile, uint32_t name, uint64_t count, uint32_t line)
{
	struct top_function *function;
	int r = find_function(profile, name, &function);

	if (r < 0)
		return r;
	if (function->last_line != line)
		function->total += count;
	function->last_line = line;
	return 0;
}

/* `number` is the line's, from 1. */
static int add_stack(struct top_profile *profile, struct folded_line *line, uint32_t number)
{
	uint32_t node = TOP_PROFILE_ROOT;
	const char *frame;
	size_t size;
	int r = 0;

	profile->samples += line->count;
	profile->nodes[node].total += line->count;
	while (folded_line_next(line, &frame, &size)) {
		r = enter(profile, node, frame, size, &node);
		if (r < 0)
			break;
		profile->nodes[node].total += line->count;
		if (profile->nodes[node].depth > 1)
			r = count_function(profile, profile->nodes[node].name, line->count, number);
		if (r < 0)
			return r;
	}
	if (r == -E2BIG)
		profile->cut++;
	else if (r < 0)
		return r;
	profile->nodes[node].self += line->count;
	if (profile->nodes[node].depth > 1)
		profile->functions[profile->nodes[node].name].self += line->count;
	return 0;
}

/* Takes a line without its newline; `number` is the line's, from 1. Returns 0 or -ENOMEM. */
typedef int (*line_function)(
	struct top_profile *profile, const char *text, size_t size, uint32_t number);

static bool is_loss(const struct folded_line *line)
{
	struct folded_line copy = *line;
	const char *frame;
	size_t size;

	return folded_line_next(&copy, &frame, &size) && copy.is_done &&
	       folded_frame_is_loss(frame, size);
}

static int add_line(struct top_profile *profile, const char *text, size_t size, uint32_t number)
{
	struct folded_line line;

	if (folded_line_parse(text, size, &line) < 0 ||
		line.count > UINT64_MAX - profile->samples - profile->lost) {
		profile->damaged++;
		return 0;
	}
	if (!is_loss(&line))
		return add_stack(profile, &line, number);
	profile->lost += line.count;
	return 0;
}

static int add_lines(struct top_profile *profile, const char *text, size_t size, line_function add)
{
	const char *end = text + size;
	int r = 0;

	/* Beyond UINT32_MAX lines, last_line would not tell lines apart. */
	for (uint32_t number = 1; text < end && r == 0 && number < UINT32_MAX; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		r = add(profile, text, (size_t)(line_end - text), number);
		text = newline ? newline + 1 : end;
	}
	return r;
}

static int read_lines(
	const char *text, size_t size, line_function add, struct top_profile **ret_profile)
{
	_cleanup_(top_profile_freep) struct top_profile *profile = calloc(1, sizeof(*profile));
	int r;

	if (!profile)
		return -ENOMEM;
	r = string_pool_init(&profile->names, TOP_PROFILE_NAME_BYTES_MAX);
	if (r == 0)
		r = ARRAY_RESERVE(
			profile->nodes, &profile->node_capacity, 1, TOP_PROFILE_NODES_MAX);
	if (r < 0)
		return r;
	profile->nodes[profile->node_count++] = (struct top_node){
		.caller = TOP_PROFILE_NONE,
		.first_callee = TOP_PROFILE_NONE,
		.next_callee = TOP_PROFILE_NONE,
	};
	r = add_lines(profile, text, size, add);
	if (r < 0)
		return r;
	*ret_profile = TAKE_PTR(profile);
	return 0;
}

int top_profile_new(const char *text, size_t size, struct top_profile **ret_profile)
{
	int r = read_lines(text, size, add_line, ret_profile);

	if (r == 0)
		(*ret_profile)->has_tree = true;
	return r;
}

/* --- a table --- */

enum { FIELDS_MAX = 7 };

struct field {
	const char *text;
	size_t size;
};

/* Returns the number of fields, FIELDS_MAX at most. */
static size_t split(const char *text, size_t size, struct field fields[FIELDS_MAX])
{
	const char *end = text + size;

	for (size_t count = 1;; count++) {
		const char *tab = memchr(text, '\t', (size_t)(end - text));
		const char *field_end = tab && count < FIELDS_MAX ? tab : end;

		fields[count - 1] = (struct field){ text, (size_t)(field_end - text) };
		if (field_end == end)
			return count;
		text = field_end + 1;
	}
}

static bool parse_count(const struct field *field, uint64_t *ret_count)
{
	uint64_t count = 0;

	for (size_t i = 0; i < field->size; i++)
		if (field->text[i] < '0' || field->text[i] > '9' ||
			__builtin_mul_overflow(count, 10, &count) ||
			__builtin_add_overflow(count, (uint64_t)(field->text[i] - '0'), &count))
			return false;
	*ret_count = count;
	return field->size > 0;
}

/* A name beyond the bound is left out, with its row. */
static int intern(struct top_profile *profile, const struct field *field, uint32_t *ret_name)
{
	return string_pool_intern(&profile->names, field->text, field->size, ret_name);
}

static int add_thread(struct top_profile *profile, const struct field fields[FIELDS_MAX])
{
	uint64_t samples;
	uint32_t node;
	int r;

	if (!parse_count(&fields[1], &samples))
		return -EINVAL;
	r = enter(profile, TOP_PROFILE_ROOT, fields[2].text, fields[2].size, &node);
	if (r == 0)
		profile->nodes[node].total = profile->nodes[node].self = samples;
	return r;
}

static int add_function(struct top_profile *profile, const struct field fields[FIELDS_MAX])
{
	struct top_function function = { 0 };
	int r;

	if (!parse_count(&fields[1], &function.self) || !parse_count(&fields[2], &function.total))
		return -EINVAL;
	r = intern(profile, &fields[3], &function.unit);
	if (r == 0)
		r = intern(profile, &fields[4], &function.thread);
	if (r == 0)
		r = intern(profile, &fields[5], &function.binary);
	if (r == 0)
		r = intern(profile, &fields[6], &function.name);
	if (r == 0)
		r = ARRAY_RESERVE(profile->functions, &profile->function_capacity,
			profile->function_count + 1, TOP_PROFILE_NODES_MAX);
	if (r == 0)
		profile->functions[profile->function_count++] = function;
	return r;
}

static int add_row(struct top_profile *profile, const char *text, size_t size, uint32_t number)
{
	struct field fields[FIELDS_MAX];
	size_t count = split(text, size, fields);
	int r = -EINVAL;

	(void)number;
	if (fields[0].size != 1)
		r = -EINVAL;
	else if (*text == 'S' && count == 3)
		r = parse_count(&fields[1], &profile->samples) &&
				    parse_count(&fields[2], &profile->lost)
			    ? 0
			    : -EINVAL;
	else if (*text == 'T' && count == 3)
		r = add_thread(profile, fields);
	else if (*text == 'F' && count == FIELDS_MAX)
		r = add_function(profile, fields);
	profile->damaged += r == -EINVAL;
	profile->cut += r == -E2BIG;
	return r == -ENOMEM ? r : 0;
}

int top_profile_read_table(const char *text, size_t size, struct top_profile **ret_profile)
{
	return read_lines(text, size, add_row, ret_profile);
}

void top_profile_free(struct top_profile *profile)
{
	if (!profile)
		return;
	string_pool_done(&profile->names);
	hash_index_done(&profile->index);
	free(profile->nodes);
	free(profile->functions);
	free(profile);
}

const char *top_profile_name(const struct top_profile *profile, uint32_t name, size_t *ret_size,
	enum folded_kind *ret_kind)
{
	const char *text = string_pool_get(&profile->names, name);

	*ret_kind = folded_frame_kind(text, strlen(text), ret_size);
	return text;
}
