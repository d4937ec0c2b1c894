/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/runtime_slots.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* A program may still have the file's old entry in this window, and in the next one as long as it
 * runs. */
enum { WINDOWS_UNTIL_FREE = 2 };

void runtime_slots_init(struct runtime_slots *slots, runtime_slots_function function, void *context)
{
	*slots = (struct runtime_slots){
		.function = function,
		.context = context,
		.share.capacity = PILOTLIGHT_RUNTIMES_MAX,
	};
}

void runtime_slots_begin_window(struct runtime_slots *slots, uint32_t window)
{
	slots->window = window;
}

static bool is_free(const struct runtime_slots *slots, const struct runtime_slot *slot)
{
	return slot->files == 0 && (int32_t)(slots->window - slot->free_window) >= 0;
}

/* The description has no padding. */
static uint32_t find(const struct runtime_slots *slots, const struct pilotlight_runtime *runtime)
{
	for (uint32_t i = 0; i < PILOTLIGHT_RUNTIMES_MAX; i++)
		if (slots->slots[i].files > 0 &&
			memcmp(&slots->slots[i].runtime, runtime, sizeof(*runtime)) == 0)
			return i;
	return RUNTIME_SLOTS_NONE;
}

static uint32_t find_free(const struct runtime_slots *slots)
{
	uint32_t number = 0;

	while (number < PILOTLIGHT_RUNTIMES_MAX && !is_free(slots, &slots->slots[number]))
		number++;
	return number;
}

bool runtime_slots_have_room(const struct runtime_slots *slots, uint64_t user)
{
	return find_free(slots) != RUNTIME_SLOTS_NONE &&
	       user_share_has_room(&slots->share, user, 1);
}

static int add(struct runtime_slots *slots, const struct pilotlight_runtime *runtime, uint64_t user,
	uint32_t *ret_number)
{
	uint32_t number = find_free(slots);
	int r;

	if (!runtime_slots_have_room(slots, user))
		return -ENOSPC;
	r = slots->function(slots->context, number, runtime);
	if (r < 0)
		return r;
	slots->slots[number] = (struct runtime_slot){ .runtime = *runtime, .user = user };
	user_share_add(&slots->share, user, 1);
	*ret_number = number;
	return 0;
}

int runtime_slots_acquire(struct runtime_slots *slots, const struct pilotlight_runtime *runtime,
	uint64_t user, uint32_t *ret_number)
{
	uint32_t number = find(slots, runtime);
	int r = 0;

	if (!slots->function)
		return -EOPNOTSUPP;
	if (number == RUNTIME_SLOTS_NONE)
		r = add(slots, runtime, user, &number);
	if (r < 0)
		return r;
	slots->slots[number].files++;
	*ret_number = number;
	return 0;
}

void runtime_slots_release(struct runtime_slots *slots, uint32_t number)
{
	struct runtime_slot *slot = &slots->slots[number];

	if (number == RUNTIME_SLOTS_NONE)
		return;
	assert(slot->files > 0);
	if (--slot->files > 0)
		return;
	user_share_remove(&slots->share, slot->user, 1);
	slot->free_window = slots->window + WINDOWS_UNTIL_FREE;
}
