/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "engine/pipeline_state.h"
#include "jit/jit_file.h"
#include "jit/jit_memory.h"
#include "process/process_scan.h"

#include <errno.h>
#include <string.h>

/* A rescan of /proc runs in steps of this length between other work, and pauses before the next
 * rescan. */
#define RESCAN_STEP_NS	5000000ULL
#define RESCAN_PAUSE_NS (5ULL * NSEC_PER_SEC)

/* The rescan period on kernels before 5.7, which do not report new cgroups. */
#define CGROUPS_PERIOD_NS (5ULL * NSEC_PER_SEC)

/*
 * Examines a mapped file, or JIT code, before it can vanish. Without memory, this one is missed.
 */
static void note_mapping(struct pipeline *pipeline, const struct sideband_record *record,
	const struct process_mapping *mapping)
{
	struct mapped_file file;

	process_table_file(pipeline->processes, mapping->file, &file);
	if (jit_file_is_marker(file.path)) {
		(void)jit_table_note_marker(pipeline->jit, record->pid, record->time_ns, mapping);
		return;
	}
	if (jit_memory_of(&file) != JIT_MEMORY_NONE)
		(void)jit_table_note_memory(pipeline->jit, record->pid, record->time_ns, 0);
	binary_table_note_mapping(pipeline->binaries, record->pid, mapping);
}

static void add_mapping(struct pipeline *pipeline, const struct sideband_record *record)
{
	struct process_mapping_event event = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.path = record->text,
		.build_id = record->build_id,
		.inode = record->inode,
		.device_major = record->device_major,
		.device_minor = record->device_minor,
	};
	struct process_mapping mapping = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
	};

	/* The table counts mappings beyond its bounds; their frames stay unsymbolized. */
	if (process_table_map(
		    pipeline->processes, record->pid, record->time_ns, &event, &mapping.file) < 0)
		return;
	note_mapping(pipeline, record, &mapping);
	if (pipeline->heap)
		heap_watch_mapped(pipeline->heap, record->pid, &mapping);
}

static void handle_exit(struct pipeline *pipeline, const struct sideband_record *record)
{
	process_table_exit(pipeline->processes, record->pid, record->time_ns);
	/* The main thread usually exits last. If not, /proc shows the remaining threads. */
	if (record->pid == record->tid && process_table_is_live(pipeline->processes, record->pid))
		(void)process_scan_check(pipeline->broker, pipeline->processes, record->pid);
	if (pipeline->heap && !process_table_is_live(pipeline->processes, record->pid))
		heap_watch_ended(pipeline->heap, record->pid);
}

static void handle_sideband(void *context, const struct sideband_record *record)
{
	struct pipeline *pipeline = context;

	switch (record->kind) {
	case SIDEBAND_MAP:
		add_mapping(pipeline, record);
		break;
	case SIDEBAND_EXEC:
		(void)process_table_exec(pipeline->processes, record->pid, record->time_ns);
		if (pipeline->heap)
			heap_watch_executed(pipeline->heap, record->pid);
		break;
	case SIDEBAND_FORK:
		(void)process_table_fork(
			pipeline->processes, record->pid, record->parent, record->time_ns);
		if (pipeline->heap)
			heap_watch_forked(
				pipeline->heap, record->parent, record->pid, record->time_ns);
		break;
	case SIDEBAND_EXIT:
		handle_exit(pipeline, record);
		break;
	case SIDEBAND_KERNEL_SYMBOL:
		resolver_kernel_changed(pipeline->resolver, record->start, record->end);
		break;
	case SIDEBAND_CGROUP:
		if (pipeline->cgroups)
			(void)cgroup_table_add(pipeline->cgroups, record->cgroup, record->text);
		break;
	case SIDEBAND_COMM:
	case SIDEBAND_LOST: /* sideband_counters has it */
		break;
	}
}

static void log_cgroup_scan(int r)
{
	if (r < 0 && r != -ENOENT)
		log_debug("cannot read the cgroups: %s, continuing with those that are known",
			strerror(-r));
}

static void run_cgroup_scan(struct pipeline *pipeline, uint64_t until_ns)
{
	if (pipeline->cgroups && cgroup_table_is_scanning(pipeline->cgroups))
		log_cgroup_scan(cgroup_table_scan_run(pipeline->cgroups, until_ns));
}

/* Repeats every CGROUPS_PERIOD_NS if the kernel does not report new cgroups. */
static void begin_cgroup_scan(struct pipeline *pipeline)
{
	if (!pipeline->cgroups)
		return;
	log_cgroup_scan(cgroup_table_scan_begin(pipeline->cgroups));
	pipeline->next_cgroups_ns = sideband_reports_cgroups(capture_sideband(pipeline->capture))
					    ? UINT64_MAX
					    : clock_monotonic_ns() + CGROUPS_PERIOD_NS;
}

/* The pause after a rescan is at least as long as the rescan took. A machine that always loses
 * records would otherwise never stop rescanning. */
static int run_rescan(struct pipeline *pipeline, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t took_ns;
	int r;

	if (!pipeline->rescan.folder)
		return 0;
	r = process_rescan_run(
		&pipeline->rescan, pipeline->broker, pipeline->processes, now_ns, until_ns);
	if (r != 0)
		return r < 0 ? r : 0;
	now_ns = clock_monotonic_ns();
	took_ns = now_ns - pipeline->rescan_began_ns;
	pipeline->next_rescan_ns = now_ns + (took_ns < RESCAN_PAUSE_NS ? RESCAN_PAUSE_NS : took_ns);
	return jit_table_note_all(pipeline->jit);
}

static int begin_rescan(struct pipeline *pipeline, uint64_t now_ns)
{
	pipeline->rescan_began_ns = now_ns;
	begin_cgroup_scan(pipeline);
	return process_rescan_begin(&pipeline->rescan, "/proc");
}

int pipeline_scan(struct pipeline *pipeline, uint64_t until_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = begin_rescan(pipeline, now_ns);

	if (r < 0)
		return r;
	r = run_rescan(pipeline, now_ns, until_ns);
	/* Records lost from here on start a rescan without a pause. */
	pipeline->next_rescan_ns = 0;
	run_cgroup_scan(pipeline, until_ns);
	return r;
}

bool pipeline_is_scanning(const struct pipeline *pipeline)
{
	return pipeline->rescan.folder ||
	       (pipeline->cgroups && cgroup_table_is_scanning(pipeline->cgroups));
}

/* Begins a rescan if records were lost since the last one began. A running one never restarts. */
static int rescan(struct pipeline *pipeline, uint64_t lost, uint64_t now_ns)
{
	int r = 0;

	if (!pipeline->rescan.folder && lost != pipeline->sideband_lost &&
		now_ns >= pipeline->next_rescan_ns) {
		pipeline->sideband_lost = lost;
		r = begin_rescan(pipeline, now_ns);
	}
	return r < 0 ? r : run_rescan(pipeline, now_ns, now_ns + RESCAN_STEP_NS);
}

int pipeline_read_sideband(struct pipeline *pipeline)
{
	struct sideband *sideband = capture_sideband(pipeline->capture);
	uint64_t now_ns = clock_monotonic_ns();
	struct sideband_counters counters;
	int r;

	r = sideband_read(sideband, now_ns, handle_sideband, pipeline);
	sideband_counters(sideband, &counters);
	if (now_ns >= pipeline->next_cgroups_ns)
		begin_cgroup_scan(pipeline);
	else
		run_cgroup_scan(pipeline, now_ns + RESCAN_STEP_NS);
	return r < 0 ? r : rescan(pipeline, counters.lost + counters.refused, now_ns);
}
