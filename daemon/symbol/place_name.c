/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/place_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 128 };

static const char middle[] = " function at +0x";

size_t place_name_format(char text[PLACE_NAME_BYTES], const char *path, uint64_t vaddr)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash && slash[1] ? slash + 1 : *path ? path : "unknown";

	return (size_t)snprintf(
		text, PLACE_NAME_BYTES, "[%.*s%s%" PRIx64 "]", FILE_BYTES_MAX, file, middle, vaddr);
}

bool place_name_is(const char *name)
{
	const char *address = name[0] == '[' ? strstr(name, middle) : NULL;
	size_t digits;

	if (!address)
		return false;
	address += sizeof(middle) - 1;
	digits = strspn(address, "0123456789abcdef");
	return digits > 0 && strcmp(address + digits, "]") == 0;
}
