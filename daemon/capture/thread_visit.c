/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/thread_visit.h"

#include "base/clock.h"
#include "visitor.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

/* Threads visited by a call: about 30 ms, if all are blocked. */
enum { VISITS = 16384 };

void thread_visit_end(struct thread_visit *visit)
{
	if (visit->fd >= 0)
		(void)close(visit->fd);
	visit->fd = -1;
}

/* The iterator outlives its link. */
static int begin(struct thread_visit *visit, const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int r;

	if (!link)
		return -errno;
	visit->fd = bpf_iter_create(bpf_link__fd(link));
	r = visit->fd < 0 ? -errno : 0;
	bpf_link__destroy(link);
	visit->cpu_ns = 0;
	return r;
}

int thread_visit_run(
	struct thread_visit *visit, struct visitor *programs, const struct bpf_program *program)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	char byte;
	int r = visit->fd < 0 ? begin(visit, program) : 0;

	programs->bss->visits_left = VISITS;
	/* The iterator prints nothing, so one read runs it to its end, or to a pause: -EAGAIN. */
	if (r == 0 && read(visit->fd, &byte, sizeof(byte)) < 0)
		r = -errno;
	if (r != -EAGAIN)
		thread_visit_end(visit);
	visit->cpu_ns += clock_thread_cpu_ns() - begin_ns;
	return r;
}
