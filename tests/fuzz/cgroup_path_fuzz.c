/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of a path are parts of it. Unescaping never makes a unit name longer. */
#include "labels/cgroup_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_part(const char *path, const struct path_part *part)
{
	char name[300], *exact;
	size_t length;

	if (part->size == 0)
		return;
	assert(part->text >= path && part->text + part->size <= path + strlen(path));
	assert(!memchr(part->text, '/', part->size));
	length = cgroup_unit_unescape(part, name, sizeof(name));
	assert(length <= part->size && length < sizeof(name) && strlen(name) == length);
	exact = malloc(length + 1);
	assert(exact);
	assert(cgroup_unit_unescape(part, exact, length + 1) == length);
	assert(memcmp(exact, name, length + 1) == 0);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct cgroup_labels labels;
	char *path = malloc(size + 1);

	assert(path);
	if (size > 0)
		memcpy(path, bytes, size);
	path[size] = '\0';
	cgroup_path_parse(path, &labels);
	check_part(path, &labels.unit);
	check_part(path, &labels.user_unit);
	check_part(path, &labels.slice);
	check_part(path, &labels.container);
	assert(labels.user_unit.size == 0 || labels.unit.size > 0);
	assert(!labels.runtime || labels.container.size > 0);
	assert(labels.pod_uid[0] == '\0' || strlen(labels.pod_uid) == 36 ||
		strlen(labels.pod_uid) == 32);
	free(path);
	return 0;
}
