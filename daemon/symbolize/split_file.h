/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a split DWARF file (.dwo) that a worker requests. The path comes from hostile bytes (I8),
 * through a worker that they may control. So the file must be split DWARF of a bounded size, and it
 * must be readable by everybody or have the owner of the binary that names it. Whoever wrote the
 * path thus learns nothing from other users' files.
 */
#pragma once

#include "broker/broker.h"
#include "symbol/symbol_source.h"

/*
 * A relative `path` starts at the folder of the binary. Paths are in the engine's root. Returns 0
 * and a descriptor that the caller owns; -EACCES refused, or the binary is trusted and the file's
 * owner is not; -ENOEXEC not split DWARF; -EFBIG; or another -errno.
 */
int split_file_open(
	struct broker *broker, const char *path, const struct symbol_binary *binary, int *ret_fd);
