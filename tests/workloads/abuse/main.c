/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * abuse ATTACK [SECONDS]: attacks the profiler as an unprivileged user for SECONDS (5).
 * abuse --list: prints the attacks, one a line, with what they do.
 *
 * ABUSE_FUSE names the FUSE device, if other than /dev/fuse. PILOTLIGHT_SOCKET and STATE_DIRECTORY
 * are those of the service. Kills the attack's processes and removes its files afterwards. Exits
 * with 77 if this machine does not allow the attack, and with 1 if it failed or reached what it
 * must not reach.
 */
#include "abuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct attack {
	const char *name;
	void (*run)(struct abuse *abuse);
	const char *what;
} attacks[] = {
	{ "map-names", map_names, "12,000 names of 150 bytes under forged deep stacks" },
	{ "map-new-names", map_new_names, "names of 150 bytes, replaced by others every second" },
	{ "map-sparse", map_sparse, "a perf map with a hole of 1 TiB between lines" },
	{ "map-endless", map_endless, "a perf map that grows at full speed" },
	{ "map-rewritten", map_rewritten, "a perf map that begins again all the time" },
	{ "map-symlink", map_symlink, "symbolic links to devices and to others' files" },
	{ "map-hard-link", map_hard_link,
		"hard links of one large file as maps of many processes" },
	{ "map-fifo", map_fifo, "a perf map that is a pipe, with and without a writer" },
	{ "map-swapped", map_swapped, "file, link, pipe and folder swapped by rename" },
	{ "map-one-line", map_one_line, "240 MiB without a newline" },
	{ "map-rubbish", map_rubbish, "random bytes as a perf map" },
	{ "map-of-others", map_of_others, "perf maps with the names of other users' processes" },
	{ "map-many", map_many, "600 processes with a perf map each" },
	{ "map-dead", map_dead, "short processes that leave their maps behind or unlink them" },
	{ "map-everything", map_everything, "lines that claim the whole address space" },

	{ "dump-sparse", dump_sparse, "a jitdump of 1 TiB with records at both ends" },
	{ "dump-endless", dump_endless, "a jitdump that grows at full speed" },
	{ "dump-times", dump_times, "records of the past, of the future and backwards" },
	{ "dump-pids", dump_pids, "records in the name of other processes" },
	{ "dump-header", dump_header, "a header that changes while the file is read" },
	{ "dump-moves", dump_moves, "code that moves and is closed all the time" },
	{ "dump-names", dump_names, "names of 1 MiB" },
	{ "dump-truncated", dump_truncated, "a jitdump that is truncated while it is read" },
	{ "dump-markers", dump_markers, "10,000 jitdumps mapped and unmapped" },
	{ "dump-lines", dump_lines, "source lines of code that never comes" },
	{ "dump-overlap", dump_overlap, "code that overlaps other code at each byte" },

	{ "stack-random", stack_random, "another forged stack of 126 random frames each time" },
	{ "stack-paths", stack_paths, "another real path of 60 calls each time" },
	{ "stack-forged", stack_forged, "frame pointers into the kernel, to holes and in circles" },
	{ "stack-file", stack_file, "stacks in a file that other processes rewrite" },
	{ "stack-code", stack_code, "code that rewrites itself" },
	{ "stack-signals", stack_signals, "signals on an alternate stack at full speed" },
	{ "stack-contexts", stack_contexts, "swapcontext() at full speed" },
	{ "stack-deep", stack_deep, "recursion 100,000 calls deep" },
	{ "stack-userfault", stack_userfault,
		"frames in memory whose page faults stay unanswered" },

	{ "thread-many", thread_many, "10,000 threads with a name each" },
	{ "thread-rubbish", thread_rubbish,
		"names of control characters, of text directions, not UTF-8" },
	{ "thread-renames", thread_renames, "a thread that is renamed at full speed" },
	{ "thread-kernel", thread_kernel, "processes named as the kernel's and the profiler's" },

	{ "process-forks", process_forks, "fork() at full speed" },
	{ "process-vforks", process_vforks, "vfork() at full speed" },
	{ "process-execs", process_execs, "execve() in a circle at full speed" },

	{ "elf-unique", elf_unique, "programs with another build-id each time" },
	{ "elf-forged", elf_forged, "programs with the build-id of libc" },
	{ "elf-sparse", elf_sparse, "a program of 8 GiB" },
	{ "elf-rows", elf_rows, "16 million unwind rows" },
	{ "elf-cies", elf_cies, "a million CIEs" },
	{ "elf-dwarf", elf_dwarf, "DWARF that refers to itself, 100,000 levels deep" },
	{ "elf-symbols", elf_symbols, "a million symbols at one address" },
	{ "elf-truncated", elf_truncated, "files that are truncated while their code runs" },
	{ "elf-memfd", elf_memfd, "programs in memory files" },
	{ "elf-dlopen", elf_dlopen, "dlopen() of another copy of a library each time" },
	{ "elf-paths", elf_paths, "programs with paths of 4 KiB" },
	{ "elf-escapes", elf_escapes,
		"programs with newlines and terminal escapes in their paths" },

	{ "python-circle", python_circle,
		"frames of an interpreter in circles, with marks anywhere" },
	{ "python-changing", python_changing,
		"frames and code of an interpreter that change all the time" },
	{ "python-lengths", python_lengths, "names and tables of lines with lengths that lie" },
	{ "python-codes", python_codes, "a million code objects, others in each sample" },

	{ "runtime-objects", runtime_objects,
		"functions of V8, Java, PHP, Ruby and Perl in circles, with lengths that lie, and "
		"that change" },

	{ "mapping-many", mapping_many, "60,000 executable mappings" },
	{ "mapping-writable", mapping_writable,
		"code in writable memory whose protection changes" },
	{ "mapping-storm", mapping_storm, "a file's code mapped and unmapped at full speed" },
	{ "mapping-anonymous", mapping_anonymous,
		"executable memory mapped and unmapped at full speed" },
	{ "mapping-replaced", mapping_replaced, "files mapped over each other at one address" },
	{ "mapping-claims", mapping_claims,
		"processes with 30,000 mappings that live until they are asked what they claim" },

	{ "space-mounts", space_mounts,
		"user namespaces with a /tmp of their own, and mounts in it" },
	{ "space-silent", space_silent, "a /tmp on FUSE that never answers" },
	{ "space-pids", space_pids, "PID namespaces, whose first processes write perf-1.map" },
	{ "space-chroot", space_chroot, "a root whose /tmp leads elsewhere" },
	{ "space-storm", space_storm, "namespaces and mounts made at full speed" },
	{ "space-cgroups", space_cgroups, "cgroups made and entered at full speed" },
	{ "space-locked", space_locked, "a memory map locked by a FUSE file that is never read" },

	{ "service-closed", service_closed, "the service's socket, files and processes" },
};

