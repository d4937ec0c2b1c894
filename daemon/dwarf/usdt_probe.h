/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds probes that a program's authors have placed in it (USDT, SystemTap's sys/sdt.h), by the
 * notes in .note.stapsdt. The file is hostile (I8).
 *
 * A note is: a vaddr of code, the vaddr of .stapsdt.base when the notes were made, the vaddr of a
 * semaphore or 0, then provider, name and arguments, each with a NUL. If a prelinker has moved the
 * file, .stapsdt.base has moved by as much. The program skips the work for a probe while its
 * semaphore is 0; the kernel counts it up as long as the probe is attached.
 */
#pragma once

#include "dwarf/usdt_argument.h"
#include "symbol/elf_file.h"

#include <stddef.h>
#include <stdint.h>

enum { USDT_PLACES_MAX = 64 };

/* Offsets in the file. The compiler may have made several copies of the code with the probe. */
struct usdt_place {
	uint64_t code;
	uint64_t semaphore; /* 0: none */
	uint32_t arguments[USDT_ARGUMENTS_MAX];
	uint32_t reserved;
};

/*
 * Finds the places of a probe. Returns 0; -ENODATA the file has no such probe; -E2BIG it has more
 * than USDT_PLACES_MAX places; -EFBIG more notes than programs have; -ENOEXEC malformed notes, or
 * places outside its segments; -ENOMEM; or another -errno from reading.
 */
int usdt_probe_find(const struct elf_file *file, const char *provider, const char *name,
	struct usdt_place ret_places[USDT_PLACES_MAX], size_t *ret_count);
