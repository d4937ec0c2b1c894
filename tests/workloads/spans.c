/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spans change N: publishes the thread context of OpenTelemetry (pilotlight/thread_context.h) of
 * two threads, which change their span about a million times a second, N times each. `swap` lets
 * its variable point to one record or the other, `write` writes into one. in_first() runs only in
 * the first span of the thread's trace, in_second() only in the second: each byte of an id is 0x11
 * or 0x12 of `swap`, 0x21 or 0x22 of `write`, and 0x10 or 0x20 of the trace's.
 *
 * Also publishes the context of the process (pilotlight/process_context.h), again and again, in
 * memory of both kinds in turn: it claims to be the service "spans" of one namespace or another.
 *
 * spans lie N: the same by threads whose records are wrong in some way, so that none may be read,
 * nor the context of the process.
 *
 * Also a library, whose function is spans_main().
 */
#include "work.h"

#include "../harness/process_context.h"
#include "pilotlight/thread_context.h"

#include <pthread.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096, UNITS = 2 };

typedef struct pilotlight_thread_context_record record;

__attribute__((visibility("default"))) __thread record *volatile otel_thread_ctx_v1;

static uint64_t changes;

#define BARRIER() __asm__ volatile("" : : : "memory")

static void fill(record *filled, uint8_t trace, uint8_t span)
{
	memset(filled->ids.trace_id, trace, sizeof(filled->ids.trace_id));
	memset(filled->ids.span_id, span, sizeof(filled->ids.span_id));
}

static NOINLINE void in_first(void)
{
	keep(work_units(UNITS, 1));
}

static NOINLINE void in_second(void)
{
	keep(work_units(UNITS, 2));
}

static NOINLINE void attach(record *attached)
{
	otel_thread_ctx_v1 = attached;
}

/* Records that end with their page, behind which there is none. */
static record *at_page_end(void)
{
	char *memory = mmap(NULL, (size_t)2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || munmap(memory + PAGE_BYTES, PAGE_BYTES) < 0) {
		perror("mmap");
		exit(1);
	}
	return (record *)(memory + PAGE_BYTES - sizeof(record));
}

static void *swap(void *argument)
{
	record *first = at_page_end(), *second = at_page_end();

	(void)argument;
	(void)pthread_setname_np(pthread_self(), "swap");
	fill(first, 0x10, 0x11);
	fill(second, 0x10, 0x12);
	first->valid = second->valid = PILOTLIGHT_THREAD_CONTEXT_VALID;
	for (uint64_t i = 0; i < changes; i += 2) {
		attach(first);
		in_first();
		attach(NULL);
		attach(second);
		in_second();
		attach(NULL);
	}
	return NULL;
}

static NOINLINE void rewrite(record *written, uint8_t span)
{
	written->valid = 0;
	BARRIER();
	fill(written, 0x20, span);
	BARRIER();
	written->valid = PILOTLIGHT_THREAD_CONTEXT_VALID;
}

static void *write_spans(void *argument)
{
	record written = { 0 };

	(void)argument;
	(void)pthread_setname_np(pthread_self(), "write");
	attach(&written);
	for (uint64_t i = 0; i < changes; i += 2) {
		rewrite(&written, 0x21);
		in_first();
		rewrite(&written, 0x22);
		in_second();
	}
	attach(NULL);
	return NULL;
}

enum lie {
	LIE_NO_MEMORY,
	LIE_KERNEL,
	LIE_ODD,
	LIE_CUT, /* the record's end is not mapped */
	LIE_INVALID,
	LIE_UNKNOWN, /* a value of `valid` that is reserved */
	LIE_SIZE,
	LIE_NO_SPAN,
	LIE_NO_TRACE,
	LIES,
};

static record *tell(enum lie lie)
{
	static record told[LIES + 1], *cut;
	record *wrong = &told[lie];

	fill(wrong, 0x30, 0x31);
	wrong->valid = PILOTLIGHT_THREAD_CONTEXT_VALID;
	switch (lie) {
	case LIE_NO_MEMORY:
		return (record *)16;
	case LIE_KERNEL:
		return (record *)0xffff888000000000;
	case LIE_ODD:
		/* Memory of zeros, and then a record. */
		memmove((char *)&told[LIES] - 1, wrong, sizeof(*wrong));
		return (record *)((char *)&told[LIES] - 1);
	case LIE_CUT:
		if (!cut)
			cut = (record *)((char *)at_page_end() + 2);
		fill(cut, 0x30, 0x31);
		cut->valid = PILOTLIGHT_THREAD_CONTEXT_VALID;
		return cut;
	case LIE_INVALID:
		wrong->valid = 0;
		break;
	case LIE_UNKNOWN:
		wrong->valid = 2;
		break;
	case LIE_SIZE:
		wrong->attributes_bytes = PILOTLIGHT_THREAD_CONTEXT_BYTES_MAX;
		break;
	case LIE_NO_SPAN:
		memset(wrong->ids.span_id, 0, sizeof(wrong->ids.span_id));
		break;
	case LIE_NO_TRACE:
		memset(wrong->ids.trace_id, 0, sizeof(wrong->ids.trace_id));
		break;
	case LIES:
		break;
	}
	return wrong;
}

static void *tell_lies(void *argument)
{
	(void)argument;
	(void)pthread_setname_np(pthread_self(), "lie");
	for (uint64_t i = 0; i < changes; i++) {
		attach(tell(i % LIES));
		in_first();
		attach(NULL);
	}
	return NULL;
}

static struct context_payload payload_of(const char *namespace)
{
	struct context_payload payload = { .size = 0 };

	payload_add(&payload, "service.name", "spans");
	payload_add(&payload, "service.namespace", namespace);
	payload_wrap(&payload);
	return payload;
}

enum { CHANGES_OF_MEMORY = 1000 };

/* `argument`: the payload is told to be larger than any may be. */
static void *publish(void *argument)
{
	const size_t beyond = argument ? PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX : 0;
	const struct context_payload first = payload_of("first"), second = payload_of("the second");
	struct pilotlight_process_context *mapped = NULL;
	int is_memfd = 1;

	(void)pthread_setname_np(pthread_self(), "publish");
	for (uint64_t i = 0;; i++) {
		const struct context_payload *payload = i % 2 ? &first : &second;

		if (i % CHANGES_OF_MEMORY == 0) {
			if (mapped)
				context_unmap(mapped);
			mapped = context_map(is_memfd);
			/* Some kernels name no anonymous memory. */
			if (!mapped)
				mapped = context_map(1);
			is_memfd = !is_memfd;
		}
		if (mapped)
			context_publish(mapped, payload->bytes, payload->size + beyond, i + 1);
		(void)usleep(1000);
	}
	return NULL;
}

__attribute__((visibility("default"))) int spans_main(int argc, char **argv)
{
	void *(*runs[2])(void *) = { swap, write_spans };
	pthread_t threads[2], publisher;
	size_t count = 2;

	changes = (uint64_t)number_argument(argc, argv, 2, 1e6);
	if (argc > 1 && strcmp(argv[1], "lie") == 0) {
		runs[0] = tell_lies;
		count = 1;
	}
	if (pthread_create(&publisher, NULL, publish, count == 1 ? &threads : NULL) != 0)
		return 1;
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, runs[i], NULL) != 0)
			return 1;
	for (size_t i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}

#ifndef SPANS_LIBRARY
int main(int argc, char **argv)
{
	return spans_main(argc, argv);
}
#endif
