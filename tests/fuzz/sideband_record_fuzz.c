/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sideband_record.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sideband_record record;

	if (sideband_record_parse(bytes, size, &record) < 0)
		return 0;
	assert(record.kind != SIDEBAND_MAP || record.start < record.end);
	assert(record.build_id.size <= BUILD_ID_BYTES);
	assert(record.kind != SIDEBAND_CGROUP || record.text);
	if (record.text) {
		const char *end = record.text + strlen(record.text);

		assert(record.text > (const char *)bytes && end < (const char *)bytes + size);
	}
	return 0;
}
