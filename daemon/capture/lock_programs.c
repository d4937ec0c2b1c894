/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/lock_programs.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_btf.h"
#include "capture/program_list.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 5 };

/* Begins before ends. */
static void list_programs(struct sampler *sampler, struct listed_program ret_programs[PROGRAMS])
{
	const struct listed_program programs[PROGRAMS] = {
		{ sampler->progs.begin_contention, &sampler->links.begin_contention },
		{ sampler->progs.end_contention, &sampler->links.end_contention },
		{ sampler->progs.begin_futex, &sampler->links.begin_futex },
		{ sampler->progs.end_futex, &sampler->links.end_futex },
		{ sampler->progs.end_futex_schedule, &sampler->links.end_futex_schedule },
	};

	memcpy(ret_programs, programs, sizeof(programs));
}

static bool is_wanted(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_LOCK);
}

void lock_support_read(struct lock_support *ret_support)
{
	struct lock_support support = { .has_futexes = false };
	struct btf *btf = btf__load_vmlinux_btf();

	scheduler_support_read(&support.scheduler);
	support.has_futexes = !*support.scheduler.missing;
	if (!btf)
		(void)snprintf(support.missing, sizeof(support.missing), "BTF");
	else if (kernel_btf_tracepoint_arguments(btf, "btf_trace_contention_begin") == 0)
		(void)snprintf(support.missing, sizeof(support.missing),
			"the tracepoint contention_begin (since Linux 5.19)");
	else
		support.has_spin_locks =
			kernel_btf_has_member_of(btf, "bpf_ringbuf", "spinlock", "rqspinlock_t");
	btf__free(btf);
	*ret_support = support;
}

static void set_autoload(struct sampler *sampler, const struct lock_support *support)
{
	bool has_futexes = support && support->has_futexes;
	bool has_tracepoint = has_futexes && support->scheduler.has_exit_tracepoint;

	(void)bpf_program__set_autoload(sampler->progs.begin_contention, support != NULL);
	(void)bpf_program__set_autoload(sampler->progs.end_contention, support != NULL);
	(void)bpf_program__set_autoload(sampler->progs.begin_futex, has_futexes);
	(void)bpf_program__set_autoload(sampler->progs.end_futex, has_tracepoint);
	(void)bpf_program__set_autoload(
		sampler->progs.end_futex_schedule, has_futexes && !has_tracepoint);
	(void)bpf_map__set_autocreate(sampler->maps.lock_waits, support != NULL);
	(void)bpf_map__set_autocreate(sampler->maps.spin_waits, support != NULL);
}

int lock_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	struct lock_support support;

	if (!is_wanted(settings)) {
		set_autoload(programs, NULL);
		return 0;
	}
	lock_support_read(&support);
	if (*support.missing)
		return fault_set(fault, -EOPNOTSUPP,
			"cannot sample waits for locks: this kernel lacks %s; use another kernel, "
			"or sample without the event lock",
			support.missing);
	programs->rodata->samples_spin_locks = support.has_spin_locks;
	programs->rodata->tells_previous_state = support.scheduler.tells_previous_state;
	set_autoload(programs, &support);
	return 0;
}

int lock_programs_start(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	struct listed_program all[PROGRAMS];
	int r;

	if (!is_wanted(settings))
		return 0;
	list_programs(programs, all);
	if (!programs->links.begin_contention)
		programs->bss->locks_since_ns = clock_monotonic_ns();
	r = program_list_attach(all, ARRAY_SIZE(all));
	if (r == 0)
		return 0;
	program_list_detach(all, ARRAY_SIZE(all));
	return fault_set(fault, r,
		"cannot sample waits for locks (%s): run as root, or with CAP_PERFMON; `pilotlight "
		"doctor` shows what the kernel lacks",
		strerror(-r));
}

void lock_programs_stop(struct sampler *programs)
{
	struct listed_program all[PROGRAMS];

	list_programs(programs, all);
	program_list_detach(all, ARRAY_SIZE(all));
}

void lock_programs_add_cost(struct sampler *programs, uint64_t *ns)
{
	struct listed_program all[PROGRAMS];

	list_programs(programs, all);
	program_list_add_cost(all, ARRAY_SIZE(all), ns);
}
