/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_header.h"

#include "base/utf8.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_file_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* As much as there is. */
static int read_start(int fd, void *bytes, size_t size)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n != 0) {
		n = pread(fd, (char *)bytes + done, size - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

int symbol_cache_header_read(int fd, struct pilotlight_symbol_header *ret_header)
{
	struct {
		_Alignas(PILOTLIGHT_SYMBOL_ALIGNMENT) struct pilotlight_symbol_header header;
		struct pilotlight_symbol_section sections[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
	} start = { .sections = { { 0 } } };
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	r = read_start(fd, &start, sizeof(start));
	if (r == 0)
		r = symbol_file_check_header(&start, (uint64_t)status.st_size);
	if (r == 0)
		*ret_header = start.header;
	return r;
}

int symbol_cache_header_read_of(
	int fd, const struct symbol_identity *identity, struct pilotlight_symbol_header *ret_header)
{
	struct pilotlight_symbol_header header;
	struct symbol_identity its;
	int r;

	r = symbol_cache_header_read(fd, &header);
	if (r < 0)
		return r;
	its = symbol_cache_header_identity(&header);
	if (!symbol_identity_equal(&its, identity))
		return -EBADMSG;
	*ret_header = header;
	return 0;
}

struct symbol_identity symbol_cache_header_identity(const struct pilotlight_symbol_header *header)
{
	struct symbol_identity identity = {
		.kind = header->identity_kind,
		.id.size = header->identity_bytes,
	};

	memcpy(identity.id.bytes, header->identity, BUILD_ID_BYTES);
	return identity;
}

bool symbol_cache_header_is_expired(const struct pilotlight_symbol_header *header, uint64_t now_s)
{
	return header->rank == PILOTLIGHT_SYMBOL_RANK_NONE &&
	       (header->created_s > now_s || now_s - header->created_s >= SYMBOL_CACHE_NEGATIVE_S);
}

static void set_origin(char *origin, size_t origin_bytes, const char *path)
{
	static const char ellipsis[] = "…";
	char clean[UTF8_CLEAN_BYTES];
	size_t length = utf8_clean(clean, path, strlen(path));
	const char *end = clean;

	if (length < origin_bytes) {
		memcpy(origin, clean, length + 1);
		return;
	}
	end += length - (origin_bytes - sizeof(ellipsis));
	while (((unsigned char)*end & 0xc0) == 0x80)
		end++;
	(void)snprintf(origin, origin_bytes, "%s%s", ellipsis, end);
}

void symbol_cache_header_set_negative(struct pilotlight_symbol_header *ret_header,
	const struct symbol_identity *identity, enum pilotlight_symbol_failure failure,
	const char *origin, uint64_t now_s)
{
	struct pilotlight_symbol_header header = {
		.magic = PILOTLIGHT_SYMBOL_MAGIC,
		.version = PILOTLIGHT_SYMBOL_VERSION,
		.header_bytes = sizeof(header),
		.file_bytes = sizeof(header),
		.identity_bytes = identity->id.size,
		.identity_kind = (uint8_t)identity->kind,
		.rank = PILOTLIGHT_SYMBOL_RANK_NONE,
		.failure = (uint8_t)failure,
		.created_s = now_s,
	};

	memcpy(header.identity, identity->id.bytes, identity->id.size);
	set_origin(header.origin, sizeof(header.origin), origin ? origin : "");
	header.header_hash = XXH3_64bits(&header, sizeof(header));
	*ret_header = header;
}
