/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_bytecodes.h"

#include "base/array.h"

#include <stdbool.h>
#include <string.h>

enum {
	/* The first bytecodes say how long the operands of the next one are; the latter two are of
	 * debuggers. */
	WIDE = 0,
	EXTRA_WIDE = 1,
	DEBUG_WIDE = 2,
	DEBUG_EXTRA_WIDE = 3,
	DIGIT_BITS = 7,
	DIGIT_MORE = 1 << DIGIT_BITS,
	NUMBER_BITS = 28,
};

/*
 * Two digits for each bytecode: how many bytes it has, and by how many it grows if its operands are
 * twice as long. Those that are not listed have one byte. From kBytecodeSizes of the versions of V8
 * in Node.js 18, 20, 22 and 24.
 */
static const struct {
	uint8_t major, minor;
	const char *lengths;
} versions[] = {
	{ 10, 2,
		"10101010102132435452632110211010101010214343212121322121211010102032323243212143"
		"43214343314343323232434343434353213232323232323232323232323232323232323232323232"
		"32212121211010102121215454435465543243545452634242545432323232323232322121212110"
		"42421021421042324221323232321010103221212121212121212121212121212121212121212121"
		"432132325421101010102110102143544343102121" },
	{ 11, 3,
		"10101010102132435452632110211010101010214343212121322121211010102032323243212143"
		"43214343314343323232434343534353323232323232323232323232323232323232323232323232"
		"21212121101010212121435454435465543243545452634242545432323232323232322121212110"
		"52421021421042324221323232321010104321212121212121212121212121212121212121212121"
		"432132325421101010102110102143544343102121" },
	{ 12, 4,
		"10101010102132435452632110211010101010214343212121322121211010102032323243214321"
		"21434321434331434332543232434343534353323232323232323232323232323232323232323232"
		"32323221212121101010212121435454435465543243545452634242545432323232323232323210"
		"21212110105242102142104232422132323232101010432121212121212121212121212121212121"
		"2121212121432132325421101010102110102143544343102121" },
	{ 13, 6,
		"10101010102132435452632110211010101010214343432121212132212121101010203232324321"
		"43212143434321434343314343325432324343435343533232323232323232323232323232323232"
		"32323232323232212121211010212121214354544354655432435454526342425454323232323232"
		"32323210212121101052421021421042324221323232321010104321212121212121212121432121"
		"21212121212121212121434321325421101010102110102143544343102121" },
};

static const char *lengths_of(uint16_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (version == (versions[i].major << 8 | versions[i].minor))
			return versions[i].lengths;
	return NULL;
}

static size_t length_of(const char *lengths, uint8_t bytecode, size_t scale)
{
	const char *digits = lengths + (size_t)2 * bytecode;

	if ((size_t)2 * bytecode >= strlen(lengths))
		return 1;
	return (size_t)(digits[0] - '0') + (scale - 1) * (size_t)(digits[1] - '0');
}

/* With its prefix. */
static size_t length_at(const char *lengths, const uint8_t *bytecodes, size_t size, size_t at)
{
	size_t scale = 1;

	if (bytecodes[at] == WIDE || bytecodes[at] == DEBUG_WIDE)
		scale = 2;
	else if (bytecodes[at] == EXTRA_WIDE || bytecodes[at] == DEBUG_EXTRA_WIDE)
		scale = 4;
	if (scale == 1)
		return length_of(lengths, bytecodes[at], 1);
	return at + 1 < size ? 1 + length_of(lengths, bytecodes[at + 1], scale) : 1;
}

/* A number of 7 bits a byte, the lowest first. Returns false at the end of the table. */
static bool read_number(const uint8_t *table, size_t size, size_t *at, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (uint32_t shift = 0; *at < size && shift < NUMBER_BITS; shift += DIGIT_BITS) {
		uint8_t byte = table[(*at)++];

		number |= (uint64_t)(byte & (DIGIT_MORE - 1)) << shift;
		if (!(byte & DIGIT_MORE)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

int32_t runtime_bytecodes_find(uint16_t version, const struct runtime_bytecodes *code, int32_t unit)
{
	const char *lengths = lengths_of(version);
	size_t at = 0, bytecode = 0;
	uint64_t end, bytes;

	if (!lengths || unit < 0 || !read_number(code->table, code->table_bytes, &at, &end) ||
		(uint64_t)unit < end)
		return -1;
	while (bytecode < code->bytecode_bytes &&
		read_number(code->table, code->table_bytes, &at, &bytes)) {
		end += bytes;
		if ((uint64_t)unit < end)
			return (int32_t)bytecode;
		bytecode += length_at(lengths, code->bytecodes, code->bytecode_bytes, bytecode);
	}
	return -1;
}
