/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_reserve(
	void *pointer_to_array, size_t *capacity, size_t count, size_t element_bytes, size_t limit)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *array, *grown;

	if (count <= *capacity)
		return 0;
	if (count > limit)
		return -E2BIG;
	while (wanted < count)
		wanted = wanted > SIZE_MAX / 2 ? count : wanted * 2;
	if (wanted > limit)
		wanted = limit;

	memcpy(&array, pointer_to_array, sizeof(array));
	grown = reallocarray(array, wanted, element_bytes);
	if (!grown)
		return -ENOMEM;
	memcpy(pointer_to_array, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}
