/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/program_list.h"

#include "capture/kernel_cost.h"

#include <bpf/libbpf.h>
#include <errno.h>

int program_list_attach(const struct listed_program *programs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (*programs[i].link || !bpf_program__autoload(programs[i].program))
			continue;
		*programs[i].link = bpf_program__attach(programs[i].program);
		if (!*programs[i].link)
			return -errno;
	}
	return 0;
}

void program_list_detach(const struct listed_program *programs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bpf_link__destroy(*programs[i].link);
		*programs[i].link = NULL;
	}
}

void program_list_add_cost(const struct listed_program *programs, size_t count, uint64_t *ns)
{
	for (size_t i = 0; i < count; i++)
		kernel_cost_add_program(bpf_program__fd(programs[i].program), NULL, ns);
}
