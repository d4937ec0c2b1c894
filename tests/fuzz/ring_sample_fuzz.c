/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/ring_sample.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* BPF aligns its records; and a copy as long as the record shows a read beyond it. */
	void *record = malloc(size ? size : 1);
	struct ring_sample sample;
	uint64_t sum = 0;

	if (!record)
		return 0;
	memcpy(record, bytes, size);
	if (ring_sample_parse(record, size, &sample) == 0) {
		sum += strlen(sample.header.comm);
		for (size_t i = 0; i < sample.header.kernel_count; i++)
			sum += sample.kernel_ips[i];
		for (size_t i = 0; i < sample.header.user_count; i++)
			sum += sample.user_frames[i].offset_or_ip +
			       sample.user_frames[i].build_id[19];
	}
	free(record);
	return sum == 42 ? 1 : 0;
}
