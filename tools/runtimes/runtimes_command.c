/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/runtimes/runtimes_command.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "process/process_scan.h"
#include "process/process_table.h"
#include "symbol/runtime_description.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_identity.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1 << 16, COMM_BYTES = 16, STATUS_BYTES = 64 };

enum runtime_state {
	RUNTIME_NONE,	 /* no interpreter */
	RUNTIME_READ,	 /* described: its frames are read */
	RUNTIME_UNKNOWN, /* an interpreter that is not understood */
	RUNTIME_UNSEEN,	 /* by its name an interpreter, but no recording has met it */
};

/* By its language in a description, or by the beginning of its file's name. */
static const struct known_runtime {
	uint8_t language;
	const char *name, *word;
	const char *program, *library;
} known_runtimes[] = {
	{ PILOTLIGHT_RUNTIME_PYTHON, "Python", "python", "python", "libpython" },
	{ PILOTLIGHT_RUNTIME_V8, "V8", "v8", "node", "libnode" },
	{ PILOTLIGHT_RUNTIME_RUBY, "Ruby", "ruby", "ruby", "libruby" },
	{ PILOTLIGHT_RUNTIME_HOTSPOT, "HotSpot", "hotspot", "libjvm", "libjvm" },
	{ PILOTLIGHT_RUNTIME_PHP, "PHP", "php", "php", "libphp" },
	{ PILOTLIGHT_RUNTIME_PERL, "Perl", "perl", "perl", "libperl" },
};

/* Programs of engines that are not read, and node if nothing in it says how. By their whole names:
 * others, as node_exporter, begin so. */
static const struct other_program {
	const char *name;
	struct known_runtime runtime;
	const char *reason;
} other_programs[] = {
#define V8                                                    \
	{                                                     \
		PILOTLIGHT_RUNTIME_V8, "V8", "v8", NULL, NULL \
	}
#define NO_NUMBERS "it lacks the symbols v8dbg_..., which tell how V8's objects are read"
	{ "node", V8, NO_NUMBERS },
	{ "deno", V8, NO_NUMBERS },
	{ "electron", V8, NO_NUMBERS },
	{ "bun", { 0, "JSC", "jsc", NULL, NULL }, "JavaScriptCore is not supported" },
#undef NO_NUMBERS
#undef V8
};

/* What a mapped file is. */
struct runtime_file {
	uint64_t identity; /* in the process table */
	enum runtime_state state;
	const struct known_runtime *runtime; /* unless RUNTIME_NONE */
	const char *reason;		     /* of RUNTIME_UNKNOWN */
	/* Another file of the process may be the runtime: Debian's node is a small program that
	 * calls libnode. */
	bool may_be_launcher;
	char release[RUNTIME_RELEASE_BYTES];
};

struct listing {
	struct symbols_invocation symbols;
	struct broker *broker;
	struct process_table *processes;
	struct symbol_cache *cache; /* NULL: nothing was recorded */
	struct runtime_file *files;
	size_t count, capacity;
	uint64_t now_ns;
};

static void done(void *invocation)
{
	struct listing *listing = invocation;

	free(listing->files);
	symbol_cache_free(listing->cache);
	process_table_free(listing->processes);
	broker_free(listing->broker);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct known_runtime *find_by_name(const char *path)
{
	const char *name = base_name(path);

	for (size_t i = 0; i < ARRAY_SIZE(known_runtimes); i++) {
		const struct known_runtime *known = &known_runtimes[i];

		if (strncmp(name, known->program, strlen(known->program)) == 0 ||
			strncmp(name, known->library, strlen(known->library)) == 0)
			return known;
	}
	return NULL;
}

static const struct known_runtime *find_by_language(uint8_t language)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_runtimes); i++)
		if (known_runtimes[i].language == language)
			return &known_runtimes[i];
	return NULL;
}

/* Of a file in which no runtime was found; if nothing has looked into it, its name alone tells. */
static void identify_other(const char *path, bool was_seen, struct runtime_file *found)
{
	found->state = RUNTIME_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(other_programs); i++) {
		const struct other_program *other = &other_programs[i];

		if (strcmp(base_name(path), other->name) != 0)
			continue;
		found->runtime = &other->runtime;
		found->may_be_launcher = true;
		found->state = RUNTIME_UNSEEN;
		if (was_seen || !other->runtime.language) {
			found->state = RUNTIME_UNKNOWN;
			found->reason = other->reason;
		}
	}
}

