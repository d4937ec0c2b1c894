/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/late_samples.h"

#include "base/array.h"
#include "resolve/late_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Divisors of limits.bytes: for the names of kernel frames, for samples, and for stacks.
	   The share of stacks is only a quarter, since their arrays double when they grow. */
	NAMES_SHARE = 8,
	SAMPLES_SHARE = 2,
	STACKS_SHARE = 4,
	ROOM_SHARE = 4,		  /* make_room() frees one part in ROOM_SHARE */
	STACKS_BYTES_MIN = 65536, /* do not rebuild a smaller set of stacks */
};

static const char unknown[] = "[jit: unknown]";

struct waiting {
	struct pilotlight_process process;
	uint64_t count;
	uint64_t first_ns, last_ns;
	uint64_t cgroup_id, share_user;
	uint64_t address;
	uint32_t window;
	uint32_t tid;
	uint32_t user;
	uint32_t stack;
	uint64_t code_version; /* jit_table_code_version() at the last failed lookup of its names */
	uint8_t path;	       /* enum pilotlight_path */
	uint8_t source;	       /* enum pilotlight_source */
	uint8_t wait;	       /* enum pilotlight_wait */
	char comm[PILOTLIGHT_COMM_BYTES];
	struct pilotlight_thread_context context;
};

struct late_samples {
	struct late_samples_limits limits;
	struct jit_table *table;
	struct binary_table *binaries;
	late_function function;
	void *context;
	struct waiting *waiting; /* in order of arrival */
	size_t waiting_count, waiting_capacity;
	struct late_stacks stacks;
	size_t stacks_bytes; /* size of `stacks` when last rebuilt */
	struct late_counters counters;
};

int late_samples_new(const struct late_samples_limits *limits, struct jit_table *table,
	struct binary_table *binaries, late_function function, void *context,
	struct late_samples **ret_late)
{
	_cleanup_(late_samples_freep) struct late_samples *late = calloc(1, sizeof(*late));
	int r;

	if (!late)
		return -ENOMEM;
	late->limits = *limits;
	late->table = table;
	late->binaries = binaries;
	late->function = function;
	late->context = context;
	r = late_stacks_init(&late->stacks, limits->bytes / NAMES_SHARE);
	if (r < 0)
		return r;
	*ret_late = TAKE_PTR(late);
	return 0;
}

void late_samples_free(struct late_samples *late)
{
	if (!late)
		return;
	free(late->waiting);
	late_stacks_done(&late->stacks);
	free(late);
}

size_t late_samples_bytes(const struct late_samples *late)
{
	return late->waiting_capacity * sizeof(*late->waiting) + late_stacks_bytes(&late->stacks);
}

void late_samples_counters(const struct late_samples *late, struct late_counters *ret_counters)
{
	*ret_counters = late->counters;
	ret_counters->waiting = late->waiting_count;
}

uint64_t late_samples_oldest_ns(const struct late_samples *late)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < late->waiting_count; i++)
		if (late->waiting[i].first_ns < oldest_ns)
			oldest_ns = late->waiting[i].first_ns;
	return oldest_ns;
}

/* --- names --- */

static void name_frame(
	struct late_samples *late, const struct waiting *sample, struct resolved_frame *frame)
{
	struct code_found found;
	enum jit_answer answer;

	answer = jit_table_find(late->table, (pid_t)sample->process.tgid, sample->first_ns,
		sample->last_ns, frame->address, frame->jit == RESOLVED_JIT_SHARED, &found);
	late->counters.frames += sample->count;
	if (answer != JIT_FOUND) {
		late->counters.frames_unknown += sample->count;
		late->counters.frames_ambiguous += answer == JIT_AMBIGUOUS ? sample->count : 0;
		frame->name = unknown;
		return;
	}
	frame->name = found.name;
	frame->file = found.file;
	frame->line = found.line;
	frame->column = found.column;
}

/* All JIT frames of a sample share one binary, that of the process. */
static void name_frames(struct late_samples *late, const struct waiting *sample,
	struct resolved_frame *frames, size_t count)
{
	const struct resolved_frame *leaf = NULL, *jit = NULL;

