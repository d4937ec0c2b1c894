/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the drain empties a window and proves it whole:
 *  1. The window number increases; its parity selects the set that BPF writes. The barrier waits
 *     until every program that saw the old number has ended. The idle maps and counters are then
 *     at rest.
 *  2. The counters give the number of samples in the maps and in the ring.
 *  3. The drain counts what it reads from both. Samples that BPF counted and the drain cannot read
 *     are dropped as unread.
 *  4. The drain clears the set's maps, and its counters last. After a kill in between, the next
 *     drain finds counters that show what is missing.
 *
 * Ring records carry their set. Records of the active set wait for their own window.
 */
#include "drain/drain.h"

#include "base/array.h"
#include "base/log.h"
#include "drain/ring_record.h"
#include "drain/walk_table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* What the ring brought of a source and a set so far, in periods. Records may arrive before their
 * window is drained. */
struct ring_accounts {
	uint64_t received;
	uint64_t malformed;
	uint64_t refused;
	uint64_t unwanted;
};

struct drain {
	const struct capture_maps *maps;
	struct ring_buffer *ring;
	int poll_fd;
	uint32_t idle_set;
	size_t cpu_count;			  /* possible CPUs: the length of a per-CPU value */
	struct pilotlight_counters *cpu_counters; /* of all sources */
	struct pilotlight_sample_key *keys;
	struct pilotlight_sample_count *counts;
	/* Ring records of the active set, each preceded by its size. */
	char *waiting;
	size_t waiting_bytes, waiting_capacity;
	struct ring_accounts ring_accounts[PILOTLIGHT_SET_COUNT][PILOTLIGHT_SOURCES];
	struct walk_table walks;	   /* of the idle set */
	drain_code_function code_function; /* NULL: none */
	void *code_context;
	/* Valid during drain_window(). */
	drain_function function;
	void *context;
};

/* If the record with the walked frames is missing, the sample goes on without them. */
static void set_walk(const struct drain *drain, struct raw_sample *sample, uint64_t hash)
{
	const struct walked_stack *walk = walk_table_find(&drain->walks, hash);

	sample->walker = PILOTLIGHT_WALKER_TABLES;
	sample->walk_end = PILOTLIGHT_WALK_ENDS;
	if (!walk)
		return;
	sample->walk_frames = drain->walks.frames + walk->first_frame;
	sample->walk_count = walk->count;
	sample->walk_end = (enum pilotlight_walk_end)walk->end;
	sample->walk_hash = hash;
	sample->runtime_frames = drain->walks.runtime_frames + walk->first_runtime_frame;
	sample->runtime_count = walk->runtime_count;
	sample->runtime_end = (enum pilotlight_runtime_end)walk->runtime_end;
	sample->runtime_language = (enum pilotlight_runtime_language)walk->runtime_language;
	sample->runtime_file = walk->runtime_file;
}

/* Stores each record after its size, padded so that the next one is aligned. */
static int keep_waiting(struct drain *drain, const void *bytes, size_t size)
{
	uint64_t length = size;
	size_t padded = (size + 7) & ~(size_t)7;
	int r;

	r = ARRAY_RESERVE(drain->waiting, &drain->waiting_capacity,
		drain->waiting_bytes + sizeof(length) + padded,
		2 * (size_t)drain->maps->sizes.ring_bytes);
	if (r < 0)
		return r;
	memcpy(drain->waiting + drain->waiting_bytes, &length, sizeof(length));
	memcpy(drain->waiting + drain->waiting_bytes + sizeof(length), bytes, size);
	drain->waiting_bytes += sizeof(length) + padded;
	return 0;
}

/*
 * Handles a record of the idle set: keeps a stack, passes a sample or a waker on. BPF sends a stack
 * before it counts samples with it. A record that does not parse counts as one sample. Without a
 * header it has no known window or source, so it is charged to CPU time in the window being
 * drained.
 */
