/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs cost at events that give no sample, such as most switches of threads. The
 * kernel measures all of it, but needs CAP_SYS_ADMIN for that. Here one call in WATCH_INTERVAL is
 * timed, at random, so that no pattern of events can fall into step with it, and stands for all.
 * What the kernel spends to call a program is missing, and a timed call includes the clock's cost.
 */
#pragma once

#include "amount.bpf.h"
#include "pilotlight/event.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum { WATCH_INTERVAL = 64 };

/* Call first. Returns a time if this call is one to be timed, else 0. */
static __always_inline __u64 watch_begin(void)
{
	__u32 zero = 0;
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);

	if (!cpu)
		return 0;
	if (cpu->untimed_calls) {
		cpu->untimed_calls--;
		return 0;
	}
	/* On average WATCH_INTERVAL - 1. */
	cpu->untimed_calls = bpf_get_prandom_u32() % (2 * WATCH_INTERVAL - 1);
	return bpf_ktime_get_ns();
}

/* Call last, or before a sample is taken, whose time is counted in run_ns. */
static __always_inline void watch_end(enum pilotlight_source source, __u64 begin_ns)
{
	__u32 index = pilotlight_counters_index(source, active_window & 1);
	struct pilotlight_counters *counts;

	if (!begin_ns)
		return;
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts)
		count(&counts->watch_ns, (bpf_ktime_get_ns() - begin_ns) * WATCH_INTERVAL);
}
