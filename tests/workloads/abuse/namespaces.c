/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks that an unprivileged user makes as root of user namespaces, and through cgroups. */
#include "abuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SPACES = 8,
	SILENT_PROCESSES = 40,
	CGROUPS = 1000,
	LOCKED_PROCESSES = 20,
	LOCKED_BYTES = 1 << 20
};

/* Whoever starts code of its own is asked for a perf map. */
static void run_code(struct abuse *abuse, unsigned us)
{
	struct code code;

	code_map(&code, 1000);
	code_run(abuse, &code, 8, us);
	(void)munmap(code.start, code.count * CODE_STEP);
}

/* Runs `run` in one new process after the other, SPACES at once. */
static void run_spaces(struct abuse *abuse, void (*run)(struct abuse *abuse, unsigned turn))
{
	unsigned running = 0;

	/* Skips the attack here, where it is seen, if namespaces are refused. */
	namespace_enter(0);
	for (unsigned turn = 0; abuse_goes_on(abuse); turn++) {
		pid_t pid = abuse_fork(abuse);

		if (pid == 0) {
			run(abuse, turn);
			_exit(0);
		}
		running = abuse_reap(running + (pid > 0), SPACES);
	}
}

static void use_mounts(struct abuse *abuse, unsigned turn)
{
	static const char *const sources[] = { "/dev/zero", "/etc/shadow", "/proc/1/mem",
		"/proc/kcore" };
	char path[64];

	namespace_enter(0);
	if (mount("abuse", "/tmp", "tmpfs", 0, "size=1m") < 0)
		abuse_skip("tmpfs cannot be mounted in a user namespace");
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	(void)close(abuse_create(path));
	(void)mount(sources[turn % 4], path, NULL, MS_BIND, NULL);
	if (turn % 3 == 0)
		(void)mount("/proc", "/tmp", NULL, MS_BIND | MS_REC, NULL);
	run_code(abuse, 50000);
}

void space_mounts(struct abuse *abuse)
{
	run_spaces(abuse, use_mounts);
}

/* Many processes with such a /tmp. Each blocks a process that opens a file in it. */
void space_silent(struct abuse *abuse)
{
	namespace_enter(0);
	/* Skips the attack here, where it is seen, if FUSE is refused. */
	(void)close(fuse_mount("/mnt"));
	for (unsigned i = 0; i < SILENT_PROCESSES; i++) {
		int fd;

		if (abuse_fork(abuse) != 0)
			continue;
		namespace_enter(0);
		fd = fuse_mount("/tmp");
		while (abuse_goes_on(abuse)) {
			run_code(abuse, 20000);
			fuse_swallow(fd);
		}
		_exit(0);
	}
	(void)abuse_reap(SILENT_PROCESSES, 0);
}

static void use_pids(struct abuse *abuse, unsigned turn)
{
	pid_t pid;

	(void)turn;
	namespace_enter(CLONE_NEWPID);
	pid = abuse_fork(abuse);
	if (pid == 0) {
		int fd;

		if (mount("abuse", "/tmp", "tmpfs", 0, "size=1m") < 0)
			_exit(0);
		fd = abuse_create("/tmp/perf-1.map");
		(void)dprintf(fd, "0 7fffffffffff first\n");
		run_code(abuse, 50000);
		_exit(0);
	}
	(void)abuse_reap(pid > 0, 0);
}

void space_pids(struct abuse *abuse)
{
	run_spaces(abuse, use_pids);
}

static void use_chroot(struct abuse *abuse, unsigned turn)
{
	static const char *const targets[] = { "/proc/self/root/tmp", "..", "/proc/1/root/etc",
		"/tmp" };
	char folder[32], link[64];

	namespace_enter(0);
	(void)snprintf(folder, sizeof(folder), "root%u", turn % SPACES);
	(void)snprintf(link, sizeof(link), "%s/tmp", folder);
	(void)mkdir(folder, 0755);
	(void)unlink(link);
	(void)symlink(targets[turn % 4], link);
	if (chroot(folder) < 0)
		return;
	run_code(abuse, 50000);
}

void space_chroot(struct abuse *abuse)
{
	run_spaces(abuse, use_chroot);
}

static void use_storm(struct abuse *abuse, unsigned turn)
{
	(void)turn;
	namespace_enter(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
	for (unsigned i = 0; i < 100 && abuse_goes_on(abuse); i++) {
		(void)mount("abuse", "/mnt", "tmpfs", 0, "size=64k");
		(void)umount2("/mnt", MNT_DETACH);
	}
}

void space_storm(struct abuse *abuse)
{
	run_spaces(abuse, use_storm);
}

/* Finds the cgroup in which a service manager lets this user make others. */
static void find_own_cgroup(char *path, size_t size)
{
	char line[1024], mount_point[256] = "", group[512] = "";
	FILE *file = fopen("/proc/mounts", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, " cgroup2 "))
			(void)sscanf(line, "%*s %255s", mount_point);
	if (file)
		(void)fclose(file);
	file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file))
		(void)sscanf(line, "0::%511s", group);
	if (file)
		(void)fclose(file);
	(void)snprintf(path, size, "%s%s", mount_point, group);
	if (!mount_point[0] || access(path, W_OK) < 0)
		abuse_skip("no cgroup is delegated to this user");
}

void space_cgroups(struct abuse *abuse)
{
	char own[800], group[900], procs[1000];

	find_own_cgroup(own, sizeof(own));
	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		pid_t pid;

		(void)snprintf(
			group, sizeof(group), "%s/abuse-%d-%u", own, (int)getpid(), i % CGROUPS);
		(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
		(void)rmdir(group);
		(void)mkdir(group, 0755);
		pid = abuse_fork(abuse);
		if (pid == 0) {
			int fd = open(procs, O_WRONLY | O_CLOEXEC);

			(void)write(fd, "0", 1);
			abuse_work(2000);
			_exit(0);
		}
		(void)abuse_reap(pid > 0, 0);
	}
	for (unsigned i = 0; i < CGROUPS; i++) {
		(void)snprintf(group, sizeof(group), "%s/abuse-%d-%u", own, (int)getpid(), i);
		(void)rmdir(group);
	}
}

/* Waits for ever for the page, and holds the lock of the memory map meanwhile. */
static void *touch_page(void *argument)
{
	return (void *)(uintptr_t) * (volatile char *)argument;
}

/* Wants the lock for itself, so that later readers of the map have to wait, too. */
static void *change_map(void *argument)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)argument;
	for (;;) {
		void *page =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		(void)munmap(page, 4096);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

static void lock_map(struct abuse *abuse)
{
	int fd = open("/mnt/file", O_RDONLY | O_CLOEXEC);
	char *page = mmap(NULL, LOCKED_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	pthread_t thread;

	if (fd < 0 || page == MAP_FAILED)
		_exit(1);
	if (pthread_create(&thread, NULL, touch_page, page) ||
		pthread_create(&thread, NULL, change_map, NULL))
		_exit(1);
	while (abuse_goes_on(abuse))
		abuse_work(10000);
	_exit(0);
}

void space_locked(struct abuse *abuse)
{
	int fd;

	namespace_enter(0);
	fd = fuse_mount("/mnt");
	for (unsigned i = 0; i < LOCKED_PROCESSES; i++)
		if (abuse_fork(abuse) == 0) {
			/* They can be killed only once the server's descriptor is closed. */
			(void)close(fd);
			lock_map(abuse);
		}
	fuse_serve(abuse, fd);
}
