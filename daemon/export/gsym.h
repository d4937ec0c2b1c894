/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a symbol file as LLVM's GSYM, version 1, for tools that read that. Each stretch of code of
 * one outermost function is a FunctionInfo with its lines and its tree of inlined calls; addresses
 * are link-time vaddrs, the UUID is the identity, strings are the symbol file's.
 *
 * What the format cannot say is left out: columns, lines without a function, and inlined calls more
 * than GSYM_DEPTH_MAX deep, whose code goes to their nearest caller.
 *
 * Format: https://github.com/llvm/llvm-project/tree/main/llvm/include/llvm/DebugInfo/GSYM
 */
#pragma once

#include "base/output.h"
#include "symbol/symbol_file.h"

/* Readers recurse as deep as inlined calls are. */
enum { GSYM_DEPTH_MAX = 256 };

/*
 * Reads the tables twice. Meanwhile it holds 12 bytes for each frame, 8 for each function, and what
 * the largest function needs, in all less than a few times the symbol file (I4). Does not flush
 * `output`. Returns 0; -ENODATA there is no function; -EBADMSG the tables are not sorted; -EFBIG
 * beyond the format's 4 GiB, or inlined calls that change more often than any compiler makes them;
 * -ENOMEM; the first error of `output`.
 */
int gsym_write(const struct symbol_file *file, struct output *output);