static void handle_own_record(struct drain *drain, const void *bytes, size_t size)
{
	struct pilotlight_ring_header header = { 0 };
	struct ring_accounts *accounts;
	char comm[PILOTLIGHT_COMM_BYTES];
	struct raw_sample sample;
	int r = ring_record_parse(bytes, size, &sample, comm);

	(void)ring_record_header(bytes, size, &header);
	if (header.kind == PILOTLIGHT_RING_WALK) {
		if (r == 0)
			r = walk_table_add(&drain->walks, &sample);
		if (r < 0)
			log_debug("cannot keep a stack: %s, continuing without it", strerror(-r));
		return;
	}
	if (header.kind == PILOTLIGHT_RING_WAKER) {
		if (r == 0)
			(void)drain->function(drain->context, &sample);
		return;
	}
	accounts = &drain->ring_accounts[drain->idle_set][header.source];
	if (r < 0) {
		accounts->received++;
		accounts->malformed++;
		return;
	}
	accounts->received += sample.count;
	sample.depth_max = drain->maps->sizes.stack_depth;
	r = drain->function(drain->context, &sample);
	if (r < 0)
		accounts->refused += sample.count;
	else if (r == DRAIN_NOT_WANTED)
		accounts->unwanted += sample.count;
}

/* Whatever its set: another CPU's sample of the idle set may need it, too. */
static void handle_code(const struct drain *drain, const void *bytes, size_t size)
{
	struct raw_code code;

	if (ring_record_parse_code(bytes, size, &code) == 0 && drain->code_function)
		drain->code_function(drain->code_context, &code);
}

static int handle_record(void *context, void *bytes, size_t size)
{
	struct pilotlight_ring_header header;
	struct drain *drain = context;
	int r = ring_record_header(bytes, size, &header);

	if (r == 0 && header.kind == PILOTLIGHT_RING_CODE) {
		handle_code(drain, bytes, size);
		return 0;
	}
	if (r == 0 && header.set != drain->idle_set) {
		/* If this fails, the record's window counts it as unread. */
		(void)keep_waiting(drain, bytes, size);
		return 0;
	}
	handle_own_record(drain, bytes, size);
	return 0;
}

/*
 * Waiting records belong to the set that was active then. Unless a flip failed, that set is now
 * idle.
 */
static void handle_waiting_records(struct drain *drain)
{
	struct pilotlight_ring_header header = { 0 }; /* each waiting record has a valid one */
	size_t at = 0, kept = 0;

	while (at < drain->waiting_bytes) {
		char *entry = drain->waiting + at;
		uint64_t size, entry_bytes;

		memcpy(&size, entry, sizeof(size));
		entry_bytes = sizeof(size) + ((size + 7) & ~(uint64_t)7);
		at += entry_bytes;
		(void)ring_record_header(entry + sizeof(size), size, &header);
		if (header.set == drain->idle_set) {
			handle_own_record(drain, entry + sizeof(size), size);
			continue;
		}
		memmove(drain->waiting + kept, entry, entry_bytes);
		kept += entry_bytes;
	}
	drain->waiting_bytes = kept;
}

/*
 * Opens a descriptor that reports only BPF's wakeups. The ring itself is readable as soon as it
 * holds any record, but BPF wakes its reader only when the ring is half full. An edge-triggered
 * epoll reports that wakeup until epoll_wait() returns it.
 */
static int open_poll_fd(int ring_fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	_cleanup_close_ int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, ring_fd, &event) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Call before reading the ring, so that a later wakeup counts as new. */
static int consume_wakeup(const struct drain *drain)
{
	struct epoll_event event;

	return epoll_wait(drain->poll_fd, &event, 1, 0) < 0 && errno != EINTR ? -errno : 0;
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	ring_buffer__free(drain->ring);
	if (drain->poll_fd >= 0)
		(void)close(drain->poll_fd);
	free(drain->cpu_counters);
	free(drain->keys);
	free(drain->counts);
	free(drain->waiting);
	walk_table_done(&drain->walks);
	free(drain);
}

void drain_set_codes(struct drain *drain, drain_code_function function, void *context)
{
	drain->code_function = function;
	drain->code_context = context;
}

int drain_poll_fd(const struct drain *drain)
{
	return drain->poll_fd;
}

/* Waits until every program that began before this call has ended. */
static int wait_for_programs(const struct drain *drain)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(
		       drain->maps->barrier_fd, &zero, &drain->maps->barrier_inner_fd, BPF_ANY)
		       ? -errno
		       : 0;
}

