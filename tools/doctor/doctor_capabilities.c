/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capabilities(7) in the effective set of the caller, who is who would run `pilotlight record`. */
#include "base/array.h"
#include "tools/doctor/doctor_check.h"

#include <linux/capability.h>

#define AS_ROOT "sudo pilotlight ..., or once and for all with setcap as in pilotlight(1)"

static void check_capability(struct doctor_finding *finding)
{
	if (!finding->host->has_capabilities) {
		doctor_found(finding, DOCTOR_UNKNOWN, "no CapEff line in /proc/self/status");
		finding->remedy = "sudo mount -t proc proc /proc";
	} else if (doctor_has_capability(finding->host, finding->check->argument)) {
		doctor_found(finding, DOCTOR_OK, "effective");
	} else {
		doctor_found(finding, DOCTOR_MISSING, "not in the effective set");
	}
}

/* For those that were split off from CAP_SYS_ADMIN, which still stands for them. */
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
			"not in the effective set, and not needed since Linux 5.11");
}

static const struct doctor_check checks[] = {
	{ "CAP_BPF", check_split_capability, CAP_BPF, true, "BPF programs and maps: all recording",
		AS_ROOT },
	{ "CAP_PERFMON", check_split_capability, CAP_PERFMON, true,
		"sampling of whole CPUs, and stacks from BPF: all recording", AS_ROOT },
	{ "CAP_SYS_PTRACE", check_capability, CAP_SYS_PTRACE, false,
		"mappings and binaries of other users' processes: they keep addresses, not names",
		AS_ROOT },
	{ "CAP_DAC_READ_SEARCH", check_capability, CAP_DAC_READ_SEARCH, false,
		"binaries that their owners alone may read: they keep addresses, not names",
		AS_ROOT },
	{ "CAP_CHECKPOINT_RESTORE", check_split_capability, CAP_CHECKPOINT_RESTORE, false,
		"/proc/PID/map_files: binaries deleted while they run keep addresses, not names",
		AS_ROOT },
	{ "CAP_SYSLOG", check_capability, CAP_SYSLOG, false,
		"addresses in /proc/kallsyms: kernel functions keep addresses, not names",
		AS_ROOT },
	{ "CAP_SYS_RESOURCE", check_resource, CAP_SYS_RESOURCE, false,
		"raising the memory lock limit, which BPF maps count against before Linux 5.11",
		"ulimit -l unlimited, as root, in the shell that starts pilotlight" },
};

const struct doctor_group doctor_capabilities = { "Capabilities", checks, ARRAY_SIZE(checks) };
