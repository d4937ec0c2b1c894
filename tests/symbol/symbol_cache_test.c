/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void entries_are_found_again(void **state)
{
	struct symbol_cache_counters counters;
	struct symbol_identity identity = cache_fixture_identity(7);
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;
	struct stat status;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	assert_string_equal(symbol_cache_directory(fixture.cache), fixture.folder);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 2, 10), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 2);
	(void)snprintf(path, sizeof(path), "%s/07/005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.sym",
		fixture.folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.missed, 1);
	assert_int_equal(counters.found, 1);
	assert_int_equal(counters.stored, 1);

	assert_int_equal(symbol_cache_remove(fixture.cache, &identity), 0);
	assert_int_equal(symbol_cache_remove(fixture.cache, &identity), -ENOENT);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	identity = cache_fixture_identity(8);
	assert_int_equal(symbol_cache_remove(fixture.cache, &identity), -ENOENT);
	cache_fixture_close(&fixture);
}

/* Stored under either form and found by both: 1 to 20 bytes, with any number of zeros at the end.
 */
static void padded_identities_are_equal(void **state)
{
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	for (uint8_t size = 1; size <= BUILD_ID_BYTES; size++)
		for (uint8_t zeros = 0; zeros<size; zeros += size> 8 ? 5 : 1) {
			struct symbol_identity whole = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID };
			struct symbol_identity padded;

			whole.id.size = size;
			memset(whole.id.bytes, 0xb0 + size, (size_t)(size - zeros));
			padded = cache_fixture_padded(&whole);
			assert_int_equal(cache_fixture_store(fixture.cache, &whole, 1, 10), 0);
			assert_int_equal(cache_fixture_find(fixture.cache, &padded), 1);
			assert_int_equal(cache_fixture_find(fixture.cache, &whole), 1);
			assert_int_equal(cache_fixture_store(fixture.cache, &padded, 2, 10), 0);
			assert_int_equal(cache_fixture_find(fixture.cache, &whole), 2);
			assert_int_equal(
				cache_fixture_store(fixture.cache, &whole, 1, 10), -EEXIST);
			assert_int_equal(symbol_cache_remove(fixture.cache, &whole), 0);
			assert_int_equal(cache_fixture_find(fixture.cache, &padded), -ENOENT);
		}
	cache_fixture_close(&fixture);
}

static void kinds_of_identity_are_distinct(void **state)
{
	struct symbol_identity id = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID, .id.size = 16 };
	struct symbol_identity hash, owned;
	struct cache_fixture fixture;

	memset(id.id.bytes, 0xc3, 16);
	hash = id;
	hash.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	owned = id;
	owned.kind = PILOTLIGHT_SYMBOL_OWNED;
	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	assert_int_equal(cache_fixture_store(fixture.cache, &hash, 1, 10), 0);
	assert_true(cache_fixture_has(&fixture, &hash));
	assert_int_equal(cache_fixture_find(fixture.cache, &id), -ENOENT);
	assert_int_equal(cache_fixture_store(fixture.cache, &owned, 2, 10), 0);
	assert_true(cache_fixture_has(&fixture, &owned));
	assert_int_equal(cache_fixture_find(fixture.cache, &id), -ENOENT);
	assert_int_equal(cache_fixture_store(fixture.cache, &id, 3, 10), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &hash), 1);
	assert_int_equal(cache_fixture_find(fixture.cache, &id), 3);
	assert_int_equal(cache_fixture_find(fixture.cache, &owned), 2);
	assert_int_equal(symbol_cache_remove(fixture.cache, &owned), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &id), 3);
	cache_fixture_close(&fixture);
}

