/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/walk_maps.h"
#include "unwind/unwinder_state.h"

uint64_t unwinder_weight(const struct unwinder *unwinder, const struct table_extent *extent)
{
	const struct walk_map_sizes *sizes = &unwinder->maps->sizes;
	const uint64_t entries[TABLE_ARRAYS] = {
		[TABLE_PAGES] = sizes->pages,
		[TABLE_LINES] = sizes->lines,
		[TABLE_RULES] = sizes->rules,
		[TABLE_ESCAPES] = sizes->escapes,
	};
	uint64_t most = 1;

	for (int i = 0; i < TABLE_ARRAYS; i++) {
		uint64_t part = (uint64_t)extent->entries[i] * UNWINDER_WHOLE_PPM;

		if (entries[i] > 0 && part / entries[i] > most)
			most = part / entries[i];
	}
	return most;
}

void unwinder_charge(struct unwinder *unwinder, const struct walk_file *file, uint32_t number)
{
	struct shared_table *table = shared_tables_get(unwinder->tables, number);

	if (table->users > 1)
		return;
	table->user = file->user;
	user_share_add(&unwinder->share, table->user, unwinder_weight(unwinder, &table->extent));
}

void unwinder_release(struct unwinder *unwinder, uint32_t number)
{
	const struct shared_table *table = shared_tables_get(unwinder->tables, number);

	if (table->users == 1)
		user_share_remove(
			&unwinder->share, table->user, unwinder_weight(unwinder, &table->extent));
	shared_tables_release(unwinder->tables, number);
}
