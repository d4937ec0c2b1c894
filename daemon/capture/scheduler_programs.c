/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/scheduler_programs.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_btf.h"
#include "capture/map_sizes.h"
#include "capture/program_list.h"
#include "capture/thread_visit.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"
#include "visitor.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	/* Of the tracepoint sched_switch since 5.18, with the one that all have. */
	SWITCH_ARGUMENTS = 5,
	START_NUMBER_MAX = 65535,
};

bool scheduler_programs_are_wanted(const struct capture_settings *settings)
{
	return amount_programs_counts(settings, PILOTLIGHT_SOURCE_OFFCPU) ||
	       amount_programs_counts(settings, PILOTLIGHT_SOURCE_RUNQUEUE);
}

/* Start attaches them one by one: the first visit of all threads comes in between. */
static struct program_list list_of(struct sampler *sampler)
{
	return (struct program_list){
		.samples = "time off the CPU",
		.programs = {
			{ sampler->progs.note_switch, &sampler->links.note_switch },
			{ sampler->progs.note_wakeup, &sampler->links.note_wakeup },
			{ sampler->progs.account_switch, &sampler->links.account_switch },
			{ sampler->progs.account_schedule, &sampler->links.account_schedule },
			{ sampler->progs.begin_thread, &sampler->links.begin_thread },
			{ sampler->progs.end_thread, &sampler->links.end_thread },
			{ sampler->progs.forget_thread, &sampler->links.forget_thread },
			{ sampler->progs.note_waker, &sampler->links.note_waker },
		},
	};
}

/* For what the iterators read. */
static const char *find_missing_of_threads(const struct btf *btf)
{
	if (!kernel_btf_has_member(btf, "sched_info", "last_arrival"))
		return "CONFIG_SCHED_INFO";
	return kernel_btf_has_member(btf, "cfs_rq", "rq") ? "" : "CONFIG_FAIR_GROUP_SCHED";
}

static const char *find_missing(const struct btf *btf, bool has_exit_tracepoint)
{
	const char *missing = find_missing_of_threads(btf);

	if (*missing || has_exit_tracepoint)
		return missing;
	if (!kernel_btf_traces_functions(btf))
		return "the tracepoint sched_exit_tp (since Linux 6.16), and "
		       "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS";
	if (!kernel_btf_has_function(btf, "schedule"))
		return "the tracepoint sched_exit_tp (since Linux 6.16), and a function schedule() "
		       "in its BTF";
	return "";
}

void scheduler_support_read(struct scheduler_support *ret_support)
{
	struct scheduler_support support = { .has_exit_tracepoint = false };
	struct btf *btf = btf__load_vmlinux_btf();

	if (btf) {
		support.has_exit_tracepoint =
			kernel_btf_tracepoint_arguments(btf, "btf_trace_sched_exit_tp") > 0;
		support.tells_previous_state =
			kernel_btf_tracepoint_arguments(btf, "btf_trace_sched_switch") >=
			SWITCH_ARGUMENTS;
	}
	(void)snprintf(support.missing, sizeof(support.missing), "%s",
		btf ? find_missing(btf, support.has_exit_tracepoint) : "BTF");
	(void)snprintf(support.missing_for_surveys, sizeof(support.missing_for_surveys), "%s",
		btf ? find_missing_of_threads(btf) : "BTF");
	btf__free(btf);
	*ret_support = support;
}

static void set_autoload(
	struct sampler *programs, bool is_wanted, bool has_tracepoint, bool wants_wakers)
{
	(void)bpf_program__set_autoload(programs->progs.note_waker, wants_wakers);
	(void)bpf_program__set_autoload(programs->progs.note_switch, is_wanted);
	(void)bpf_program__set_autoload(programs->progs.note_wakeup, is_wanted);
	(void)bpf_program__set_autoload(
		programs->progs.account_switch, is_wanted && has_tracepoint);
	(void)bpf_program__set_autoload(
		programs->progs.account_schedule, is_wanted && !has_tracepoint);
	(void)bpf_program__set_autoload(programs->progs.begin_thread, is_wanted);
	(void)bpf_program__set_autoload(programs->progs.end_thread, is_wanted);
	(void)bpf_program__set_autoload(programs->progs.forget_thread, is_wanted);
	(void)bpf_map__set_autocreate(programs->maps.off_cpus, is_wanted);
}

