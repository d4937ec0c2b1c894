/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks on the service's socket, files and processes. Each must fail. */
#include "abuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

__attribute__((noreturn)) static void reached(const char *what)
{
	(void)fprintf(stderr, "abuse: reached %s\n", what);
	exit(1);
}

static void try_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		abuse_fail("socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		reached(path);
	if (errno == ENOENT)
		abuse_skip("no service runs");
	if (errno != EACCES)
		abuse_fail(path);
	(void)close(fd);
}

/* Lists a folder whose files are private. */
static void try_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (strstr(entry->d_name, ".db") &&
			openat(dirfd(folder), entry->d_name, O_RDONLY) >= 0)
			reached(entry->d_name);
	if (folder)
		(void)closedir(folder);
}

static void try_process(pid_t pid)
{
	static const char *const files[] = { "mem", "maps", "environ", "auxv", "root/etc/passwd",
		"fd/1", "fd/3", "map_files", "syscall", "stack" };
	char path[64];

	if (kill(pid, SIGKILL) == 0 || kill(pid, SIGSTOP) == 0)
		reached("a process of the service by a signal");
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
		reached("a process of the service by ptrace()");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;
		char byte;

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && read(fd, &byte, 1) > 0)
			reached(path);
		if (fd >= 0)
			(void)close(fd);
	}
}

static bool is_service(const char *pid)
{
	char path[64], comm[32] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	if (file)
		(void)fclose(file);
	return strncmp(comm, "pilotlightd", 11) == 0;
}

void service_closed(struct abuse *abuse)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const char *path = getenv("PILOTLIGHT_SOCKET"), *state = getenv("STATE_DIRECTORY");

	while (abuse_goes_on(abuse)) {
		DIR *folder = opendir("/proc");
		struct dirent *entry;

		try_socket(path ? path : "/run/pilotlight/api.sock");
		try_folder(state ? state : "/var/lib/pilotlight");
		while (folder && (entry = readdir(folder)))
			if (atoi(entry->d_name) > 0 && is_service(entry->d_name))
				try_process(atoi(entry->d_name));
		if (folder)
			(void)closedir(folder);
		(void)nanosleep(&pause, NULL);
	}
}