static void lower_ranks_do_not_replace(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;
	uint64_t refused = 0;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	for (int first = 1; first <= 4; first++)
		for (int second = 1; second <= 4; second++) {
			int r;

			assert_int_equal(cache_fixture_store(
						 fixture.cache, &identity, (unsigned int)first, 10),
				0);
			/* Larger, to distinguish two entries of equal rank. */
			r = cache_fixture_store(
				fixture.cache, &identity, (unsigned int)second, 5000);
			assert_int_equal(r, second < first ? -EEXIST : 0);
			refused += second < first;
			assert_int_equal(cache_fixture_find(fixture.cache, &identity),
				second < first ? first : second);
			r = symbol_cache_put_negative(
				fixture.cache, &identity, PILOTLIGHT_SYMBOL_TIMEOUT, "x");
			assert_int_equal(r, -EEXIST);
			refused++;
			assert_int_equal(symbol_cache_remove(fixture.cache, &identity), 0);
		}
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.refused, refused);
	cache_fixture_close(&fixture);
}

static void equal_ranks_replace(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;
	struct stat status;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 3, 10), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 3, 9000), 0);
	assert_int_equal(stat(cache_fixture_path(&fixture, &identity, path), &status), 0);
	assert_true(status.st_size > 9000);
	cache_fixture_close(&fixture);
}

static void negative_entries_record_the_reason(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache *cache;
	struct cache_fixture fixture;
	struct symbol_file *file;
	char origin[400];

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	cache = fixture.cache;
	for (size_t i = 0; i < 100; i++)
		memcpy(origin + 3 * i, "/é", 3);
	(void)strcpy(origin + 300, "/end\xff");
	assert_int_equal(symbol_cache_put_negative(
				 cache, &identity, PILOTLIGHT_SYMBOL_TOO_BIG, "/bin/short"),
		0);
	assert_int_equal(symbol_cache_find(cache, &identity, &file), 0);
	assert_int_equal(symbol_file_header(file)->rank, PILOTLIGHT_SYMBOL_RANK_NONE);
	assert_int_equal(symbol_file_header(file)->failure, PILOTLIGHT_SYMBOL_TOO_BIG);
	assert_string_equal(symbol_file_header(file)->origin, "/bin/short");
	symbol_file_free(file);

	assert_int_equal(
		symbol_cache_put_negative(cache, &identity, PILOTLIGHT_SYMBOL_DAMAGED, origin), 0);
	assert_int_equal(symbol_cache_find(cache, &identity, &file), 0);
	assert_int_equal(symbol_file_header(file)->failure, PILOTLIGHT_SYMBOL_DAMAGED);
	assert_true(strlen(symbol_file_header(file)->origin) >= 124);
	assert_memory_equal(symbol_file_header(file)->origin, "…", 3);
	assert_non_null(strstr(symbol_file_header(file)->origin, "é/é/end\xef\xbf\xbd"));
	for (const char *at = symbol_file_header(file)->origin + 3; *at; at++)
		if (*at == (char)0xc3)
			at++;
		else
			assert_true(*at != (char)0xa9);
	symbol_file_free(file);

	assert_int_equal(
		symbol_cache_put_negative(cache, &identity, PILOTLIGHT_SYMBOL_NO_SPACE, ""),
		-EINVAL);
	assert_int_equal(
		symbol_cache_put_negative(cache, &identity, PILOTLIGHT_SYMBOL_OK, ""), -EINVAL);
	assert_int_equal(
		symbol_cache_put_negative(cache, &identity, PILOTLIGHT_SYMBOL_FAILURES, NULL),
		-EINVAL);
	assert_int_equal(
		symbol_cache_put_negative(cache, &identity, PILOTLIGHT_SYMBOL_CRASHED, NULL), 0);
	assert_int_equal(cache_fixture_store(cache, &identity, 1, 10), 0);
	assert_int_equal(cache_fixture_find(cache, &identity), 1);
	cache_fixture_close(&fixture);
}

