/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An unwinder with a stand-in for the sampler: arrays in memory, and its entries of files. Whenever
 * an entry with a table is put, the table is searched, as a program could from then on.
 */
#pragma once

#include "capture/walk_maps.h"
#include "tests/unwind/unwind_rows.h"
#include "tests/unwind/unwind_table_fixture.h"
#include "unwind/unwind_table.h"
#include "unwind/unwinder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 40, LINES = 100, RULES = 400, ESCAPES = 8, ENTRIES_MAX = 1100 };

/* The stand-in for the sampler. */
struct sampler {
	struct walk_maps maps; /* first: walk_maps_put_file() and the like get this */
	uint32_t pages[PAGES];
	struct pilotlight_unwind_line lines[LINES];
	struct pilotlight_unwind_rule rules[RULES];
	struct pilotlight_unwind_escape escapes[ESCAPES];
	struct sampler_entry {
		struct pilotlight_file_key key;
		struct pilotlight_walk_file file;
		bool has_entry;
	} entries[ENTRIES_MAX];
	size_t puts, drops;
	int put_error, drop_error, ask_error;
	struct unwinder *unwinder;
};

static struct unwind_table_fixture fixture;

/* --- the sampler --- */

static inline struct sampler_entry *find_entry(
	struct sampler *sampler, const struct pilotlight_file_key *key)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		if (sampler->entries[i].has_entry &&
			memcmp(&sampler->entries[i].key, key, sizeof(*key)) == 0)
			return &sampler->entries[i];
	return NULL;
}

/* Would a walk through the file find the file's own rules, which follow from its number? */
static inline bool reads_right(const struct sampler *sampler, const struct sampler_entry *entry)
{
	const struct pilotlight_unwind_summary summary = {
		.first_page = entry->file.first_page,
		.page_count = entry->file.page_count,
		.line_count = entry->file.line_count,
		.rule_count = entry->file.rule_count,
		.escape_count = entry->file.escape_count,
	};
	const struct unwind_table table = {
		.summary = &summary,
		.pages = &sampler->pages[entry->file.pages_at],
		.lines = &sampler->lines[entry->file.lines_at],
		.rules = &sampler->rules[entry->file.rules_at],
		.escapes = &sampler->escapes[entry->file.escapes_at],
	};
	uint32_t number = (uint32_t)entry->key.inode;
	struct unwind_row row;

	for (uint32_t page = 1; page <= summary.page_count; page++)
		if (!unwind_row_find(&table, page * 4096 + 1500, &row) ||
			row.start != page * 4096 + number % 1000 ||
			row.rule->offset != 8 * (2 + (int32_t)(number % 4)))
			return false;
	return summary.page_count > 0;
}

int walk_maps_put_file(const struct walk_maps *maps, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_file *file)
{
	struct sampler *sampler = (struct sampler *)maps;
	struct sampler_entry *entry = find_entry(sampler, key);

	sampler->puts++;
	if (sampler->put_error < 0)
		return sampler->put_error;
	for (size_t i = 0; i < ENTRIES_MAX && !entry; i++)
		if (!sampler->entries[i].has_entry)
			entry = &sampler->entries[i];
	if (!entry)
		return -E2BIG;
	*entry = (struct sampler_entry){ .key = *key, .file = *file, .has_entry = true };
	/* From here on a program may use it. */
	if (file->flags & PILOTLIGHT_FILE_HAS_TABLE)
		assert_true(reads_right(sampler, entry));
	return 0;
}

int walk_maps_drop_file(const struct walk_maps *maps, const struct pilotlight_file_key *key)
{
	struct sampler *sampler = (struct sampler *)maps;
	struct sampler_entry *entry = find_entry(sampler, key);

	sampler->drops++;
	if (sampler->drop_error < 0)
		return sampler->drop_error;
	assert_non_null(entry);
	entry->has_entry = false;
	return 0;
}