enum { COUNT = sizeof(attacks) / sizeof(attacks[0]), PATIENCE_S = 5, KILL_S = 30 };

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void set_limit(int what, rlim_t most)
{
	struct rlimit limit = { .rlim_cur = most, .rlim_max = most };

	if (setrlimit(what, &limit) < 0)
		abuse_fail("setrlimit");
}

static void run_attack(const struct attack *attack, struct abuse *abuse)
{
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "abuser");
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	set_limit(RLIMIT_NPROC, ABUSE_PROCESSES);
	set_limit(RLIMIT_DATA, ABUSE_DATA_BYTES);
	set_limit(RLIMIT_CORE, 0);
	attack->run(abuse);
	exit(0);
}

/* Waits for the attack, a signal or the end of its patience. Returns the attack's wait status. */
static int await_attack(pid_t pid, const sigset_t *signals, double end)
{
	int status = 0;

	for (;;) {
		double left = end - now_s();
		struct timespec timeout = { .tv_sec = left > 0 ? (time_t)left : 0,
			.tv_nsec = 1000000 };
		pid_t ended;

		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == pid)
				return status;
		if (left <= 0 || sigtimedwait(signals, NULL, &timeout) == SIGTERM)
			return 0;
	}
}

/* Forks may outrun one round of signals. This process adopts the orphans. Some may wait for a file
 * system. */
static void kill_all(pid_t group)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	double end = now_s() + KILL_S;

	while (now_s() < end && (kill(-group, SIGKILL) == 0 || errno == EPERM)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		(void)nanosleep(&pause, NULL);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void remove_folder(char *folder)
{
	char *const paths[] = { folder, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D)
			(void)chmod(entry->fts_accpath, 0700);
		else
			(void)remove(entry->fts_accpath);
	}
	if (tree)
		(void)fts_close(tree);
}

static bool is_own_process(const char *name)
{
	char path[64];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%.20s", name);
	return stat(path, &status) == 0 && status.st_uid == geteuid();
}

/* Other attacks of this user may still need theirs. */
static void remove_perf_maps(void)
{
	DIR *folder = opendir("/tmp");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct stat status;
		char pid[24];

		if (sscanf(entry->d_name, "perf-%20[0-9].map", pid) == 1 &&
			fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			status.st_uid == geteuid() && !is_own_process(pid))
			(void)unlinkat(dirfd(folder), entry->d_name,
				S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
	}
	if (folder)
		(void)closedir(folder);
}

static int supervise(const struct attack *attack, double seconds)
{
	char folder[] = "/tmp/abuse.XXXXXX";
	struct abuse abuse = { .end = now_s() + seconds, .folder = folder };
	sigset_t signals;
	pid_t pid;
	int status;

	if (!mkdtemp(folder) || chdir(folder) < 0)
		abuse_fail(folder);
	abuse.random = (uint64_t)getpid() * 2654435761U + (uint64_t)time(NULL);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid < 0)
		abuse_fail("fork");
	if (pid == 0)
		run_attack(attack, &abuse);
	(void)setpgid(pid, pid);
	status = await_attack(pid, &signals, abuse.end + PATIENCE_S);
	kill_all(pid);
	if (chdir("/") == 0)
		remove_folder(folder);
	remove_perf_maps();
	if (WIFSIGNALED(status))
		(void)fprintf(
			stderr, "abuse: %s died of signal %d\n", attack->name, WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 5;

	for (size_t i = 0; argc == 2 && strcmp(argv[1], "--list") == 0 && i < COUNT; i++)
		(void)printf("%s\t%s\n", attacks[i].name, attacks[i].what);
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return 0;
	/* For the attack process-execs. */
	if (argc == 3 && strcmp(argv[1], "--again") == 0)
		process_execs(&(struct abuse){ .end = strtod(argv[2], NULL) });
	if (geteuid() == 0) {
		(void)fputs("abuse: run it as an unprivileged user\n", stderr);
		return 2;
	}
	for (size_t i = 0; argc > 1 && seconds > 0 && i < COUNT; i++)
		if (strcmp(attacks[i].name, argv[1]) == 0)
			return supervise(&attacks[i], seconds);
	(void)fputs("usage: abuse --list | ATTACK [SECONDS]\n", stderr);
	return 2;
}
