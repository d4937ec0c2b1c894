/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwinding.h"

#include "base/array.h"
#include "base/log.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PENDING_MAX = 1024, /* files whose tables are being made */
#ifdef __x86_64__
	MACHINE = EM_X86_64,
#else
	MACHINE = EM_NONE,
#endif
};
#define CACHE_BYTES_MAX (256ULL << 20)

/* A file whose table is being looked for. */
struct pending {
	uint32_t file_id;
	struct symbol_identity identity;
};

struct unwinding {
	struct unwinding_parts parts;
	struct unwinder *unwinder;
	struct symbol_cache *cache; /* NULL: none */
	struct symbolizer *tables;
	struct pending *pending;
	size_t pending_count, pending_capacity;
	uint64_t requests, unidentified;
};

static int put_file(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_file *file)
{
	return walk_maps_put_file(context, key, file);
}

static int drop_file(void *context, const struct pilotlight_file_key *key)
{
	return walk_maps_drop_file(context, key);
}

static int used_window(void *context, const struct pilotlight_file_key *key, uint32_t *ret_window)
{
	return walk_maps_used_window(context, key, ret_window);
}

/* Below the folder of symbol files, whose own files have names of two letters above theirs. */
static int open_cache(struct unwinding *unwinding, const char *folder)
{
	_cleanup_free_ char *path = NULL;
	struct fault fault = { 0 };

	if (asprintf(&path, "%s/unwind", folder) < 0)
		return -ENOMEM;
	if (symbol_cache_open(path, CACHE_BYTES_MAX, &unwinding->cache, &fault) < 0)
		log_warning("%s; continuing without a cache of unwind tables", fault.text);
	else
		symbol_cache_set_patience(unwinding->cache, 0);
	return 0;
}

static int open_unwinder(struct unwinding *unwinding)
{
	const struct walk_maps *maps = unwinding->parts.maps;
	const struct unwinder_settings settings = {
		.maps = {
			.context = (void *)maps,
			.put_file = put_file,
			.drop_file = drop_file,
			.used_window = used_window,
		},
		.arrays = {
			.pages = maps->pages,
			.lines = maps->lines,
			.rules = maps->rules,
			.escapes = maps->escapes,
			.capacities = {
				[TABLE_PAGES] = maps->sizes.pages,
				[TABLE_LINES] = maps->sizes.lines,
				[TABLE_RULES] = maps->sizes.rules,
				[TABLE_ESCAPES] = maps->sizes.escapes,
			},
		},
		.files_max = PILOTLIGHT_WALK_FILES_MAX,
		.machine = MACHINE,
	};

	return unwinder_new(&settings, &unwinding->unwinder);
}

int unwinding_new(const struct unwinding_parts *parts, struct unwinding **ret_unwinding)
{
	_cleanup_(unwinding_freep) struct unwinding *unwinding = calloc(1, sizeof(*unwinding));
	struct symbolizer_options options = {
		.broker = parts->broker,
		.product = PILOTLIGHT_PRODUCT_UNWIND,
	};
	int r;

	if (!unwinding)
		return -ENOMEM;
	unwinding->parts = *parts;
	r = open_unwinder(unwinding);
	if (r == 0 && parts->cache)
		r = open_cache(unwinding, parts->cache);
	options.cache = unwinding->cache;
	if (r == 0)
		r = symbolizer_new(&options, &unwinding->tables);
	if (r < 0)
		return r;
	/* Stacks are cut short until the tables are there. */
	symbolizer_hurry(unwinding->tables);
	*ret_unwinding = TAKE_PTR(unwinding);
	return 0;
}

void unwinding_free(struct unwinding *unwinding)
{
	if (!unwinding)
		return;
	symbolizer_free(unwinding->tables);
	symbol_cache_free(unwinding->cache);
	unwinder_free(unwinding->unwinder);
	free(unwinding->pending);
	free(unwinding);
}

int unwinding_poll_fd(const struct unwinding *unwinding)
{
	return symbolizer_poll_fd(unwinding->tables);
}

uint32_t unwinding_binary(void *context, uint32_t file_id)
{
	struct unwinding *unwinding = context;

	return unwinder_binary(unwinding->unwinder, file_id);
}

