/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_identity.h"

#include "base/array.h"
#include "base/hex.h"
#include "symbol/elf_image.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <sha2.h>

enum {
	END_BYTES = 4096, /* hashed at each end of a file */
	HASH_BYTES = 16,  /* kept of the digest */
};
_Static_assert(HASH_BYTES + sizeof(uint32_t) == BUILD_ID_BYTES, "a hash and a user id");

static const struct {
	enum pilotlight_symbol_identity_kind kind;
	const char *text;
} prefixes[] = {
	{ PILOTLIGHT_SYMBOL_HTLHASH, "htlhash:" },
	{ PILOTLIGHT_SYMBOL_OWNED, "owned:" },
};

struct symbol_identity symbol_identity_of_build_id(const struct build_id *id)
{
	return (struct symbol_identity){ .kind = PILOTLIGHT_SYMBOL_BUILD_ID, .id = *id };
}

struct symbol_identity symbol_identity_make(enum pilotlight_symbol_identity_kind kind,
	const uint8_t bytes[BUILD_ID_BYTES], uint8_t size)
{
	struct symbol_identity identity = { .kind = kind };

	memcpy(identity.id.bytes, bytes, sizeof(identity.id.bytes));
	identity.id.size = size <= BUILD_ID_BYTES ? size : 0;
	return identity;
}

/* -EIO: the file has become shorter meanwhile. */
static int hash_part(int fd, uint64_t offset, size_t size, SHA2_CTX *digest)
{
	uint8_t bytes[END_BYTES];
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, bytes + have, size - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		have += (size_t)n;
	}
	SHA256Update(digest, bytes, size);
	return 0;
}

int symbol_identity_hash_file(int fd, struct symbol_identity *ret_identity)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_HTLHASH };
	uint64_t size, size_big_endian;
	struct stat status;
	size_t end_bytes;
	SHA2_CTX digest;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size <= 0)
		return -EINVAL;
	size = (uint64_t)status.st_size;
	end_bytes = size < END_BYTES ? (size_t)size : END_BYTES;

	/* The ends of a short file overlap; the overlap is hashed twice. */
	SHA256Init(&digest);
	r = hash_part(fd, 0, end_bytes, &digest);
	if (r < 0)
		return r;
	r = hash_part(fd, size - end_bytes, end_bytes, &digest);
	if (r < 0)
		return r;
	size_big_endian = htobe64(size);
	SHA256Update(&digest, (const uint8_t *)&size_big_endian, sizeof(size_big_endian));
	SHA256Final(hash, &digest);
	r = build_id_set(&identity.id, hash, HASH_BYTES);
	if (r < 0)
		return r;
	*ret_identity = identity;
	return 0;
}

static bool is_zero(const struct build_id *id)
{
	static const uint8_t zeros[BUILD_ID_BYTES];

	return memcmp(id->bytes, zeros, sizeof(zeros)) == 0;
}

struct symbol_identity symbol_identity_of_owner(
	const struct symbol_identity *identity, const struct file_owner *owner)
{
	struct symbol_identity owned = { .kind = PILOTLIGHT_SYMBOL_OWNED };
	uint8_t hash[SHA256_DIGEST_LENGTH], kind = (uint8_t)identity->kind;
	uint32_t uid_big_endian = htobe32(owner->uid);
	SHA2_CTX digest;

	if (owner->is_trusted)
		return *identity;
	SHA256Init(&digest);
	SHA256Update(&digest, &kind, sizeof(kind));
	SHA256Update(&digest, identity->id.bytes, sizeof(identity->id.bytes));
	SHA256Update(&digest, (const uint8_t *)&uid_big_endian, sizeof(uid_big_endian));
	SHA256Final(hash, &digest);
	memcpy(owned.id.bytes, hash, HASH_BYTES);
	memcpy(owned.id.bytes + HASH_BYTES, &uid_big_endian, sizeof(uid_big_endian));
	owned.id.size = BUILD_ID_BYTES;
	return owned;
}

bool symbol_identity_find_owner(const struct symbol_identity *identity, uint32_t *ret_uid)
{
	uint32_t uid_big_endian;

	if (identity->kind != PILOTLIGHT_SYMBOL_OWNED)
		return false;
	memcpy(&uid_big_endian, identity->id.bytes + HASH_BYTES, sizeof(uid_big_endian));
	*ret_uid = be32toh(uid_big_endian);
	return true;
}

int symbol_identity_of_binary(
	int fd, const struct build_id *id, struct symbol_identity *ret_identity)
{
	struct file_owner owner = { .is_trusted = true };
	struct symbol_identity identity;
	int r;

	if (fd < 0 && id->size == 0)
		return -ENOENT;
	r = fd < 0 ? 0 : file_owner_read(fd, &owner);
	if (r < 0)
		return r;
	if (id->size > 0) {
		identity = symbol_identity_of_build_id(id);
	} else {
		r = symbol_identity_hash_file(fd, &identity);
		if (r < 0)
			return r;
	}
	*ret_identity = symbol_identity_of_owner(&identity, &owner);
	return 0;
}

int symbol_identity_read_file(int fd, struct symbol_identity *ret_identity)
{
	struct elf_image image;
	int r = elf_image_read(fd, &image);

	return r < 0 ? r : symbol_identity_of_binary(fd, &image.build_id, ret_identity);
}

bool symbol_identity_equal(const struct symbol_identity *a, const struct symbol_identity *b)
{
	return a->kind == b->kind && build_id_equal(&a->id, &b->id);
}

const char *symbol_identity_format(
	const struct symbol_identity *identity, char text[SYMBOL_IDENTITY_TEXT_BYTES])
{
	char *hex = text;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (identity->kind == prefixes[i].kind)
			hex = stpcpy(text, prefixes[i].text);
	(void)build_id_format(&identity->id, hex);
	return text;
}

int symbol_identity_parse(const char *text, struct symbol_identity *ret_identity)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID };
	size_t digits;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t length = strlen(prefixes[i].text);

		if (strncmp(text, prefixes[i].text, length) != 0)
			continue;
		identity.kind = prefixes[i].kind;
		text += length;
		break;
	}
	digits = strnlen(text, 2 * BUILD_ID_BYTES + 1);
	if (digits == 0 || digits % 2 != 0 || digits > 2 * BUILD_ID_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < digits; i += 2) {
		int high = hex_digit_of_any_case(text[i]);
		int low = hex_digit_of_any_case(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		identity.id.bytes[i / 2] = (uint8_t)(high << 4 | low);
	}
	if (is_zero(&identity.id))
		return -EINVAL;
	identity.id.size = (uint8_t)(digits / 2);
	*ret_identity = identity;
	return 0;
}
