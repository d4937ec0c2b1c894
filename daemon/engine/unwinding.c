/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/unwinding.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	PENDING_MAX = 1024,
	REQUESTS_MAX = 2 * PILOTLIGHT_WALK_REQUESTS_MAX,
	/* So many keep the workers busy. Tables that samples request wait behind them alone. */
	PREPARED_AT_ONCE = 4,
	PREPARED_USE_MIN_PPM = 100,
#ifdef __x86_64__
	MACHINE = EM_X86_64,
#else
	MACHINE = EM_NONE,
#endif
};
#define CACHE_BYTES_MAX (256ULL << 20)

/* A file whose table is being made or fetched. */
struct pending {
	uint32_t file_id;
	struct symbol_identity identity;
	uint64_t user;
};

/* A request of the sampler, with the process and the place of the mapping. */
struct file_request {
	struct pilotlight_file_key key;
	struct pilotlight_walk_request mapping;
};

struct unwinding {
	struct unwinding_parts parts;
	struct unwinder *unwinder;
	struct symbol_cache *cache; /* NULL: none */
	struct symbolizer *tables;
	struct pending *pending;
	size_t pending_count, pending_capacity;
	struct user_share share; /* of `pending` */
	struct user_excess excess;
	struct file_request *requests;
	size_t request_count, request_capacity;
};

/* A subfolder of the symbol cache. The cache's own subfolders have two-letter names. */
static int open_cache(struct unwinding *unwinding, const char *folder)
{
	_cleanup_free_ char *path = NULL;
	struct fault fault = { 0 };

	if (asprintf(&path, "%s/" PILOTLIGHT_UNWIND_FOLDER, folder) < 0)
		return -ENOMEM;
	if (symbol_cache_open(path, CACHE_BYTES_MAX, &unwinding->cache, &fault) < 0)
		log_warning("%s; continuing without a cache of unwind tables", fault.text);
	else
		symbol_cache_set_patience(unwinding->cache, 0);
	return 0;
}

static uint32_t any_id(void)
{
	uint32_t id;

	return getrandom(&id, sizeof(id), GRND_NONBLOCK) == sizeof(id)
		       ? id
		       : (uint32_t)clock_monotonic_ns();
}

static int open_unwinder(struct unwinding *unwinding)
{
	const struct unwinder_settings settings = {
		.maps = unwinding->parts.maps,
		.files_max = PILOTLIGHT_WALK_FILES_MAX,
		.first_file_id = any_id(),
		.machine = MACHINE,
		.set_runtime = unwinding->parts.set_runtime,
		.set_runtime_context = unwinding->parts.set_runtime_context,
	};

	return unwinder_new(&settings, &unwinding->unwinder);
}