static void negative_entries_expire(void **state)
{
	static const struct {
		int64_t age_s;
		bool is_expired;
	} cases[] = { { 0, false }, { SYMBOL_CACHE_NEGATIVE_S - 1000, false },
		{ SYMBOL_CACHE_NEGATIVE_S, true }, { INT64_C(1000000000), true }, { -1000, true } };
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_file_fixture file;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cache_fixture_build(&file, &identity, PILOTLIGHT_SYMBOL_RANK_NONE, 0);
		symbol_file_fixture_header(&file)->created_s -= (uint64_t)cases[i].age_s;
		symbol_file_fixture_seal(file.bytes, file.size);
		assert_int_equal(
			cache_fixture_commit_bytes(fixture.cache, &identity, file.bytes, file.size),
			0);
		/* Using it does not extend its lifetime. */
		assert_int_equal(cache_fixture_age(&fixture, &identity, 0), 0);
		assert_int_equal(cache_fixture_find(fixture.cache, &identity),
			cases[i].is_expired ? -ENOENT : 0);
		assert_int_equal(cache_fixture_has(&fixture, &identity), !cases[i].is_expired);
	}
	/* Other entries do not expire. */
	cache_fixture_build(&file, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, 10);
	symbol_file_fixture_header(&file)->created_s = 5;
	symbol_file_fixture_seal(file.bytes, file.size);
	assert_int_equal(
		cache_fixture_commit_bytes(fixture.cache, &identity, file.bytes, file.size), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	cache_fixture_close(&fixture);
}

enum damage {
	EMPTY,
	SHORT_HEADER,
	SHORT,
	OTHER_IDENTITY,
	HEADER,
	DAMAGES_OF_HEADER,
	CONTENTS = DAMAGES_OF_HEADER,
	DAMAGES
};

static void build_damaged(struct symbol_file_fixture *file, const struct symbol_identity *identity,
	enum damage damage)
{
	const struct symbol_identity other = cache_fixture_identity(2);

	cache_fixture_build(file, damage == OTHER_IDENTITY ? &other : identity, 1, 100);
	if (damage == EMPTY)
		file->size = 0;
	else if (damage == SHORT_HEADER)
		file->size = 100;
	else if (damage == SHORT)
		file->size--;
	else if (damage == HEADER)
		file->bytes[100] ^= 1;
	else if (damage == CONTENTS)
		file->bytes[file->size - 5] ^= 1;
}

static void damaged_entries_are_removed(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_counters counters;
	struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;
	uint64_t damaged = 0;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	(void)cache_fixture_path(&fixture, &identity, path);
	for (int i = 0; i < DAMAGES; i++) {
		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
		build_damaged(&file, &identity, (enum damage)i);
		assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);
		assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
		assert_false(cache_fixture_has(&fixture, &identity));
		symbol_cache_counters(fixture.cache, &counters);
		assert_int_equal(counters.damaged, ++damaged);
	}
	cache_fixture_close(&fixture);
}

static void damaged_entries_have_no_rank(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_counters counters;
	struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	(void)cache_fixture_path(&fixture, &identity, path);
	/* The header is valid and has a high rank. */
	cache_fixture_build(&file, &identity, 4, 100);
	file.bytes[file.size - 5] ^= 1;
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 4, 100), 0);
	assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.damaged, 1);
	assert_int_equal(counters.refused, 0);

	/* It is of another identity and has a high rank. */
	identity = cache_fixture_identity(2);
	cache_fixture_build(&file, &identity, 4, 100);
	assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);
	identity = cache_fixture_identity(1);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	cache_fixture_close(&fixture);
}

static void other_versions_are_left_alone(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_counters counters;
	struct symbol_cache_pruned pruned;
	struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	(void)cache_fixture_path(&fixture, &identity, path);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	cache_fixture_build(&file, &identity, 4, 100);
	symbol_file_fixture_header(&file)->version++;
	symbol_file_fixture_seal(file.bytes, file.size);
	assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);

	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(
		symbol_cache_prune(fixture.cache, SYMBOL_CACHE_BYTES_DEFAULT, true, &pruned), 0);
	assert_int_equal(pruned.entries, 0);
	assert_int_equal(pruned.left_entries, 1);
	assert_int_equal(
		symbol_cache_put_negative(fixture.cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x"),
		-EEXIST);
	assert_true(cache_fixture_has(&fixture, &identity));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.damaged, 0);
	cache_fixture_close(&fixture);
}

