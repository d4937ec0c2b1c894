/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runtime wrote a jitdump file. No field of the format says so, so it is guessed from the
 * signs that runtimes leave. A sign that two runtimes might leave is not enough.
 */
#pragma once

#include "jit/jitdump_record.h"

#include <stddef.h>

enum jitdump_runtime {
	JITDUMP_RUNTIME_UNKNOWN,
	JITDUMP_RUNTIME_V8,
	JITDUMP_RUNTIME_ERLANG,
	JITDUMP_RUNTIME_PHP,
	JITDUMP_RUNTIME_JVM,
	JITDUMP_RUNTIME_LLVM,
	JITDUMP_RUNTIME_PYTHON,
	JITDUMP_RUNTIME_DOTNET,
	JITDUMP_RUNTIME_WASMTIME,
	JITDUMP_RUNTIMES,
};
/* "V8", "JVM"; "" if unknown. */
const char *jitdump_runtime_name(enum jitdump_runtime runtime);

struct jitdump_runtime_guess {
	enum jitdump_runtime runtime;
	unsigned looked; /* how many names were looked at */
	unsigned erlang_hints;
};

/* From the file's path, which may be NULL, and from its header. */
enum jitdump_runtime jitdump_runtime_of_path(const char *path);
enum jitdump_runtime jitdump_runtime_of_header(const struct jitdump_header *header);

/* From the next LOAD. Stops once the runtime is known, or after 4096 names. */
void jitdump_runtime_look(struct jitdump_runtime_guess *guess, const struct jitdump_record *load);
