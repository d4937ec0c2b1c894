/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the bytes as a stream, puts its events in order and sums them. */
#include "kmemtrace/kmemtrace_merge.h"
#include "kmemtrace/kmemtrace_report.h"

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const struct kmemtrace_report *report, uint64_t events)
{
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	struct kmemtrace_totals totals;
	uint64_t allocations = 0, live = 0, live_bytes = 0;
	size_t count;

	kmemtrace_report_totals(report, &totals);
	assert(kmemtrace_report_sites(report, KMEMTRACE_BY_LIVE, &sites, &count) == 0);
	for (size_t i = 0; i < count; i++) {
		allocations += sites[i].allocations;
		live += sites[i].live;
		live_bytes += sites[i].live_bytes;
		assert(sites[i].live <= sites[i].allocations);
	}
	assert(allocations == totals.allocations);
	assert(live == totals.live && live_bytes == totals.live_bytes);
	assert(totals.allocations + totals.frees + totals.failed + totals.null_frees +
			totals.other_events + totals.wrong_events ==
		events);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_(kmemtrace_merge_freep) struct kmemtrace_merge *merge = NULL;
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	struct kmemtrace_stream *stream = NULL;
	int fd = memfd_create("stream", MFD_CLOEXEC), r;
	struct kmemtrace_event event;
	uint64_t events = 0, offset = 0;

	assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	if (kmemtrace_merge_new(&merge) < 0 || kmemtrace_report_new(&report) < 0 ||
		kmemtrace_stream_new(fd, "fuzz", &stream) < 0 ||
		kmemtrace_merge_add(merge, stream) < 0)
		return 0;
	while ((r = kmemtrace_merge_next(merge, -1, &event)) > 0) {
		assert(kmemtrace_report_add(report, &event) == 0);
		events++;
	}
	assert(r == 0);
	if (kmemtrace_stream_is_damaged(kmemtrace_merge_stream(merge, 0), &offset))
		assert(offset < size);
	check(report, events);
	return 0;
}
