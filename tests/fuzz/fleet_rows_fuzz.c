/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of ClickHouse: three lengths of two bytes, then samples, stacks, locations and the rest,
 * names. Fuzz targets link the stages, not the commands, so the tested code is included here.
 */
#include "tools/fleet/fleet_profile.c"
#include "tools/fleet/fleet_rows.c"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct profile *profile)
{
	uint64_t sum = 0;

	assert(accounts_close(&profile->accounts));
	for (size_t i = 0; i < profile->samples.count; i++)
		sum += profile->samples.items[i].count;
	assert(sum == accounts_stored(&profile->accounts));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct clickhouse_answer table = { 0 };
	struct fleet_rows rows = { 0 };
	struct clickhouse_answer *const answers[] = { &rows.samples, &rows.stacks, &rows.locations,
		&rows.names };
	struct profile *profile;
	size_t at = 6;

	if (size < at || profile_new(1 << 20, &profile) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		size_t length = i < 3 ? bytes[2 * i] | (size_t)bytes[2 * i + 1] << 8 : size;

		if (length > size - at)
			length = size - at;
		answers[i]->bytes = (uint8_t *)bytes + at;
		answers[i]->size = length;
		at += length;
	}
	if (fleet_rows_stack_ids(&rows, &table) == 0)
		clickhouse_answer_done(&table);
	if (fleet_rows_location_ids(&rows, &table) == 0)
		clickhouse_answer_done(&table);
	if (fleet_rows_code(&rows, &table) == 0)
		clickhouse_answer_done(&table);
	if (fleet_profile_fill(&rows, profile) == 0)
		check(profile);
	profile_free(profile);
	return 0;
}