void unwinding_begin_window(struct unwinding *unwinding, uint32_t window)
{
	unwinder_begin_window(unwinding->unwinder, window);
}

void unwinding_report(struct unwinding *unwinding, struct unwinding_report *ret_report)
{
	struct unwinding_report report = {
		.requests = unwinding->requests,
		.unidentified = unwinding->unidentified,
	};

	unwinder_report(unwinding->unwinder, &report.files);
	symbolizer_counters(unwinding->tables, &report.tables);
	*ret_report = report;
}

static bool is_vdso(const struct pilotlight_file_key *key)
{
	static const struct pilotlight_file_key vdso;

	return memcmp(key, &vdso, sizeof(vdso)) == 0;
}

/* Is it the file that the sampler has met? */
static bool is_file(int fd, const struct pilotlight_file_key *key)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (uint64_t)status.st_size == key->size_bytes &&
	       status.st_mtim.tv_sec == key->modified_s &&
	       (uint32_t)status.st_mtim.tv_nsec == key->modified_ns;
}

static bool has_build_id(int fd, const struct build_id *id)
{
	struct elf_image image;

	return elf_image_read(fd, &image) == 0 && build_id_equal(&image.build_id, id);
}

/*
 * The file of a request: as the process has it mapped, or by its path if the process is gone. It is
 * the one that was asked for, or nothing: under a wrong name its table would be wrong for as long
 * as it is known.
 */
static int open_requested(struct unwinding *unwinding, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request, const struct process_mapping *mapping,
	int *ret_fd)
{
	const struct broker_process process = {
		.pid = (pid_t)request->process.tgid,
		.start_ns = request->process.start_ns,
	};
	struct mapped_file file;
	int fd = -1, r;

	process_table_file(unwinding->parts.processes, mapping->file, &file);
	if (!file.is_regular)
		return -ENOENT;
	r = broker_open_mapping(
		unwinding->parts.broker, &process, request->start, request->end, file.path, &fd);
	if (r == 0 && is_file(fd, key)) {
		*ret_fd = fd;
		return 0;
	}
	if (r == 0)
		(void)close(fd);
	r = broker_open_path(unwinding->parts.broker, file.path, &fd);
	if (r < 0)
		return r;
	if (!is_file(fd, key)) {
		(void)close(fd);
		return -ESTALE;
	}
	*ret_fd = fd;
	return 0;
}