int drain_flip(struct drain *drain)
{
	uint32_t window = *drain->maps->active_window;
	int r;

	__atomic_store_n(drain->maps->active_window, window + 1, __ATOMIC_RELEASE);
	r = wait_for_programs(drain);
	if (r < 0) {
		/*
		 * Both sets stay whole: samples that went to the other set meanwhile are counted
		 * there.
		 */
		__atomic_store_n(drain->maps->active_window, window, __ATOMIC_RELEASE);
		return r;
	}
	drain->idle_set = window % PILOTLIGHT_SET_COUNT;
	return 0;
}

static int read_counters(struct drain *drain, struct accounts accounts[PILOTLIGHT_SOURCES])
{
	for (int source = 0; source < PILOTLIGHT_SOURCES; source++) {
		uint32_t index =
			pilotlight_counters_index((enum pilotlight_source)source, drain->idle_set);

		if (bpf_map_lookup_elem(drain->maps->counters_fd, &index, drain->cpu_counters))
			return -errno;
		for (size_t i = 0; i < drain->cpu_count; i++)
			accounts_add_counters(&accounts[source], &drain->cpu_counters[i]);
	}
	return 0;
}

/* In one call: a kill cannot come between the sources, and cost the counts of some. */
static int clear_counters(struct drain *drain)
{
	uint32_t indexes[PILOTLIGHT_SOURCES], count = PILOTLIGHT_SOURCES;

	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		indexes[i] = pilotlight_counters_index((enum pilotlight_source)i, drain->idle_set);
	memset(drain->cpu_counters, 0,
		PILOTLIGHT_SOURCES * drain->cpu_count * sizeof(*drain->cpu_counters));
	return bpf_map_update_batch(
		       drain->maps->counters_fd, indexes, drain->cpu_counters, &count, NULL)
		       ? -errno
		       : 0;
}

/*
 * Reads the frames of a stack id. If the stack is unreadable, the sample is kept without these
 * frames and the accounts still close.
 */
static size_t read_ips(int map_fd, uint32_t depth, int64_t id, uint64_t ips[PILOTLIGHT_STACK_DEPTH])
{
	uint32_t key = (uint32_t)id;
	size_t count = 0;

	if (id == PILOTLIGHT_STACK_NONE || bpf_map_lookup_elem(map_fd, &key, ips))
		return 0;
	while (count < depth && ips[count])
		count++;
	return count;
}

static size_t read_frames(int map_fd, uint32_t depth, int64_t id,
	struct pilotlight_user_frame frames[PILOTLIGHT_STACK_DEPTH])
{
	uint32_t key = (uint32_t)id;
	size_t count = 0;

	if (id == PILOTLIGHT_STACK_NONE || bpf_map_lookup_elem(map_fd, &key, frames))
		return 0;
	while (count < depth && frames[count].status != PILOTLIGHT_FRAME_EMPTY)
		count++;
	return count;
}

/* Makes BPF send the stack's build-ids when it next sees the stack. */
static void forget_stack(struct drain *drain, const struct pilotlight_sample_key *key)
{
	const struct pilotlight_known_stack_key known = {
		.process = key->process,
		.user_stack = key->user_stack,
	};

	(void)bpf_map_delete_elem(drain->maps->known_stacks_fd, &known);
}

static void pass_on_count(struct drain *drain, const struct pilotlight_sample_key *key,
	struct pilotlight_sample_count *count, struct accounts *accounts)
{
	const struct capture_map_set *set = &drain->maps->sets[drain->idle_set];
	uint32_t depth = drain->maps->sizes.stack_depth;
	struct pilotlight_user_frame user_frames[PILOTLIGHT_STACK_DEPTH];
	uint64_t kernel_ips[PILOTLIGHT_STACK_DEPTH], user_ips[PILOTLIGHT_STACK_DEPTH];
	struct raw_sample sample = {
		.process = key->process,
		.tid = key->tid,
		.cgroup_id = key->cgroup_id,
		.user = count->user,
		.comm = count->comm,
		.count = count->count,
		.first_ns = count->first_ns,
		.last_ns = count->last_ns,
		.path = PILOTLIGHT_PATH_MAP,
		.depth_max = depth,
		.kernel_ips = kernel_ips,
		.user_frames = user_frames,
		.user_ips = user_ips,
	};
	int r;

