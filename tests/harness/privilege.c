/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/privilege.h"

#include <unistd.h>

const char *privilege_lacks_bpf(void)
{
	if (geteuid() != 0)
		return "loading BPF programs takes root";
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return "this kernel has no BTF";
	return NULL;
}
