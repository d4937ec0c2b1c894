/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/symbol_identity.h"
#include "tests/symbol/elf_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t build_id[20] = { 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
	13, 14, 15, 0xa0 };

/* Byte i of the hashed files. */
static int patterned_fd(size_t size)
{
	static uint8_t bytes[10000];

	assert_true(size <= sizeof(bytes));
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + 3);
	return fixture_bytes_fd(bytes, size);
}

static void assert_formats_as(const struct symbol_identity *identity, const char *wanted)
{
	char text[SYMBOL_IDENTITY_TEXT_BYTES];

	assert_ptr_equal(symbol_identity_format(identity, text), text);
	assert_string_equal(text, wanted);
}

/* The digests were computed with sha256sum(1). */
static void hash_covers_both_ends_and_the_length(void **state)
{
	static const struct {
		size_t size;
		const char *text;
	} files[] = {
		{ 1, "htlhash:7a60908fc4d8e26999280e6ae45c3688" },
		{ 100, "htlhash:e259c8c51316b8eaffdc6cf6d58fe122" },
		{ 4096, "htlhash:4cdb9f62104345f9dbb1263b7f5cce39" },
		{ 5000, "htlhash:6b2b1300713c5a2e3dd2b55a3a2c9eab" },
		{ 10000, "htlhash:2ca07b427f49027278dbe1cf19e34b38" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_close_ int fd = patterned_fd(files[i].size);
		struct symbol_identity identity;
		off_t position = lseek(fd, 1, SEEK_SET);

		assert_int_equal(symbol_identity_hash_file(fd, &identity), 0);
		assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_HTLHASH);
		assert_int_equal(identity.id.size, 16);
		assert_formats_as(&identity, files[i].text);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), position);
	}
}

static void empty_and_special_files_have_no_hash(void **state)
{
	_cleanup_close_ int empty = patterned_fd(0);
	_cleanup_close_ int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int device = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID }, before = identity;

	assert_int_equal(symbol_identity_hash_file(empty, &identity), -EINVAL);
	assert_int_equal(symbol_identity_hash_file(folder, &identity), -EINVAL);
	assert_int_equal(symbol_identity_hash_file(device, &identity), -EINVAL);
	assert_int_equal(symbol_identity_hash_file(-1, &identity), -EBADF);
	assert_memory_equal(&identity, &before, sizeof(identity));
}

static void unreadable_files_are_errors(void **state)
{
	char path[] = "/tmp/symbol_identity_test.XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	_cleanup_close_ int write_only = open(path, O_WRONLY | O_CLOEXEC);
	struct symbol_identity identity;

	(void)unlink(path);
	assert_true(fd >= 0 && write_only >= 0);
	assert_int_equal(ftruncate(fd, 1000), 0);
	assert_int_equal(symbol_identity_hash_file(write_only, &identity), -EBADF);
	assert_int_equal(symbol_identity_read_file(write_only, &identity), -EBADF);
}

static void build_id_takes_precedence_over_the_hash(void **state)
{
	static struct fixture fixture;
	struct symbol_identity identity, hash;

	fixture.build_id = build_id;
	fixture.build_id_bytes = sizeof(build_id);
	fixture_build(&fixture);
	{
		_cleanup_close_ int fd = fixture_fd(&fixture);

		assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
		assert_formats_as(&identity, "deadbeef0102030405060708090a0b0c0d0e0fa0");
	}
	fixture.build_id_bytes = 0;
	fixture_build(&fixture);
	{
		_cleanup_close_ int fd = fixture_fd(&fixture);

		assert_int_equal(symbol_identity_hash_file(fd, &hash), 0);
		assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
		assert_true(symbol_identity_equal(&identity, &hash));
	}
}

/* The digests were computed with sha256sum(1). */
static void untrusted_files_have_an_identity_of_their_owner(void **state)
{
	const struct file_owner trusted = { .is_trusted = true, .uid = 1000 };
	const struct file_owner one = { .uid = 1000 }, other = { .uid = 1001 };
	struct symbol_identity identity, hash, owned;
	struct build_id id, padded;
	uint32_t uid;

	assert_int_equal(build_id_set(&id, build_id, sizeof(build_id)), 0);
	identity = symbol_identity_of_build_id(&id);
	owned = symbol_identity_of_owner(&identity, &trusted);
	assert_true(symbol_identity_equal(&owned, &identity));
	owned = symbol_identity_of_owner(&identity, &one);
	assert_int_equal(owned.id.size, 20);
	assert_formats_as(&owned, "owned:a469806ee263d51fb6c970244c29c10c000003e8");
	assert_true(symbol_identity_find_owner(&owned, &uid));
	assert_int_equal(uid, 1000);
	assert_false(symbol_identity_find_owner(&identity, &uid));
	owned = symbol_identity_of_owner(&identity, &other);
	assert_formats_as(&owned, "owned:2ab4cd1cfd18826908c6636e9cd39709000003e9");
	/* A hash with the same bytes is another identity. */
	hash = identity;
	hash.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	hash = symbol_identity_of_owner(&hash, &other);
	assert_false(symbol_identity_equal(&hash, &owned));
	/* The kernel does not report the length. */
	assert_int_equal(build_id_set(&id, "\x01\x02\x03\x00", 4), 0);
	build_id_set_padded(&padded, id.bytes);
	identity = symbol_identity_of_build_id(&id);
	owned = symbol_identity_of_owner(&identity, &one);
	identity = symbol_identity_of_build_id(&padded);
	identity = symbol_identity_of_owner(&identity, &one);
	assert_true(symbol_identity_equal(&owned, &identity));
}

