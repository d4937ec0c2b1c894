/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads libraries that only one role uses with dlopen(). Linked libraries would slow the start of
 * every role: those of a symbol worker cost more than its work. They stay loaded until the process
 * ends. A process that gives up access to files must load them before.
 */
#pragma once

#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

/* The name of a function and the pointer to fill in. */
struct shared_library_function {
	const char *name;
	void *place;
};

/*
 * Opens the library `soname`, with its version and without a folder, where ld.so(8) looks, and
 * fills in all of the places. `package` is Debian's that has it, for the fault's remedy; NULL:
 * none. Returns 0; or, with `fault` and all places as they were, -ELIBACC: the library or one that
 * it needs is missing; -ELIBBAD: one of the functions is missing.
 */
int shared_library_load(const char *soname, const char *package,
	const struct shared_library_function *functions, size_t count, struct fault *fault);

/*
 * Use it once in the file that loads the library. It adds a note to the program for packagers,
 * since DT_NEEDED does not list the library (https://systemd.io/ELF_DLOPEN_METADATA/). `priority`
 * is "required", "recommended" or "suggested". All arguments are literals and valid inside JSON.
 */
#define SHARED_LIBRARY_NOTE(soname, feature, description, priority)    \
	SHARED_LIBRARY_NOTE_OF(                                        \
		"[{\"soname\":[\"" soname "\"],\"feature\":\"" feature \
		"\",\"description\":\"" description "\",\"priority\":\"" priority "\"}]")

#define SHARED_LIBRARY_NOTE_OF(json)                                                     \
	__attribute__((used, section(".note.dlopen"), aligned(4))) static const struct { \
		uint32_t owner_bytes, json_bytes, type;                                  \
		char owner[4];                                                           \
		char text[sizeof(json)] __attribute__((aligned(4)));                     \
	} shared_library_note = { sizeof("FDO"), sizeof(json), 0x407c0c0a, "FDO", json }