int unwinding_new(const struct unwinding_parts *parts, struct unwinding **ret_unwinding)
{
	_cleanup_(unwinding_freep) struct unwinding *unwinding = calloc(1, sizeof(*unwinding));
	struct symbolizer_options options = {
		.broker = parts->files.broker,
		.product = PILOTLIGHT_PRODUCT_UNWIND,
		.user_burst_ns = UNWINDING_USER_BURST_NS,
	};
	int r;

	if (!unwinding)
		return -ENOMEM;
	unwinding->parts = *parts;
	unwinding->share.capacity = PENDING_MAX;
	r = open_unwinder(unwinding);
	if (r == 0 && parts->cache)
		r = open_cache(unwinding, parts->cache);
	options.cache = unwinding->cache;
	if (r == 0)
		r = symbolizer_new(&options, &unwinding->tables);
	if (r < 0)
		return r;
	/* Stacks are cut until the tables are loaded. */
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
	free(unwinding->requests);
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

static bool is_doomed(const void *context, uint32_t binary)
{
	return binary_table_is_doomed(context, binary);
}

static void spare(void *context, uint32_t binary)
{
	binary_table_spare(context, binary);
}

void unwinding_spare_binaries(struct unwinding *unwinding)
{
	const struct unwinder_collection collection = {
		.context = unwinding->parts.files.binaries,
		.is_doomed = is_doomed,
		.spare = spare,
	};

	unwinder_collect(unwinding->unwinder, &collection);
}

void unwinding_users(const struct unwinding *unwinding, struct user_excess *excess,
	struct user_holdings *holdings)
{
	user_holdings_add(holdings, USER_SYMBOLS, symbolizer_unfinished(unwinding->tables));
	user_holdings_add(holdings, USER_UNWIND, unwinder_share(unwinding->unwinder));
	user_excess_merge(excess, &unwinding->excess);
	user_excess_merge(excess, symbolizer_excess(unwinding->tables));
	user_excess_merge(excess, unwinder_excess(unwinding->unwinder));
}

void unwinding_begin_window(struct unwinding *unwinding, uint32_t window)
{
	unwinder_begin_window(unwinding->unwinder, window);
}

void unwinding_report(struct unwinding *unwinding, struct unwinding_report *ret_report)
{
	struct unwinding_report report = { 0 };

	unwinder_report(unwinding->unwinder, &report.files);
	symbolizer_counters(unwinding->tables, &report.tables);
	*ret_report = report;
}

/* --- tables --- */

/* Errors that are due to the file: no retry helps. */
static bool is_final_error(int error)
{
	return error == -ENOEXEC || error == -EFBIG || error == -EINVAL;
}

static bool is_final_failure(enum pilotlight_symbol_failure failure)
{
	return failure == PILOTLIGHT_SYMBOL_NOTHING || failure == PILOTLIGHT_SYMBOL_DAMAGED ||
	       failure == PILOTLIGHT_SYMBOL_TOO_BIG;
}

/* `fd`: the file, or -1 to open it again. */
static int request_from_symbolizer(struct unwinding *unwinding, const struct walk_file *file,
	const struct binary *binary, int fd)
{
	_cleanup_close_ int opened =
		fd < 0 ? unwinding_files_open_again(&unwinding->parts.files, file, binary) : -1;
	const struct symbol_binary request = {
		.build_id = binary->build_id,
		.path = binary->path,
		.fd = fd < 0 ? opened : fd,
		.debug_fd = -1,
		.user = binary->user,
	};

	return request.fd < 0 ? -ENOENT : symbolizer_request(unwinding->tables, &request);
}

static int reserve_pending(struct unwinding *unwinding, uint64_t user)
{
	if (!user_share_has_room(&unwinding->share, user, 1)) {
		user_excess_add(&unwinding->excess, user, USER_SYMBOLS, 1);
		return -E2BIG;
	}
	return ARRAY_RESERVE(unwinding->pending, &unwinding->pending_capacity,
		unwinding->pending_count + 1, PENDING_MAX);
}

static void add_pending(
	struct unwinding *unwinding, const struct walk_file *file, const struct binary *binary)
{
	unwinding->pending[unwinding->pending_count++] = (struct pending){
		.file_id = file->entry.id,
		.identity = file->identity,
		.user = binary->user,
	};
	user_share_add(&unwinding->share, binary->user, 1);
}

/* Looks for the table of an identified file, or has it made. `fd` as above. */
static int request_table(struct unwinding *unwinding, const struct walk_file *file,
	const struct binary *binary, int fd)
{
	struct symbolizer_outcome outcome;
	int r = reserve_pending(unwinding, binary->user);

	if (r == 0 && symbolizer_outcome(unwinding->tables, &file->identity, &outcome) < 0)
		r = request_from_symbolizer(unwinding, file, binary, fd);
	if (r == 0)
		add_pending(unwinding, file, binary);
	return r;
}

/* Retries later, unless the error is final. */
static void give_up_table(struct unwinding *unwinding, uint32_t file_id, int error)
{
	log_debug("cannot look for an unwind table: %s, continuing without it", strerror(-error));
	if (!is_final_error(error) || unwinder_set_nothing(unwinding->unwinder, file_id) < 0)
		(void)unwinder_retry_later(unwinding->unwinder, file_id);
}

/* `fd`: the file, or -1 to open it again if needed. */
static void look_for_table(
	struct unwinding *unwinding, uint32_t file_id, uint32_t binary_id, int fd)
{
	const struct walk_file *file = unwinder_file(unwinding->unwinder, file_id);
	struct symbol_identity identity;
	struct binary binary;
	int r = 0;

	binary_table_get(unwinding->parts.files.binaries, binary_id, &binary);
	if (file->identity.id.size == 0) {
		r = unwinding_files_identity(&binary, fd, &identity);
		if (r == 0)
			unwinder_set_identity(unwinding->unwinder, file_id, &identity);
	}
	if (r == 0)
		r = request_table(unwinding, file, &binary, fd);
	if (r < 0)
		give_up_table(unwinding, file_id, r);
}

static void handle_request(struct unwinding *unwinding, const struct file_request *request)
{
	_cleanup_close_ int fd = -1;
	uint32_t binary, file_id;
	bool is_new;
	int r;

	r = unwinding_files_identify(
		&unwinding->parts.files, &request->key, &request->mapping, &binary, &fd);
	if (r < 0) {
		log_debug("cannot identify a file that process %u has mapped at %llx: %s",
			request->mapping.process.tgid, (unsigned long long)request->mapping.start,
			strerror(-r));
		(void)unwinder_set_unidentified(
			unwinding->unwinder, &request->key, r == -EMEDIUMTYPE);
		return;
	}
	r = unwinder_request(unwinding->unwinder, &request->key, binary, &file_id, &is_new);
	if (r == 0 && is_new)
		look_for_table(unwinding, file_id, binary, fd);
}

static int load(struct unwinding *unwinding, const struct pending *pending)
{
	const struct symbol_file *file = NULL;
	int r = symbolizer_find_file(unwinding->tables, &pending->identity, &file);
	uint32_t binary_id = unwinder_binary(unwinding->unwinder, pending->file_id);
	struct binary binary;

	/* By now the sample that requested the file has said whose it is. */
	if (binary_id != WALK_FILES_UNKNOWN_BINARY) {
		binary_table_get(unwinding->parts.files.binaries, binary_id, &binary);
		unwinder_set_user(unwinding->unwinder, pending->file_id, binary.user);
	}
	return r < 0 ? r : unwinder_set_table(unwinding->unwinder, pending->file_id, file);
}

/* Returns false if the table is still being made. */
static bool finish(struct unwinding *unwinding, const struct pending *pending)
{
	struct symbolizer_outcome outcome = { 0 };
	int r;

	r = symbolizer_outcome(unwinding->tables, &pending->identity, &outcome);
	if (r == 0 && outcome.is_pending)
		return false;
	if (r == 0 && outcome.failure == PILOTLIGHT_SYMBOL_OK)
		r = load(unwinding, pending);
	else if (r == 0 && is_final_failure(outcome.failure))
		r = unwinder_set_nothing(unwinding->unwinder, pending->file_id);
	else if (r == 0)
		r = outcome.error < 0 ? outcome.error : -EAGAIN;
	if (r == 0)
		return true;
	if (r != -ENOSPC)
		log_debug("cannot load an unwind table: %s, continuing without it", strerror(-r));
	(void)unwinder_retry_later(unwinding->unwinder, pending->file_id);
	return true;
}

static void finish_all(struct unwinding *unwinding)
{
	size_t kept = 0;

	for (size_t i = 0; i < unwinding->pending_count; i++) {
		const struct pending *pending = &unwinding->pending[i];

		if (finish(unwinding, pending))
			user_share_remove(&unwinding->share, pending->user, 1);
		else
			unwinding->pending[kept++] = *pending;
	}
	unwinding->pending_count = kept;
}

/* For a file in use whose table was evicted, or whose retry is due. */
static void reload(struct unwinding *unwinding, uint32_t file_id)
{
	const struct walk_file *file = unwinder_file(unwinding->unwinder, file_id);
	_cleanup_close_ int fd = -1;
	struct binary binary;

	if (file->identity.id.size == 0) {
		binary_table_get(unwinding->parts.files.binaries, file->binary, &binary);
		fd = unwinding_files_open_again(&unwinding->parts.files, file, &binary);
	}
	look_for_table(unwinding, file_id, file->binary, fd);
}

static void reload_all(struct unwinding *unwinding)
{
	uint32_t file_id;

	while (unwinder_next_reload(unwinding->unwinder, &file_id))
		reload(unwinding, file_id);
}

/* --- requests --- */

static void add_request(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	struct unwinding *unwinding = context;

	/* If this fails, a later sample requests the file again. */
	if (ARRAY_RESERVE(unwinding->requests, &unwinding->request_capacity,
		    unwinding->request_count + 1, REQUESTS_MAX) < 0)
		return;
	unwinding->requests[unwinding->request_count++] =
		(struct file_request){ .key = *key, .mapping = *request };
}

void unwinding_read_requests(struct unwinding *unwinding)
{
	int r = walk_maps_drain_requests(unwinding->parts.maps, add_request, unwinding);

	if (r < 0)
		log_debug("cannot read the sampler's requests for unwind tables: %s, trying again "
			  "later",
			strerror(-r));
}

/* The most used files first. */
static int compare_use(const void *a, const void *b)
{
	const struct file_request *first = a, *second = b;
	uint64_t first_use = first->mapping.use_ppm, second_use = second->mapping.use_ppm;

	return (first_use < second_use) - (first_use > second_use);
}

/* Returns -ETIMEDOUT at the deadline. */
static int wait_for_worker(const struct unwinding *unwinding, uint64_t deadline_ns)
{
	struct pollfd event = { .fd = symbolizer_poll_fd(unwinding->tables), .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns >= deadline_ns)
		return -ETIMEDOUT;
	if (poll(&event, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* Waits until fewer than `count_max` tables are being made. */
static int wait_for_tables(struct unwinding *unwinding, size_t count_max, uint64_t deadline_ns)
{
	int r = 0;

	while (r == 0) {
		r = symbolizer_run(unwinding->tables);
		finish_all(unwinding);
		if (r == 0 && unwinding->pending_count < count_max)
			return 0;
		if (r == 0)
			r = wait_for_worker(unwinding, deadline_ns);
	}
	return r;
}

/* Is the file used so much that its table is made ahead? Others wait for a sample. */
static bool is_prepared(const struct file_request *request)
{
	return request->mapping.use_ppm >= PREPARED_USE_MIN_PPM;
}

int unwinding_prepare(struct unwinding *unwinding, uint64_t deadline_ns)
{
	size_t count;
	int r = 0;

	unwinding_read_requests(unwinding);
	count = unwinding->request_count;
	unwinding->request_count = 0;
	if (count == 0)
		return 0;
	qsort(unwinding->requests, count, sizeof(*unwinding->requests), compare_use);
	for (size_t i = 0; r == 0 && i < count && is_prepared(&unwinding->requests[i]); i++) {
		if (clock_monotonic_ns() >= deadline_ns)
			return 0;
		handle_request(unwinding, &unwinding->requests[i]);
		r = wait_for_tables(unwinding, PREPARED_AT_ONCE, deadline_ns);
	}
	if (r == 0)
		r = wait_for_tables(unwinding, 1, deadline_ns);
	return r == -ETIMEDOUT ? 0 : r;
}

int unwinding_run(struct unwinding *unwinding)
{
	int r;

	for (size_t i = 0; i < unwinding->request_count; i++)
		handle_request(unwinding, &unwinding->requests[i]);
	unwinding->request_count = 0;
	r = symbolizer_run(unwinding->tables);
	if (r < 0)
		return r;
	finish_all(unwinding);
	reload_all(unwinding);
	finish_all(unwinding);
	return 0;
}