static int duplicate_file(const struct binary *binary, int *ret_fd)
{
	int fd = binary->fd < 0 ? -1 : fcntl(binary->fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -ENOENT;
	*ret_fd = fd;
	return 0;
}

/* The binary of a request, and a descriptor of its file. */
static int identify(struct unwinding *unwinding, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request, uint32_t *ret_binary, int *ret_fd)
{
	const struct broker_process process = {
		.pid = (pid_t)request->process.tgid,
		.start_ns = request->process.start_ns,
	};
	_cleanup_close_ int fd = -1;
	struct process_mapping mapping;
	struct binary binary;
	uint32_t id;
	int r;

	if (!process_table_find(unwinding->parts.processes, process.pid, request->time_ns,
		    request->start, &mapping))
		return -ESRCH;
	if (!is_vdso(key)) {
		r = open_requested(unwinding, key, request, &mapping, &fd);
		if (r < 0)
			return r;
	}
	r = binary_table_find_mapping(
		unwinding->parts.binaries, &process, request->time_ns, &mapping, &id);
	if (r < 0)
		return r;
	binary_table_get(unwinding->parts.binaries, id, &binary);
	if (is_vdso(key)) {
		r = duplicate_file(&binary, &fd);
		if (r < 0)
			return r;
	} else if (binary.build_id.size > 0 && !has_build_id(fd, &binary.build_id)) {
		return -ESTALE;
	}
	*ret_binary = id;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Has its table looked for, or made. */
static int want_table(struct unwinding *unwinding, uint32_t file_id, uint32_t binary_id, int fd)
{
	struct symbol_binary wanted = { .fd = fd, .debug_fd = -1 };
	struct symbol_identity identity;
	struct binary binary;
	int r;

	binary_table_get(unwinding->parts.binaries, binary_id, &binary);
	wanted.build_id = binary.build_id;
	wanted.path = binary.path;
	if (binary.build_id.size > 0) {
		identity = symbol_identity_of_build_id(&binary.build_id);
	} else {
		r = symbol_identity_hash_file(fd, &identity);
		if (r < 0)
			return r;
	}
	r = ARRAY_RESERVE(unwinding->pending, &unwinding->pending_capacity,
		unwinding->pending_count + 1, PENDING_MAX);
	if (r == 0)
		r = symbolizer_want(unwinding->tables, &wanted);
	if (r < 0)
		return r;
	unwinding->pending[unwinding->pending_count++] =
		(struct pending){ .file_id = file_id, .identity = identity };
	return 0;
}

static void take_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	struct unwinding *unwinding = context;
	_cleanup_close_ int fd = -1;
	uint32_t binary, file_id;
	bool is_new;
	int r;

	unwinding->requests++;
	r = identify(unwinding, key, request, &binary, &fd);
	if (r < 0) {
		log_debug("cannot identify a file that process %u has mapped at %llx: %s",
			request->process.tgid, (unsigned long long)request->start, strerror(-r));
		/* It is asked for again when it is met again. */
		unwinding->unidentified++;
		return;
	}
	r = unwinder_want(unwinding->unwinder, key, binary, &file_id, &is_new);
	if (r < 0 || !is_new)
		return;
	r = want_table(unwinding, file_id, binary, fd);
	if (r < 0) {
		log_debug(
			"cannot look for an unwind table: %s, continuing without it", strerror(-r));
		(void)unwinder_set_nothing(unwinding->unwinder, file_id);
	}
}

/* False: it is still being worked on. */
static bool settle(struct unwinding *unwinding, const struct pending *pending)
{
	const struct symbol_file *file = NULL;
	struct symbolizer_outcome outcome = { 0 };
	int r;

	r = symbolizer_outcome(unwinding->tables, &pending->identity, &outcome);
	if (r == 0 && outcome.is_pending)
		return false;
	if (r == 0 && outcome.failure == PILOTLIGHT_SYMBOL_OK)
		r = symbolizer_find_file(unwinding->tables, &pending->identity, &file);
	if (r == 0 && file)
		r = unwinder_set_table(unwinding->unwinder, pending->file_id, file);
	else
		r = unwinder_set_nothing(unwinding->unwinder, pending->file_id);
	if (r < 0 && r != -ENOSPC)
		log_debug("cannot load an unwind table: %s, continuing without it", strerror(-r));
	return true;
}

static void settle_all(struct unwinding *unwinding)
{
	size_t kept = 0;

	for (size_t i = 0; i < unwinding->pending_count; i++)
		if (!settle(unwinding, &unwinding->pending[i]))
			unwinding->pending[kept++] = unwinding->pending[i];
	unwinding->pending_count = kept;
}

/* A file whose table had to leave and that is in use again. */
static void reload(struct unwinding *unwinding, uint32_t file_id)
{
	uint32_t binary_id = unwinder_binary(unwinding->unwinder, file_id);
	_cleanup_close_ int fd = -1;
	struct binary binary;
	int r = -ENOENT;

	if (binary_id != WALK_FILES_UNKNOWN_BINARY) {
		binary_table_get(unwinding->parts.binaries, binary_id, &binary);
		(void)duplicate_file(&binary, &fd);
		r = want_table(unwinding, file_id, binary_id, fd);
	}
	if (r < 0)
		(void)unwinder_set_nothing(unwinding->unwinder, file_id);
}

static void reload_all(struct unwinding *unwinding)
{
	uint32_t file_id;

	while (unwinder_next_reload(unwinding->unwinder, &file_id))
		reload(unwinding, file_id);
}

int unwinding_run(struct unwinding *unwinding)
{
	int r = walk_maps_take_requests(unwinding->parts.maps, take_request, unwinding);

	if (r < 0)
		return r;
	r = symbolizer_run(unwinding->tables);
	if (r < 0)
		return r;
	settle_all(unwinding);
	reload_all(unwinding);
	settle_all(unwinding);
	return 0;
}
