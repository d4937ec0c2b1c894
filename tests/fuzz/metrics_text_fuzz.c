/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz targets link the stages, not the commands, so the tested code is included here. */
#include "tools/top/metrics_text.c"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const series[] = { "pilotlight_online_cpus", "x", "y{a=\"b\"}" };

	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		double value;

		if (metrics_text_find((const char *)bytes, size, series[i], &value) == 0)
			assert(isfinite(value));
	}
	return 0;
}