/* Of a build that is not understood, mostly only the name tells which runtime it is. */
static void identify(
	const struct symbols_unwind *unwind, const char *path, struct runtime_file *found)
{
	const struct pilotlight_runtime *runtime;
	uint32_t contents = unwind->file ? symbol_file_header(unwind->file)->contents : 0;

	found->runtime = find_by_name(path);
	if (!unwind->file && found->runtime) {
		found->state = RUNTIME_UNSEEN;
	} else if (!unwind->file) {
		identify_other(path, false, found);
	} else if (runtime_description_find(unwind->file, &runtime) == 0) {
		(void)runtime_description_release(runtime, found->release);
		found->runtime = find_by_language(runtime->language);
		found->state = found->runtime ? RUNTIME_READ : RUNTIME_NONE;
	} else if (contents & PILOTLIGHT_SYMBOL_LACKS_RUNTIME) {
		found->state = RUNTIME_UNKNOWN;
		if (contents &
			(PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED | PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED))
			found->runtime = find_by_language(PILOTLIGHT_RUNTIME_V8);
		found->reason = symbols_unwind_refusal(contents);
	} else {
		identify_other(path, true, found);
	}
}

/* Looks into the cache for what a worker has made of the file. */
static int read_file(struct listing *listing, pid_t pid, const struct process_mapping *mapping,
	const struct mapped_file *file, struct runtime_file *found)
{
	const struct broker_process process = { .pid = pid };
	struct symbols_unwind unwind = { 0 };
	struct symbol_identity identity;
	_cleanup_close_ int fd = -1;
	int r;

	found->identity = file->identity;
	if (broker_open_mapping(
		    listing->broker, &process, mapping->start, mapping->end, file->path, &fd) < 0 ||
		symbol_identity_read_file(fd, &identity) < 0)
		return 0;
	r = listing->cache ? symbols_unwind_find(&unwind, listing->cache, &identity,
				     &listing->symbols.base.fault)
			   : 0;
	if (r == 0)
		identify(&unwind, file->path, found);
	symbols_unwind_done(&unwind);
	return r;
}

static int find_file(struct listing *listing, pid_t pid, const struct process_mapping *mapping,
	const struct mapped_file *file, const struct runtime_file **ret_found)
{
	struct runtime_file found = { .state = RUNTIME_NONE };
	int r;

	for (size_t i = 0; i < listing->count; i++)
		if (listing->files[i].identity == file->identity) {
			*ret_found = &listing->files[i];
			return 0;
		}
	r = ARRAY_RESERVE(listing->files, &listing->capacity, listing->count + 1, FILES_MAX);
	if (r == 0)
		r = read_file(listing, pid, mapping, file, &found);
	if (r < 0)
		return r;
	listing->files[listing->count] = found;
	*ret_found = &listing->files[listing->count++];
	return 0;
}

static void read_comm(pid_t pid, char comm[COMM_BYTES + 1])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[STATUS_BYTES];
	size_t size;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	size = file ? fread(comm, 1, COMM_BYTES, file) : 0;
	while (size > 0 && comm[size - 1] == '\n')
		size--;
	comm[size] = '\0';
	for (size_t i = 0; i < size; i++)
		if (comm[i] < ' ' || comm[i] > '~')
			comm[i] = '?';
}

static const char *explain(enum runtime_state state)
{
	switch (state) {
	case RUNTIME_READ:
		return "its functions are shown";
	case RUNTIME_UNKNOWN:
		return "only native functions are shown: ";
	case RUNTIME_UNSEEN:
		return "no recording has met it yet";
	case RUNTIME_NONE:
		break;
	}
	return "";
}

static const char *word_of(enum runtime_state state)
{
	return state == RUNTIME_READ ? "read" : state == RUNTIME_UNKNOWN ? "unknown" : "unseen";
}

