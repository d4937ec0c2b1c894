/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/late_names.h"

#include "pilotlight/parca_batch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct late_name *find(struct late_names *names, const struct build_id *id)
{
	for (size_t i = 0; i < names->count; i++)
		if (build_id_equal(&names->items[i].build_id, id))
			return &names->items[i];
	return NULL;
}

static void forget(struct late_names *names, struct late_name *name)
{
	const size_t behind = (size_t)(names->items + names->count - (name + 1));

	memmove(name, name + 1, behind * sizeof(*name));
	names->count--;
}

static void note(struct late_names *names, const struct pilotlight_parca_binary *binary)
{
	struct late_name *name;
	struct build_id id;

	if (build_id_set(&id, binary->build_id, binary->build_id_bytes) < 0)
		return;
	name = find(names, &id);
	if (binary->is_named) {
		if (name)
			forget(names, name);
		return;
	}
	if (!name) {
		if (names->count == LATE_NAMES_MAX)
			forget(names, names->items);
		name = &names->items[names->count++];
		name->build_id = id;
	}
	name->symbols_s = binary->symbols_s;
}

void late_names_read(struct late_names *names, int fd, uint64_t bytes)
{
	struct pilotlight_parca_binary binary;
	struct pilotlight_parca_batch header;

	if (bytes < sizeof(header) || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
		header.magic != PILOTLIGHT_PARCA_BATCH_MAGIC ||
		header.version != PILOTLIGHT_PARCA_BATCH_VERSION)
		return;
	for (uint32_t i = 0; i < header.binaries && i < PILOTLIGHT_PARCA_BINARIES_MAX; i++) {
		const size_t at = sizeof(header) + i * sizeof(binary);

		if (pread(fd, &binary, sizeof(binary), (off_t)at) != sizeof(binary))
			return;
		note(names, &binary);
	}
}

void late_names_format(const struct late_names *names, char text[LATE_NAMES_TEXT_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < names->count; i++) {
		const struct late_name *name = &names->items[i];
		char hex[BUILD_ID_HEX_BYTES];

		used += (size_t)snprintf(text + used, LATE_NAMES_TEXT_BYTES - used, "%s%s:%" PRIx64,
			i > 0 ? "," : "", build_id_format(&name->build_id, hex), name->symbols_s);
	}
}
