/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel_cost.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

uint64_t kernel_cost_map_bytes(int fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	uint64_t bytes;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			return bytes;
	return 0;
}

void kernel_cost_add_program(int fd, uint64_t *runs, uint64_t *ns)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return;
	if (runs)
		*runs += info.run_cnt;
	*ns += info.run_time_ns;
}

uint64_t kernel_cost_skipped_runs(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.recursion_misses;
}

static uint64_t cpu_ns_of(int who)
{
	struct rusage usage;

	return getrusage(who, &usage) < 0 ? 0 : clock_rusage_cpu_ns(&usage);
}

uint64_t kernel_cost_cpu_ns(void)
{
	return cpu_ns_of(RUSAGE_SELF) + cpu_ns_of(RUSAGE_CHILDREN);
}

uint64_t kernel_cost_resident_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t size, resident;

	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
