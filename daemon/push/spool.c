/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/spool.h"

#include "base/event_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* A new batch, or a new ".until-SOURCE", until it is complete. */
static const char UNFINISHED[] = ".unfinished";
static const char UNTIL_HEAD[] = "pilotlight-until 1 ";

enum {
	COPY_BYTES = 64 << 10,
	UNTIL_BYTES = 64,
	UNTIL_NAME_BYTES = 32,
	FILE_MODE = 0640, /* the group may ask for profiles, too */
	OLDEST = 64,	  /* found by one look at the folder */
	OPEN_MAX = 2,	  /* the oldest, and the newest that is tried in its place */
	ADDS_OF_LOOK = 16,
};

/* The first batches of the folder, in their order. */
struct oldest {
	uint32_t sources;   /* only those of these: 1 << enum pilotlight_source */
	struct batch after; /* only those behind this one; start_ns 0: all */
	struct batch batches[OLDEST];
	uint64_t bytes[OLDEST];
	size_t count;
	struct batch newest; /* of all; start_ns 0: none */
};

/* A batch that the caller has, whose fate is open: it may be taken though its file is gone. */
struct open_batch {
	struct batch batch;
	uint64_t *lost_ns; /* the sum that it belongs to if it is not taken; NULL: the file is there
			    */
};

struct spool {
	int folder_fd;
	const char *ending;
	uint64_t bytes_max, age_max_ns;
	struct spool_state state;
	unsigned adds;	     /* since the last look */
	struct oldest known; /* for spool_next(): what the last look found; some may be gone */
	struct open_batch open[OPEN_MAX];
	size_t open_count;
};

/* --- looking --- */

static bool is_before(const struct batch *a, const struct batch *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->source < b->source;
}

static void keep_oldest(struct oldest *oldest, const struct batch *batch, uint64_t bytes)
{
	size_t i = oldest->count;

	if (!(oldest->sources & 1U << batch->source))
		return;
	if (oldest->newest.start_ns == 0 || is_before(&oldest->newest, batch))
		oldest->newest = *batch;
	if (oldest->after.start_ns > 0 && !is_before(&oldest->after, batch))
		return;
	if (i == OLDEST && !is_before(batch, &oldest->batches[i - 1]))
		return;
	if (i == OLDEST)
		i--;
	else
		oldest->count++;
	for (; i > 0 && is_before(batch, &oldest->batches[i - 1]); i--) {
		oldest->batches[i] = oldest->batches[i - 1];
		oldest->bytes[i] = oldest->bytes[i - 1];
	}
	oldest->batches[i] = *batch;
	oldest->bytes[i] = bytes;
}

