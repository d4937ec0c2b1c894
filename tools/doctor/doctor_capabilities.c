/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caller's effective capabilities(7). */
#include "base/array.h"
#include "tools/doctor/doctor_check.h"

#include <linux/capability.h>

#define AS_ROOT "run sudo pilotlight ..., or use setcap as in pilotlight(1)"

static void check_capability(struct doctor_finding *finding)
{
	if (doctor_has_capability(finding->host, finding->check->argument))
		doctor_found(finding, DOCTOR_OK, "effective");
	else
		doctor_found(finding, DOCTOR_MISSING, "not in the effective set");
}

/* CAP_SYS_ADMIN implies those that were split off from it. */
static void check_split_capability(struct doctor_finding *finding)
{
	check_capability(finding);
	if (finding->state == DOCTOR_MISSING && doctor_has_capability(finding->host, CAP_SYS_ADMIN))
		doctor_found(finding, DOCTOR_OK, "implied by CAP_SYS_ADMIN");
}

static void check_resource(struct doctor_finding *finding)
{
	check_capability(finding);
	if (finding->state == DOCTOR_MISSING && doctor_is_since(finding->host, 5, 11))
		doctor_found(finding, DOCTOR_OK,
			"not in the effective set, but not needed since Linux 5.11");
}

static const struct doctor_check checks[] = {
	{ "CAP_BPF", check_split_capability, CAP_BPF, true,
		"BPF programs and maps; nothing can be recorded", AS_ROOT },
	{ "CAP_PERFMON", check_split_capability, CAP_PERFMON, true,
		"sampling of CPUs, and stacks; nothing can be recorded", AS_ROOT },
	{ "CAP_SYS_PTRACE", check_capability, CAP_SYS_PTRACE, false,
		"names in other users' processes; frames show addresses", AS_ROOT },
	{ "CAP_DAC_READ_SEARCH", check_capability, CAP_DAC_READ_SEARCH, false,
		"names in binaries that only their owners may read; frames show addresses",
		AS_ROOT },
	{ "CAP_CHECKPOINT_RESTORE", check_split_capability, CAP_CHECKPOINT_RESTORE, false,
		"names in binaries that were deleted while they run; frames show addresses",
		AS_ROOT },
	{ "CAP_SYSLOG", check_capability, CAP_SYSLOG, false,
		"names of kernel functions; frames show addresses", AS_ROOT },
	{ "CAP_SYS_RESOURCE", check_resource, CAP_SYS_RESOURCE, false,
		"a higher memory lock limit, which BPF maps count against before Linux 5.11",
		"run ulimit -l unlimited as root in the shell that starts pilotlight" },
};

const struct doctor_group doctor_capabilities = { "Capabilities", checks, ARRAY_SIZE(checks) };
