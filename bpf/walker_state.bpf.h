/* SPDX-License-Identifier: GPL-2.0-only */
/* What a walk uses on one CPU, with what the frames of interpreters need. */
#pragma once

#include "mapping.bpf.h"
#include "runtime_hotspot_scopes.bpf.h"
#include "runtime_known.bpf.h"
#include "runtime_v8.bpf.h"
#include "runtime_walk.bpf.h"
#include "walk_state.bpf.h"

/* The walk of an interpreter's frames. */
struct runtime_state {
	union {
		struct {
			struct runtime_walk walk;
			/* Of has_calls: the frames with which groups have ended; FRAMES_MAX: a
			 * group without frames. */
			__u8 ends[PILOTLIGHT_RUNTIME_FRAMES_MAX + 1];
		};
		struct runtime_v8 v8; /* V8 has no `walk` */
		struct {
			struct hotspot_blob blob;
			struct hotspot_method method;
			struct hotspot_scopes scopes;
			struct hotspot_class classes[HOTSPOT_CLASSES]; /* of the sample */
			__u64 ns_max;				       /* for its methods */
		} hotspot; /* the native walk needs it, too */
	};
	struct hotspot known_hotspot; /* outlives the walk while the mappings stay the same */
	struct runtime_step step;
	/* Of known_codes, which is more memory than stays in the CPU's cache. */
	struct runtime_known_way recent[RUNTIME_RECENT];
	__u64 owner; /* identifies the address space, also over time */
	__u64 begin_ns;
	__u32 place;	/* native frames up to here run other groups */
	__u32 has_open; /* the last frame's group has not ended */
	__u32 is_full;	/* there was no room for a frame */
	__u32 steps, copies;
	__u32 is_spent;	   /* what has been copied cannot be sent before the next period */
	__u32 has_calls;   /* its groups have no marks */
	__u32 has_counted; /* the native frames that run the loop */
	__u32 language;
	__u32 groups; /* of has_calls: how many have ended */
	/* When groups get their calls: how many calls there were, and 1 + the native frame that
	 * goes on with the next one's group, or the generated code that runs it; 0: none. */
	__u32 placed, inner;
};

/*
 * All that a walk uses on one CPU. It is one struct, because each further page of memory that a
 * sample touches costs a TLB miss.
 */
struct walker {
	struct pilotlight_process process;
	__u32 window;
	/* Of the address space whose mappings are remembered. */
	__u32 version;
	__u64 mm;
	/* The last sample's cgroup; id 0: none. */
	__u64 cgroup_serial, cgroup_id;
	struct mapping found;
	struct maple_search search;
	struct walk walk;
	struct runtime_state runtime;
	struct remembered_rule rules[1 << REMEMBERED_RULES_SHIFT];
};

_Static_assert(sizeof(struct walker) <= 32 << 10, "the most that a map has for a CPU");
