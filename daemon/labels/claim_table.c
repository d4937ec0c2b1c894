/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/claim_table.h"

#include "base/clock.h"
#include "base/hash_index.h"
#include "base/user_share.h"
#include "base/user_time.h"
#include "labels/process_claims.h"
#include "pilotlight/process_context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PROCESSES_MAX = 2048,
	PLACES = 8, /* of a process; the one that was used least recently is given away */
	CLAIMS_BYTES_MAX = 128 << 10,
};

#define SECONDS(n) ((uint64_t)(n)*NSEC_PER_SEC)
#define IDLE_NS	   SECONDS(10) /* a process that was sampled since keeps its place */
#define AGE_MIN_NS SECONDS(2)
#define NEVER_NS   UINT64_MAX
#define RETRY_NS   SECONDS(1)
enum { RETRIES_MAX = 5 };

/* A process takes 0.1 ms, or with very many mappings 20 ms; one that hangs takes more than the
 * burst. */
enum { ASK_BURST_NS = 500000000, ASK_LEAK_PPM = 20000 };

/* After each time that a process was asked. */
static const uint64_t pauses_ns[] = { SECONDS(10), SECONDS(60), SECONDS(600) };
enum { PAUSES = sizeof(pauses_ns) / sizeof(pauses_ns[0]) };

struct claim_entry {
	pid_t pid; /* 0: free */
	uint32_t asked;
	uint8_t retries;
	uint64_t start_ns, used_ns, ask_ns; /* the last two: CLOCK_MONOTONIC */
	uint64_t user;			    /* whose place it is */
	uint64_t text_user;
	char *text; /* NULL: none */
};

struct claim_table {
	struct broker *broker;
	struct claim_entry entries[PROCESSES_MAX];
	struct user_share places, share; /* the latter of the texts */
	struct user_time time;		 /* of asking */
	uint64_t ask_left_ns;
	struct claim_counters counters;
	uint8_t payload[PILOTLIGHT_PROCESS_CONTEXT_BYTES_MAX];
};
_Static_assert(sizeof(struct claim_table) + CLAIMS_BYTES_MAX <= CLAIM_TABLE_BYTES_MAX,
	"the memory budget has room");

int claim_table_new(struct broker *broker, struct claim_table **ret_table)
{
	struct claim_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->broker = broker;
	table->places.capacity = PROCESSES_MAX;
	table->share.capacity = CLAIMS_BYTES_MAX;
	table->time = (struct user_time){ .burst_ns = ASK_BURST_NS, .leak_ppm = ASK_LEAK_PPM };
	table->ask_left_ns = UINT64_MAX;
	*ret_table = table;
	return 0;
}

static void forget_text(struct claim_table *table, struct claim_entry *entry)
{
	if (!entry->text)
		return;
	user_share_remove(&table->share, entry->text_user, strlen(entry->text) + 1);
	free(entry->text);
	entry->text = NULL;
}

void claim_table_free(struct claim_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		free(table->entries[i].text);
	free(table);
}

void claim_table_begin_window(struct claim_table *table, uint64_t ask_ns)
{
	table->ask_left_ns = ask_ns;
}

/*
 * Among all places of a process, which are in use: one of the user who has the most, and more than
 * `user` will have. NULL: there is none.
 */
static struct claim_entry *find_displaced(struct claim_table *table, uint64_t hash, uint64_t user)
{
	uint64_t most = user_share_held(&table->places, user) + 1;
	struct claim_entry *found = NULL;

	for (size_t i = 0; i < PLACES; i++) {
		struct claim_entry *entry = &table->entries[(hash + i) % PROCESSES_MAX];
		const uint64_t held = user_share_held(&table->places, entry->user);

		if (held <= most)
			continue;
		most = held;
		found = entry;
	}
	return found;
}

static void give_place(struct claim_table *table, struct claim_entry *entry,
	const struct broker_process *process, uint64_t user, uint64_t now_ns)
{
	forget_text(table, entry);
	if (entry->pid != 0)
		user_share_remove(&table->places, entry->user, 1);
	user_share_add(&table->places, user, 1);
	/* Its start is in CLOCK_BOOTTIME, which is ahead once the machine was suspended. */
	*entry = (struct claim_entry){
		.pid = process->pid,
		.start_ns = process->start_ns,
		.ask_ns = (process->start_ns < now_ns ? process->start_ns : now_ns) + AGE_MIN_NS,
		.user = user,
	};
}

