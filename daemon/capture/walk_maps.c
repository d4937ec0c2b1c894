/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/walk_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/*
	 * Each array's share of the budget, a little more than the programs of a Debian need
	 * relative to their lines.
	 */
	PAGES_SHARE = 32,
	RULES_SHARE = 12,
	ESCAPES_SHARE = 64,
	REQUESTS_AT_ONCE = 64,
};

static uint32_t at_least_one(size_t count)
{
	return count > 0 ? (uint32_t)count : 1;
}

struct walk_map_sizes walk_map_sizes_compute(size_t budget_bytes)
{
	struct walk_map_sizes sizes;
	size_t rest;

	if (budget_bytes > (size_t)1 << 30)
		budget_bytes = (size_t)1 << 30;
	sizes.pages = at_least_one(budget_bytes / PAGES_SHARE / sizeof(uint32_t) / 2) * 2;
	sizes.rules =
		at_least_one(budget_bytes / RULES_SHARE / sizeof(struct pilotlight_unwind_rule));
	sizes.escapes = at_least_one(
		budget_bytes / ESCAPES_SHARE / sizeof(struct pilotlight_unwind_escape));
	rest = budget_bytes - budget_bytes / PAGES_SHARE - budget_bytes / RULES_SHARE -
	       budget_bytes / ESCAPES_SHARE;
	sizes.lines = at_least_one(rest / sizeof(struct pilotlight_unwind_line));
	return sizes;
}

size_t walk_map_sizes_bytes(const struct walk_map_sizes *sizes)
{
	return sizes->pages * sizeof(uint32_t) +
	       sizes->lines * sizeof(struct pilotlight_unwind_line) +
	       sizes->rules * sizeof(struct pilotlight_unwind_rule) +
	       sizes->escapes * sizeof(struct pilotlight_unwind_escape);
}

static size_t mapping_bytes(uint32_t entries, size_t entry_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (entries * entry_bytes + page - 1) / page * page;
}

static int map_array(void *pointer_to_array, int fd, uint32_t entries, size_t entry_bytes)
{
	void *memory = mmap(NULL, mapping_bytes(entries, entry_bytes), PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memcpy(pointer_to_array, &memory, sizeof(memory));
	return 0;
}

static void unmap_array(void *array, uint32_t entries, size_t entry_bytes)
{
	if (array)
		(void)munmap(array, mapping_bytes(entries, entry_bytes));
}

static int ignore_wakeup(void *context, void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return 0;
}

int walk_maps_init(struct walk_maps *ret_maps, const struct walk_map_fds *fds,
	const struct walk_map_sizes *sizes)
{
	struct walk_maps maps = {
		.files_fd = fds->files,
		.requests_fd = fds->requests,
		.wakeup_fd = fds->wakeup,
		.sizes = *sizes,
	};
	int r;

	r = map_array(&maps.pages, fds->pages, sizes->pages, sizeof(*maps.pages));
	if (r == 0)
		r = map_array(&maps.lines, fds->lines, sizes->lines, sizeof(*maps.lines));
	if (r == 0)
		r = map_array(&maps.rules, fds->rules, sizes->rules, sizeof(*maps.rules));
	if (r == 0)
		r = map_array(&maps.escapes, fds->escapes, sizes->escapes, sizeof(*maps.escapes));
	if (r == 0) {
		maps.wakeup = ring_buffer__new(fds->wakeup, ignore_wakeup, NULL, NULL);
		r = maps.wakeup ? 0 : -errno;
	}
	if (r < 0) {
		walk_maps_done(&maps);
		return r;
	}
	*ret_maps = maps;
	return 0;
}

void walk_maps_done(struct walk_maps *maps)
{
	unmap_array(maps->pages, maps->sizes.pages, sizeof(*maps->pages));
	unmap_array(maps->lines, maps->sizes.lines, sizeof(*maps->lines));
	unmap_array(maps->rules, maps->sizes.rules, sizeof(*maps->rules));
	unmap_array(maps->escapes, maps->sizes.escapes, sizeof(*maps->escapes));
	ring_buffer__free(maps->wakeup);
	*maps = (struct walk_maps){ .files_fd = -1, .requests_fd = -1, .wakeup_fd = -1 };
}

int walk_maps_put_file(const struct walk_maps *maps, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_file *file)
{
	static _Atomic uint32_t version;
	struct pilotlight_walk_file copy = *file;

	copy.version = copy.version_too = ++version;
	copy.key_hash = pilotlight_file_key_hash(key);
	return bpf_map_update_elem(maps->files_fd, key, &copy, BPF_ANY) ? -errno : 0;
}

int walk_maps_drop_file(const struct walk_maps *maps, const struct pilotlight_file_key *key)
{
	return bpf_map_delete_elem(maps->files_fd, key) && errno != ENOENT ? -errno : 0;
}

int walk_maps_used_window(
	const struct walk_maps *maps, const struct pilotlight_file_key *key, uint32_t *ret_window)
{
	struct pilotlight_walk_file file;

	if (bpf_map_lookup_elem(maps->files_fd, key, &file))
		return -errno;
	*ret_window = file.used_window;
	return 0;
}

/* Only the engine adds files: once the batches are empty, all are gone. */
static int remove_files(const struct walk_maps *maps)
{
	struct pilotlight_file_key keys[REQUESTS_AT_ONCE];
	struct pilotlight_walk_file files[REQUESTS_AT_ONCE];
	uint32_t position;
	bool is_first = true;

	for (;;) {
		uint32_t n = REQUESTS_AT_ONCE;

		if (bpf_map_lookup_and_delete_batch(maps->files_fd, is_first ? NULL : &position,
			    &position, keys, files, &n, NULL))
			return errno == ENOENT ? 0 : -errno;
		is_first = false;
	}
}

static void ignore_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	(void)context;
	(void)key;
	(void)request;
}

int walk_maps_clear(const struct walk_maps *maps)
{
	int r = remove_files(maps);

	if (r == 0)
		r = walk_maps_drain_requests(maps, ignore_request, NULL);
	return r < 0 ? r : 0;
}

int walk_maps_drain_requests(
	const struct walk_maps *maps, walk_request_function function, void *context)
{
	struct pilotlight_file_key keys[REQUESTS_AT_ONCE];
	struct pilotlight_walk_request requests[REQUESTS_AT_ONCE];
	uint32_t position, count = 0;
	bool is_first = true, is_done = false;

	(void)ring_buffer__consume(maps->wakeup);
	/* BPF adds requests meanwhile, so at most one map's worth is removed. */
	while (!is_done && count < PILOTLIGHT_WALK_REQUESTS_MAX) {
		uint32_t n = REQUESTS_AT_ONCE;

		if (bpf_map_lookup_and_delete_batch(maps->requests_fd, is_first ? NULL : &position,
			    &position, keys, requests, &n, NULL)) {
			if (errno != ENOENT)
				return -errno;
			is_done = true;
		}
		is_first = false;
		for (uint32_t i = 0; i < n; i++)
			function(context, &keys[i], &requests[i]);
		count += n;
	}
	return (int)count;
}
