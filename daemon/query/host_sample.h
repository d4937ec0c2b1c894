/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling of hosts: of a large fleet, a share of the hosts pushes in each epoch, drawn by a hash
 * that no host needs to ask others for. What they pushed estimates the whole fleet: each value
 * stands for 1/share values (Horvitz and Thompson). The estimate has an error, since other hosts
 * would have been others; it follows from how much the hosts differ.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Batches are of one epoch. It is short, so that a host which no draw takes is soon in again. */
#define HOST_SAMPLE_EPOCH_NS (600ULL * 1000000000ULL)

enum { HOST_SAMPLE_ALL = 1000000 }; /* shares are in parts per million */

/* How many hosts one that pushes stands for. A share of 0 is that of a profile that is not pushed.
 */
static inline double host_sample_weight(uint32_t share_ppm)
{
	return share_ppm > 0 ? (double)HOST_SAMPLE_ALL / share_ppm : 1;
}

/* Does the host push in this epoch? `seed` makes draws for different purposes independent. */
bool host_sample_has(const char *host_id, uint64_t epoch, uint64_t seed, uint32_t share_ppm);

/* A seed that is the same on all hosts. */
uint64_t host_sample_seed(const char *name);

struct host_estimate {
	double total, variance;
};

/*
 * Adds draws of one `weight` = 1/share. A draw is what one host pushed in one epoch: their sum, and
 * the sum of their squares.
 */
void host_estimate_add(
	struct host_estimate *estimate, double sum, double sum_of_squares, double weight);

/* Half of the interval that holds the true total with 95 %; 0: no host was left out. */
double host_estimate_error(const struct host_estimate *estimate);
