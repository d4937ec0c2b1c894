/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sideband.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/cpu_list.h"
#include "capture/sideband_rings.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

enum {
	PENDING_RECORDS_MAX = 1 << 16,
	PENDING_TEXT_MAX = 8 << 20,
	/*
	 * Buffers above this size are freed when no record is pending: a stall has grown them and
	 * may not recur.
	 */
	PENDING_RECORDS_KEPT = 1 << 12,
	PENDING_TEXT_KEPT = 256 << 10,
	RECORD_BYTES_MAX = 1 << 16, /* perf_event_header.size is 16 bits wide */
};

struct ring {
	uint64_t id;
	int fd;
	bool is_adopted; /* adopted since sideband_drop_others() was last called */
	struct perf_event_mmap_page *page;
};

/* A record that was copied from its ring; its text is in the pending text. */
struct pending_record {
	struct sideband_record record;
	uint64_t sequence; /* keeps records of the same time in the order of their ring */
	size_t text;
};

struct sideband {
	size_t ring_bytes;
	size_t page_bytes;
	int epoll_fd;
	bool reports_cgroups;
	struct sideband_rings *own; /* NULL: another process opened the rings */
	struct ring *rings;
	size_t ring_count, ring_capacity;
	struct pending_record *pending;
	size_t pending_count, pending_capacity;
	char *text;
	size_t text_bytes, text_capacity;
	uint64_t sequence;
	struct sideband_counters counters;
	unsigned char wrapped[RECORD_BYTES_MAX];
};

/*
 * The process that opened the event still has it open, so closing alone would leave it in the epoll
 * set.
 */
static void ring_close(struct sideband *sideband, struct ring *ring)
{
	(void)epoll_ctl(sideband->epoll_fd, EPOLL_CTL_DEL, ring->fd, NULL);
	(void)munmap(ring->page, sideband->page_bytes + sideband->ring_bytes);
	(void)close(ring->fd);
}

void sideband_free(struct sideband *sideband)
{
	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->ring_count; i++)
		ring_close(sideband, &sideband->rings[i]);
	if (sideband->epoll_fd >= 0)
		(void)close(sideband->epoll_fd);
	sideband_rings_free(sideband->own);
	free(sideband->rings);
	free(sideband->pending);
	free(sideband->text);
	free(sideband);
}

int sideband_open(size_t ring_bytes, struct sideband **ret_sideband)
{
	_cleanup_(sideband_freep) struct sideband *sideband = calloc(1, sizeof(*sideband));

	if (!sideband)
		return -ENOMEM;
	sideband->ring_bytes = ring_bytes;
	sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sideband->reports_cgroups = true;
	sideband->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sideband->epoll_fd < 0)
		return -errno;
	*ret_sideband = TAKE_PTR(sideband);
	return 0;
}

static struct ring *find_ring(struct sideband *sideband, uint64_t id)
{
	for (size_t i = 0; i < sideband->ring_count; i++)
		if (sideband->rings[i].id == id)
			return &sideband->rings[i];
	return NULL;
}

int sideband_adopt_ring(struct sideband *sideband, const struct sideband_ring *adopted)
{
	struct ring *known = find_ring(sideband, adopted->id);
	struct ring ring = { .id = adopted->id, .fd = adopted->fd, .is_adopted = true };
	struct epoll_event event = { .events = EPOLLIN };
	size_t mapped_bytes = sideband->page_bytes + sideband->ring_bytes;
	void *page;
	int r;

	if (known) {
		known->is_adopted = true;
		(void)close(adopted->fd);
		return 0;
	}
	/* While old rings are still open, a CPU may have two. */
	r = ARRAY_RESERVE(sideband->rings, &sideband->ring_capacity, sideband->ring_count + 1,
		2 * CPU_LIST_MAX);
	if (r < 0)
		return r;
	page = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (epoll_ctl(sideband->epoll_fd, EPOLL_CTL_ADD, ring.fd, &event) < 0) {
		r = -errno;
		(void)munmap(page, mapped_bytes);
		return r;
	}
	ring.page = page;
	sideband->rings[sideband->ring_count++] = ring;
	return 0;
}

