/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Publishes a context of OpenTelemetry of this process (pilotlight/process_context.h). */
#pragma once

#include "pilotlight/process_context.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CONTEXT_MAPPING_BYTES = 4096 };

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* --- payloads --- */

struct context_payload {
	uint8_t bytes[2048];
	size_t size;
};

static inline void payload_put(
	struct context_payload *to, uint8_t field, const void *bytes, size_t size)
{
	to->bytes[to->size++] = (uint8_t)(field << 3 | 2);
	to->bytes[to->size++] = (uint8_t)(0x80 | (size & 0x7f));
	to->bytes[to->size++] = (uint8_t)(size >> 7);
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

/* Adds an attribute to a Resource. */
static inline void payload_add(struct context_payload *resource, const char *key, const char *text)
{
	struct context_payload value = { .size = 0 }, pair = { .size = 0 };

	payload_put(&value, 1, text, strlen(text));
	payload_put(&pair, 1, key, strlen(key));
	payload_put(&pair, 2, value.bytes, value.size);
	payload_put(resource, 1, pair.bytes, pair.size);
}

/* Puts a Resource into a ProcessContext. */
static inline void payload_wrap(struct context_payload *resource)
{
	struct context_payload context = { .size = 0 };

	payload_put(&context, 1, resource->bytes, resource->size);
	*resource = context;
}

/* --- publishing --- */

/* Returns memory with the name, or NULL if the kernel does not name anonymous memory. */
static inline struct pilotlight_process_context *context_map(int is_memfd)
{
	struct pilotlight_process_context *mapped;
	int fd = is_memfd ? memfd_create("OTEL_CTX", MFD_CLOEXEC) : -1;

	if (is_memfd && (fd < 0 || ftruncate(fd, CONTEXT_MAPPING_BYTES) < 0))
		return NULL;
	mapped = mmap(NULL, CONTEXT_MAPPING_BYTES, PROT_READ | PROT_WRITE,
		is_memfd ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	if (mapped == MAP_FAILED)
		return NULL;
	if (!is_memfd && prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapped, CONTEXT_MAPPING_BYTES,
				 "OTEL_CTX") < 0) {
		(void)munmap(mapped, CONTEXT_MAPPING_BYTES);
		return NULL;
	}
	return mapped;
}

static inline void context_unmap(struct pilotlight_process_context *mapped)
{
	(void)munmap(mapped, CONTEXT_MAPPING_BYTES);
}

/* Publishes the payload, which stays with the caller, or another one in its place. */
static inline void context_publish(
	struct pilotlight_process_context *mapped, const void *payload, size_t size, uint64_t stamp)
{
	__atomic_store_n(&mapped->published_ns, 0, __ATOMIC_SEQ_CST);
	mapped->version = PILOTLIGHT_PROCESS_CONTEXT_VERSION;
	mapped->payload_bytes = (uint32_t)size;
	mapped->payload = (uintptr_t)payload;
	__atomic_store_n(&mapped->published_ns, stamp, __ATOMIC_SEQ_CST);
	memcpy(mapped->signature, PILOTLIGHT_PROCESS_CONTEXT_SIGNATURE, sizeof(mapped->signature));
}
