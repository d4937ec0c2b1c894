/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysctls, and what their values mean for the caller. */
#include "base/array.h"
#include "pilotlight/event.h"
#include "tools/doctor/doctor_check.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RATE_HZ = 99,	       /* what record asks for by default */
	CPU_TIME_PERCENT = 25, /* the kernel's default */
	KPTR_HIDES_FROM_ALL = 2,
	PARANOID_MAINLINE_MAX = 2, /* Debian's and Android's kernels have higher levels */
};

enum setting {
	PARANOID,
	KPTR_RESTRICT,
	MAX_STACK,
	SAMPLE_RATE,
	CPU_TIME,
	JIT,
	UNPRIVILEGED_BPF,
	STATISTICS,
};

/* Returns the value of the sysctl that the check is named after; on false, `finding` has the
 * reason. */
static bool read_setting(struct doctor_finding *finding, long *ret_value)
{
	char path[128], text[64], *end;
	int length, r;

	length = snprintf(path, sizeof(path), "/proc/sys/%s", finding->check->name);
	for (int i = 0; i < length; i++)
		if (path[i] == '.')
			path[i] = '/';
	r = doctor_read_file(path, text, sizeof(text));
	if (r == 0) {
		*ret_value = strtol(text, &end, 10);
		r = end == text || *end ? -EINVAL : 0;
	}
	if (r < 0)
		doctor_found(finding, DOCTOR_UNKNOWN, "%s: %s", path, strerror(-r));
	return r == 0;
}

static void judge_paranoid(struct doctor_finding *finding, long value)
{
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

static void judge(struct doctor_finding *finding, long value)
{
	switch ((enum setting)finding->check->argument) {
	case PARANOID:
		judge_paranoid(finding, value);
		break;
	case KPTR_RESTRICT:
		if (value >= KPTR_HIDES_FROM_ALL)
			doctor_found(finding, DOCTOR_LIMITED,
				"%ld: kernel addresses are hidden, even from root", value);
		else
			doctor_found(finding, DOCTOR_OK, "%ld", value);
		break;
	case MAX_STACK:
		if (value < PILOTLIGHT_STACK_DEPTH)
			doctor_found(finding, DOCTOR_MISSING,
				"%ld: the kernel refuses stacks of %d frames", value,
				PILOTLIGHT_STACK_DEPTH);
		else
			doctor_found(finding, DOCTOR_OK, "%ld; pilotlight uses %d", value,
				PILOTLIGHT_STACK_DEPTH);
		break;
	case SAMPLE_RATE:
		doctor_found(finding, value < RATE_HZ ? DOCTOR_LIMITED : DOCTOR_OK,
			"%ld Hz at most", value);
		break;
	case CPU_TIME:
		/* At 0 and at 100 the kernel does not lower the rate at all. */
		doctor_found(finding,
			value > 0 && value < CPU_TIME_PERCENT ? DOCTOR_LIMITED : DOCTOR_OK, "%ld",
			value);
		break;
	case JIT:
		doctor_found(finding, value ? DOCTOR_OK : DOCTOR_LIMITED,
			value ? "%ld" : "%ld: BPF programs are interpreted", value);
		break;
	case UNPRIVILEGED_BPF:
		doctor_found(
			finding, DOCTOR_OK, "%ld; recording needs CAP_BPF with any value", value);
		break;
	case STATISTICS:
		doctor_found(finding, DOCTOR_OK,
			value ? "%ld: every BPF program is always timed"
			      : "%ld: programs are timed on request",
			value);
		break;
	}
}

static void check_setting(struct doctor_finding *finding)
{
	long value;

	if (read_setting(finding, &value))
		judge(finding, value);
}

#define LOST_READING "only this answer; recording does not need it"

static const struct doctor_check checks[] = {
	{ "kernel.perf_event_paranoid", check_setting, PARANOID, false,
		"sampling CPUs without CAP_PERFMON",
		"run pilotlight as root, or: sudo sysctl kernel.perf_event_paranoid=-1" },
	{ "kernel.kptr_restrict", check_setting, KPTR_RESTRICT, false,
		"names of kernel functions; frames show addresses",
		"sudo sysctl kernel.kptr_restrict=1" },
	{ "kernel.perf_event_max_stack", check_setting, MAX_STACK, true,
		"stack maps of the needed size; nothing can be recorded",
		"sudo sysctl kernel.perf_event_max_stack=127" },
	{ "kernel.perf_event_max_sample_rate", check_setting, SAMPLE_RATE, false,
		"recording at the default 99 Hz; a lower -F works",
		"sudo sysctl kernel.perf_event_max_sample_rate=100000" },
	{ "kernel.perf_cpu_time_max_percent", check_setting, CPU_TIME, false,
		"samples: the kernel lowers the rate when sampling takes more time than this",
		"sudo sysctl kernel.perf_cpu_time_max_percent=25" },
	{ "net.core.bpf_jit_enable", check_setting, JIT, false,
		"speed: a sample costs several times as much",
		"sudo sysctl net.core.bpf_jit_enable=1" },
	{ "kernel.unprivileged_bpf_disabled", check_setting, UNPRIVILEGED_BPF, false, LOST_READING,
		NULL },
	{ "kernel.bpf_stats_enabled", check_setting, STATISTICS, false, LOST_READING, NULL },
};

const struct doctor_group doctor_settings = { "Settings", checks, ARRAY_SIZE(checks) };
