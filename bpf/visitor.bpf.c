// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of threads that do not run, by iterators over all threads. An object of its own: here all
 * that walks stacks, native ones and those of interpreters, reads the memory of another thread
 * (other_memory.bpf.h) instead of the current one's, which is decided when it is compiled.
 */
#include "kernel_types.h"

#include <linux/bpf.h>

#include "other_memory.bpf.h"
#include "sending.bpf.h"
/* First, as in the sampler: the order of use is that of the shared variables. */
#include "runtime_sample.bpf.h"

#include "scheduler_visit.bpf.h"
#include "survey.bpf.h"

char LICENSE[] SEC("license") = "GPL";
