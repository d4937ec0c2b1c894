/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/program_list.h"

#include "base/clock.h"
#include "capture/kernel_cost.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

int program_list_refuse(const struct program_list *list, const char *missing, struct fault *fault)
{
	return fault_set(fault, -EOPNOTSUPP,
		"cannot sample %s: this kernel lacks %s; use another kernel, or sample without it",
		list->samples, missing);
}

static bool is_started(const struct program_list *list)
{
	for (const struct listed_program *i = list->programs; i->program; i++)
		if (*i->link)
			return true;
	return false;
}

static int attach(const struct listed_program *listed)
{
	if (*listed->link || !bpf_program__autoload(listed->program))
		return 0;
	*listed->link = bpf_program__attach(listed->program);
	return *listed->link ? 0 : -errno;
}

int program_list_start(const struct program_list *list, struct fault *fault)
{
	int r = 0;

	if (list->since_ns && !is_started(list))
		*list->since_ns = clock_monotonic_ns();
	for (const struct listed_program *i = list->programs; r == 0 && i->program; i++)
		r = attach(i);
	if (r == 0)
		return 0;
	program_list_stop(list);
	return fault_set(fault, r,
		"cannot sample %s (%s): run as root, or with CAP_PERFMON; `pilotlight doctor` "
		"shows what the kernel lacks",
		list->samples, strerror(-r));
}

void program_list_stop(const struct program_list *list)
{
	for (const struct listed_program *i = list->programs; i->program; i++) {
		bpf_link__destroy(*i->link);
		*i->link = NULL;
	}
}

void program_list_add_cost(const struct program_list *list, uint64_t *ns)
{
	for (const struct listed_program *i = list->programs; i->program; i++)
		kernel_cost_add_program(bpf_program__fd(i->program), NULL, ns);
}
