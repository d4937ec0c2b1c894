/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_store.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT_BITS_MIN = 6, GROWTH_MIN = 16, GROWTH_SHARE = 8 };

void code_store_done(struct code_store *store)
{
	free(store->entries);
	free(store->chains);
	free(store->text);
	*store = (struct code_store){ 0 };
}

/* By an eighth: several indexes share a small budget (I4). */
static size_t grown(size_t capacity, size_t count)
{
	size_t more = capacity + capacity / GROWTH_SHARE + GROWTH_MIN;

	if (count <= capacity)
		return capacity;
	return more > count ? more : count;
}

static size_t chains_for(const struct code_store *store, size_t count)
{
	size_t chains = store->chain_count ? store->chain_count : GROWTH_MIN;

	while (chains < count)
		chains *= 2;
	return chains;
}

size_t code_store_bytes_after(const struct code_store *store, size_t entries, size_t text_bytes)
{
	return grown(store->capacity, store->count + entries) * sizeof(*store->entries) +
	       chains_for(store, store->count + entries) * sizeof(*store->chains) +
	       grown(store->text_capacity, store->text_size + text_bytes);
}

/* --- chains --- */

/* Code of this size is not larger than 1 << bits bytes. */
static unsigned unit_bits(uint64_t size)
{
	unsigned bits = UNIT_BITS_MIN;

	while (bits < 64 && size > 1ULL << bits)
		bits += 2;
	return bits;
}

static uint64_t unit_of(uint64_t address, unsigned bits)
{
	return bits < 64 ? address >> bits : 0;
}

static uint32_t *chain_of(const struct code_store *store, uint64_t unit, unsigned bits)
{
	uint64_t hash = (unit * 64 + bits) * 0x9e3779b97f4a7c15U;

	return &store->chains[(hash >> 32) & (store->chain_count - 1)];
}

/* Links a fact behind those that are newer. False: those are too many. */
static bool link_entry(struct code_store *store, uint32_t id, size_t newer_max)
{
	struct code_entry *entry = &store->entries[id];
	const unsigned bits = unit_bits(entry->size);
	uint32_t *link = chain_of(store, unit_of(entry->address, bits), bits);

	for (size_t newer = 0; *link != CODE_NONE && !code_store_is_newer(store, id, *link);
		link = &store->entries[*link].next)
		if (newer++ == newer_max)
			return false;
	entry->next = *link;
	*link = id;
	store->sizes |= 1ULL << bits / 2;
	return true;
}

static int reserve_chains(struct code_store *store, size_t count)
{
	size_t chain_count = chains_for(store, count);
	uint32_t *chains;

	if (chain_count == store->chain_count)
		return 0;
	chains = malloc(chain_count * sizeof(*chains));
	if (!chains)
		return -ENOMEM;
	memset(chains, 0xff, chain_count * sizeof(*chains));
	free(store->chains);
	store->chains = chains;
	store->chain_count = chain_count;
	for (uint32_t id = 0; id < store->count; id++)
		(void)link_entry(store, id, SIZE_MAX);
	return 0;
}

/* --- facts --- */

int code_store_reserve(struct code_store *store, size_t entries, size_t text_bytes)
{
	size_t count = store->count + entries, text_size = store->text_size + text_bytes;
	int r = ARRAY_RESERVE(
		store->entries, &store->capacity, count, grown(store->capacity, count));

	if (r == 0)
		r = ARRAY_RESERVE(store->text, &store->text_capacity, text_size,
			grown(store->text_capacity, text_size));
	return r < 0 ? r : reserve_chains(store, count);
}

size_t code_store_text_bytes(size_t name_size, size_t lines_size)
{
	return name_size + 1 + (lines_size > 0 ? sizeof(uint32_t) + lines_size : 0);
}

static uint32_t add_text(struct code_store *store, const void *bytes, size_t size)
{
	uint32_t at = (uint32_t)store->text_size;

	assert(store->text_size + size <= store->text_capacity);
	memcpy(store->text + at, bytes, size);
	store->text_size += size;
	return at;
}

static uint32_t add_lines(struct code_store *store, const uint8_t *lines, size_t size)
{
	const uint32_t size32 = (uint32_t)size;
	uint32_t at;

	if (size == 0)
		return CODE_NONE;
	at = add_text(store, &size32, sizeof(size32));
	(void)add_text(store, lines, size);
	return at;
}

static bool overlaps(const struct code_entry *entry, const struct code_entry *other)
{
	return entry->address - other->address < other->size ||
	       other->address - entry->address < entry->size;
}

bool code_store_add(struct code_store *store, const struct code_entry *entry, const char *name,
	const uint8_t *lines, size_t lines_size, size_t late_max)
{
	uint32_t id = (uint32_t)store->count;
	struct code_entry *added = &store->entries[id];

	assert(store->count < store->capacity);
	*added = *entry;
	added->is_moved = false;
	added->name = CODE_NONE;
	if (!link_entry(store, id, late_max))
		return false;
	store->count++;
	store->replaced +=
		added->next != CODE_NONE && overlaps(added, &store->entries[added->next]);
	if (!name) {
		store->entries[entry->ended].is_moved = true;
		return true;
	}
	added->name = add_text(store, name, strlen(name) + 1);
	added->lines = add_lines(store, lines, lines_size);
	return true;
}

