/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/accounts_blob.h"

#include "base/array.h"
#include "store/varint.h"

#include <errno.h>

enum { VERSION = 1 };

/* The numbers in the files: a new counter takes a new number, and no number is ever reused. */
static const struct counter {
	uint32_t number;
	size_t offset;
} counters[] = {
#define COUNTER(number, field)                           \
	{                                                \
		number, offsetof(struct accounts, field) \
	}
	COUNTER(1, fired),
	COUNTER(2, run_ns),
	COUNTER(3, watch_ns),
	COUNTER(16, stored[PILOTLIGHT_PATH_MAP]),
	COUNTER(17, stored[PILOTLIGHT_PATH_RING]),
	COUNTER(32, dropped[PILOTLIGHT_DROP_IDLE]),
	COUNTER(33, dropped[PILOTLIGHT_DROP_FILTERED]),
	COUNTER(34, dropped[PILOTLIGHT_DROP_RING_FULL]),
	COUNTER(35, dropped[PILOTLIGHT_DROP_BPF_ERROR]),
	COUNTER(36, dropped[PILOTLIGHT_DROP_UNREAD]),
	COUNTER(37, dropped[PILOTLIGHT_DROP_MALFORMED]),
	COUNTER(38, dropped[PILOTLIGHT_DROP_PROFILE_FULL]),
	COUNTER(39, dropped[PILOTLIGHT_DROP_ENGINE]),
	COUNTER(40, dropped[PILOTLIGHT_DROP_BUSY]),
	COUNTER(41, dropped[PILOTLIGHT_DROP_LIVE_FULL]),
	COUNTER(64, events[PILOTLIGHT_EVENT_BUILD_ID_CALL]),
	COUNTER(65, events[PILOTLIGHT_EVENT_BUILD_ID_COLLISION]),
	COUNTER(66, events[PILOTLIGHT_EVENT_STACK_COLLISION]),
	COUNTER(67, events[PILOTLIGHT_EVENT_STACKMAP_FULL]),
	COUNTER(68, events[PILOTLIGHT_EVENT_COUNTS_FULL]),
	COUNTER(69, events[PILOTLIGHT_EVENT_STACK_ERROR]),
	COUNTER(70, events[PILOTLIGHT_EVENT_TIMED]),
	COUNTER(71, events[PILOTLIGHT_EVENT_WALK_UNSENT]),
	COUNTER(72, events[PILOTLIGHT_EVENT_THREAD_REFUSED]),
	COUNTER(73, events[PILOTLIGHT_EVENT_WAIT_REFUSED]),
	COUNTER(74, events[PILOTLIGHT_EVENT_THINNED]),
	COUNTER(75, events[PILOTLIGHT_EVENT_WAKER_REFUSED]),
	COUNTER(76, events[PILOTLIGHT_EVENT_SURVEYED]),
	COUNTER(128, walked[PILOTLIGHT_WALKER_KERNEL]),
	COUNTER(129, walked[PILOTLIGHT_WALKER_TABLES]),
	COUNTER(144, ends[PILOTLIGHT_WALK_ROOT]),
	COUNTER(145, ends[PILOTLIGHT_WALK_NO_TABLE]),
	COUNTER(146, ends[PILOTLIGHT_WALK_NO_FUNCTION]),
	COUNTER(147, ends[PILOTLIGHT_WALK_UNREADABLE]),
	COUNTER(148, ends[PILOTLIGHT_WALK_UNSUPPORTED]),
	COUNTER(149, ends[PILOTLIGHT_WALK_NO_CODE]),
	COUNTER(150, ends[PILOTLIGHT_WALK_LOOPED]),
	COUNTER(151, ends[PILOTLIGHT_WALK_DEEP]),
	COUNTER(152, ends[PILOTLIGHT_WALK_NO_FRAME_POINTER]),
	COUNTER(153, ends[PILOTLIGHT_WALK_BLOCKED]),
#undef COUNTER
};
_Static_assert(sizeof(struct accounts) == ARRAY_SIZE(counters) * sizeof(uint64_t),
	"a counter lacks its number");
_Static_assert(1 + ARRAY_SIZE(counters) * 2 * VARINT_BYTES_MAX <= ACCOUNTS_BLOB_BYTES_MAX, "room");

static const uint64_t *counter_get(const struct accounts *accounts, const struct counter *counter)
{
	return (const uint64_t *)((const char *)accounts + counter->offset);
}

size_t accounts_blob_write(const struct accounts *accounts, uint8_t bytes[ACCOUNTS_BLOB_BYTES_MAX])
{
	size_t size = 0;

	bytes[size++] = VERSION;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		uint64_t value = *counter_get(accounts, &counters[i]);

		if (value == 0)
			continue;
		size += varint_put(bytes + size, counters[i].number);
		size += varint_put(bytes + size, value);
	}
	return size;
}

int accounts_blob_read(struct accounts *ret_accounts, const void *bytes, size_t size)
{
	const uint8_t *next = bytes, *end = next + size;
	struct accounts accounts = { 0 };

	if (size < 1 || size > ACCOUNTS_BLOB_BYTES_MAX || *next++ != VERSION)
		return -EBADMSG;
	while (next < end) {
		uint64_t number, value;
		size_t i = 0;

		if (!varint_get(&next, end, &number) || !varint_get(&next, end, &value))
			return -EBADMSG;
		while (i < ARRAY_SIZE(counters) && counters[i].number != number)
			i++;
		if (i == ARRAY_SIZE(counters))
			return -EBADMSG;
		*(uint64_t *)((char *)&accounts + counters[i].offset) = value;
	}
	*ret_accounts = accounts;
	return 0;
}