	ring_record_set_wait(&sample, (enum pilotlight_source)key->source, key->wait);
	count->comm[PILOTLIGHT_COMM_BYTES - 1] = '\0';
	sample.kernel_count = read_ips(set->stacks_fd, depth, key->kernel_stack, kernel_ips);
	if (key->walker == PILOTLIGHT_WALKER_TABLES) {
		set_walk(drain, &sample, (uint64_t)key->user_stack);
	} else {
		sample.user_count = read_frames(
			set->build_id_stacks_fd, depth, count->build_id_stack, user_frames);
		sample.user_ip_count = read_ips(set->stacks_fd, depth, key->user_stack, user_ips);
	}
	r = drain->function(drain->context, &sample);
	if (r == DRAIN_ASK_AGAIN)
		forget_stack(drain, key);
	if (r < 0 || r == DRAIN_NOT_WANTED)
		accounts_move(accounts, PILOTLIGHT_PATH_MAP,
			r < 0 ? PILOTLIGHT_DROP_PROFILE_FULL : PILOTLIGHT_DROP_FILTERED,
			count->count);
}

/* `unread`: the samples of each source that the maps still hold. */
static int drain_count(struct drain *drain, const struct pilotlight_sample_key *key,
	struct pilotlight_sample_count *count, struct accounts accounts[PILOTLIGHT_SOURCES],
	uint64_t unread[PILOTLIGHT_SOURCES])
{
	if (key->source >= PILOTLIGHT_SOURCES ||
		!ring_record_has_wait((enum pilotlight_source)key->source, key->wait) ||
		count->count > unread[key->source])
		return -EPROTO;
	unread[key->source] -= count->count;
	pass_on_count(drain, key, count, &accounts[key->source]);
	return 0;
}

/* Reads and clears the counts. */
static int drain_counts(struct drain *drain, struct accounts accounts[PILOTLIGHT_SOURCES],
	uint64_t unread[PILOTLIGHT_SOURCES])
{
	const struct capture_map_set *set = &drain->maps->sets[drain->idle_set];
	uint32_t position, read = 0, capacity = drain->maps->sizes.count_slots;
	bool first = true, done = false;

	/* Usually one batch suffices. The kernel may stop early at a bucket that no longer fits. */
	while (!done) {
		uint32_t n = capacity;

		if (bpf_map_lookup_and_delete_batch(set->counts_fd, first ? NULL : &position,
			    &position, drain->keys, drain->counts, &n, NULL)) {
			if (errno != ENOENT)
				return -errno;
			done = true;
		}
		first = false;
		for (uint32_t i = 0; i < n; i++) {
			int r = drain_count(
				drain, &drain->keys[i], &drain->counts[i], accounts, unread);

			if (r < 0)
				return r;
		}
		read += n;
	}
	log_debug("window: %u entries", read);
	return 0;
}

