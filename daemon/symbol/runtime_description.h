/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runtime description in a symbol file (pilotlight/runtime.h), checked as a whole before it is
 * used (I8; base/runtime_bounds.h). */
#pragma once

#include "pilotlight/runtime.h"

struct symbol_file;

/* Borrowed from `file`. Returns 0; -ENODATA if it has none; -EPROTONOSUPPORT one of another
 * version; -EBADMSG an unsound one. */
int runtime_description_find(
	const struct symbol_file *file, const struct pilotlight_runtime **ret_runtime);

/* "Python", "V8"; "unknown" for other numbers. The word is for machines: "python", "v8";
 * "thread-context" of what is no language. */
const char *runtime_description_language(const struct pilotlight_runtime *runtime);
const char *runtime_description_word(const struct pilotlight_runtime *runtime);

/* Writes the release as its language does: "3.11.2", "3.13.0rc1"; "3.10" if that is all;
 * "11.3.244" of V8. */
enum { RUNTIME_RELEASE_BYTES = 32 };
const char *runtime_description_release(
	const struct pilotlight_runtime *runtime, char text[RUNTIME_RELEASE_BYTES]);
