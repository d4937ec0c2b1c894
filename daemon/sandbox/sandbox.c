/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox.h"

#include "base/array.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NOBODY = 65534,
	CPU_GRACE_S = 5, /* between SIGXCPU, which names the reason, and SIGKILL */
};

/*
 * A user namespace may not map the user nobody (EINVAL); dropping the capabilities then takes away
 * root's power. EPERM: root lacks the capability to change its user.
 */
static int tolerate(int result, enum sandbox_root root)
{
	if (result == 0 || errno == EINVAL || (errno == EPERM && root == SANDBOX_ROOT_STAYS))
		return 0;
	return -errno;
}

static int become_nobody(enum sandbox_root root)
{
	uid_t real, effective, saved;
	int r;

	if (geteuid() != 0 && getuid() != 0)
		return 0;
	/*
	 * A user namespace may forbid setgroups(). Without the capability the next call fails
	 * anyway.
	 */
	r = tolerate(setgroups(0, NULL), SANDBOX_ROOT_STAYS);
	if (r == 0)
		r = tolerate(setresgid(NOBODY, NOBODY, NOBODY), root);
	if (r == 0)
		r = tolerate(setresuid(NOBODY, NOBODY, NOBODY), root);
	if (r < 0)
		return r;
	if (getresuid(&real, &effective, &saved) < 0)
		return -errno;
	if (effective == NOBODY && (real != NOBODY || saved != NOBODY || setuid(0) == 0))
		return -EPERM;
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capset, &header, sets) < 0)
		return -errno;
	memset(sets, 0xff, sizeof(sets));
	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
			return -EPERM;
	return 0;
}

/* May fail: after no_new_privs no capability can be gained through the bounding set. */
static void drop_inheritable(void)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		(void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* Drops everything but the user and group. */
static int drop_remaining(void)
{
	int r = drop_capabilities();

	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

int sandbox_drop_privileges(enum sandbox_root root)
{
	int r;

	drop_inheritable();
	r = become_nobody(root);
	return r == 0 ? drop_remaining() : r;
}

static bool is_already(uid_t user, gid_t group)
{
	uid_t users[3];
	gid_t groups[3];

	if (getresuid(&users[0], &users[1], &users[2]) < 0 ||
		getresgid(&groups[0], &groups[1], &groups[2]) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		if (users[i] != user || groups[i] != group)
			return false;
	return true;
}

int sandbox_drop_privileges_to(uid_t user, gid_t group)
{
	drop_inheritable();
	if (!is_already(user, group) &&
		(setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 ||
			setresuid(user, user, user) < 0))
		return -errno;
	return drop_remaining();
}

int sandbox_keep_capabilities(const int *capabilities, size_t count)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t kept[_LINUX_CAPABILITY_U32S_3] = { 0 };

	for (size_t i = 0; i < count; i++)
		kept[CAP_TO_INDEX(capabilities[i])] |= CAP_TO_MASK(capabilities[i]);
	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		sets[i].permitted &= kept[i];
		sets[i].effective &= kept[i];
		sets[i].inheritable = 0;
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, sets) < 0)
		return -errno;
	return 0;
}

/* Returns 0 if it was so already, 1 if it has changed, or -errno. */
static int make_effective(int capability, bool is_effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 }, *set;
	const uint32_t bit = CAP_TO_MASK(capability);

	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	set = &sets[CAP_TO_INDEX(capability)];
	if (!(set->effective & bit) == !is_effective)
		return 0;
	set->effective ^= bit;
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 1;
}

int sandbox_lower_capability(int capability)
{
	int r = make_effective(capability, false);

	return r < 0 ? r : 0;
}

bool sandbox_raise_capability(int capability)
{
	return make_effective(capability, true) == 1;
}

int sandbox_die_with_parent(int socket_fd)
{
	struct ucred parent;
	socklen_t size = sizeof(parent);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &parent, &size) < 0)
		return -errno;
	return parent.pid == getppid() ? 0 : -ESRCH;
}

/* Never raises a limit: a lower one stays as it is. */
static int set_limit(__rlimit_resource_t resource, uint64_t soft, uint64_t hard)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (hard < limit.rlim_max)
		limit.rlim_max = hard;
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

int sandbox_limit(const struct sandbox_limits *limits)
{
	const struct {
		__rlimit_resource_t resource;
		uint64_t value; /* 0: left alone */
		uint64_t grace;
	} bounds[] = {
		{ RLIMIT_DATA, SANDBOX_HAS_SANITIZER ? 0 : limits->memory_bytes, 0 },
		{ RLIMIT_AS, SANDBOX_HAS_SANITIZER ? 0 : limits->address_bytes, 0 },
		{ RLIMIT_FSIZE, limits->file_bytes, 0 },
		{ RLIMIT_STACK, limits->stack_bytes, 0 },
		{ RLIMIT_CPU, limits->cpu_s, CPU_GRACE_S },
		{ RLIMIT_NOFILE, limits->descriptors, 0 },
	};
	int r = set_limit(RLIMIT_CORE, 0, 0);

	for (size_t i = 0; i < ARRAY_SIZE(bounds) && r == 0; i++)
		if (bounds[i].value)
			r = set_limit(bounds[i].resource, bounds[i].value,
				bounds[i].value + bounds[i].grace);
	if (r == 0 && !limits->has_threads)
		r = set_limit(RLIMIT_NPROC, 0, 0);
	return r;
}
