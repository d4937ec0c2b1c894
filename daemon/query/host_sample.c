/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/host_sample.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

/* Of the normal distribution: so many standard errors hold 95 %. */
#define ERRORS_OF_95_PERCENT 1.96

/* Not by hash_bytes(), which differs between processes. */
uint64_t host_sample_seed(const char *name)
{
	return XXH3_64bits(name, strlen(name));
}

bool host_sample_has(const char *host_id, uint64_t epoch, uint64_t seed, uint32_t share_ppm)
{
	const uint64_t of_epoch = XXH3_64bits_withSeed(&epoch, sizeof(epoch), seed);
	const uint64_t drawn = XXH3_64bits_withSeed(host_id, strlen(host_id), of_epoch);

	return share_ppm >= HOST_SAMPLE_ALL ||
	       (unsigned __int128)drawn * HOST_SAMPLE_ALL >> 64 < share_ppm;
}

void host_estimate_add(
	struct host_estimate *estimate, double sum, double sum_of_squares, double weight)
{
	const double share = weight > 1 ? 1 / weight : 1;

	estimate->total += sum / share;
	estimate->variance += sum_of_squares * (1 - share) / (share * share);
}

double host_estimate_error(const struct host_estimate *estimate)
{
	return ERRORS_OF_95_PERCENT * sqrt(estimate->variance);
}
