/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call sites of kernel memory, from texts that call_sites_write() (render/call_sites.h) has
 * written: one for each event. The texts are hostile (I8).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum kmem_column { KMEM_ALLOC, KMEM_LIVE, KMEM_WASTE, KMEM_COLUMNS };
extern const char *const kmem_column_events[KMEM_COLUMNS]; /* "kmem:alloc" */

enum { KMEM_NAME_BYTES = 256, KMEM_MEMORY_WIDTH = 24 };

struct kmem_site {
	char memory[KMEM_NAME_BYTES], caller[KMEM_NAME_BYTES];
	uint64_t bytes[KMEM_COLUMNS];
	uint64_t object_bytes; /* that a call allocates; 0: unknown */
	/* One more than the step of the oldest that lives (resolve/live_age.h); 0: unknown. */
	size_t oldest;
};

/* Initialize with zeros. */
struct kmem_sites {
	struct kmem_site *items;
	size_t count, capacity;
};

void kmem_sites_done(struct kmem_sites *sites);

/*
 * Adds a text, which it changes. Returns 0 and the column of its event; -EINVAL if it is no such
 * text; -E2BIG if there are too many call sites; or -ENOMEM.
 */
int kmem_sites_add_text(struct kmem_sites *sites, char *text, enum kmem_column *ret_column);

/* Sets object sizes: of kmalloc() and pages by their names, of caches from `slabinfo`, which only
 * root can read. */
void kmem_sites_find_sizes(struct kmem_sites *sites, const char *slabinfo);

/* Estimated from what was allocated. */
uint64_t kmem_site_calls(const struct kmem_site *site);

/* Puts one row for each call site into order: by "allocated", "live", "waste", "calls", or
 * "oldest": by the age of what lives. */
void kmem_sites_sort(struct kmem_sites *sites, const char *order);
