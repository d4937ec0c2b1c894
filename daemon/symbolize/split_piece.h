/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a piece of split DWARF for a worker that has asked for it. The path comes out of hostile
 * bytes (I8), by way of a worker that they may have taken over. So nothing is handed over but what
 * is a piece, of a bounded size, that everybody may read or that belongs to the owner of the very
 * binary that names it: whoever could write the path learns nothing of files that are not theirs.
 */
#pragma once

#include "broker/broker.h"

/*
 * A relative `path` is from the folder of the binary at `binary_path` on; `binary_fd` is the binary
 * or its debug file, or -1. Paths are those of the engine's own root. Returns 0 and a descriptor
 * that the caller owns; -EACCES it may not be had; -ENOEXEC it is no piece; -EFBIG; another -errno
 * of opening it.
 */
int split_piece_open(struct broker *broker, const char *path, const char *binary_path,
	int binary_fd, int *ret_fd);
