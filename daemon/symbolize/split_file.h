/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a split DWARF file (.dwo) that a worker requests. The path comes from hostile bytes (I8),
 * through a worker that they may control. So the file must be split DWARF of a bounded size, and it
 * must be readable by everybody or have the owner of the binary that names it. Whoever wrote the
 * path thus learns nothing from other users' files.
 */
#pragma once

#include "broker/broker.h"

/*
 * A relative `path` starts at the folder of the binary at `binary_path`; `binary_fd` is the binary
 * or its debug file, or -1. Paths are in the engine's root. Returns 0 and a descriptor that the
 * caller owns; -EACCES refused; -ENOEXEC not split DWARF; -EFBIG; or another -errno.
 */
int split_file_open(struct broker *broker, const char *path, const char *binary_path, int binary_fd,
	int *ret_fd);
