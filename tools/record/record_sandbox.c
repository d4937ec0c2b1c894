/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_sandbox.h"

#include "base/array.h"
#include "base/log.h"
#include "sandbox/landlock_rules.h"
#include "sandbox/sandbox.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Before Linux 5.19 kernel.unprivileged_bpf_disabled closes all of bpf(), even on maps whose
 * descriptors were passed on (c8644cd0efe7). Tried as we will be: with no effective capability.
 */
static bool may_read_maps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 }, none[2];
	uint64_t key = 0, value;
	int r;

	_Static_assert(ARRAY_SIZE(none) == _LINUX_CAPABILITY_U32S_3, "sets");
	if (syscall(SYS_capget, &header, sets) < 0)
		return true;
	memcpy(none, sets, sizeof(none));
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		none[i].effective = 0;
	if (syscall(SYS_capset, &header, none) < 0)
		return true;
	/* With an invalid descriptor: EBADF comes after the check of permission. */
	r = bpf_map_lookup_elem(-1, &key, &value);
	(void)syscall(SYS_capset, &header, sets);
	return r != -EPERM;
}

/*
 * Without Landlock an intruder could write to every file of root. Then the engine becomes the user
 * nobody, who has no use for root's symbol cache.
 */
static int drop_privileges(void)
{
	if (geteuid() != 0 || landlock_can_confine_writers())
		return sandbox_drop_privileges_to(getuid(), getgid());
	log_warning(
		"this kernel has no Landlock (Linux 5.19, 'landlock' in its lsm= list), reading "
		"samples as the user nobody, without root's symbol cache");
	return sandbox_drop_privileges(SANDBOX_ROOT_STAYS);
}

int record_sandbox_drop_privileges(int socket_fd, bool *ret_keeps_privileges, struct fault *fault)
{
	bool keeps_privileges = !may_read_maps();
	int r = 0;

	if (keeps_privileges)
		log_warning("this kernel (before 5.19, with kernel.unprivileged_bpf_disabled) "
			    "refuses samples to a process without privileges, continuing with "
			    "privileges");
	else
		r = drop_privileges();
	if (r == 0)
		r = sandbox_die_with_parent(socket_fd);
	if (r < 0)
		return fault_set(fault, r, "cannot give up privileges: %s", strerror(-r));
	*ret_keeps_privileges = keeps_privileges;
	return 0;
}

/* Root may read every file, with or without capabilities. */
static void report_gap(const char *what, int error)
{
	if (geteuid() == 0)
		log_warning("%s (%s), continuing with the rights of root", what, strerror(error));
	else
		log_debug("%s (%s), continuing with the user's rights", what, strerror(error));
}

void record_sandbox_confine(const char *symbol_cache)
{
	const struct sandbox_folder folders[] = {
		{ symbol_cache, .is_written = true },
		/* Drafts of symbol files and debuginfod's files, if the cache takes none. */
		{ "/var/tmp", .is_written = true },
		{ "/tmp", .is_written = true },
		{ "/proc", .is_listed = true },
		/* To find our own vdso. */
		{ "/proc/self/maps", .is_written = false },
		/* libbpf counts CPUs. */
		{ "/sys/devices/system/cpu", .is_written = false },
	};
	int r;

	/* The file of the time zone is out of reach afterwards. */
	tzset();
	r = sandbox_confine(folders, ARRAY_SIZE(folders));
	if (r < 0)
		report_gap("cannot confine file access by Landlock", -r);
	r = sandbox_forbid_engine();
	if (r < 0)
		report_gap("cannot restrict system calls by seccomp", -r);
}

int record_sandbox_confine_reader(void)
{
	int r = sandbox_forbid_calls();

	if (r < 0)
		report_gap("cannot restrict a thread's system calls by seccomp", -r);
	return 0;
}

void record_sandbox_forbid_front(void)
{
	int r = sandbox_forbid_broker();

	if (r < 0)
		report_gap("cannot restrict system calls by seccomp", -r);
}
