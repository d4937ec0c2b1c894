/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A visit of all threads by a BPF iterator (bpf/visited_thread.bpf.h) that goes on from call to
 * call. */
#pragma once

#include <stdint.h>

struct bpf_program;
struct visitor;

struct thread_visit {
	int fd;		    /* the iterator; -1: none is under way */
	uint64_t before_ns; /* of the caller: which visit it is */
	uint64_t cpu_ns;    /* of this thread: what the visit has taken */
};

void thread_visit_end(struct thread_visit *visit);

/*
 * Visits a bounded number of threads with `program`. Begins a visit if none is under way. Returns 0
 * at its end; -EAGAIN if it is to go on; or another -errno, and the visit has ended.
 */
int thread_visit_run(
	struct thread_visit *visit, struct visitor *programs, const struct bpf_program *program);
