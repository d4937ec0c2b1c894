/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "labels/process_claims.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[CLAIMS_BYTES], claimed[CLAIM_BYTES];
	size_t length = 0;

	if (process_claims_read(bytes, size, text) < 0)
		return 0;
	assert(strlen(text) < sizeof(text));
	for (enum process_claim i = 0; i < CLAIM_COUNT; i++) {
		process_claims_get(text, i, claimed);
		for (size_t at = 0, step; claimed[at]; at += step) {
			step = utf8_shown(claimed + at, strlen(claimed + at));
			assert(step > 0);
		}
		length += strlen(claimed);
	}
	assert(length <= strlen(text));
	return 0;
}
