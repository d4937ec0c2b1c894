/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/start_time.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
	START_TIME_FIELD = 22,
	FIRST_FIELD_AFTER_NAME = 3,
	/* A pid, a name of up to 64 bytes and 20 numbers of up to 20 digits take less. */
	STAT_BYTES = 1024,
};

int start_time_parse(const char *stat, size_t size, uint64_t *ret_ticks)
{
	const char *end = stat + size;
	const char *at = memrchr(stat, ')', size);
	uint64_t ticks = 0;

	if (!at)
		return -EINVAL;
	for (int field = FIRST_FIELD_AFTER_NAME - 1; field < START_TIME_FIELD; field++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return -EINVAL;
		at++;
	}
	if (at == end || *at < '0' || *at > '9')
		return -EINVAL;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(ticks, 10, &ticks) ||
			__builtin_add_overflow(ticks, (uint64_t)(*at - '0'), &ticks))
			return -EINVAL;
	/* A number that the end of the text cuts off is not a number. */
	if (at == end || *at != ' ')
		return -EINVAL;
	*ret_ticks = ticks;
	return 0;
}

int start_time_read(int process_fd, uint64_t *ret_ticks)
{
	_cleanup_close_ int fd = openat(process_fd, "stat", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char stat[STAT_BYTES];
	ssize_t size;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	do
		size = read(fd, stat, sizeof(stat));
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	return start_time_parse(stat, (size_t)size, ret_ticks);
}

int start_time_check(int process_fd, uint64_t start_ns)
{
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t ticks, expected;
	int r = start_time_read(process_fd, &ticks);

	if (r < 0 || start_ns == 0)
		return r;
	if (ticks_per_second <= 0 || ticks_per_second > NSEC_PER_SEC)
		return -EINVAL;
	/* Either side may have been rounded, so adjacent ticks are equal. */
	expected = start_ns / (NSEC_PER_SEC / (uint64_t)ticks_per_second);
	return (ticks > expected ? ticks - expected : expected - ticks) <= 1 ? 0 : -ESRCH;
}
