/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel: its version, its configuration, and its files below /proc and /sys. */
#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/landlock_rules.h"
#include "tools/doctor/doctor_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void check_version(struct doctor_finding *finding)
{
	const char *release = finding->host->kernel.release;

	if (finding->host->major == 0) {
		doctor_found(finding, DOCTOR_UNKNOWN, "uname() returns no readable version");
	} else if (!doctor_is_since(finding->host, 5, 8)) {
		doctor_found(finding, DOCTOR_MISSING, "%s", release);
	} else if (!doctor_is_since(finding->host, 5, 12)) {
		doctor_found(finding, DOCTOR_LIMITED, "%s", release);
		finding->lost = "build-ids of processes that end quickly, which need Linux 5.12";
	} else {
		doctor_found(finding, DOCTOR_OK, "%s", release);
	}
}

static void check_preemption(struct doctor_finding *finding)
{
	if (strstr(finding->host->kernel.version, "PREEMPT_RT"))
		doctor_found(finding, DOCTOR_LIMITED, "PREEMPT_RT");
	else
		doctor_found(finding, DOCTOR_OK, "not PREEMPT_RT");
}

/* The mode in brackets of "none [integrity] confidentiality". */
static void check_lockdown(struct doctor_finding *finding)
{
	char text[128];
	int r = doctor_read_file("/sys/kernel/security/lockdown", text, sizeof(text));

	if (r == -ENOENT)
		doctor_found(finding, DOCTOR_OK, "none");
	else if (r < 0)
		doctor_found(
			finding, DOCTOR_UNKNOWN, "/sys/kernel/security/lockdown: %s", strerror(-r));
	else
		doctor_found(finding,
			strstr(text, "[confidentiality]") ? DOCTOR_MISSING : DOCTOR_OK, "%s", text);
}

static void check_btf(struct doctor_finding *finding)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";

	if (access(path, R_OK) == 0)
		doctor_found(finding, DOCTOR_OK, "%s", path);
	else if (errno == ENOENT)
		doctor_found(finding, DOCTOR_MISSING, "no %s", path);
	else
		doctor_found(finding, DOCTOR_UNKNOWN, "%s: %s", path, strerror(errno));
}

static void check_map_files(struct doctor_finding *finding)
{
	DIR *directory = opendir("/proc/self/map_files");
	const struct dirent *entry;
	_cleanup_close_ int fd = -1;
	int error;

	if (!directory) {
		doctor_found(finding, errno == ENOENT ? DOCTOR_MISSING : DOCTOR_LIMITED,
			"/proc/self/map_files: %s", strerror(errno));
		return;
	}
	/* The first entries are mappings of this program. */
	do {
		entry = readdir(directory);
	} while (entry && entry->d_name[0] == '.');
	if (entry)
		fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	error = entry ? errno : ENOENT;
	(void)closedir(directory);
	if (fd >= 0)
		doctor_found(finding, DOCTOR_OK, "files can be opened through it");
	else
		doctor_found(finding, DOCTOR_LIMITED, "%s", strerror(error));
}

/* Hidden addresses read as zeros. */
static bool has_an_address(FILE *file)
{
	char line[512];

	for (int i = 0; i < 1000 && fgets(line, sizeof(line), file); i++)
		if (line[strspn(line, "0")] != ' ')
			return true;
	return false;
}

static void check_kallsyms(struct doctor_finding *finding)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		doctor_found(finding, DOCTOR_MISSING, "/proc/kallsyms: %s", strerror(errno));
	else if (has_an_address(file))
		doctor_found(finding, DOCTOR_OK, "addresses are visible");
	else
		doctor_found(finding, DOCTOR_MISSING, "all addresses are hidden");
}

