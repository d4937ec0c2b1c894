/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/runtime_v8_sample.bpf.h for the host, in made-up memory: the maps are arrays, whatever is
 * copied is sent at once, and the clock is a variable. Include it first.
 */
#pragma once

#include "tests/extract/v8_objects.h"

#include "bpf/remembered_walk.bpf.h"
#include "bpf/runtime_known.bpf.h"
#include "bpf/runtime_place.bpf.h"

#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void *find_planted(const void *map, const uint32_t *key);
#define bpf_map_lookup_elem find_planted
#undef __noinline
#define __noinline static __attribute__((noinline))

static inline int has_walked_thread_run(void)
{
	return 0;
}

enum {
	WALKS_OTHERS = 0,
	RUNTIME_TIMED_STEPS = 64,
	RUNTIME_NS_MAX = 400 * 1000,
	SENT_MAX = 16,
	PERIOD_NS = 1 << 30,
};

struct runtime_state {
	struct runtime_v8 v8;
	struct runtime_step step;
	uint64_t owner, begin_ns;
	uint32_t is_spent;
};

struct walker {
	struct walk walk;
	struct runtime_state runtime;
};

struct runtime_copier {
	struct pilotlight_ring_code record;
	__u64 functions[PILOTLIGHT_V8_FUNCTIONS_MAX];
};

static struct pilotlight_runtime_v8 made_up_v8;
static struct walker made_up_walker;
static struct runtime_copier made_up_copier;
static int runtime_copiers; /* its address is a map */
static const uint32_t runtime_generation = 1;
static uint64_t now_ns;

/* The code that was sent, and the object that it belongs to. */
static struct {
	struct runtime_step step;
	uint64_t hash;
	char name[16];
} sent[SENT_MAX];
static size_t sent_count, taken_count; /* copies that were sent, and begun */
static int has_room;		       /* copies can be sent */

static inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return can_copy_user(words, count * 8, address);
}

static inline int can_read_user(struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	(void)walk;
	return can_copy_user(words, count * 8, address);
}

static inline int can_read_pt_regs(struct walk *walk, __u64 *words, __u32 count, __u32 place)
{
	(void)walk, (void)words, (void)count, (void)place;
	return 0;
}

static uint64_t register_rdi, register_rip;
static int has_register = 1; /* it can be read */

static inline int can_read_own_pt_regs(__u64 *words, __u32 count, __u32 place)
{
	assert_int_equal(count, 1);
	assert_true(place == PT_REGS_RDI || place == PT_REGS_RIP);
	*words = place == PT_REGS_RDI ? register_rdi : register_rip;
	return has_register;
}

static inline uint64_t walk_clock_ns(void)
{
	return now_ns;
}

static inline uint32_t runtime_period(const struct walker *walker)
{
	return (uint32_t)(walker->runtime.begin_ns / PERIOD_NS);
}

static inline const void *walked_runtime(const struct walker *walker)
{
	(void)walker;
	return &made_up_v8;
}

static inline int is_known_code(struct walker *walker, __u64 *code)
{
	for (size_t i = 0; i < sent_count; i++)
		if (sent[i].step.code == walker->runtime.step.code &&
			sent[i].step.check == walker->runtime.step.check) {
			*code = sent[i].hash & PILOTLIGHT_RUNTIME_CODE_MASK;
			return 1;
		}
	return 0;
}

static inline void remember_code(struct walker *walker, const struct runtime_step *step, __u64 hash)
{
	(void)walker;
	assert_true(sent_count < SENT_MAX);
	sent[sent_count].step = *step;
	sent[sent_count].name[0] = '\0';
	sent[sent_count++].hash = hash;
}

static inline int take_copy(struct walker *walker, struct runtime_copier *copier)
{
	(void)walker, (void)copier;
	taken_count++;
	return 1;
}

static inline int send_copy(struct walker *walker, struct runtime_copier *copier)
{
	const struct pilotlight_runtime_text *name = &copier->record.code.name;

	if (!has_room) {
		walker->runtime.is_spent = 1;
		return 0;
	}
	remember_code(walker, &walker->runtime.step, copier->record.code.hash);
	assert_true(name->bytes < sizeof(sent->name));
	memcpy(sent[sent_count - 1].name, name->characters, name->bytes);
	sent[sent_count - 1].name[name->bytes] = '\0';
	return 1;
}

static inline uint64_t keep_copy(struct walker *walker, struct runtime_copier *copier)
{
	(void)send_copy(walker, copier);
	return copier->record.code.hash & PILOTLIGHT_RUNTIME_CODE_MASK;
}

#include "bpf/walk_step.bpf.h"

#include "bpf/runtime_v8_sample.bpf.h"

static struct v8_seen seen[1 << V8_SEEN_SHIFT];

static inline void *find_planted(const void *map, const uint32_t *key)
{
	return map == &runtime_copiers ? (void *)&made_up_copier : &seen[*key];
}
