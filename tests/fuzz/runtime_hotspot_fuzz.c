/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes HotSpot in a hostile ELF file: a small one of the release that the first byte chooses,
 * damaged by the rest: two bytes for a place, one for the change.
 */
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/extraction.h"
#include "extract/runtime_hotspot.h"
#include "extract/unwind_files.h"
#include "tests/extract/hotspot_fixture.h"

#include <stdlib.h>

enum { DAMAGES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct hotspot_fixture hotspot;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int scratch_fd = -1;
	struct pilotlight_runtime runtime;
	struct extraction_files files = { .debug_fd = -1 };
	struct unwind_files opened;
	struct scratch scratch;
	_cleanup_close_ int fd = -1;

	if (size == 0)
		return 0;
	if (scratch_fd < 0)
		scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&scratch, scratch_fd, 16 << 20, 16 << 20);
	hotspot_fixture_init(&hotspot, bytes[0] & 1 ? 25 : 17);
	for (size_t i = 0, at = 1; i < DAMAGES_MAX && at + 3 <= size; i++, at += 3)
		hotspot.bytes[(bytes[at] | (size_t)bytes[at + 1] << 8) % sizeof(hotspot.bytes)] ^=
			bytes[at + 2];
	fd = hotspot_fixture_fd(&hotspot);
	files.binary_fd = fd;
	if (fd >= 0 && unwind_files_open(&opened, &files) == 0 &&
		runtime_hotspot_read(&opened, &scratch, &runtime) == 0 &&
		!runtime_bounds_hold(&runtime))
		abort();
	return 0;
}
