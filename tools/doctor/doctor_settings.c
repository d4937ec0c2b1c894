/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysctls, and what their values mean for the caller. */
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

/* Reads the sysctl that the check is named after. On false, `finding` has the reason. */
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

/* Debian's and Android's kernels have higher levels. */
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
			"%ld: above %d such kernels demand CAP_SYS_ADMIN", value,
			PARANOID_MAINLINE_MAX);
	else if (value < 1)
		doctor_found(finding, DOCTOR_OK, "%ld: everybody may sample CPUs", value);
	else
		doctor_found(
			finding, DOCTOR_LIMITED, "%ld: sampling CPUs needs CAP_PERFMON", value);
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
		doctor_found(finding, DOCTOR_MISSING, "%ld: the kernel refuses stacks of %d frames",
			value, PILOTLIGHT_STACK_DEPTH);
	else
		doctor_found(finding, DOCTOR_OK, "%ld; pilotlight uses %d", value,
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
	doctor_found(finding, DOCTOR_OK, "%ld; recording needs CAP_BPF with any value", value);
}

static void check_statistics_setting(struct doctor_finding *finding)
{
	long value;

	if (!read_setting(finding, &value))
		return;
	doctor_found(finding, DOCTOR_OK,
		value ? "%ld: every BPF program is always timed"
		      : "%ld: programs are timed on request",
		value);
}

#define LOST_READING "only this answer; recording does not need it"

static const struct doctor_check checks[] = {
	{ "kernel.perf_event_paranoid", check_paranoid, 0, false,
		"sampling CPUs without CAP_PERFMON",
		"run pilotlight as root, or: sudo sysctl kernel.perf_event_paranoid=-1" },
	{ "kernel.kptr_restrict", check_kptr_restrict, 0, false,
		"names of kernel functions; frames show addresses",
		"sudo sysctl kernel.kptr_restrict=1" },
	{ "kernel.perf_event_max_stack", check_max_stack, 0, true,
		"stack maps of the needed size; nothing can be recorded",
		"sudo sysctl kernel.perf_event_max_stack=127" },
	{ "kernel.perf_event_max_sample_rate", check_sample_rate, 0, false,
		"recording at the default 99 Hz; a lower -F works",
		"sudo sysctl kernel.perf_event_max_sample_rate=100000" },
	{ "kernel.perf_cpu_time_max_percent", check_cpu_time, 0, false,
		"samples: the kernel lowers the rate when sampling takes more time than this",
		"sudo sysctl kernel.perf_cpu_time_max_percent=25" },
	{ "net.core.bpf_jit_enable", check_jit, 0, false,
		"speed: a sample costs several times as much",
		"sudo sysctl net.core.bpf_jit_enable=1" },
	{ "kernel.unprivileged_bpf_disabled", check_unprivileged_bpf, 0, false, LOST_READING,
		NULL },
	{ "kernel.bpf_stats_enabled", check_statistics_setting, 0, false, LOST_READING, NULL },
};

const struct doctor_group doctor_settings = { "Settings", checks, ARRAY_SIZE(checks) };
