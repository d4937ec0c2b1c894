/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_tracer.h"

#include "capture/cpu_list.h"
#include "capture/libbpf_log.h"
#include "kmemtrace.skel.h"
#include "kmemtrace/page_functions.h"
#include "pilotlight/kmemtrace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	STACKS_MAX = 1 << 14,
	STACK_DEPTH = 127,
	DRAIN_EVENTS_MAX = 1 << 16,
};

struct traced_cpu {
	struct kmemtrace_tracer *tracer;
	uint32_t cpu;
	int ring_fd;
	/* One for each: libbpf stops at the first of its rings whose turn ends. */
	struct ring_buffer *ring;
	int drained; /* events of the present drain */
};

struct kmemtrace_tracer {
	struct kmemtrace *programs;
	int poll_fd;
	uint32_t *numbers; /* of the CPUs */
	struct traced_cpu *cpus;
	size_t cpu_count;
	uint32_t possible_cpus;
	kmemtrace_function function;
	void *context;
};

static int handle_event(void *context, void *bytes, size_t size)
{
	struct traced_cpu *cpu = context;

	cpu->tracer->function(cpu->tracer->context, cpu->cpu, bytes, size);
	/* A negative answer ends this ring's turn. The record is consumed all the same. */
	return ++cpu->drained < DRAIN_EVENTS_MAX ? 0 : -ECANCELED;
}

static uint32_t round_up(uint32_t bytes)
{
	uint32_t rounded = (uint32_t)sysconf(_SC_PAGESIZE);

	while (rounded < bytes)
		rounded *= 2;
	return rounded;
}

_Static_assert(sizeof(((struct kmemtrace__rodata *)NULL)->page_functions) ==
		       PAGE_FUNCTIONS_MAX * sizeof(struct page_function),
	"as the program has them");

/* Without the names of functions, events of pages have no call sites. */
static void prepare_pages(struct kmemtrace *programs)
{
	struct page_function functions[PAGE_FUNCTIONS_MAX] = { 0 };

	(void)bpf_program__set_autoload(programs->progs.trace_page_alloc, true);
	(void)bpf_program__set_autoload(programs->progs.trace_page_free, true);
	(void)page_functions_read("/proc/kallsyms", functions);
	memcpy(programs->rodata->page_functions, functions, sizeof(functions));
}

static int load(struct kmemtrace_tracer *tracer, const struct kmemtrace_tracer_settings *settings,
	struct fault *fault)
{
	struct kmemtrace *programs = kmemtrace__open();
	int r;

	if (!programs)
		return fault_set(
			fault, -errno, "cannot open the tracer's BPF object: %s", strerror(errno));
	tracer->programs = programs;
	programs->rodata->wants_stacks = settings->wants_stacks;
	programs->rodata->ring_bytes = round_up(settings->ring_bytes);
	if (settings->wants_pages)
		prepare_pages(programs);
	(void)bpf_map__set_max_entries(programs->maps.rings, tracer->possible_cpus);
	(void)bpf_map__set_max_entries(
		programs->maps.stacks, settings->wants_stacks ? STACKS_MAX : 1);
	r = kmemtrace__load(programs);
	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot load BPF programs (%s): run as root, or with the capabilities "
			"CAP_BPF and CAP_PERFMON",
			strerror(-r));
	if (r < 0)
		return fault_set(fault, r,
			"cannot load the tracer (%s): it needs Linux 6.1 or later with BTF "
			"(/sys/kernel/btf/vmlinux)",
			strerror(-r));
	return 0;
}

static int create_ring(struct kmemtrace_tracer *tracer, size_t i, uint32_t bytes)
{
	struct traced_cpu *traced = &tracer->cpus[i];
	int map_fd = bpf_map__fd(tracer->programs->maps.rings);

	traced->tracer = tracer;
	traced->cpu = tracer->numbers[i];
	traced->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, bytes, NULL);
	if (traced->ring_fd < 0)
		return -errno;
	if (bpf_map_update_elem(map_fd, &traced->cpu, &traced->ring_fd, BPF_ANY))
		return -errno;
	traced->ring = ring_buffer__new(traced->ring_fd, handle_event, traced, NULL);
	if (!traced->ring)
		return -errno;
	/* Edge-triggered: a ring is readable as soon as it holds an event, but BPF wakes its reader
	 * only when it is half full. */
	return epoll_ctl(tracer->poll_fd, EPOLL_CTL_ADD, traced->ring_fd,
		       &(struct epoll_event){ .events = EPOLLIN | EPOLLET }) < 0
		       ? -errno
		       : 0;
}

int kmemtrace_tracer_new(const struct kmemtrace_tracer_settings *settings,
	kmemtrace_function function, void *context, struct kmemtrace_tracer **ret_tracer,
	struct fault *fault)
{
	_cleanup_(kmemtrace_tracer_freep) struct kmemtrace_tracer *tracer =
		calloc(1, sizeof(*tracer));
	int possible = libbpf_num_possible_cpus(), count;
	int r;

