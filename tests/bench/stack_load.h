/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The load of the capture bench: C stacks of 1 to 30 frames. A few paths are taken most of the time
 * and many seldom, as in real programs; the leaf walks memory, so that a sample finds cold caches,
 * and now and then it is in the kernel.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	STACK_LOAD_DEPTH = 30,
	STACK_LOAD_BYTES = 4 << 20,
	STACK_LOAD_STEPS = 20000, /* of the leaf, some 50 µs */
};

struct stack_load {
	uint64_t random;
	uint8_t *memory;
	int zero_fd;
};

static inline uint64_t stack_load_random(struct stack_load *load)
{
	load->random ^= load->random << 13;
	load->random ^= load->random >> 7;
	load->random ^= load->random << 17;
	return load->random;
}

static __attribute__((noinline)) uint64_t stack_load_leaf(struct stack_load *load)
{
	uint64_t random = stack_load_random(load), sum = 0;

	if (random % 8 == 0)
		for (int i = 0; i < 8; i++)
			sum += (uint64_t)read(load->zero_fd, load->memory, 4096);
	for (uint32_t i = 0; i < STACK_LOAD_STEPS; i++) {
		random = random * 6364136223846793005u + 1;
		sum += load->memory[(random >> 33) % STACK_LOAD_BYTES];
	}
	return sum;
}

static uint64_t stack_load_left(struct stack_load *load, uint32_t path, unsigned depth);
static uint64_t stack_load_right(struct stack_load *load, uint32_t path, unsigned depth);

static inline __attribute__((always_inline)) uint64_t stack_load_step(
	struct stack_load *load, uint32_t path, unsigned depth)
{
	if (depth <= 1)
		return stack_load_leaf(load) + 1;
	if (path & 1)
		return stack_load_right(load, path >> 1, depth - 1) + 2;
	return stack_load_left(load, path >> 1, depth - 1) + 3;
}

static __attribute__((noinline)) uint64_t stack_load_left(
	struct stack_load *load, uint32_t path, unsigned depth)
{
	return stack_load_step(load, path, depth) + 5;
}

static __attribute__((noinline)) uint64_t stack_load_right(
	struct stack_load *load, uint32_t path, unsigned depth)
{
	return stack_load_step(load, path, depth) + 7;
}

/* Half of the time the first of the paths, a quarter the second, and so on. */
static inline uint32_t stack_load_pick(struct stack_load *load, uint32_t paths)
{
	uint32_t pick = (uint32_t)__builtin_ctzll(stack_load_random(load) | UINT64_C(1) << 32);

	return (pick * pick + (uint32_t)(stack_load_random(load) % (pick + 1))) % paths;
}

/* Runs until it is killed, or its parent is. */
static inline void stack_load_run(unsigned seed, uint32_t paths)
{
	struct stack_load load = {
		.random = 88172645463325252u + seed,
		.memory = calloc(1, STACK_LOAD_BYTES),
		.zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC),
	};
	uint64_t sum = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!load.memory || load.zero_fd < 0)
		_exit(1);
	for (;;) {
		uint32_t path = stack_load_pick(&load, paths);
		unsigned depth = 1 + path * 7 % STACK_LOAD_DEPTH;

		sum += stack_load_step(&load, path * 2654435761u, depth);
		__asm__ volatile("" : : "r"(sum));
	}
}
