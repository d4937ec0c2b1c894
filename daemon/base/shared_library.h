/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that one role alone uses are loaded by it with dlopen() and not by the linker, as each
 * start of any role would pay for them: those of one symbol worker cost more than its work. They
 * stay loaded until the process ends. Whoever is about to lose the way to files loads them before.
 */
#pragma once

#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

/* A function of the library's, and the pointer to a function that is to point to it. */
struct shared_library_function {
	const char *name;
	void *place;
};

/*
 * Opens the library `soname`, with its version and without a folder, where ld.so(8) looks, and
 * fills in all of the places. `package` is Debian's that has it, for the fault's remedy; NULL: none
 * is told. Returns 0; or, with `fault` and all places as they were, -ELIBACC:
 * it is not there, or lacks something itself; -ELIBBAD: it lacks one of the functions.
 */
int shared_library_load(const char *soname, const char *package,
	const struct shared_library_function *functions, size_t count, struct fault *fault);

/*
 * To stand once in the file that loads it: tells packagers, by a note in the program, of a library
 * that its DT_NEEDED do not tell of (https://systemd.io/ELF_DLOPEN_METADATA/). `priority` is
 * "required", "recommended" or "suggested". All are literals, to be JSON as they are.
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
