/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/lock_programs.h"

#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_btf.h"
#include "capture/program_list.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

/* Begins before ends. */
static struct program_list list_of(struct sampler *sampler)
{
	return (struct program_list){
		.samples = "waits for locks",
		.programs = {
			{ sampler->progs.begin_contention, &sampler->links.begin_contention },
			{ sampler->progs.end_contention, &sampler->links.end_contention },
			{ sampler->progs.begin_futex, &sampler->links.begin_futex },
			{ sampler->progs.end_futex, &sampler->links.end_futex },
			{ sampler->progs.end_futex_schedule, &sampler->links.end_futex_schedule },
		},
		.since_ns = &sampler->bss->locks_since_ns,
	};
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
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = list_of(sampler);
	struct lock_support support;

	if (!is_wanted(settings)) {
		set_autoload(sampler, NULL);
		return 0;
	}
	lock_support_read(&support);
	if (*support.missing)
		return program_list_refuse(&list, support.missing, fault);
	sampler->rodata->samples_spin_locks = support.has_spin_locks;
	sampler->rodata->tells_previous_state = support.scheduler.tells_previous_state;
	set_autoload(sampler, &support);
	return 0;
}

int lock_programs_start(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = list_of(sampler);

	return is_wanted(settings) ? program_list_start(&list, fault) : 0;
}

void lock_programs_stop(struct sampler *sampler)
{
	const struct program_list list = list_of(sampler);

	program_list_stop(&list);
}

void lock_programs_add_cost(struct sampler *sampler, uint64_t *ns)
{
	const struct program_list list = list_of(sampler);

	program_list_add_cost(&list, ns);
}