static void peek_reads_the_header(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(0);
	struct symbol_identity padded, negative = cache_fixture_identity(2);
	struct pilotlight_symbol_header header = { .rank = 77 };
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;
	struct symbol_file *file;

	identity.id.size = 8;
	memset(identity.id.bytes + 6, 0, BUILD_ID_BYTES - 6);
	padded = cache_fixture_padded(&identity);
	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), -ENOENT);
	assert_int_equal(header.rank, 77);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 3, 5000), 0);
	assert_int_equal(symbol_cache_peek(fixture.cache, &padded, &header), 0);
	assert_int_equal(symbol_cache_find(fixture.cache, &identity, &file), 0);
	assert_memory_equal(&header, symbol_file_header(file), sizeof(header));
	symbol_file_free(file);

	assert_int_equal(symbol_cache_put_negative(
				 fixture.cache, &negative, PILOTLIGHT_SYMBOL_TIMEOUT, "/bin/x"),
		0);
	assert_int_equal(symbol_cache_peek(fixture.cache, &negative, &header), 0);
	assert_int_equal(header.rank, PILOTLIGHT_SYMBOL_RANK_NONE);
	assert_int_equal(header.failure, PILOTLIGHT_SYMBOL_TIMEOUT);
	assert_int_equal(
		cache_fixture_store_negative(&fixture, 3, SYMBOL_CACHE_NEGATIVE_S + 10), 0);
	negative = cache_fixture_identity(3);
	assert_int_equal(symbol_cache_peek(fixture.cache, &negative, &header), -ENOENT);
	assert_false(cache_fixture_has(&fixture, &negative));
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.found, 3);
	assert_int_equal(counters.missed, 2);
	assert_int_equal(counters.damaged, 0);
	cache_fixture_close(&fixture);
}

static void peek_checks_the_header(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct pilotlight_symbol_header header = { .rank = 77 };
	struct symbol_cache_counters counters;
	struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, SYMBOL_CACHE_BYTES_DEFAULT));
	(void)cache_fixture_path(&fixture, &identity, path);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	for (int i = 0; i < DAMAGES_OF_HEADER; i++) {
		build_damaged(&file, &identity, (enum damage)i);
		assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);
		assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), -ENOENT);
		assert_false(cache_fixture_has(&fixture, &identity));
	}
	cache_fixture_build(&file, &identity, 1, 100);
	symbol_file_fixture_header(&file)->version++;
	symbol_file_fixture_seal(file.bytes, file.size);
	assert_int_equal(cache_fixture_overwrite(path, file.bytes, file.size), 0);
	assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), -ENOENT);
	assert_true(cache_fixture_has(&fixture, &identity));
	assert_int_equal(header.rank, 77);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.damaged, 5);
	assert_int_equal(counters.missed, 6);

	/* Only a find detects damage after the header. */
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	assert_int_equal(cache_fixture_damage(&fixture, 1), 0);
	assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), 0);
	assert_int_equal(header.rank, 1);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), -ENOENT);

	/* Links are not followed. */
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	(void)snprintf(path, sizeof(path), "%s/01/005a5a.sym", fixture.folder);
	assert_int_equal(symlink("005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.sym", path), 0);
	identity.id.size = 4;
	memset(identity.id.bytes + 4, 0, BUILD_ID_BYTES - 4);
	assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), -ENOENT);
	assert_true(cache_fixture_has_file(fixture.folder, "01/005a5a.sym"));
	cache_fixture_close(&fixture);
}