static void print(struct listing *listing, pid_t pid, const struct runtime_file *found,
	const struct mapped_file *file)
{
	struct invocation *base = &listing->symbols.base;
	char comm[COMM_BYTES + 1];

	read_comm(pid, comm);
	if (!base->is_json) {
		output_printf(&base->output, "%7d  %-15s  %-6s %-10s  %s%s: %s\n", (int)pid, comm,
			found->runtime ? found->runtime->name : "?",
			found->release[0] ? found->release : "-", explain(found->state),
			found->reason ? found->reason : "", file->path);
		return;
	}
	json_begin_object(&base->json);
	json_key(&base->json, "pid");
	json_i64(&base->json, pid);
	json_member_string(&base->json, "comm", comm);
	json_member_string(
		&base->json, "runtime", found->runtime ? found->runtime->word : "unknown");
	json_member_string(&base->json, "release", found->release);
	json_member_string(&base->json, "state", word_of(found->state));
	if (found->reason)
		json_member_string(&base->json, "reason", found->reason);
	json_member_string(&base->json, "path", file->path);
	json_end_object(&base->json);
	json_end_line(&base->json);
}

/* Prints the process's interpreters: each file of one, but a launcher only if its runtime is in no
 * other file. */
static int list(struct listing *listing, pid_t pid)
{
	const struct process_mapping *mappings;
	size_t count = process_table_mappings(listing->processes, pid, listing->now_ns, &mappings);
	struct runtime_file launcher = { .state = RUNTIME_NONE };
	struct mapped_file file, launcher_file;
	const struct runtime_file *found;
	uint32_t printed = 0; /* languages, a bit each */
	uint64_t last = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		process_table_file(listing->processes, mappings[i].file, &file);
		if (!file.is_regular || file.identity == last)
			continue;
		last = file.identity;
		r = find_file(listing, pid, &mappings[i], &file, &found);
		if (r < 0)
			return r;
		if (found->may_be_launcher) {
			launcher = *found;
			launcher_file = file;
		} else if (found->state != RUNTIME_NONE) {
			print(listing, pid, found, &file);
			printed |= found->runtime ? 1U << found->runtime->language : 0;
		}
	}
	if (launcher.state != RUNTIME_NONE && !(printed & 1U << launcher.runtime->language))
		print(listing, pid, &launcher, &launcher_file);
	return 0;
}

static int look(struct listing *listing, struct fault *fault)
{
	_cleanup_(process_rescan_done) struct process_rescan scan = { 0 };
	int r;

	listing->now_ns = clock_monotonic_ns();
	r = broker_new(NULL, &listing->broker);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &listing->processes);
	if (r == 0)
		r = process_rescan_begin(&scan, "/proc");
	if (r == 0)
		r = process_rescan_run(
			&scan, listing->broker, listing->processes, listing->now_ns, UINT64_MAX);
	if (r < 0)
		return fault_set(fault, r, "cannot look through /proc: %s", strerror(-r));
	r = symbols_open_cache(
		&listing->symbols, SYMBOL_CACHE_BYTES_DEFAULT, false, &listing->cache, fault);
	return r == -ENOENT ? 0 : r;
}

static int run(void *invocation)
{
	struct listing *listing = invocation;
	size_t cursor = 0;
	pid_t pid;
	int r = look(listing, &listing->symbols.base.fault);

	while (r == 0 && process_table_next_live(listing->processes, &cursor, &pid))
		r = list(listing, pid);
	return r < 0 ? r : command_flush(&listing->symbols.base);
}

const struct command runtimes_command = {
	.name = "runtimes",
	.summary = "list running interpreters, and whether their functions are shown",
	.synopsis = "[OPTION...]",
	.description =
		"List running programs of CPython, V8 (Node.js), Ruby, HotSpot (Java), PHP and "
		"Perl, with the interpreter's version and whether profiles show their "
		"functions. A recording or the service learns how to read an interpreter when "
		"it first meets it; name the cache of the service with --cache. Only root sees "
		"other users' processes.",
	.options = { symbols_cache_option },
	.has_json = true,
	.bytes = sizeof(struct listing),
	.run = run,
	.done = done,
};
