/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jit_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/start_time.h"
#include "process/process_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	/* More than a pid, a name of 64 bytes and 50 numbers of 20 digits. */
	STAT_BYTES = 2048,
	/* Two lines of a clock's name and two numbers. */
	OFFSETS_BYTES = 256,
	COMM_BYTES = sizeof(((struct jit_process_facts *)0)->comm),
};

/* Returns the digits of a marker's name; NULL: the path is no marker. */
static const char *find_number(const char *path)
{
	static const char start[] = "jit-", ending[] = ".dump";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end;

	if (strncmp(name, start, sizeof(start) - 1) != 0)
		return NULL;
	name += sizeof(start) - 1;
	end = name + strspn(name, "0123456789");
	if (end == name || strncmp(end, ending, sizeof(ending) - 1) != 0)
		return NULL;
	end += sizeof(ending) - 1;
	return !*end || strcmp(end, " (deleted)") == 0 ? name : NULL;
}

bool jit_file_is_marker(const char *path)
{
	return find_number(path);
}

uint32_t jit_file_marker_number(const char *path)
{
	const char *digits = find_number(path);
	unsigned long long number = digits ? strtoull(digits, NULL, 10) : 0;

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/*
 * Reads the start of a file of /proc and adds a NUL. One read() returns all of such a small file.
 * Returns its bytes, or -errno.
 */
static ssize_t read_text(struct broker *broker, const struct broker_process *process,
	enum broker_process_file file, char *text, size_t capacity)
{
	_cleanup_close_ int fd = -1;
	ssize_t size;
	int r = broker_open_process_file(broker, process, file, &fd);

	if (r < 0)
		return r;
	do
		size = read(fd, text, capacity - 1);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	return size;
}

static int read_start(
	struct broker *broker, const struct broker_process *process, uint64_t *ret_start_ns)
{
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	char stat[STAT_BYTES];
	ssize_t size = read_text(broker, process, BROKER_PROCESS_STAT, stat, sizeof(stat));
	uint64_t start;

	if (size < 0)
		return (int)size;
	if (ticks_per_second <= 0 || ticks_per_second > NSEC_PER_SEC ||
		start_time_parse(stat, (size_t)size, &start) < 0 ||
		__builtin_mul_overflow(start, NSEC_PER_SEC / (uint64_t)ticks_per_second, &start))
		return -EBADMSG;
	*ret_start_ns = start;
	return 0;
}

static uint64_t less(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* Converts the start to other clocks. Reading them one by one is off by much less than a tick. */
static void convert_start(struct jit_process_facts *facts)
{
	uint64_t realtime_ns = clock_realtime_ns(), monotonic_ns = clock_monotonic_ns(), age_ns;
	const long ticks_per_second = sysconf(_SC_CLK_TCK);

	age_ns = less(clock_boottime_ns(), facts->start_ns);
	facts->start_realtime_s = less(realtime_ns, age_ns) / NSEC_PER_SEC;
	facts->started_ns = less(monotonic_ns, age_ns) + NSEC_PER_SEC / (uint64_t)ticks_per_second;
}

static int read_comm(
	struct broker *broker, const struct broker_process *process, char ret_comm[COMM_BYTES])
{
	/* With its newline, and not cut where its own end could be. */
	char text[COMM_BYTES + 1] = "";
	ssize_t size = read_text(broker, process, BROKER_PROCESS_COMM, text, sizeof(text));

	if (size < 0)
		return (int)size;
	/* It may have newlines of its own: the last one alone is the kernel's. */
	if (size > 0 && text[size - 1] == '\n')
		text[size - 1] = '\0';
	text[COMM_BYTES - 1] = '\0';
	memcpy(ret_comm, text, COMM_BYTES);
	return 0;
}

static int read_status(struct broker *broker, const struct broker_process *process,
	struct jit_process_facts *facts)
{
	struct process_status status;
	_cleanup_close_ int fd = -1;
	int r = broker_open_process_file(broker, process, BROKER_PROCESS_STATUS, &fd);

	if (r == 0)
		r = process_status_read(fd, &status);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	if (!status.has_uid)
		return -EBADMSG;
	/* While a process is taken down its numbers go before its folder does. */
	if (status.has_ns_pid && status.ns_pid == 0)
		return -ESRCH;
	facts->uid = status.uid;
	facts->parent = (pid_t)status.parent;
	/* Kernels without pid namespaces tell no more than the pid. */
	facts->ns_pid = status.has_ns_pid ? status.ns_pid : (uint32_t)process->pid;
	return 0;
}

int jit_file_read_user(struct broker *broker, const struct broker_process *process, uid_t *ret_uid)
{
	struct jit_process_facts facts;
	int r = read_status(broker, process, &facts);

	if (r == 0)
		*ret_uid = facts.uid;
	return r;
}

/* The clocks are lines such as "monotonic        -3600         0". */
static int read_offset(
	struct broker *broker, const struct broker_process *process, int64_t *ret_offset_ns)
{
	static const char clock[] = "monotonic ";
	char text[OFFSETS_BYTES];
	ssize_t size =
		read_text(broker, process, BROKER_PROCESS_TIMENS_OFFSETS, text, sizeof(text));
	long long seconds, nanoseconds;
	const char *at = text;
	int64_t offset;
	char ending;

	*ret_offset_ns = 0;
	if (size < 0)
		return size == -ENOENT ? 0 : (int)size;
	/* A zombie has left its namespaces. */
	if (size == 0)
		return -ESRCH;
	while (strncmp(at, clock, sizeof(clock) - 1) != 0) {
		at = strchr(at, '\n');
		if (!at)
			return -EBADMSG;
		at++;
	}
	/* The kernel bounds both numbers far below these widths. */
	if (sscanf(at + sizeof(clock) - 1, "%18lld %18lld%c", &seconds, &nanoseconds, &ending) !=
			3 ||
		ending != '\n' || nanoseconds < 0 || nanoseconds >= NSEC_PER_SEC ||
		__builtin_mul_overflow(seconds, (int64_t)NSEC_PER_SEC, &offset) ||
		__builtin_add_overflow(offset, nanoseconds, &offset))
		return -EBADMSG;
	*ret_offset_ns = offset;
	return 0;
}

int jit_file_read_facts(struct broker *broker, const struct broker_process *process,
	struct jit_process_facts *ret_facts)
{
	struct broker_process asked = *process;
	struct jit_process_facts facts = { 0 };
	int r = read_start(broker, process, &facts.start_ns);

	if (r < 0)
		return r;
	/* From here on the broker refuses another process with the same pid. */
	asked.start_ns = facts.start_ns;
	convert_start(&facts);
	r = read_comm(broker, &asked, facts.comm);
	if (r == 0)
		r = read_status(broker, &asked, &facts);
	if (r == 0)
		r = read_offset(broker, &asked, &facts.monotonic_offset_ns);
	if (r < 0)
		return r;
	*ret_facts = facts;
	return 0;
}

/* Allows a second: ticks are coarse, and the time of day may be set. */
static bool is_stale(const struct stat *status, const struct jit_process_facts *facts)
{
	return status->st_mtim.tv_sec < 0 ||
	       (uint64_t)status->st_mtim.tv_sec + 1 < facts->start_realtime_s;
}

int jit_file_check(int fd, enum jit_file_kind kind, const struct jit_process_facts *facts)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_uid != facts->uid && (status.st_uid != 0 || !(status.st_mode & S_IROTH)))
		return -EPERM;
	if (kind == JIT_FILE_JITDUMP)
		return 0;
	if (status.st_nlink > 1)
		return -EMLINK;
	return is_stale(&status, facts) ? -ESTALE : 0;
}

static int check_and_return(
	int *fd, enum jit_file_kind kind, const struct jit_process_facts *facts, int *ret_fd)
{
	int r = jit_file_check(*fd, kind, facts);

	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(*fd);
	return 0;
}

int jit_file_open_jitdump(struct broker *broker, const struct broker_process *process,
	const struct jit_marker *marker, const struct jit_process_facts *facts, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = broker_open_marker(broker, process, marker->start, marker->end, marker->path, &fd);

	return r < 0 ? r : check_and_return(&fd, JIT_FILE_JITDUMP, facts, ret_fd);
}

int jit_file_open_perf_map(struct broker *broker, const struct broker_process *process,
	const struct broker_process *parent, const struct jit_process_facts *facts, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = broker_open_perf_map(broker, process, facts->ns_pid, &fd);

	if (r == -ESRCH && parent->pid > 0)
		r = broker_open_perf_map(broker, parent, facts->ns_pid, &fd);
	return r < 0 ? r : check_and_return(&fd, JIT_FILE_PERF_MAP, facts, ret_fd);
}