	for (size_t i = 0; i < count; i++) {
		leaf = &frames[i];
		if (!leaf->jit)
			continue;
		jit = leaf;
		name_frame(late, sample, &frames[i]);
	}
	if (!jit)
		return;
	binary_table_set_jit_runtime(late->binaries, jit->binary,
		jit_table_runtime(late->table, (pid_t)sample->process.tgid, sample->first_ns));
	if (leaf->jit) {
		late->counters.leaves += sample->count;
		late->counters.leaves_unknown += leaf->name == unknown ? sample->count : 0;
	}
}

/* Sends the sample with the names that are known now. */
static int send_frames(struct late_samples *late, const struct waiting *sample,
	struct resolved_frame *frames, size_t count)
{
	const struct raw_sample sent = {
		.process = sample->process,
		.tid = sample->tid,
		.comm = sample->comm,
		.count = sample->count,
		.first_ns = sample->first_ns,
		.last_ns = sample->last_ns,
		.cgroup_id = sample->cgroup_id,
		.user = sample->user,
		.share_user = sample->share_user,
		.address = sample->address,
		.window = sample->window,
		.path = sample->path,
		.source = sample->source,
		.wait = sample->wait,
		.context = sample->context,
	};

	name_frames(late, sample, frames, count);
	return late->function(late->context, &sent, frames, count);
}

static int send(struct late_samples *late, const struct waiting *sample)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	size_t count = late_stacks_get(&late->stacks, sample->stack, frames);

	return send_frames(late, sample, frames, count);
}

/* --- room --- */

/* Rebuilds the set of stacks without those that no queued sample uses. */
static int renew_stacks(struct late_samples *late)
{
	_cleanup_free_ uint32_t *ids = calloc(late->waiting_count + 1, sizeof(*ids));
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	struct late_stacks renewed;
	int r;

	if (!ids)
		return -ENOMEM;
	r = late_stacks_init(&renewed, late->limits.bytes / NAMES_SHARE);
	for (size_t i = 0; r == 0 && i < late->waiting_count; i++) {
		size_t count = late_stacks_get(&late->stacks, late->waiting[i].stack, frames);

		r = late_stacks_intern(&renewed, frames, count, &ids[i]);
	}
	if (r < 0) {
		late_stacks_done(&renewed);
		return r;
	}
	for (size_t i = 0; i < late->waiting_count; i++)
		late->waiting[i].stack = ids[i];
	late_stacks_done(&late->stacks);
	late->stacks = renewed;
	late->stacks_bytes = late_stacks_bytes(&renewed);
	return 0;
}

static void forget(struct late_samples *late, size_t count)
{
	late->waiting_count -= count;
	if (late->waiting_count > 0)
		memmove(late->waiting, late->waiting + count,
			late->waiting_count * sizeof(*late->waiting));
}

/* The memory of a user's or a process's samples, and the excess to free. */
struct holder {
	uint64_t user;
	uint32_t tgid; /* of a user: 0 */
	size_t bytes, excess;
};

static int compare_holders(const void *a, const void *b)
{
	const struct holder *first = a, *second = b;

	if (first->user != second->user)
		return first->user < second->user ? -1 : 1;
	return (first->tgid > second->tgid) - (first->tgid < second->tgid);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct holder *first = a, *second = b;

	return (first->bytes < second->bytes) - (first->bytes > second->bytes);
}

/* A sample's own memory, and its part of a stack shared with others. */
static size_t bytes_of(
	const struct late_samples *late, const struct waiting *sample, const uint32_t *users)
{
	return sizeof(*sample) +
	       late_stacks_frame_bytes(&late->stacks, sample->stack) / users[sample->stack];
}

/* Returns one holder for each process, sorted by user and process. */
static int find_holders(const struct late_samples *late, const uint32_t *users,
	struct holder **ret_holders, size_t *ret_count)
{
	struct holder *holders = calloc(late->waiting_count, sizeof(*holders));
	size_t count = 0;

	if (!holders)
		return -ENOMEM;
	for (size_t i = 0; i < late->waiting_count; i++)
		holders[i] = (struct holder){
			.user = late->waiting[i].share_user,
			.tgid = late->waiting[i].process.tgid,
			.bytes = bytes_of(late, &late->waiting[i], users),
		};
	qsort(holders, late->waiting_count, sizeof(*holders), compare_holders);
	for (size_t i = 0; i < late->waiting_count; i++) {
		if (count > 0 && compare_holders(&holders[count - 1], &holders[i]) == 0)
			holders[count - 1].bytes += holders[i].bytes;
		else
			holders[count++] = holders[i];
	}
	*ret_holders = holders;
	*ret_count = count;
	return 0;
}