void sideband_set_reports_cgroups(struct sideband *sideband, bool reports_cgroups)
{
	sideband->reports_cgroups = reports_cgroups;
}

/* Keeps a copy of a record until all earlier ones have come. */
static int keep_record(struct sideband *sideband, const struct sideband_record *record)
{
	size_t text_size = record->text ? strlen(record->text) + 1 : 0;
	struct pending_record *pending;
	int r;

	r = ARRAY_RESERVE(sideband->text, &sideband->text_capacity,
		sideband->text_bytes + text_size, PENDING_TEXT_MAX);
	if (r == 0)
		r = ARRAY_RESERVE(sideband->pending, &sideband->pending_capacity,
			sideband->pending_count + 1, PENDING_RECORDS_MAX);
	if (r == -E2BIG) {
		sideband->counters.refused++;
		return 0;
	}
	if (r < 0)
		return r;
	pending = &sideband->pending[sideband->pending_count++];
	pending->record = *record;
	pending->sequence = sideband->sequence++;
	pending->text = sideband->text_bytes;
	if (text_size)
		memcpy(sideband->text + sideband->text_bytes, record->text, text_size);
	sideband->text_bytes += text_size;
	return 0;
}

/*
 * `now_ns`: after the record was written. If several events of a CPU report a kernel symbol, the
 * kernel gives the records of all but the first too great a length (perf_event_ksymbol_output(),
 * seen on 6.18). Their time is then what the ring held there before. A later one than now would
 * never have its turn, and with it the text of all that come behind.
 */
static int take_record(struct sideband *sideband, const void *bytes, size_t size, uint64_t now_ns)
{
	struct sideband_record record;
	int r = sideband_record_parse(bytes, size, &record);

	if (r == -ENOMSG)
		return 0;
	if (r < 0) {
		sideband->counters.malformed++;
		return 0;
	}
	if (record.kind == SIDEBAND_LOST) {
		sideband->counters.lost += record.lost;
		return 0;
	}
	sideband->counters.records++;
	if (record.time_ns > now_ns)
		record.time_ns = now_ns;
	return keep_record(sideband, &record);
}

/* Returns 0 or -ENOMEM; the records are removed from the ring either way. */
static int ring_read(struct sideband *sideband, struct ring *ring)
{
	const unsigned char *data = (const unsigned char *)ring->page + sideband->page_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, now_ns = head == tail ? 0 : clock_monotonic_ns();
	int r = 0;

	while (r == 0 && head - tail >= sizeof(struct perf_event_header)) {
		size_t at = tail & (sideband->ring_bytes - 1);
		struct perf_event_header header;
		const unsigned char *bytes = data + at;

		/* Records are aligned to 8 bytes, as the header is long: it never wraps. */
		memcpy(&header, bytes, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			sideband->counters.malformed++;
			tail = head;
			break;
		}
		if (at + header.size > sideband->ring_bytes) {
			size_t first = sideband->ring_bytes - at;

			memcpy(sideband->wrapped, bytes, first);
			memcpy(sideband->wrapped + first, data, header.size - first);
			bytes = sideband->wrapped;
		}
		r = take_record(sideband, bytes, header.size, now_ns);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

int sideband_drop_others(struct sideband *sideband)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < sideband->ring_count; i++) {
		struct ring ring = sideband->rings[i];

		if (ring.is_adopted) {
			ring.is_adopted = false;
			sideband->rings[kept++] = ring;
			continue;
		}
		if (r == 0)
			r = ring_read(sideband, &ring);
		ring_close(sideband, &ring);
	}
	sideband->ring_count = kept;
	return r;
}

