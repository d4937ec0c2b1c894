/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine around the kernel: CPUs, limits, libraries, debug files. */
#include "base/array.h"
#include "base/cleanup.h"
#include "tools/doctor/doctor_check.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

static void check_cpus(struct doctor_finding *finding)
{
	int possible = libbpf_num_possible_cpus();
	char online[4096];

	if (doctor_read_file("/sys/devices/system/cpu/online", online, sizeof(online)) < 0 ||
		possible < 0)
		doctor_found(finding, DOCTOR_UNKNOWN, "/sys/devices/system/cpu cannot be read");
	else
		doctor_found(finding, DOCTOR_OK, "%ld online (%.60s), %d possible",
			sysconf(_SC_NPROCESSORS_ONLN), online, possible);
}

static void check_memory_lock(struct doctor_finding *finding)
{
	/* More than the maps of any recording with default settings. */
	const uint64_t enough_bytes = 256 << 20;

	if (finding->host->memory_lock_bytes == UINT64_MAX)
		doctor_found(finding, DOCTOR_OK, "unlimited");
	else if (doctor_is_since(finding->host, 5, 11))
		doctor_found(finding, DOCTOR_OK, "%llu KiB; BPF maps do not count since Linux 5.11",
			(unsigned long long)finding->host->memory_lock_bytes / 1024);
	else
		doctor_found(finding,
			finding->host->memory_lock_bytes < enough_bytes ? DOCTOR_LIMITED
									: DOCTOR_OK,
			"%llu KiB", (unsigned long long)finding->host->memory_lock_bytes / 1024);
}

static void check_libbpf(struct doctor_finding *finding)
{
	doctor_found(finding, DOCTOR_OK, "%s", libbpf_version_string());
}

static void check_debug_files(struct doctor_finding *finding)
{
	glob_t files = { 0 };
	struct stat status;
	size_t count;

	if (stat(DEBUG_FOLDER, &status) < 0) {
		doctor_found(finding, errno == EACCES ? DOCTOR_UNKNOWN : DOCTOR_MISSING, "%s: %s",
			DEBUG_FOLDER, strerror(errno));
		return;
	}
	(void)glob(DEBUG_FOLDER "/[0-9a-f][0-9a-f]/*.debug", GLOB_NOSORT, NULL, &files);
	count = files.gl_pathc;
	globfree(&files);
	if (count)
		doctor_found(finding, DOCTOR_OK, "%zu in %s", count, DEBUG_FOLDER);
	else
		doctor_found(finding, DOCTOR_MISSING, "%s is empty", DEBUG_FOLDER);
}

static void check_debuginfod(struct doctor_finding *finding)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		doctor_found(finding, DOCTOR_OK, "%.120s", urls);
	else
		doctor_found(finding, DOCTOR_OK, "not configured (DEBUGINFOD_URLS)");
}

static const struct doctor_check checks[] = {
	{ "CPUs", check_cpus, 0, false, "only this answer; recording reads it by itself",
		"sudo mount -t sysfs sysfs /sys" },
	{ "memory lock limit", check_memory_lock, 0, false,
		"BPF maps beyond the limit, unless CAP_SYS_RESOURCE is there",
		"run ulimit -l unlimited as root in the shell that starts pilotlight" },
	{ "libbpf", check_libbpf, 0, false, NULL, NULL },
	{ "debug files", check_debug_files, 0, false,
		"names of functions that stripped binaries do not export",
		"install debug packages: apt-get install libc6-dbg, or PACKAGE-dbgsym" },
	{ "debuginfod", check_debuginfod, 0, false, NULL, NULL },
};

const struct doctor_group doctor_system = { "System", checks, ARRAY_SIZE(checks) };