static void only_valid_files_are_committed(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_identity other = cache_fixture_identity(2);
	struct symbol_cache_counters counters;
	struct symbol_file_fixture file;
	struct cache_fixture fixture;
	struct symbol_cache *cache;

	assert_true(cache_fixture_open(&fixture, 64 * 1024));
	cache = fixture.cache;
	cache_fixture_build(&file, &identity, 1, 100);
	assert_int_equal(
		cache_fixture_commit_bytes(cache, &other, file.bytes, file.size), -EBADMSG);
	assert_int_equal(
		cache_fixture_commit_bytes(cache, &identity, file.bytes, file.size - 1), -EBADMSG);
	assert_int_equal(cache_fixture_commit_bytes(cache, &identity, "", 0), -EBADMSG);
	symbol_file_fixture_header(&file)->version++;
	symbol_file_fixture_seal(file.bytes, file.size);
	assert_int_equal(
		cache_fixture_commit_bytes(cache, &identity, file.bytes, file.size), -EBADMSG);
	cache_fixture_build(&file, &identity, 5, 100);
	assert_int_equal(
		cache_fixture_commit_bytes(cache, &identity, file.bytes, file.size), -EBADMSG);
	symbol_cache_free(cache);
	assert_int_equal(symbol_cache_open(fixture.folder, 8192, &cache, NULL), 0);
	fixture.cache = cache;
	assert_int_equal(cache_fixture_store(cache, &identity, 1, 8192), -EFBIG);
	assert_false(cache_fixture_has(&fixture, &identity));
	symbol_cache_counters(cache, &counters);
	assert_int_equal(counters.stored, 0);
	cache_fixture_close(&fixture);
}

static int use_all(const char *folder)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_identity evicted = cache_fixture_identity(2);
	_cleanup_free_ char *directory = NULL;
	struct symbol_cache_pruned pruned;
	int r;

	r = symbol_cache_default_directory(&directory);
	if (r == 0)
		r = symbol_cache_open(folder, 4096, &cache, NULL);
	if (r == 0)
		r = symbol_cache_put_negative(cache, &evicted, PILOTLIGHT_SYMBOL_CRASHED, "origin");
	if (r == 0)
		r = cache_fixture_store(cache, &identity, 1, 100);
	if (r == 0)
		r = cache_fixture_find(cache, &identity);
	if (r == 1)
		r = symbol_cache_prune(cache, 0, true, &pruned);
	if (r == 0)
		r = pruned.entries >= 1 && pruned.left_entries == 0 ? 0 : -EILSEQ;
	return r;
}

/* Only an eviction may fail silently. */
static void failing_allocations_are_reported(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct cache_fixture fixture;
	size_t n, silent = 0;
	int r, found;

	assert_true(cache_fixture_open(&fixture, 1 << 20));
	assert_int_equal(setenv("PILOTLIGHT_SYMBOL_CACHE", "/else", 1), 0);
	for (n = 0;; n++) {
		(void)symbol_cache_remove(fixture.cache, &identity);
		fail_allocation(n);
		r = use_all(fixture.folder);
		if (!allocation_failed())
			break;
		if (r == 0)
			silent++;
		else
			assert_int_equal(r, -ENOMEM);
		found = cache_fixture_find(fixture.cache, &identity);
		assert_true(found == 0 || found == 1 || found == -ENOENT);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 9);
	assert_true(silent <= 1);
	cache_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_found_again),
		cmocka_unit_test(padded_identities_are_equal),
		cmocka_unit_test(kinds_of_identity_are_distinct),
		cmocka_unit_test(lower_ranks_do_not_replace),
		cmocka_unit_test(equal_ranks_replace),
		cmocka_unit_test(negative_entries_record_the_reason),
		cmocka_unit_test(negative_entries_expire),
		cmocka_unit_test(damaged_entries_are_removed),
		cmocka_unit_test(damaged_entries_have_no_rank),
		cmocka_unit_test(other_versions_are_left_alone),
		cmocka_unit_test(peek_reads_the_header),
		cmocka_unit_test(peek_checks_the_header),
		cmocka_unit_test(only_valid_files_are_committed),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