static void the_owner_of_the_file_decides_the_identity(void **state)
{
	struct build_id none = { .size = 0 }, id;
	struct symbol_identity identity, owned;
	_cleanup_close_ int fd = patterned_fd(500);

	assert_int_equal(build_id_set(&id, build_id, sizeof(build_id)), 0);
	assert_int_equal(symbol_identity_of_binary(-1, &none, &identity), -ENOENT);
	assert_int_equal(symbol_identity_of_binary(1 << 20, &id, &identity), -EBADF);
	assert_int_equal(symbol_identity_of_binary(-1, &id, &identity), 0);
	assert_formats_as(&identity, "deadbeef0102030405060708090a0b0c0d0e0fa0");
	assert_int_equal(symbol_identity_of_binary(fd, &id, &identity), 0);
	assert_formats_as(&identity, "deadbeef0102030405060708090a0b0c0d0e0fa0");
	assert_int_equal(symbol_identity_of_binary(fd, &none, &identity), 0);
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_HTLHASH);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(symbol_identity_of_binary(fd, &none, &owned), 0);
	assert_int_equal(owned.kind, PILOTLIGHT_SYMBOL_OWNED);
	assert_int_equal(symbol_identity_of_binary(fd, &id, &identity), 0);
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_OWNED);
	assert_false(symbol_identity_equal(&identity, &owned));
}

/* The kernel reports such an id as none, and all such binaries would share it. */
static void build_ids_of_zeros_are_ignored(void **state)
{
	static const uint8_t zeros[20];
	static struct fixture fixture;
	struct symbol_identity identity;

	fixture.build_id = zeros;
	fixture.build_id_bytes = sizeof(zeros);
	fixture_build(&fixture);
	_cleanup_close_ int fd = fixture_fd(&fixture);

	assert_int_equal(symbol_identity_read_file(fd, &identity), 0);
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_HTLHASH);
}

static void only_elf_files_have_an_identity(void **state)
{
	_cleanup_close_ int fd = patterned_fd(500);
	struct symbol_identity identity;

	assert_int_equal(symbol_identity_read_file(fd, &identity), -ENOEXEC);
}

static void zeros_at_the_end_are_padding(void **state)
{
	struct build_id with_zero, padded;
	struct symbol_identity a, b;

	assert_int_equal(build_id_set(&with_zero, "\x01\x02\x03\x00", 4), 0);
	build_id_set_padded(&padded, with_zero.bytes);
	assert_int_equal(padded.size, 3);
	a = symbol_identity_of_build_id(&with_zero);
	b = symbol_identity_of_build_id(&padded);
	assert_true(symbol_identity_equal(&a, &b));
	b.id.bytes[2] = 4;
	assert_false(symbol_identity_equal(&a, &b));
	b = a;
	b.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	assert_false(symbol_identity_equal(&a, &b));
}

static void formatted_text_parses_to_the_same_identity(void **state)
{
	static const char *const texts[] = {
		"01",
		"00ff",
		"0102030405060708",
		"deadbeef0102030405060708090a0b0c0d0e0fa0",
		"owned:a469806ee263d51fb6c970244c29c10c000003e8",
		"htlhash:0f1e2d3c4b5a69788796a5b4c3d2e1f0",
	};
	struct symbol_identity identity, upper;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(symbol_identity_parse(texts[i], &identity), 0);
		assert_formats_as(&identity, texts[i]);
	}
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_HTLHASH);
	assert_int_equal(identity.id.size, 16);
	assert_int_equal(symbol_identity_parse("deadBEEF", &identity), 0);
	assert_int_equal(symbol_identity_parse("DEADBEEF", &upper), 0);
	assert_true(symbol_identity_equal(&identity, &upper));
	assert_formats_as(&upper, "deadbeef");
}

static void invalid_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "1", "abc", "0g", "g0", "00", "0000000000000000000000000000000000000000",
		"deadbeef0102030405060708090a0b0c0d0e0fa0b0",
		"deadbeef0102030405060708090a0b0c0d0e0fa0b", " 01", "01 ", "0x01",
		"htlhash:", "htlhash:00", "HTLHASH:01", "htlhash:htlhash:01", "owned:", "owned:00",
		"owned:htlhash:01", "01/../02",
		"\xd9\xa1\xd9\xa2", /* digits, of another alphabet */
	};
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID }, before = identity;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(symbol_identity_parse(texts[i], &identity), -EINVAL);
	assert_memory_equal(&identity, &before, sizeof(identity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_covers_both_ends_and_the_length),
		cmocka_unit_test(empty_and_special_files_have_no_hash),
		cmocka_unit_test(unreadable_files_are_errors),
		cmocka_unit_test(build_id_takes_precedence_over_the_hash),
		cmocka_unit_test(untrusted_files_have_an_identity_of_their_owner),
		cmocka_unit_test(the_owner_of_the_file_decides_the_identity),
		cmocka_unit_test(build_ids_of_zeros_are_ignored),
		cmocka_unit_test(only_elf_files_have_an_identity),
		cmocka_unit_test(zeros_at_the_end_are_padding),
		cmocka_unit_test(formatted_text_parses_to_the_same_identity),
		cmocka_unit_test(invalid_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