/* Returns NULL if all places of the process are in use. */
static struct claim_entry *find_entry(struct claim_table *table,
	const struct broker_process *process, uint64_t user, uint64_t now_ns)
{
	const uint64_t hash = hash_pair((uint64_t)process->pid, process->start_ns);
	struct claim_entry *oldest = NULL;

	for (size_t i = 0; i < PLACES; i++) {
		struct claim_entry *entry = &table->entries[(hash + i) % PROCESSES_MAX];

		if (entry->pid == process->pid && entry->start_ns == process->start_ns)
			return entry;
		if (!oldest || entry->used_ns < oldest->used_ns)
			oldest = entry;
	}
	if (oldest->pid != 0 && oldest->used_ns + IDLE_NS > now_ns)
		oldest = find_displaced(table, hash, user);
	if (oldest)
		give_place(table, oldest, process, user, now_ns);
	return oldest;
}

/* Claims that have changed are untrue, so they leave even if there is no room for the new ones. */
static int set_text(
	struct claim_table *table, struct claim_entry *entry, uint64_t user, const char *text)
{
	char *copy = NULL;

	if (entry->text && entry->text_user == user && strcmp(entry->text, text) == 0)
		return 0;
	forget_text(table, entry);
	if (!text[0])
		return 0;
	if (!user_share_has_room(&table->share, user, strlen(text) + 1)) {
		table->counters.refused++;
		return 0;
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	user_share_add(&table->share, user, strlen(text) + 1);
	entry->text_user = user;
	entry->text = copy;
	return 0;
}

static int read_context(
	struct claim_table *table, const struct broker_process *process, char text[CLAIMS_BYTES])
{
	_cleanup_close_ int fd = -1;
	int r = broker_copy_process_context(table->broker, process, &fd);
	ssize_t size;

	if (r < 0)
		return r;
	size = pread(fd, table->payload, sizeof(table->payload), 0);
	return size < 0 ? -errno : process_claims_read(table->payload, (size_t)size, text);
}

static void ask(struct claim_table *table, struct claim_entry *entry,
	const struct broker_process *process, uint64_t user, uint64_t now_ns)
{
	char text[CLAIMS_BYTES] = "";
	int r = read_context(table, process, text);

	table->counters.asked++;
	entry->ask_ns = now_ns + pauses_ns[entry->asked < PAUSES ? entry->asked : PAUSES - 1];
	entry->asked++;
	if (r != -EAGAIN)
		entry->retries = 0;
	switch (r) {
	case 0:
		table->counters.read++;
		(void)set_text(table, entry, user, text);
		break;
	case -ENOENT:
		forget_text(table, entry);
		break;
	case -EPERM:
	case -ENOEXEC:
	case -EBADMSG:
	case -EFAULT:
		table->counters.invalid++;
		break;
	case -EAGAIN: /* the process was writing it, or the broker was busy */
		if (entry->retries++ < RETRIES_MAX)
			entry->ask_ns = now_ns + RETRY_NS;
		break;
	case -ESRCH:
		entry->ask_ns = NEVER_NS;
		break;
	default:
		break;
	}
}

/* Asking may take long, as a process may have very many mappings, or a file system that hangs. */
static void ask_within_bounds(struct claim_table *table, struct claim_entry *entry,
	const struct broker_process *process, uint64_t user, uint64_t now_ns)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	uint64_t end_ns, took_ns;

	if (table->ask_left_ns == 0 || user_time_is_over(&table->time, user, begin_ns))
		return;
	ask(table, entry, process, user, now_ns);
	end_ns = clock_monotonic_ns();
	took_ns = end_ns - begin_ns;
	user_time_add(&table->time, user, took_ns, end_ns);
	table->ask_left_ns -= took_ns < table->ask_left_ns ? took_ns : table->ask_left_ns;
}

const char *claim_table_find(struct claim_table *table, const struct broker_process *process,
	uint64_t user, uint64_t now_ns)
{
	struct claim_entry *entry;

	if (process->pid <= 0)
		return "";
	entry = find_entry(table, process, user, now_ns);
	if (!entry) {
		table->counters.refused++;
		return "";
	}
	entry->used_ns = now_ns;
	if (now_ns >= entry->ask_ns)
		ask_within_bounds(table, entry, process, user, now_ns);
	return entry->text ? entry->text : "";
}

void claim_table_counters(const struct claim_table *table, struct claim_counters *ret_counters)
{
	*ret_counters = table->counters;
}

size_t claim_table_bytes(const struct claim_table *table)
{
	return sizeof(*table) + table->share.used;
}
