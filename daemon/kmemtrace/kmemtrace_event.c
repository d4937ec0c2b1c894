/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_event.h"

#include <errno.h>
#include <string.h>

static void parse_features(const unsigned char *bytes, size_t size, struct kmemtrace_event *event)
{
	struct pilotlight_kmemtrace_feature feature;

	while (size >= sizeof(feature)) {
		memcpy(&feature, bytes, sizeof(feature));
		if (feature.feature_bytes < sizeof(feature) || feature.feature_bytes > size)
			return;
		if (feature.feature_id == PILOTLIGHT_KMEMTRACE_FEATURE_STACK &&
			feature.feature_bytes == sizeof(struct pilotlight_kmemtrace_stack)) {
			struct pilotlight_kmemtrace_stack stack;

			memcpy(&stack, bytes, sizeof(stack));
			event->has_stack = true;
			event->stack = stack.stack;
		}
		bytes += feature.feature_bytes;
		size -= feature.feature_bytes;
	}
}

int kmemtrace_event_parse(const void *bytes, size_t size, struct kmemtrace_event *ret_event)
{
	struct pilotlight_kmemtrace_alloc alloc = { 0 };
	struct pilotlight_kmemtrace_event *core = &alloc.event;
	struct kmemtrace_event event;
	size_t core_bytes;

	if (size < sizeof(*core))
		return 0;
	memcpy(core, bytes, sizeof(*core));
	core_bytes = core->event_id == PILOTLIGHT_KMEMTRACE_ALLOC ? sizeof(alloc) : sizeof(*core);
	if (core->event_bytes < core_bytes)
		return -EBADMSG;
	if (size < core->event_bytes)
		return 0;
	memcpy(&alloc, bytes, core_bytes);
	event = (struct kmemtrace_event){
		.event_id = core->event_id,
		.type_id = core->type_id,
		.sequence = core->sequence,
		.call_site = core->call_site,
		.pointer = core->pointer,
		.requested_bytes = alloc.requested_bytes,
		.allocated_bytes = alloc.allocated_bytes,
		.gfp_flags = alloc.gfp_flags,
		.node = alloc.node,
		.is_wrong = alloc.allocated_bytes < alloc.requested_bytes,
	};
	/* The layout of unknown events behind the core is unknown, too. */
	if (core->event_id < PILOTLIGHT_KMEMTRACE_EVENTS)
		parse_features((const unsigned char *)bytes + core_bytes,
			core->event_bytes - core_bytes, &event);
	*ret_event = event;
	return core->event_bytes;
}

bool kmemtrace_is_before(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a - (uint32_t)b) < 0;
}

const char *kmemtrace_type_name(uint8_t type_id)
{
	static const char *const names[PILOTLIGHT_KMEMTRACE_TYPES] = { "kmalloc", "cache",
		"pages" };

	return type_id < PILOTLIGHT_KMEMTRACE_TYPES ? names[type_id] : "other";
}