static void check_pid_namespace(struct doctor_finding *finding)
{
	/* PROC_PID_INIT_INO of the kernel: the initial namespaces have fixed numbers. */
	static const char initial[] = "pid:[4026531836]";
	char target[64];
	ssize_t length = readlink("/proc/self/ns/pid", target, sizeof(target) - 1);

	if (length < 0) {
		doctor_found(finding, DOCTOR_UNKNOWN, "/proc/self/ns/pid: %s", strerror(errno));
		return;
	}
	target[length] = '\0';
	if (!strcmp(target, initial))
		doctor_found(finding, DOCTOR_OK, "the initial one");
	else
		doctor_found(finding, DOCTOR_LIMITED, "%s, not the initial one", target);
}

/* Version 1 cannot move files between folders, which the history needs. */
static void check_landlock(struct doctor_finding *finding)
{
	int version = landlock_version();

	if (version >= 2)
		doctor_found(finding, DOCTOR_OK, "version %d", version);
	else if (version > 0)
		doctor_found(finding, DOCTOR_LIMITED, "version %d, of Linux before 5.19", version);
	else
		doctor_found(finding, DOCTOR_LIMITED, "none: %s", strerror(-version));
}

static void check_cgroups(struct doctor_finding *finding)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
		doctor_found(finding, DOCTOR_OK, "/sys/fs/cgroup");
	else if (access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0)
		doctor_found(finding, DOCTOR_LIMITED, "/sys/fs/cgroup/unified, beside version 1");
	else
		doctor_found(finding, DOCTOR_MISSING, "none at /sys/fs/cgroup");
}

static void check_tracefs(struct doctor_finding *finding)
{
	if (access("/sys/kernel/tracing/events", R_OK) == 0)
		doctor_found(finding, DOCTOR_OK, "/sys/kernel/tracing");
	else if (errno == EACCES)
		doctor_found(finding, DOCTOR_UNKNOWN, "/sys/kernel/tracing: %s", strerror(errno));
	else
		doctor_found(finding, DOCTOR_MISSING, "not mounted at /sys/kernel/tracing");
}

#define AS_ROOT "sudo pilotlight ..."

static const struct doctor_check checks[] = {
	{ "version", check_version, 0, true,
		"the BPF ring buffer, which needs Linux 5.8; nothing can be recorded",
		"a newer kernel" },
	{ "preemption", check_preemption, 0, false,
		"names of processes that end quickly; frames show addresses",
		"a kernel without CONFIG_PREEMPT_RT" },
	{ "lockdown", check_lockdown, 0, true,
		"reading kernel memory from BPF; nothing can be recorded",
		"boot with lockdown=integrity, or without lockdown" },
	{ "BTF", check_btf, 0, true,
		"the layout of the kernel's structures, which the BPF programs need; nothing can "
		"be "
		"recorded",
		"a kernel with CONFIG_DEBUG_INFO_BTF=y, as in all distributions since 2021" },
	{ "map_files", check_map_files, 0, false,
		"names in binaries that were deleted or replaced while they run", AS_ROOT },
	{ "kallsyms", check_kallsyms, 0, false, "names of kernel functions; frames show addresses",
		"run sudo pilotlight ... (or with CAP_SYSLOG), after sudo sysctl "
		"kernel.kptr_restrict=1" },
	{ "pid namespace", check_pid_namespace, 0, false,
		"names in processes outside of it; their samples still count",
		"run pilotlight in the host's namespace: docker run --pid=host, hostPID: true" },
	{ "Landlock", check_landlock, 0, false,
		"the engine's confinement to its own files; root cannot run pilotlightd without "
		"systemd",
		"Linux 5.19, and landlock in the list of lsm= on the kernel's command line" },
	{ "cgroup v2", check_cgroups, 0, false,
		"selecting samples by service; record does not need it",
		"boot with systemd.unified_cgroup_hierarchy=1" },
	{ "tracefs", check_tracefs, 0, false, "events other than CPU time; record does not need it",
		"sudo mount -t tracefs tracefs /sys/kernel/tracing" },
};

const struct doctor_group doctor_kernel = { "Kernel", checks, ARRAY_SIZE(checks) };
