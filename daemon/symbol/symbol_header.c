/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_header.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "symbol/symbol_file_check.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int symbol_header_read(int fd, struct pilotlight_symbol_header *ret_header)
{
	struct {
		_Alignas(PILOTLIGHT_SYMBOL_ALIGNMENT) struct pilotlight_symbol_header header;
		struct pilotlight_symbol_section sections[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
	} start = { .sections = { { 0 } } };
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0 || pread(fd, &start, sizeof(start), 0) < 0)
		return -errno;
	r = symbol_file_check_header(&start, (uint64_t)status.st_size);
	if (r == 0)
		*ret_header = start.header;
	return r;
}

void symbol_header_set_origin(char origin[SYMBOL_HEADER_ORIGIN_BYTES], const char *path)
{
	static const char ellipsis[] = "…";
	const size_t origin_bytes = SYMBOL_HEADER_ORIGIN_BYTES;
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

void symbol_header_init(struct pilotlight_symbol_header *ret_header,
	const struct symbol_identity *identity, enum pilotlight_symbol_rank rank,
	const char *origin)
{
	struct pilotlight_symbol_header header = {
		.magic = PILOTLIGHT_SYMBOL_MAGIC,
		.version = PILOTLIGHT_SYMBOL_VERSION,
		.header_bytes = sizeof(header),
		.identity_bytes = identity->id.size,
		.identity_kind = (uint8_t)identity->kind,
		.rank = (uint8_t)rank,
		.extraction = PILOTLIGHT_SYMBOL_EXTRACTION,
		.created_s = clock_realtime_ns() / NSEC_PER_SEC,
	};

	assert(identity->id.size > 0 && identity->id.size <= sizeof(header.identity));
	memcpy(header.identity, identity->id.bytes, identity->id.size);
	symbol_header_set_origin(header.origin, origin);
	*ret_header = header;
}

struct symbol_identity symbol_header_identity(const struct pilotlight_symbol_header *header)
{
	return symbol_identity_make(
		header->identity_kind, header->identity, header->identity_bytes);
}
