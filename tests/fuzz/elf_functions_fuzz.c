/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_functions.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The input is the file. What is found keeps the promises of elf_functions.h. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { "calloc", "free", "malloc", "realloc" };
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_function found[4];
	size_t count;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		return 0;
	if (elf_functions_find(fd, names, ARRAY_SIZE(names), found, ARRAY_SIZE(found), &count) < 0)
		return 0;
	if (count > ARRAY_SIZE(found))
		abort();
	for (size_t i = 0; i < count; i++) {
		if (found[i].name >= ARRAY_SIZE(names))
			abort();
		for (size_t j = 0; j < i; j++)
			if (found[j].offset == found[i].offset)
				abort();
	}
	return 0;
}