static void look_at(struct spool *spool, const char *name, struct oldest *oldest)
{
	struct spool_state *state = &spool->state;
	struct batch batch;
	struct stat status;

	if (batch_name_parse(name, spool->ending, &batch) < 0 ||
		fstatat(spool->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(status.st_mode))
		return;
	state->files++;
	state->bytes += (uint64_t)status.st_size;
	if (batch.end_ns > state->until_ns[batch.source])
		state->until_ns[batch.source] = batch.end_ns;
	keep_oldest(oldest, &batch, (uint64_t)status.st_size);
}

/* Counts what is there. A crash may have come between a batch and its ".until-SOURCE". */
static int look(struct spool *spool, struct oldest *ret_oldest)
{
	int fd = openat(spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r;

	if (!folder) {
		r = -errno;
		closep(&fd);
		return r;
	}
	ret_oldest->count = 0;
	ret_oldest->newest = (struct batch){ 0 };
	spool->state.files = spool->state.bytes = 0;
	spool->adds = 0;
	errno = 0;
	while ((entry = readdir(folder))) {
		look_at(spool, entry->d_name, ret_oldest);
		errno = 0;
	}
	r = -errno;
	(void)closedir(folder);
	return r;
}

/* --- how far the batches reach --- */

int spool_parse_until(const char *text, size_t size, uint64_t *ret_until_ns)
{
	const size_t head = sizeof(UNTIL_HEAD) - 1;
	uint64_t until_ns = 0;
	size_t i;

	if (size <= head || memcmp(text, UNTIL_HEAD, head) != 0)
		return -EBADMSG;
	for (i = head; i < size && text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(until_ns, 10, &until_ns) ||
			__builtin_add_overflow(until_ns, (uint64_t)(text[i] - '0'), &until_ns))
			return -EBADMSG;
	if (i == head || i + 1 != size || text[i] != '\n' || until_ns > INT64_MAX)
		return -EBADMSG;
	*ret_until_ns = until_ns;
	return 0;
}

static const char *until_name(enum pilotlight_source source, char name[UNTIL_NAME_BYTES])
{
	(void)snprintf(name, UNTIL_NAME_BYTES, ".until-%s", event_sources[source].name);
	return name;
}

/* A damaged one counts as missing: the batches that are left say how far they reach. */
static int read_until(struct spool *spool, enum pilotlight_source source)
{
	char name[UNTIL_NAME_BYTES], text[UNTIL_BYTES];
	_cleanup_close_ int fd = openat(spool->folder_fd, until_name(source, name),
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t until_ns;
	ssize_t size;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	size = pread(fd, text, sizeof(text), 0);
	if (size < 0)
		return -errno;
	if (spool_parse_until(text, (size_t)size, &until_ns) == 0)
		spool->state.until_ns[source] = until_ns;
	return 0;
}

static int open_unfinished(const struct spool *spool, int *ret_fd)
{
	_cleanup_close_ int fd = -1;

	/* What a crash left. A link of that name is removed, not followed. */
	if (unlinkat(spool->folder_fd, UNFINISHED, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(spool->folder_fd, UNFINISHED,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Gives the unfinished file its name once its bytes are on disk. */
static int finish(const struct spool *spool, int fd, const char *name)
{
	if (fsync(fd) < 0 || renameat(spool->folder_fd, UNFINISHED, spool->folder_fd, name) < 0)
		return -errno;
	/* The file has its name now: a failure here must not make the caller add it again. */
	(void)fsync(spool->folder_fd);
	return 0;
}

static void discard_unfinished(const struct spool *spool)
{
	(void)unlinkat(spool->folder_fd, UNFINISHED, 0);
}

static int write_until(const struct spool *spool, enum pilotlight_source source, uint64_t until_ns)
{
	char name[UNTIL_NAME_BYTES], text[UNTIL_BYTES];
	int size = snprintf(text, sizeof(text), "%s%" PRIu64 "\n", UNTIL_HEAD, until_ns);
	_cleanup_close_ int fd = -1;
	int r = open_unfinished(spool, &fd);

	if (r < 0)
		return r;
	r = write_all(fd, text, (size_t)size);
	if (r == 0)
		r = finish(spool, fd, until_name(source, name));
	if (r < 0)
		discard_unfinished(spool);
	return r;
}

/* --- bounds --- */

static bool exceeds(const struct spool *spool, uint64_t more_bytes)
{
	return spool->state.files >= SPOOL_FILES_MAX ||
	       spool->state.bytes > spool->bytes_max - more_bytes;
}

static bool is_expired(const struct spool *spool, const struct batch *batch, uint64_t now_ns)
{
	return now_ns > batch->end_ns && now_ns - batch->end_ns > spool->age_max_ns;
}

static uint64_t duration_of(const struct batch *batch)
{
	return batch->end_ns - batch->start_ns;
}

/* --- batches that are open --- */

static struct open_batch *find_open(struct spool *spool, const struct batch *batch)
{
	for (size_t i = 0; i < spool->open_count; i++)
		if (!is_before(&spool->open[i].batch, batch) &&
			!is_before(batch, &spool->open[i].batch))
			return &spool->open[i];
	return NULL;
}

static void note_open(struct spool *spool, const struct batch *batch)
{
	if (!find_open(spool, batch) && spool->open_count < OPEN_MAX)
		spool->open[spool->open_count++] = (struct open_batch){ .batch = *batch };
}

/* It is done with: its owner counts it. */
static void forget_open(struct spool *spool, const struct batch *batch)
{
	struct open_batch *open = find_open(spool, batch);

	if (open)
		*open = spool->open[--spool->open_count];
}

/* None was taken. */
static void end_open(struct spool *spool)
{
	for (size_t i = 0; i < spool->open_count; i++)
		if (spool->open[i].lost_ns)
			*spool->open[i].lost_ns += duration_of(&spool->open[i].batch);
	spool->open_count = 0;
}

static void count_lost(struct spool *spool, const struct batch *batch, uint64_t *lost_ns)
{
	struct open_batch *open = find_open(spool, batch);

	if (open)
		open->lost_ns = lost_ns;
	else
		*lost_ns += duration_of(batch);
}

/* Deletes from the oldest on. Returns 1 if it deleted all that it knows, and there may be more. */
static int delete_oldest(
	struct spool *spool, const struct oldest *oldest, uint64_t more_bytes, uint64_t now_ns)
{
	for (size_t i = 0; i < oldest->count; i++) {
		bool has_expired = is_expired(spool, &oldest->batches[i], now_ns);
		char name[BATCH_NAME_BYTES];

		if (!has_expired && !exceeds(spool, more_bytes))
			return 0;
		batch_name_format(&oldest->batches[i], spool->ending, name);
		if (unlinkat(spool->folder_fd, name, 0) < 0) {
			if (errno != ENOENT)
				return -errno;
		} else {
			count_lost(spool, &oldest->batches[i],
				has_expired ? &spool->state.expired_ns : &spool->state.evicted_ns);
		}
		spool->state.files--;
		spool->state.bytes -= oldest->bytes[i];
	}
	return oldest->count == OLDEST;
}

static int make_room(struct spool *spool, uint64_t more_bytes, uint64_t now_ns)
{
	struct oldest oldest = { .sources = UINT32_MAX };
	int r = 1;

	/* Others may have removed batches, so what is known is an upper bound. */
	if (spool->adds++ < ADDS_OF_LOOK && !exceeds(spool, more_bytes))
		return 0;
	while (r == 1) {
		r = look(spool, &oldest);
		if (r == 0)
			r = delete_oldest(spool, &oldest, more_bytes, now_ns);
	}
	return r;
}

/* --- */

int spool_open(const struct spool_options *options, struct spool **ret_spool)
{
	_cleanup_(spool_closep) struct spool *spool = calloc(1, sizeof(*spool));
	struct oldest oldest = { .sources = UINT32_MAX };
	int r = 0;

	if (!spool)
		return -ENOMEM;
	spool->ending = options->ending;
	spool->known.sources = UINT32_MAX;
	spool->bytes_max = options->bytes_max;
	spool->age_max_ns = options->age_max_ns;
	spool->folder_fd = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->folder_fd < 0)
		return -errno;
	for (enum pilotlight_source i = 0; r == 0 && i < PILOTLIGHT_SOURCES; i++)
		r = read_until(spool, i);
	if (r == 0)
		r = look(spool, &oldest);
	if (r < 0)
		return r;
	*ret_spool = TAKE_PTR(spool);
	return 0;
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	closep(&spool->folder_fd);
	free(spool);
}

static int copy(int from_fd, int to_fd, uint64_t bytes)
{
	_cleanup_free_ char *buffer = malloc(COPY_BYTES);
	uint64_t done = 0;

	if (!buffer)
		return -ENOMEM;
	while (done < bytes) {
		size_t size = bytes - done < COPY_BYTES ? (size_t)(bytes - done) : COPY_BYTES;
		ssize_t n = pread(from_fd, buffer, size, (off_t)done);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = write_all(to_fd, buffer, (size_t)n);
		if (r < 0)
			return r;
		done += (uint64_t)n;
	}
	return 0;
}

static int write_batch(struct spool *spool, const char *name, int fd, uint64_t bytes)
{
	_cleanup_close_ int file_fd = -1;
	int r = open_unfinished(spool, &file_fd);

	if (r < 0)
		return r;
	r = copy(fd, file_fd, bytes);
	if (r == 0)
		r = finish(spool, file_fd, name);
	if (r < 0)
		discard_unfinished(spool);
	return r;
}

int spool_add(
	struct spool *spool, const struct batch *batch, int fd, uint64_t bytes, uint64_t now_ns)
{
	char name[BATCH_NAME_BYTES];
	int r;

	if (bytes > spool->bytes_max)
		return -EFBIG;
	r = make_room(spool, bytes, now_ns);
	if (r < 0)
		return r;
	batch_name_format(batch, spool->ending, name);
	r = write_batch(spool, name, fd, bytes);
	if (r < 0)
		return r;
	spool->state.files++;
	spool->state.bytes += bytes;
	spool->state.until_ns[batch->source] = batch->end_ns;
	/* A failure does no harm while the batch is there. */
	(void)write_until(spool, batch->source, batch->end_ns);
	return 0;
}

int spool_skip(struct spool *spool, const struct batch *batch)
{
	int r = write_until(spool, batch->source, batch->end_ns);

	if (r == 0)
		spool->state.until_ns[batch->source] = batch->end_ns;
	return r;
}

/* --- taking batches --- */

static int open_batch(
	const struct spool *spool, const struct batch *batch, int *ret_fd, uint64_t *ret_bytes)
{
	char name[BATCH_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	struct stat status;

	batch_name_format(batch, spool->ending, name);
	fd = openat(spool->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	/* Only another program puts something else there; it is not ours to send. */
	if (!S_ISREG(status.st_mode))
		return -ENOENT;
	*ret_fd = TAKE_FD(fd);
	*ret_bytes = (uint64_t)status.st_size;
	return 0;
}

/* Returns 1 if it was gone already. */
static int remove_batch(struct spool *spool, const struct batch *batch)
{
	char name[BATCH_NAME_BYTES];
	struct stat status;

	batch_name_format(batch, spool->ending, name);
	if (fstatat(spool->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		unlinkat(spool->folder_fd, name, 0) < 0)
		return errno == ENOENT ? 1 : -errno;
	/* A folder that lost files to others has fewer than the last look found. */
	if (spool->state.files > 0)
		spool->state.files--;
	spool->state.bytes -= spool->state.bytes < (uint64_t)status.st_size
				      ? spool->state.bytes
				      : (uint64_t)status.st_size;
	return 0;
}

int spool_remove(struct spool *spool, const struct batch *batch)
{
	int r = remove_batch(spool, batch);

	if (r < 0)
		return r;
	forget_open(spool, batch);
	return 0;
}

/* Opens the first known batch behind `after`. Returns -ENOENT if there is none. */
static int open_known(struct spool *spool, const struct batch *after, uint64_t now_ns,
	struct batch *ret_batch, int *ret_fd, uint64_t *ret_bytes)
{
	for (size_t i = 0; i < spool->known.count; i++) {
		const struct batch *batch = &spool->known.batches[i];
		int r;

		if (after && !is_before(after, batch))
			continue;
		if (is_expired(spool, batch, now_ns)) {
			r = remove_batch(spool, batch);
			if (r < 0)
				return r;
			if (r == 0)
				spool->state.expired_ns += duration_of(batch);
			continue;
		}
		r = open_batch(spool, batch, ret_fd, ret_bytes);
		if (r == -ENOENT)
			continue;
		if (r == 0) {
			*ret_batch = *batch;
			note_open(spool, batch);
		}
		return r;
	}
	return -ENOENT;
}

void spool_choose(struct spool *spool, uint32_t sources)
{
	if (spool->known.sources != sources)
		spool->known.count = 0;
	spool->known.sources = sources;
}

int spool_next(struct spool *spool, const struct batch *after, uint64_t now_ns,
	struct batch *ret_batch, int *ret_fd, uint64_t *ret_bytes)
{
	struct batch from = after ? *after : (struct batch){ 0 };
	int r;

	end_open(spool);
	r = open_known(spool, after, now_ns, ret_batch, ret_fd, ret_bytes);
	/* Looks again when all that it knew are taken, and on while it finds only what is gone. */
	while (r == -ENOENT) {
		spool->known.after = from;
		r = look(spool, &spool->known);
		if (r < 0)
			return r;
		r = open_known(spool, after, now_ns, ret_batch, ret_fd, ret_bytes);
		if (r != -ENOENT || spool->known.count < OLDEST)
			return r;
		from = spool->known.batches[OLDEST - 1];
	}
	return r;
}

int spool_newest(struct spool *spool, struct batch *ret_batch, int *ret_fd, uint64_t *ret_bytes)
{
	struct oldest oldest = { .sources = spool->known.sources };
	int r = look(spool, &oldest);

	if (r < 0)
		return r;
	if (oldest.newest.start_ns == 0)
		return -ENOENT;
	r = open_batch(spool, &oldest.newest, ret_fd, ret_bytes);
	if (r < 0)
		return r;
	*ret_batch = oldest.newest;
	note_open(spool, &oldest.newest);
	return 0;
}

void spool_take_state(struct spool *spool, struct spool_state *ret_state)
{
	*ret_state = spool->state;
	spool->state.evicted_ns = spool->state.expired_ns = 0;
}