static int adopt_own_ring(struct sideband *sideband, size_t index)
{
	struct sideband_ring ring = sideband_rings_get(sideband->own, index);
	_cleanup_close_ int fd = fcntl(ring.fd, F_DUPFD_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	ring.fd = fd;
	r = sideband_adopt_ring(sideband, &ring);
	if (r == 0)
		(void)TAKE_FD(fd);
	return r;
}

int sideband_set_cpus(struct sideband *sideband, const uint32_t *cpus, size_t count)
{
	int r = 0;

	if (!sideband->own)
		r = sideband_rings_new(sideband->ring_bytes, NULL, &sideband->own);
	if (r == 0)
		r = sideband_rings_set_cpus(sideband->own, cpus, count);
	for (size_t i = 0; r == 0 && i < sideband_rings_count(sideband->own); i++)
		r = adopt_own_ring(sideband, i);
	if (r < 0)
		return r;
	sideband->reports_cgroups = sideband_rings_report_cgroups(sideband->own);
	return sideband_drop_others(sideband);
}

int sideband_poll_fd(const struct sideband *sideband)
{
	return sideband->epoll_fd;
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending_record *first = a, *second = b;

	if (first->record.time_ns != second->record.time_ns)
		return first->record.time_ns < second->record.time_ns ? -1 : 1;
	return first->sequence < second->sequence ? -1 : 1;
}

static void give_back_room(struct sideband *sideband)
{
	if (sideband->pending_capacity > PENDING_RECORDS_KEPT) {
		free(TAKE_PTR(sideband->pending));
		sideband->pending_capacity = 0;
	}
	if (sideband->text_capacity > PENDING_TEXT_KEPT) {
		free(TAKE_PTR(sideband->text));
		sideband->text_capacity = 0;
	}
}

/* Forgets the first `count` pending records and the text that only they had. */
static void forget_pending(struct sideband *sideband, size_t count)
{
	size_t text_bytes = 0;

	sideband->pending_count -= count;
	if (sideband->pending_count == 0) {
		sideband->text_bytes = 0;
		give_back_room(sideband);
		return;
	}
	memmove(sideband->pending, sideband->pending + count,
		sideband->pending_count * sizeof(*sideband->pending));
	/*
	 * The remaining records are the newest. Their texts are near the end, but not in order of
	 * time.
	 */
	for (size_t i = 0; i < sideband->pending_count; i++)
		if (i == 0 || sideband->pending[i].text < text_bytes)
			text_bytes = sideband->pending[i].text;
	sideband->text_bytes -= text_bytes;
	memmove(sideband->text, sideband->text + text_bytes, sideband->text_bytes);
	for (size_t i = 0; i < sideband->pending_count; i++)
		sideband->pending[i].text -= text_bytes;
}

int sideband_read(
	struct sideband *sideband, uint64_t until_ns, sideband_function function, void *context)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < sideband->ring_count && r == 0; i++)
		r = ring_read(sideband, &sideband->rings[i]);
	if (sideband->pending_count == 0)
		return r;

	qsort(sideband->pending, sideband->pending_count, sizeof(*sideband->pending),
		compare_pending);
	for (; count < sideband->pending_count; count++) {
		struct pending_record *pending = &sideband->pending[count];

		if (pending->record.time_ns >= until_ns)
			break;
		if (pending->record.text)
			pending->record.text = sideband->text + pending->text;
		function(context, &pending->record);
	}
	forget_pending(sideband, count);
	return r;
}

bool sideband_reports_cgroups(const struct sideband *sideband)
{
	return sideband->reports_cgroups && sideband->ring_count > 0;
}

void sideband_counters(const struct sideband *sideband, struct sideband_counters *ret_counters)
{
	*ret_counters = sideband->counters;
}

size_t sideband_bytes(const struct sideband *sideband)
{
	return sideband->ring_count * (sideband->page_bytes + sideband->ring_bytes);
}
