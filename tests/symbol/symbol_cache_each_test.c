/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listing entries, and leaving foreign files alone. */
#include "symbol/symbol_cache.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

enum { BLOCK_BYTES = 4096, ENOUGH_BYTES = 1 << 30 };

struct listing {
	char text[2048];
	size_t entries;
	int stop_at, error;
	struct symbol_identity last;
};

static int list(void *context, const struct symbol_cache_entry *entry)
{
	struct listing *listing = context;
	size_t length = strlen(listing->text);

	if (entry->error == 0)
		assert_int_equal(entry->header.version, PILOTLIGHT_SYMBOL_VERSION);
	else
		assert_int_equal(entry->header.version, 0);
	(void)snprintf(listing->text + length, sizeof(listing->text) - length, "%02x%02x/%d/%d:%d ",
		entry->identity.id.bytes[0], entry->identity.id.bytes[1], entry->identity.id.size,
		entry->header.rank, entry->error);
	assert_non_null(strstr(entry->path, ".sym"));
	assert_int_equal(access(entry->path, F_OK), 0);
	return ++listing->entries == (size_t)listing->stop_at ? -ECANCELED : 0;
}

static void entries_are_listed_by_name(void **state)
{
	static const uint32_t numbers[] = { 0x0102, 0xff, 0x0a02, 0x0002, 0x0902 };
	struct symbol_identity hash = cache_fixture_identity(0x0902);
	struct symbol_identity ends_in_zeros = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID };
	struct listing listing = { .stop_at = 0 };
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct symbol_identity identity = cache_fixture_identity(numbers[i]);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 100), 0);
	}
	hash.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	assert_int_equal(cache_fixture_store(fixture.cache, &hash, 2, 100), 0);
	hash.kind = PILOTLIGHT_SYMBOL_OWNED;
	assert_int_equal(cache_fixture_store(fixture.cache, &hash, 4, 100), 0);
	ends_in_zeros.id = (struct build_id){ .bytes = { 0x20 }, .size = 8 };
	assert_int_equal(cache_fixture_store(fixture.cache, &ends_in_zeros, 3, 100), 0);
	assert_int_equal(
		cache_fixture_store_negative(&fixture, 0x30, 2 * SYMBOL_CACHE_NEGATIVE_S), 0);
	assert_int_equal(cache_fixture_damage(&fixture, 0x0a02), 0);

	assert_int_equal(symbol_cache_each(fixture.cache, false, list, &listing), 0);
	assert_string_equal(listing.text,
		"0200/20/1:0 0201/20/1:0 0209/20/2:0 0209/20/4:0 0209/20/1:0 "
		"020a/20/1:0 2000/8/3:0 3000/20/0:0 ff00/20/1:0 ");
	listing = (struct listing){ .stop_at = 0 };
	assert_int_equal(symbol_cache_each(fixture.cache, true, list, &listing), 0);
	assert_string_equal(listing.text,
		"0200/20/1:0 0201/20/1:0 0209/20/2:0 0209/20/4:0 0209/20/1:0 "
		"020a/20/0:-74 2000/8/3:0 3000/20/0:0 ff00/20/1:0 ");
	listing = (struct listing){ .stop_at = 3 };
	assert_int_equal(symbol_cache_each(fixture.cache, false, list, &listing), -ECANCELED);
	assert_int_equal(listing.entries, 3);
	cache_fixture_close(&fixture);
}

static int count_in_order(void *context, const struct symbol_cache_entry *entry)
{
	struct listing *listing = context;

	if (listing->entries++ > 0 &&
		memcmp(listing->last.id.bytes, entry->identity.id.bytes, BUILD_ID_BYTES) >= 0)
		listing->error++;
	listing->last = entry->identity;
	return entry->error;
}

