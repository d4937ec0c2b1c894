/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/build_id.h"

#include <errno.h>
#include <string.h>

int build_id_set(struct build_id *ret_id, const void *bytes, size_t size)
{
	if (size == 0 || size > BUILD_ID_BYTES)
		return -EINVAL;
	*ret_id = (struct build_id){ .size = (uint8_t)size };
	memcpy(ret_id->bytes, bytes, size);
	return 0;
}

void build_id_set_padded(struct build_id *ret_id, const uint8_t bytes[BUILD_ID_BYTES])
{
	size_t size = BUILD_ID_BYTES;

	while (size > 0 && bytes[size - 1] == 0)
		size--;
	*ret_id = (struct build_id){ .size = (uint8_t)size };
	memcpy(ret_id->bytes, bytes, BUILD_ID_BYTES);
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return !a->size == !b->size && memcmp(a->bytes, b->bytes, BUILD_ID_BYTES) == 0;
}

const char *build_id_format(const struct build_id *id, char hex[BUILD_ID_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->size; i++) {
		hex[2 * i] = digits[id->bytes[i] >> 4];
		hex[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	hex[2 * id->size] = '\0';
	return hex;
}
