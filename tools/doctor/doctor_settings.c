/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysctls, each by what its value means to the caller. */
#include "base/array.h"
#include "pilotlight/event.h"
#include "tools/doctor/doctor_check.h"
#include "tools/doctor/doctor_text.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

enum {
	RATE_HZ = 99,	       /* what record asks for by default */
	CPU_TIME_PERCENT = 25, /* the kernel's default */
	KPTR_HIDES_FROM_ALL = 2,
};

/* Reads the check's own sysctl; where it cannot, `finding` has the reason and this is false. */
static bool read_setting(struct doctor_finding *finding, long *ret_value)
{
	char path[128], text[64];
	int length, r;

	length = snprintf(path, sizeof(path), "/proc/sys/%s", finding->check->name);
	for (int i = 0; i < length; i++)
		if (path[i] == '.')
			path[i] = '/';
	r = doctor_read_file(path, text, sizeof(text));
	if (r == 0)
		r = doctor_text_integer(text, ret_value);
	if (r == 0)
		return true;
	doctor_found(finding, DOCTOR_UNKNOWN, "%s: %s", path, strerror(-r));
	return false;
}

/* Debian's and Android's kernels have one more. */
enum { PARANOID_MAINLINE_MAX = 2 };

static void check_paranoid(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	if (doctor_has_capability(finding->host, CAP_SYS_ADMIN))
		doctor_found(finding, DOCTOR_OK, "%ld, which CAP_SYS_ADMIN overrides", value);
	else if (doctor_has_capability(finding->host, CAP_PERFMON) &&
		 value <= PARANOID_MAINLINE_MAX)
		doctor_found(finding, DOCTOR_OK, "%ld, which CAP_PERFMON overrides", value);
	else if (doctor_has_capability(finding->host, CAP_PERFMON))
		doctor_found(finding, DOCTOR_LIMITED,
			"%ld: above %d, kernels that have it take CAP_SYS_ADMIN alone", value,
			PARANOID_MAINLINE_MAX);
	else if (value < 1)
		doctor_found(finding, DOCTOR_OK, "%ld: sampling of CPUs is open to all", value);
	else
		doctor_found(
			finding, DOCTOR_LIMITED, "%ld: sampling of CPUs takes CAP_PERFMON", value);
}

static void check_kptr_restrict(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	if (value >= KPTR_HIDES_FROM_ALL)
		doctor_found(finding, DOCTOR_LIMITED,
			"%ld: kernel addresses are hidden, even from root", value);
	else
		doctor_found(finding, DOCTOR_OK, "%ld", value);
}

static void check_max_stack(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	if (value < PILOTLIGHT_STACK_DEPTH)
		doctor_found(finding, DOCTOR_MISSING, "%ld: stacks of %d frames are refused", value,
			PILOTLIGHT_STACK_DEPTH);
	else
		doctor_found(finding, DOCTOR_OK, "%ld, of which %d are used", value,
			PILOTLIGHT_STACK_DEPTH);
}

static void check_sample_rate(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	doctor_found(
		finding, value < RATE_HZ ? DOCTOR_LIMITED : DOCTOR_OK, "%ld Hz at most", value);
}

static void check_cpu_time(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	/* At 0 and at 100 the kernel does not lower the rate at all. */
	doctor_found(finding, value > 0 && value < CPU_TIME_PERCENT ? DOCTOR_LIMITED : DOCTOR_OK,
		"%ld", value);
}

static void check_jit(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	if (value)
		doctor_found(finding, DOCTOR_OK, "%ld", value);
	else
		doctor_found(finding, DOCTOR_LIMITED, "0: BPF programs are interpreted");
}

static void check_unprivileged_bpf(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	doctor_found(finding, DOCTOR_OK, "%ld; recording takes CAP_BPF whatever it is", value);
}

static void check_statistics_setting(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	doctor_found(finding, DOCTOR_OK,
		value ? "%ld: every BPF program is timed, all the time"
		      : "%ld: programs are timed while somebody asks for it",
		value);
}

#define LOST_READING "this answer only; recording does not depend on it"

static const struct doctor_check checks[] = {
	{ "kernel.perf_event_paranoid", check_paranoid, 0, false,
		"sampling of CPUs without CAP_PERFMON",
		"run pilotlight as root, or: sudo sysctl kernel.perf_event_paranoid=-1" },
	{ "kernel.kptr_restrict", check_kptr_restrict, 0, false,
		"names of kernel functions, which keep addresses",
		"sudo sysctl kernel.kptr_restrict=1" },
	{ "kernel.perf_event_max_stack", check_max_stack, 0, true,
		"stack maps of the size that recording uses: all recording",
		"sudo sysctl kernel.perf_event_max_stack=127" },
	{ "kernel.perf_event_max_sample_rate", check_sample_rate, 0, false,
		"recording at the default 99 Hz; a lower -F works",
		"sudo sysctl kernel.perf_event_max_sample_rate=100000" },
	{ "kernel.perf_cpu_time_max_percent", check_cpu_time, 0, false,
		"samples, when the kernel finds sampling too dear and lowers the rate",
		"sudo sysctl kernel.perf_cpu_time_max_percent=25" },
	{ "net.core.bpf_jit_enable", check_jit, 0, false,
		"speed: each sample costs several times as much",
		"sudo sysctl net.core.bpf_jit_enable=1" },
	{ "kernel.unprivileged_bpf_disabled", check_unprivileged_bpf, 0, false, LOST_READING,
		NULL },
	{ "kernel.bpf_stats_enabled", check_statistics_setting, 0, false, LOST_READING, NULL },
};

const struct doctor_group doctor_settings = { "Settings", checks, ARRAY_SIZE(checks) };