/* Computes each excess: cuts the largest holders down to one common level that frees `wanted`
 * bytes. */
static void level(struct holder *holders, size_t count, size_t wanted)
{
	size_t above = 0, kept, last;

	qsort(holders, count, sizeof(*holders), compare_bytes);
	for (last = 0; last < count; last++) {
		if (above - last * holders[last].bytes >= wanted)
			break;
		above += holders[last].bytes;
	}
	kept = above > wanted ? (above - wanted) / last : 0;
	for (size_t i = 0; i < count; i++)
		holders[i].excess = holders[i].bytes > kept ? holders[i].bytes - kept : 0;
	qsort(holders, count, sizeof(*holders), compare_holders);
}

/* The number of holders from the first one on that are one user's. */
static size_t count_of_user(const struct holder *holders, size_t count)
{
	size_t n = 1;

	while (n < count && holders[n].user == holders[0].user)
		n++;
	return n;
}

/* Frees a quarter of the total, of the users who hold the most, and of each, of the processes that
 * hold the most. */
static int level_users(struct holder *holders, size_t count)
{
	_cleanup_free_ struct holder *users = calloc(count, sizeof(*users));
	size_t user_count = 0, total = 0;

	if (!users)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || holders[i].user != holders[i - 1].user)
			users[user_count++] = (struct holder){ .user = holders[i].user };
		users[user_count - 1].bytes += holders[i].bytes;
		total += holders[i].bytes;
	}
	level(users, user_count, total / ROOM_SHARE + 1);
	for (size_t i = 0, user = 0; i < count; user++) {
		size_t n = count_of_user(&holders[i], count - i);

		if (users[user].excess > 0)
			level(&holders[i], n, users[user].excess);
		i += n;
	}
	return 0;
}

/* Sends the oldest samples of each process with an excess. */
static int send_excess(struct late_samples *late, const uint32_t *users, struct holder *holders,
	size_t holder_count)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < late->waiting_count; i++) {
		struct waiting *sample = &late->waiting[i];
		const struct holder wanted = { .user = sample->share_user,
			.tgid = sample->process.tgid };
		struct holder *holder =
			bsearch(&wanted, holders, holder_count, sizeof(*holders), compare_holders);
		size_t bytes = bytes_of(late, sample, users);

		if (r == 0 && holder->excess > 0)
			r = send(late, sample);
		else
			holder = NULL;
		if (!holder || r < 0) {
			late->waiting[kept++] = *sample;
			continue;
		}
		late->counters.hurried++;
		holder->excess -= bytes < holder->excess ? bytes : holder->excess;
	}
	late->waiting_count = kept;
	return r;
}

/*
 * Takes room from the users, and their processes, that hold the most. A process whose records never
 * come then costs no other process a name.
 */
static int make_room(struct late_samples *late)
{
	_cleanup_free_ uint32_t *users = calloc(late_stacks_count(&late->stacks), sizeof(*users));
	_cleanup_free_ struct holder *holders = NULL;
	size_t holder_count;
	int r;

	if (!users)
		return -ENOMEM;
	for (size_t i = 0; i < late->waiting_count; i++)
		users[late->waiting[i].stack]++;
	r = find_holders(late, users, &holders, &holder_count);
	if (r < 0)
		return r;
	r = level_users(holders, holder_count);
	if (r < 0)
		return r;
	r = send_excess(late, users, holders, holder_count);
	return r != 0 ? r : renew_stacks(late);
}

static int try_add(struct late_samples *late, struct waiting *sample,
	const struct resolved_frame *frames, size_t count)
{
	size_t waiting_max = late->limits.bytes / SAMPLES_SHARE / sizeof(*late->waiting);
	int r;

	if (late_stacks_bytes(&late->stacks) > late->limits.bytes / STACKS_SHARE)
		return -E2BIG;
	r = ARRAY_RESERVE(
		late->waiting, &late->waiting_capacity, late->waiting_count + 1, waiting_max);
	if (r == 0)
		r = late_stacks_intern(&late->stacks, frames, count, &sample->stack);
	if (r == 0)
		late->waiting[late->waiting_count++] = *sample;
	return r;
}

/* Sends a sample that does not fit even into an empty queue. */
static int send_at_once(struct late_samples *late, const struct waiting *sample,
	const struct resolved_frame *frames, size_t count)
{
	struct resolved_frame named[RESOLVED_FRAMES_MAX];

	memcpy(named, frames, count * sizeof(*frames));
	late->counters.hurried++;
	return send_frames(late, sample, named, count);
}