const uint8_t *code_store_lines(
	const struct code_store *store, const struct code_entry *entry, size_t *ret_size)
{
	uint32_t size;

	*ret_size = 0;
	if (code_entry_is_end(entry) || entry->lines == CODE_NONE)
		return NULL;
	memcpy(&size, store->text + entry->lines, sizeof(size));
	*ret_size = size;
	return (const uint8_t *)store->text + entry->lines + sizeof(size);
}

/* --- questions --- */

struct walk {
	const struct code_store *store;
	uint64_t address, time_ns;
	const struct code_view *view;
	size_t steps;
	uint32_t found;
	uint32_t passed; /* the newest fact that may stand for a dropped one: see code_store_find()
			  */
	uint64_t until_ns;
};

/* Until when the writer's facts count. */
static uint64_t view_until_ns(const struct code_view *view, uint32_t writer)
{
	return view && writer < view->count ? view->until_ns[writer] : UINT64_MAX;
}

static bool is_visible(const struct code_entry *entry, const struct code_view *view)
{
	if (!view)
		return true;
	if (entry->time_ns < view->since_ns)
		return false;
	return entry->writer >= view->count || entry->time_ns < view->until_ns[entry->writer];
}

/* Takes note of a fact that covers the address but is too late or hidden. */
static void pass_over(struct walk *walk, uint32_t id)
{
	const struct code_entry *entry = &walk->store->entries[id];

	if (entry->time_ns < walk->until_ns && is_visible(entry, walk->view))
		walk->until_ns = entry->time_ns;
	if (entry->time_ns >= walk->store->history_ns ||
		view_until_ns(walk->view, entry->writer) == 0)
		return;
	if (walk->passed == CODE_NONE || code_store_is_newer(walk->store, id, walk->passed))
		walk->passed = id;
}

/* False: the walk is too long. */
static bool walk_chain(struct walk *walk, uint64_t unit, unsigned bits)
{
	const struct code_store *store = walk->store;
	const struct code_entry *entry;

	for (uint32_t id = *chain_of(store, unit, bits); id != CODE_NONE; id = entry->next) {
		entry = &store->entries[id];
		if (walk->found != CODE_NONE && !code_store_is_newer(store, id, walk->found))
			return true;
		if (++walk->steps > CODE_WALK_MAX)
			return false;
		if (walk->address - entry->address >= entry->size || code_entry_is_end(entry))
			continue;
		if (entry->time_ns <= walk->time_ns && is_visible(entry, walk->view)) {
			walk->found = id;
			return true;
		}
		pass_over(walk, id);
	}
	return true;
}

/* Has the code been moved away by then? An end is newer than its code, so it comes before it. */
static bool is_ended(struct walk *walk)
{
	const struct code_entry *found = &walk->store->entries[walk->found], *entry;
	const unsigned bits = unit_bits(found->size);

	if (!found->is_moved)
		return false;
	for (uint32_t id = *chain_of(walk->store, unit_of(found->address, bits), bits);
		id != walk->found; id = entry->next) {
		entry = &walk->store->entries[id];
		if (!code_entry_is_end(entry) || entry->ended != walk->found ||
			!is_visible(entry, walk->view))
			continue;
		if (entry->time_ns <= walk->time_ns)
			return true;
		if (entry->time_ns < walk->until_ns)
			walk->until_ns = entry->time_ns;
	}
	return false;
}

/*
 * A fact before history_ns that the question passes over, and whose writer counts, may have
 * replaced a fact of that writer which has been dropped and was the answer. Anything older would be
 * a wrong name, so the answer is none.
 */
uint32_t code_store_find(const struct code_store *store, uint64_t address, uint64_t time_ns,
	const struct code_view *view, uint64_t *ret_until_ns)
{
	struct walk walk = {
		.store = store,
		.address = address,
		.time_ns = time_ns,
		.view = view,
		.found = CODE_NONE,
		.passed = CODE_NONE,
		.until_ns = UINT64_MAX,
	};

	for (uint64_t sizes = store->sizes; sizes > 0; sizes &= sizes - 1) {
		const unsigned bits = 2 * (unsigned)__builtin_ctzll(sizes);
		const uint64_t unit = unit_of(address, bits);

		if (!walk_chain(&walk, unit, bits) ||
			(unit > 0 && !walk_chain(&walk, unit - 1, bits)))
			return CODE_NONE;
	}
	if (walk.found == CODE_NONE || is_ended(&walk))
		return CODE_NONE;
	if (walk.passed != CODE_NONE && code_store_is_newer(store, walk.passed, walk.found))
		return CODE_NONE;
	*ret_until_ns = walk.until_ns;
	return walk.found;
}