int walk_maps_used_window(
	const struct walk_maps *maps, const struct pilotlight_file_key *key, uint32_t *ret_window)
{
	struct sampler *sampler = (struct sampler *)maps;
	const struct sampler_entry *entry = find_entry(sampler, key);

	if (sampler->ask_error < 0)
		return sampler->ask_error;
	assert_non_null(entry);
	*ret_window = entry->file.used_window;
	return 0;
}

/* --- the unwinder --- */

static inline void reset(struct sampler *sampler)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->maps = (struct walk_maps){
		.sizes = { PAGES, LINES, RULES, ESCAPES },
		.pages = sampler->pages,
		.lines = sampler->lines,
		.rules = sampler->rules,
		.escapes = sampler->escapes,
	};
}

static inline void init(struct sampler *sampler, size_t files_max)
{
	struct unwinder_settings settings = {
		.maps = &sampler->maps,
		.files_max = files_max,
		.machine = EM_X86_64,
	};

	reset(sampler);
	assert_int_equal(unwinder_new(&settings, &sampler->unwinder), 0);
	unwinder_begin_window(sampler->unwinder, 1);
}

static inline void done(struct sampler *sampler)
{
	unwinder_free(sampler->unwinder);
}

static inline struct pilotlight_file_key key_of(uint32_t number)
{
	return (struct pilotlight_file_key){ .inode = number };
}

/* The number is also that of its binary. */
static inline uint32_t request(struct sampler *sampler, uint32_t number)
{
	struct pilotlight_file_key key = key_of(number);
	uint32_t id = UINT32_MAX;
	bool is_new;

	assert_int_equal(unwinder_request(sampler->unwinder, &key, number, &id, &is_new), 0);
	assert_int_equal(unwinder_binary(sampler->unwinder, id), number);
	return id;
}

static inline int set_built(struct sampler *sampler, uint32_t id)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = unwind_table_fixture_open(&fixture);

	assert_non_null(file);
	return unwinder_set_table(sampler->unwinder, id, file);
}

/* A table of `pages` pages takes one more of the array of pages, the first that is full. */
static inline int set_table(struct sampler *sampler, uint32_t id, uint32_t number, uint32_t pages)
{
	unwind_table_fixture_make(&fixture, pages, number);
	return set_built(sampler, id);
}

static inline uint32_t load(struct sampler *sampler, uint32_t number, uint32_t pages)
{
	uint32_t id = request(sampler, number);

	assert_int_equal(set_table(sampler, id, number, pages), 0);
	assert_int_equal(unwinder_file(sampler->unwinder, id)->state, WALK_FILE_LOADED);
	return id;
}

/* Notes a use, as the sampler does. */
static inline void use(struct sampler *sampler, uint32_t number, uint32_t window)
{
	struct pilotlight_file_key key = key_of(number);
	struct sampler_entry *entry = find_entry(sampler, &key);

	assert_non_null(entry);
	entry->file.used_window = window;
}

static inline const struct pilotlight_walk_file *entry_of(struct sampler *sampler, uint32_t number)
{
	struct pilotlight_file_key key = key_of(number);
	const struct sampler_entry *entry = find_entry(sampler, &key);

	return entry ? &entry->file : NULL;
}

static inline enum walk_file_state state_of(struct sampler *sampler, uint32_t id)
{
	const struct walk_file *file = unwinder_file(sampler->unwinder, id);

	assert_non_null(file);
	return file->state;
}

static inline struct unwinder_report report_of(struct sampler *sampler)
{
	struct unwinder_report report;

	unwinder_report(sampler->unwinder, &report);
	return report;
}

static inline void assert_no_reload(struct sampler *sampler)
{
	uint32_t id;

	assert_false(unwinder_next_reload(sampler->unwinder, &id));
}

static inline void assert_reload(struct sampler *sampler, uint32_t wanted)
{
	uint32_t id;

	assert_true(unwinder_next_reload(sampler->unwinder, &id));
	assert_int_equal(id, wanted);
}