int late_samples_add(struct late_samples *late, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count)
{
	struct waiting added = {
		.process = sample->process,
		.count = sample->count,
		.first_ns = sample->first_ns,
		.last_ns = sample->last_ns,
		.cgroup_id = sample->cgroup_id,
		.user = sample->user,
		.share_user = sample->share_user,
		.address = sample->address,
		.window = sample->window,
		.tid = sample->tid,
		.path = (uint8_t)sample->path,
		.source = (uint8_t)sample->source,
		.wait = (uint8_t)sample->wait,
		.context = sample->context,
	};
	int r;

	memcpy(added.comm, sample->comm, strnlen(sample->comm, sizeof(added.comm) - 1));
	while ((r = try_add(late, &added, frames, count)) == -E2BIG && late->waiting_count > 0) {
		r = make_room(late);
		if (r != 0)
			return r;
	}
	if (r == -E2BIG)
		r = send_at_once(late, &added, frames, count);
	if (r == 0)
		late->counters.samples += sample->count;
	return r;
}

/* --- sending --- */

/* The cached result for a stack in this run, since many samples may share it. */
struct memo {
	uint32_t tgid; /* 0: not looked up */
	bool is_named;
};

static bool has_names(const struct late_samples *late, const struct waiting *sample)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	pid_t pid = (pid_t)sample->process.tgid;
	struct code_found found;
	size_t count = late_stacks_get(&late->stacks, sample->stack, frames);

	for (size_t i = 0; i < count; i++)
		if (frames[i].jit &&
			jit_table_find(late->table, pid, sample->first_ns, sample->last_ns,
				frames[i].address, frames[i].jit == RESOLVED_JIT_SHARED,
				&found) != JIT_FOUND)
			return false;
	return true;
}

/*
 * Do all frames have names, from a perf map, which has no timestamps? Looks them up only if the JIT
 * table has changed since the last time, and once a stack.
 */
static bool is_named(const struct late_samples *late, struct waiting *sample, struct memo *memos)
{
	uint64_t version =
		jit_table_code_version(late->table, (pid_t)sample->process.tgid, sample->first_ns);
	struct memo *memo = &memos[sample->stack];

	if (version == sample->code_version)
		return false;
	sample->code_version = version;
	if (memo->tgid != sample->process.tgid)
		*memo = (struct memo){
			.tgid = sample->process.tgid,
			.is_named = has_names(late, sample),
		};
	return memo->is_named;
}

static bool is_due(const struct late_samples *late, struct waiting *sample, struct memo *memos,
	uint64_t now_ns)
{
	pid_t pid = (pid_t)sample->process.tgid;

	if (now_ns > sample->first_ns && now_ns - sample->first_ns >= late->limits.patience_ns)
		return true;
	if (jit_table_is_final(late->table, pid, sample->last_ns, false))
		return true;
	return jit_table_is_final(late->table, pid, sample->last_ns, true) &&
	       is_named(late, sample, memos);
}

int late_samples_run(struct late_samples *late, uint64_t now_ns)
{
	_cleanup_free_ struct memo *memos = NULL;
	size_t kept = 0;
	int r = 0;

	if (late->waiting_count == 0)
		return 0;
	memos = calloc(late_stacks_count(&late->stacks), sizeof(*memos));
	if (!memos)
		return -ENOMEM;
	for (size_t i = 0; i < late->waiting_count; i++) {
		bool is_sent = false;

		if (r == 0 && is_due(late, &late->waiting[i], memos, now_ns)) {
			r = send(late, &late->waiting[i]);
			is_sent = r >= 0;
		}
		if (!is_sent)
			late->waiting[kept++] = late->waiting[i];
	}
	late->waiting_count = kept;
	if (r == 0 && late_stacks_bytes(&late->stacks) > STACKS_BYTES_MIN + 2 * late->stacks_bytes)
		r = renew_stacks(late);
	return r;
}

int late_samples_finish(struct late_samples *late)
{
	size_t sent = 0;
	int r = 0;

	while (sent < late->waiting_count && r == 0) {
		r = send(late, &late->waiting[sent]);
		sent += r >= 0;
	}
	forget(late, sent);
	return r != 0 ? r : renew_stacks(late);
}
