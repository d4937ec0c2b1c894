/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows of names, locations and stacks the receiver has, by their hashes: a host sends each
 * once a day, and not with each batch. The hashes are a file in memory, which the senders of a sink
 * map one after the other. The engine only keeps it: an intruder in a sender can have rows left
 * out, and no more. The next engine begins with none.
 *
 * A row is added when its insert was confirmed, and counts for the day that it has: so what a
 * sample refers to is as young as the sample, and does not expire before it. When it is full, or
 * for another day or receiver, it begins anew (I4).
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known_rows;

/* A host that does one kind of work has some thousands of rows a day. */
enum { KNOWN_ROWS_MAX = 1 << 16, KNOWN_ROWS_BYTES_MAX = (1 << 20) + 4096 };

/* The engine's side: makes the file. Returns 0 or -errno. */
int known_rows_create(int *ret_fd);
/* The memory that it takes, of no process's own; 0 for -1. */
uint64_t known_rows_bytes(int fd);

/* The sender's side. Returns 0, -EBADF it is not such a file, or -errno. */
int known_rows_map(int fd, struct known_rows **ret_rows);
void known_rows_unmap(struct known_rows *rows);
DEFINE_CLEANUP(struct known_rows, known_rows_unmap);

/* Forgets all unless they are of this receiver and this day. */
void known_rows_choose(struct known_rows *rows, const char *url, uint16_t day);
void known_rows_forget(struct known_rows *rows);

/* Never 0. With a secret of the file, so that no user can make a row with the hash of another. */
uint64_t known_rows_hash(const struct known_rows *rows, const void *row, size_t bytes);
bool known_rows_has(const struct known_rows *rows, uint64_t hash);
void known_rows_add(struct known_rows *rows, uint64_t hash);