/* Writes so many entries, whose last uses are a second apart: the first is used last. */
static void write_entries(const struct cache_fixture *fixture, uint32_t entries, time_t start)
{
	struct symbol_identity identity = cache_fixture_identity(7);
	struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];

	for (uint32_t i = 0; i < entries; i++) {
		/* Neither in the order of names nor in its reverse. */
		uint32_t number = (uint32_t)((uint64_t)i * 7919 % entries);
		_cleanup_close_ int fd = -1;

		identity.id.bytes[1] = (uint8_t)(number >> 8);
		identity.id.bytes[2] = (uint8_t)number;
		cache_fixture_build(&file, &identity, PILOTLIGHT_SYMBOL_RANK_NONE, 0);
		fd = open(cache_fixture_path(fixture, &identity, path),
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, file.bytes, file.size), file.size);
		assert_int_equal(cache_fixture_use_at(fixture, &identity, start - number), 0);
	}
}

/* More entries in one folder than one scan can hold. */
static void folders_larger_than_a_list_are_handled(void **state)
{
	enum { ENTRIES = 20000, LEFT = 10 };
	struct symbol_identity identity = cache_fixture_identity(7);
	struct listing listing = { .stop_at = 0 };
	struct symbol_cache_counters counters = { 0 };
	struct symbol_cache_pruned pruned;
	struct cache_fixture fixture;
	struct symbol_cache *cache;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	/* Makes the folder; later overwritten. */
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	write_entries(&fixture, ENTRIES, time(NULL) - 100);
	assert_int_equal(symbol_cache_each(fixture.cache, false, count_in_order, &listing), 0);
	assert_int_equal(listing.entries, ENTRIES);
	assert_int_equal(listing.error, 0);

	assert_int_equal(symbol_cache_prune(fixture.cache, 19000 * BLOCK_BYTES, true, &pruned), 0);
	assert_int_equal(pruned.entries, 1000);
	assert_int_equal(pruned.left_entries, 19000);

	/* The next stores find the folder over its bound. Of those that cannot wait, the first is
	 * accepted, because nothing lags behind yet, and the next are refused. */
	assert_int_equal(
		symbol_cache_open(fixture.folder, (LEFT + 1) * BLOCK_BYTES, &cache, NULL), 0);
	symbol_cache_set_patience(cache, 0);
	identity = cache_fixture_identity(7);
	for (uint64_t entries = 19000, bytes; entries > LEFT + 1;) {
		uint64_t before = counters.evicted;
		int expected = before == 0 || entries <= SYMBOL_CACHE_EVICTIONS_MAX ? 0 : -EBUSY;

		assert_int_equal(cache_fixture_store(cache, &identity, 1, 10), expected);
		symbol_cache_counters(cache, &counters);
		assert_in_range(counters.evicted - before, 1, SYMBOL_CACHE_EVICTIONS_MAX);
		assert_int_equal(symbol_cache_size(cache, &entries, &bytes), 0);
	}
	symbol_cache_free(cache);
	listing = (struct listing){ .stop_at = 0 };
	assert_int_equal(symbol_cache_each(fixture.cache, true, count_in_order, &listing), 0);
	assert_int_equal(listing.entries, LEFT + 1);
	for (uint32_t i = 0; i < LEFT; i++) {
		identity.id.bytes[1] = 0;
		identity.id.bytes[2] = (uint8_t)i;
		assert_true(cache_fixture_has(&fixture, &identity));
	}
	cache_fixture_close(&fixture);
}

static void make_weird(const struct cache_fixture *fixture, const char *elsewhere)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char *const names[] = { "11/notes.txt", "11/.sym", "11/.sym.sym", "11/5A.sym",
		"11/5.sym", "11/5a00.sym", "11/5a.htlhash.sym.x", "11/zz.sym",
		"11/5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.sym", "11/5a5a.SYM", "zz", "1", "111",
		"33" };
	char path[CACHE_FIXTURE_PATH_BYTES];

	assert_int_equal(chdir(fixture->folder), 0);
	assert_int_equal(mkdir("11", 0755), 0);
	assert_int_equal(mkdir("AA", 0755), 0);
	assert_int_equal(mkdir("44", 0755), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(cache_fixture_make_file(fixture->folder, names[i]), 0);
	/* Names of entries that are links, folders, pipes or sockets; and links to folders. */
	(void)snprintf(path, sizeof(path), "%s/file", elsewhere);
	assert_int_equal(symlink(path, "44/01.sym"), 0);
	assert_int_equal(mkdir("44/02.sym", 0755), 0);
	assert_int_equal(mkfifo("44/03.sym", 0644), 0);
	(void)strcpy(address.sun_path, "44/04.sym");
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(symlink(elsewhere, "22"), 0);
	assert_int_equal(chdir("/"), 0);
}

