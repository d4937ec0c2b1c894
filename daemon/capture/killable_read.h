/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read that may hang in the kernel: a BPF iterator over mappings takes the mmap lock of each
 * process, and a process that waits for a dead file system may hold that lock forever. A child
 * process reads, and is killed when its time is up, because mmap_read_lock_killable() returns then.
 */
#pragma once

/*
 * Reads from `fd` once and discards the data. Blocks for at most `timeout_ms`, plus the moment that
 * a killed child takes to end. Returns 0; -ETIMEDOUT; -EINTR if something else ended the child; or
 * -errno of the read or of the fork.
 */
int killable_read(int fd, int timeout_ms);