	if (!tracer)
		return fault_set(fault, -ENOMEM, "out of memory");
	tracer->poll_fd = -1;
	tracer->function = function;
	tracer->context = context;
	count = possible < 0 ? possible : cpu_list_read_online(&tracer->numbers);
	if (count < 0)
		return fault_set(
			fault, count, "cannot read which CPUs are online: %s", strerror(-count));
	libbpf_log_set_up();
	tracer->possible_cpus = (uint32_t)possible;
	tracer->cpus = calloc((size_t)count, sizeof(*tracer->cpus));
	if (!tracer->cpus)
		return fault_set(fault, -ENOMEM, "out of memory");
	tracer->cpu_count = (size_t)count;
	for (size_t i = 0; i < tracer->cpu_count; i++)
		tracer->cpus[i].ring_fd = -1;
	tracer->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (tracer->poll_fd < 0)
		return fault_set(fault, -errno, "cannot poll: %s", strerror(errno));
	r = load(tracer, settings, fault);
	if (r < 0)
		return r;
	for (size_t i = 0; i < tracer->cpu_count; i++) {
		r = create_ring(tracer, i, round_up(settings->ring_bytes));
		if (r < 0)
			return fault_set(fault, r,
				"cannot create a ring of %u bytes for CPU %u: %s; choose a smaller "
				"--buffer",
				round_up(settings->ring_bytes), tracer->numbers[i], strerror(-r));
	}
	*ret_tracer = TAKE_PTR(tracer);
	return 0;
}

void kmemtrace_tracer_free(struct kmemtrace_tracer *tracer)
{
	if (!tracer)
		return;
	for (size_t i = 0; i < tracer->cpu_count; i++) {
		ring_buffer__free(tracer->cpus[i].ring);
		if (tracer->cpus[i].ring_fd >= 0)
			(void)close(tracer->cpus[i].ring_fd);
	}
	free(tracer->cpus);
	free(tracer->numbers);
	if (tracer->poll_fd >= 0)
		(void)close(tracer->poll_fd);
	kmemtrace__destroy(tracer->programs);
	free(tracer);
}

int kmemtrace_tracer_start(struct kmemtrace_tracer *tracer, struct fault *fault)
{
	int r = kmemtrace__attach(tracer->programs);

	return r < 0 ? fault_set(fault, r,
			       "cannot attach to the tracepoints of kernel memory (%s): the kernel "
			       "needs CONFIG_TRACEPOINTS",
			       strerror(-r))
		     : 0;
}

void kmemtrace_tracer_stop(struct kmemtrace_tracer *tracer)
{
	kmemtrace__detach(tracer->programs);
}

const uint32_t *kmemtrace_tracer_cpus(const struct kmemtrace_tracer *tracer, size_t *ret_count)
{
	*ret_count = tracer->cpu_count;
	return tracer->numbers;
}

uint64_t kmemtrace_tracer_stackless_events(const struct kmemtrace_tracer *tracer)
{
	return tracer->programs->bss->stackless_events;
}

int kmemtrace_tracer_poll_fd(const struct kmemtrace_tracer *tracer)
{
	return tracer->poll_fd;
}

int kmemtrace_tracer_drain(struct kmemtrace_tracer *tracer)
{
	struct epoll_event event;
	int total = 0;

	/* Before reading, so that a later wakeup counts as new. */
	while (epoll_wait(tracer->poll_fd, &event, 1, 0) > 0)
		;
	for (size_t i = 0; i < tracer->cpu_count; i++) {
		struct traced_cpu *cpu = &tracer->cpus[i];
		int r;

		cpu->drained = 0;
		r = ring_buffer__consume(cpu->ring);
		if (r < 0 && r != -ECANCELED)
			return r;
		total += cpu->drained;
	}
	return total;
}

/* The size of a program's events if it was skipped: the least that was lost. */
static uint64_t skipped_bytes(const struct bpf_program *program, size_t event_bytes)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses * event_bytes;
}

uint64_t kmemtrace_tracer_overrun_bytes(const struct kmemtrace_tracer *tracer)
{
	const size_t alloc_bytes = sizeof(struct pilotlight_kmemtrace_alloc);
	const size_t free_bytes = sizeof(struct pilotlight_kmemtrace_event);
	const __typeof__(tracer->programs->progs) *programs = &tracer->programs->progs;
	_cleanup_free_ uint64_t *by_cpu = calloc(tracer->possible_cpus, sizeof(*by_cpu));
	uint64_t bytes = skipped_bytes(programs->trace_kmalloc, alloc_bytes) +
			 skipped_bytes(programs->trace_cache_alloc, alloc_bytes) +
			 skipped_bytes(programs->trace_kfree, free_bytes) +
			 skipped_bytes(programs->trace_cache_free, free_bytes) +
			 skipped_bytes(programs->trace_page_alloc, alloc_bytes) +
			 skipped_bytes(programs->trace_page_free, free_bytes);
	uint32_t zero = 0;

	if (!by_cpu || bpf_map_lookup_elem(
			       bpf_map__fd(tracer->programs->maps.overrun_bytes), &zero, by_cpu))
		return bytes;
	for (uint32_t cpu = 0; cpu < tracer->possible_cpus; cpu++)
		bytes += by_cpu[cpu];
	return bytes;
}

void kmemtrace_tracer_write_stacks(const struct kmemtrace_tracer *tracer, struct output *output)
{
	int map_fd = bpf_map__fd(tracer->programs->maps.stacks);
	uint64_t addresses[STACK_DEPTH];
	bool is_first = true;
	uint32_t id;

	for (; bpf_map_get_next_key(map_fd, is_first ? NULL : &id, &id) == 0; is_first = false) {
		if (bpf_map_lookup_elem(map_fd, &id, addresses))
			continue;
		output_u64(output, id);
		for (int i = 0; i < STACK_DEPTH && addresses[i]; i++)
			output_printf(output, " %" PRIx64, addresses[i]);
		output_char(output, '\n');
	}
}