static void foreign_files_are_left_alone(void **state)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID, .id.size = 2 };
	char elsewhere[] = "/tmp/symbol-cache-XXXXXX", text[64];
	struct listing listing = { .stop_at = 0 };
	struct symbol_cache_pruned pruned;
	struct symbol_file_fixture file;
	struct cache_fixture fixture;
	_cleanup_close_ int fd = -1;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_non_null(mkdtemp(elsewhere));
	make_weird(&fixture, elsewhere);
	/* The link would lead to a valid entry. */
	identity.id.bytes[0] = 0x44;
	identity.id.bytes[1] = 1;
	cache_fixture_build(&file, &identity, 1, 10);
	(void)snprintf(text, sizeof(text), "%s/file", elsewhere);
	fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.bytes, file.size), file.size);

	for (uint8_t i = 1; i <= 4; i++) {
		identity.id.bytes[1] = i;
		assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	}
	identity.id.bytes[0] = 0x22;
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), -ENOTDIR);
	assert_int_equal(symbol_cache_remove(fixture.cache, &identity), -ENOENT);
	identity.id.bytes[0] = 0x33;
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	assert_int_equal(symbol_cache_remove(fixture.cache, &identity), -ENOENT);

	assert_int_equal(symbol_cache_each(fixture.cache, true, list, &listing), 0);
	/* The name of an identity of one byte; the file is empty. */
	assert_string_equal(listing.text, "1100/1/0:-74 ");
	assert_int_equal(symbol_cache_prune(fixture.cache, 0, true, &pruned), 0);
	assert_int_equal(pruned.entries, 1);
	assert_false(cache_fixture_has_file(fixture.folder, "11/.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "11/5a00.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "11/5A.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "44/01.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "44/02.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "44/03.sym"));
	assert_true(cache_fixture_has_file(fixture.folder, "44/04.sym"));
	assert_int_equal(access(text, F_OK), 0);

	/* A link in the place of an entry is replaced, not its target. */
	identity.id.bytes[0] = 0x44;
	identity.id.bytes[1] = 1;
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 3000), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	assert_true(lseek(fd, 0, SEEK_END) < 3000);
	identity.id.bytes[1] = 2;
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), -EISDIR);

	cache_fixture_remove_tree(elsewhere);
	cache_fixture_close(&fixture);
}

static void a_linked_folder_of_drafts_is_not_used(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	char elsewhere[] = "/tmp/symbol-cache-XXXXXX";
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_cache_pruned pruned;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_non_null(mkdtemp(elsewhere));
	(void)snprintf(path, sizeof(path), "%s/tmp", fixture.folder);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_int_equal(cache_fixture_make_file(elsewhere, "1-2.draft"), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), -ENOTDIR);
	assert_int_equal(symbol_cache_prune(fixture.cache, 0, false, &pruned), 0);
	assert_int_equal(pruned.drafts, 0);
	assert_true(cache_fixture_has_file(elsewhere, "1-2.draft"));
	cache_fixture_remove_tree(elsewhere);
	cache_fixture_close(&fixture);
}

static void failing_allocations_end_a_listing(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct listing listing;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	assert_true(FAIL_EACH_ALLOCATION(
			    (listing = (struct listing){ .stop_at = 0 },
				    symbol_cache_each(fixture.cache, true, list, &listing)),
			    -ENOMEM, listing.entries == 0, 0) >= 3);
	cache_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_listed_by_name),
		cmocka_unit_test(folders_larger_than_a_list_are_handled),
		cmocka_unit_test(foreign_files_are_left_alone),
		cmocka_unit_test(a_linked_folder_of_drafts_is_not_used),
		cmocka_unit_test(failing_allocations_end_a_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
