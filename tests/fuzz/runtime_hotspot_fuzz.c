/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes HotSpot in a hostile ELF file: a small one of the release that the first byte chooses,
 * damaged by the rest: two bytes for a place, one for the change.
 */
#include "tests/fuzz/damaged_binary.h"

#include "base/cleanup.h"
#include "extract/runtime_hotspot.h"
#include "tests/extract/hotspot_fixture.h"

static struct hotspot_fixture hotspot;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return 0;
	hotspot_fixture_init(&hotspot, bytes[0] & 1 ? 25 : 17);
	damage(hotspot.bytes, sizeof(hotspot.bytes), bytes + 1, size - 1);
	fd = hotspot_fixture_fd(&hotspot);
	try_description(fd, runtime_hotspot_read);
	return 0;
}