int scheduler_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = list_of(programs);
	const bool wants_wakers = settings->wants_wakers &&
				  amount_programs_counts(settings, PILOTLIGHT_SOURCE_OFFCPU);
	struct scheduler_support support;

	if (!scheduler_programs_are_wanted(settings)) {
		set_autoload(programs, false, false, false);
		return 0;
	}
	scheduler_support_read(&support);
	if (*support.missing)
		return program_list_refuse(&list, support.missing, fault);
	programs->rodata->tells_previous_state = support.tells_previous_state;
	programs->rodata->threads_max =
		(uint32_t)(map_sizes_thread_bytes(settings->sources & ~settings->surveyed,
				   settings->map_budget_bytes) /
			   MAP_SIZES_THREAD_BYTES);
	programs->rodata->wants_wakers = wants_wakers;
	set_autoload(programs, true, support.has_exit_tracepoint, wants_wakers);
	return 0;
}

static int begin_threads(struct visitor *programs)
{
	struct thread_visit visit = { .fd = -1 };
	int r;

	programs->bss->blocked_before_ns = 0;
	/* After a million threads the kernel lets the reader do something else. */
	do
		r = thread_visit_run(&visit, programs, programs->progs.visit_threads);
	while (r == -EAGAIN);
	return r;
}

static int attach(const struct bpf_program *program, struct bpf_link **link)
{
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

static int attach_behind_switch(struct sampler *programs)
{
	return bpf_program__autoload(programs->progs.account_switch)
		       ? attach(programs->progs.account_switch, &programs->links.account_switch)
		       : attach(programs->progs.account_schedule,
				 &programs->links.account_schedule);
}

/* Nothing counts threads at this time. */
static void begin_counting(struct sampler *programs)
{
	struct sampler__data_shared *variables = programs->data_shared;

	variables->start_number = variables->start_number % START_NUMBER_MAX + 1;
	variables->thread_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(variables->user_threads); i++)
		variables->user_threads[i] = 0;
}

int scheduler_programs_start(struct sampler *programs, struct visitor *visitor,
	const struct capture_settings *settings, struct fault *fault)
{
	int r;

	if (!scheduler_programs_are_wanted(settings) || programs->links.note_switch)
		return 0;
	begin_counting(programs);
	/* From here on no thread is missed that ends, is born, or is switched out. */
	r = attach(programs->progs.forget_thread, &programs->links.forget_thread);
	if (r == 0)
		r = attach(programs->progs.begin_thread, &programs->links.begin_thread);
	if (r == 0)
		r = attach(programs->progs.note_switch, &programs->links.note_switch);
	if (r == 0)
		r = attach(programs->progs.note_wakeup, &programs->links.note_wakeup);
	if (r == 0)
		r = begin_threads(visitor);
	if (r == 0)
		r = attach(programs->progs.end_thread, &programs->links.end_thread);
	if (r == 0 && bpf_program__autoload(programs->progs.note_waker))
		r = attach(programs->progs.note_waker, &programs->links.note_waker);
	if (r == 0)
		r = attach_behind_switch(programs);
	if (r == 0)
		return 0;
	scheduler_programs_stop(programs);
	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot sample time off the CPU (%s): run as root, or with CAP_PERFMON",
			strerror(-r));
	return fault_set(fault, r,
		"cannot sample time off the CPU (%s): the kernel lacks a feature that it needs; "
		"`pilotlight doctor` shows which",
		strerror(-r));
}

void scheduler_programs_stop(struct sampler *programs)
{
	const struct program_list list = list_of(programs);

	program_list_stop(&list);
}

int scheduler_programs_take_blocked(const struct sampler *programs, struct visitor *visitor,
	const struct capture_settings *settings, uint64_t before_ns, struct thread_visit *visit)
{
	if (!amount_programs_counts(settings, PILOTLIGHT_SOURCE_OFFCPU) || before_ns == 0)
		return -EOPNOTSUPP;
	/* What was noted while it is stopped means nothing. */
	if (!programs->links.note_switch || visit->before_ns != before_ns)
		thread_visit_end(visit);
	if (!programs->links.note_switch)
		return 0;
	visit->before_ns = before_ns;
	visitor->bss->blocked_before_ns = before_ns;
	return thread_visit_run(visit, visitor, visitor->progs.visit_threads);
}

uint64_t scheduler_programs_thread_bytes(const struct sampler *programs)
{
	return (uint64_t)programs->data_shared->thread_count * MAP_SIZES_THREAD_BYTES;
}

void scheduler_programs_add_cost(struct sampler *programs, uint64_t *ns)
{
	const struct program_list list = list_of(programs);

	program_list_add_cost(&list, ns);
}