/* Keys of a stackmap are bucket numbers, so the next key follows even from a deleted one. */
static int clear_stackmap(int map_fd)
{
	uint32_t key;
	bool first = true;

	while (bpf_map_get_next_key(map_fd, first ? NULL : &key, &key) == 0) {
		first = false;
		if (bpf_map_delete_elem(map_fd, &key) && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* Clears the stacks that the counts refer to. */
static int clear_set(struct drain *drain)
{
	const struct capture_map_set *set = &drain->maps->sets[drain->idle_set];
	int r = clear_stackmap(set->stacks_fd);

	if (r == 0)
		r = clear_stackmap(set->build_id_stacks_fd);
	walk_table_clear(&drain->walks);
	return r;
}

static int clear_counts(struct drain *drain)
{
	int map_fd = drain->maps->sets[drain->idle_set].counts_fd;
	uint32_t position;
	bool first = true;

	for (;;) {
		uint32_t n = drain->maps->sizes.count_slots;

		if (bpf_map_lookup_and_delete_batch(map_fd, first ? NULL : &position, &position,
			    drain->keys, drain->counts, &n, NULL))
			return errno == ENOENT ? 0 : -errno;
		first = false;
	}
}

/*
 * Takes over from a drain that may have been killed at any step.
 *
 * The idle set may be half drained. Its remaining samples are deleted and its counters stay. When
 * the set is next filled and drained, the counters report these samples as unread. Ring records for
 * this set also arrive with that window.
 *
 * The other set is whole, except for records that the killed drain had taken off the ring while the
 * set was active. Its counters report such samples as unread. Stacks among them are sent again by
 * BPF in the window that capture has begun.
 */
static int take_over(struct drain *drain)
{
	uint32_t active = *drain->maps->active_window % PILOTLIGHT_SET_COUNT;
	int r = wait_for_programs(drain);

	drain->idle_set = (active + 1) % PILOTLIGHT_SET_COUNT;
	if (r == 0)
		r = clear_counts(drain);
	if (r == 0)
		r = clear_set(drain);
	return r;
}

int drain_new(const struct capture_maps *maps, struct drain **ret_drain)
{
	_cleanup_(drain_freep) struct drain *drain = calloc(1, sizeof(*drain));
	int cpus = libbpf_num_possible_cpus();
	int r;

	if (!drain)
		return -ENOMEM;
	drain->poll_fd = -1;
	if (cpus < 0)
		return cpus;
	drain->maps = maps;
	drain->cpu_count = (size_t)cpus;
	walk_table_init(&drain->walks, maps->sizes.count_slots);
	drain->cpu_counters =
		calloc(PILOTLIGHT_SOURCES * drain->cpu_count, sizeof(*drain->cpu_counters));
	drain->keys = calloc(maps->sizes.count_slots, sizeof(*drain->keys));
	drain->counts = calloc(maps->sizes.count_slots, sizeof(*drain->counts));
	if (!drain->cpu_counters || !drain->keys || !drain->counts)
		return -ENOMEM;
	drain->ring = ring_buffer__new(maps->ring_fd, handle_record, drain, NULL);
	if (!drain->ring)
		return -errno;
	drain->poll_fd = open_poll_fd(maps->ring_fd);
	if (drain->poll_fd < 0)
		return drain->poll_fd;
	r = take_over(drain);
	if (r < 0)
		return r;
	*ret_drain = TAKE_PTR(drain);
	return 0;
}

/* Closes the ring's part of a source's accounts. */
static int close_ring_accounts(struct ring_accounts *ring, struct accounts *accounts)
{
	uint64_t stored = accounts->stored[PILOTLIGHT_PATH_RING];
	int r = 0;

	if (ring->received > stored) {
		r = -EPROTO;
	} else {
		accounts_move(accounts, PILOTLIGHT_PATH_RING, PILOTLIGHT_DROP_UNREAD,
			stored - ring->received);
		accounts_move(
			accounts, PILOTLIGHT_PATH_RING, PILOTLIGHT_DROP_MALFORMED, ring->malformed);
		accounts_move(accounts, PILOTLIGHT_PATH_RING, PILOTLIGHT_DROP_PROFILE_FULL,
			ring->refused);
		accounts_move(
			accounts, PILOTLIGHT_PATH_RING, PILOTLIGHT_DROP_FILTERED, ring->unwanted);
	}
	*ring = (struct ring_accounts){ 0 };
	return r;
}

static int drain_ring(struct drain *drain, struct accounts accounts[PILOTLIGHT_SOURCES])
{
	int r;

	handle_waiting_records(drain);
	r = ring_buffer__consume(drain->ring);
	for (int i = 0; r >= 0 && i < PILOTLIGHT_SOURCES; i++)
		r = close_ring_accounts(&drain->ring_accounts[drain->idle_set][i], &accounts[i]);
	return r;
}

static int drain_maps(struct drain *drain, struct accounts accounts[PILOTLIGHT_SOURCES])
{
	uint64_t unread[PILOTLIGHT_SOURCES];
	int r;

	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		unread[i] = accounts[i].stored[PILOTLIGHT_PATH_MAP];
	r = drain_counts(drain, accounts, unread);
	for (int i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		accounts_move(&accounts[i], PILOTLIGHT_PATH_MAP, PILOTLIGHT_DROP_UNREAD, unread[i]);
	return r;
}

int drain_window(struct drain *drain, drain_function function, void *context,
	struct accounts ret_accounts[PILOTLIGHT_SOURCES])
{
	struct accounts accounts[PILOTLIGHT_SOURCES] = { 0 };
	int r;

	drain->function = function;
	drain->context = context;
	r = consume_wakeup(drain);
	if (r == 0)
		r = read_counters(drain, accounts);
	if (r == 0)
		r = drain_ring(drain, accounts);
	if (r == 0)
		r = drain_maps(drain, accounts);
	if (r == 0)
		r = clear_set(drain);
	if (r == 0)
		r = clear_counters(drain);
	if (r < 0)
		return r;
	memcpy(ret_accounts, accounts, sizeof(accounts));
	return 0;
}
