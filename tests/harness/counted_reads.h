/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the bytes that the code under test reads with pread(), so that a test can bound the work
 * that a hostile file causes. Include it in one file of a program.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
	uint64_t calls, bytes;
} counted_reads;

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	ssize_t n = syscall(SYS_pread64, fd, bytes, size, offset);

	counted_reads.calls++;
	counted_reads.bytes += n > 0 ? (uint64_t)n : 0;
	return n;
}
