/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the perf events of a recording, and closes them. */
#include "base/array.h"
#include "base/cleanup.h"
#include "capture/event_name.h"
#include "capture/source_support.h"
#include "tools/doctor/doctor_check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static int open_event(struct perf_event_attr *attributes)
{
	int cpu = sched_getcpu();
	long fd;

	attributes->size = sizeof(*attributes);
	fd = syscall(SYS_perf_event_open, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int try_sampling(uint32_t type, uint64_t config)
{
	struct perf_event_attr attributes = {
		.type = type,
		.config = config,
		.freq = 1,
		.sample_freq = 99,
		.disabled = 1,
	};
	_cleanup_close_ int fd = open_event(&attributes);

	return fd < 0 ? fd : 0;
}

static void check_sampling(struct doctor_finding *finding)
{
	int r;

	if (try_sampling(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0) {
		doctor_found(finding, DOCTOR_OK, "by CPU cycles");
		return;
	}
	r = try_sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	if (r == 0) {
		doctor_found(finding, DOCTOR_LIMITED, "by cpu-clock, as there is no cycle counter");
		finding->lost = "accuracy in kernel code that runs with interrupts off: its time "
				"is shown where they are turned on";
		finding->remedy = "in a virtual machine: let the host pass the PMU through";
	} else if (r == -EACCES || r == -EPERM) {
		doctor_found(finding, doctor_refusal(finding->host), "perf_event_open(): %s",
			strerror(-r));
	} else {
		doctor_found(finding, DOCTOR_MISSING, "perf_event_open(): %s", strerror(-r));
		finding->remedy = "a kernel with CONFIG_PERF_EVENTS, outside of containers whose "
				  "seccomp filter refuses perf_event_open()";
	}
}

static void check_sideband(struct doctor_finding *finding)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};
	_cleanup_close_ int fd = open_event(&attributes);

	if (fd >= 0)
		doctor_found(finding, DOCTOR_OK, "can be opened");
	else if (fd == -EACCES || fd == -EPERM)
		doctor_found(finding, doctor_refusal(finding->host), "perf_event_open(): %s",
			strerror(-fd));
	else
		doctor_found(finding, DOCTOR_MISSING, "perf_event_open(): %s", strerror(-fd));
}

/* Tries an event of perf, or a tracepoint, as a recording opens it. */
static void check_counted(struct doctor_finding *finding, const char *name)
{
	struct pilotlight_counted_event event;
	char missing[PILOTLIGHT_MISSING_BYTES];
	uint64_t period;
	int r = event_name_find(name, EVENT_NAME_PMU, &event, &period, NULL);

	if (r == 0)
		r = source_support_read(PILOTLIGHT_SOURCE_COUNTED, false, &event, NULL, missing);
	if (r < 0)
		doctor_found(finding, doctor_refusal(finding->host), "%s: %s", name, strerror(-r));
	else if (*missing)
		doctor_found(finding, DOCTOR_MISSING, "%s: %s", name, missing);
	else
		doctor_found(finding, DOCTOR_OK, "%s can be counted", name);
}

static void check_faults(struct doctor_finding *finding)
{
	check_counted(finding, "page-faults");
}

static void check_pmu(struct doctor_finding *finding)
{
	check_counted(finding, "instructions");
}

static void check_tracepoints(struct doctor_finding *finding)
{
	check_counted(finding, "sched:sched_process_exec");
}

#define AS_ROOT "sudo pilotlight ..."

static const struct doctor_check checks[] = {
	{ "sampling", check_sampling, 0, true, "samples; nothing can be recorded", AS_ROOT },
	{ "side-band", check_sideband, 0, true, "mappings of processes; nothing can be recorded",
		AS_ROOT },
	{ "page faults", check_faults, 0, false, "page faults; all else is sampled", AS_ROOT },
	{ "events of the PMU", check_pmu, 0, false,
		"cache-misses, instructions and the like; all else is sampled",
		"in a virtual machine: let the host pass the PMU through" },
	{ "tracepoints", check_tracepoints, 0, false,
		"events such as sched:sched_process_exec; all else is sampled",
		"mount -t tracefs tracefs /sys/kernel/tracing" },
};

const struct doctor_group doctor_perf = { "Perf events", checks, ARRAY_SIZE(checks) };
