/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe app:begin of an ELF file: its places are in the file. */
#include "dwarf/usdt_probe.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct usdt_place places[USDT_PLACES_MAX];
	struct elf_file file;
	size_t count = 0;

	if (elf_file_init_memory(&file, bytes, size) < 0 ||
		usdt_probe_find(&file, "app", "begin", places, &count) < 0)
		return 0;
	if (count == 0 || count > USDT_PLACES_MAX)
		abort();
	for (size_t i = 0; i < count; i++)
		if (places[i].code >= size || places[i].semaphore >= size)
			abort();
	return 0;
}
