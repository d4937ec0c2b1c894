/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of kernel addresses: the kernel itself, its modules and BPF programs, out of
 * /proc/kallsyms. A snapshot; renewed when an address falls outside of it or on request, at most
 * once a given interval, since modules and BPF programs come and go. Text symbols only.
 *
 * A symbol's identity is (image, offset from the image's start), so that two boots with different
 * KASLR agree. The kernel is one image from _text on, a module one from where /proc/modules says
 * that it begins. Each BPF program, and each kind of page that kprobes and ftrace write code to, is
 * an image of its own: the name of a program has the hash of its code, and where two have one name,
 * their code is the same.
 *
 * An address belongs to the symbol before it, but not behind the end of the kernel's text, and at
 * most 64 KiB behind the last symbol of an image. Bounded: at most 1 Mi symbols and 64 MiB of text
 * are read, and 8192 images are known; programs beyond them are nameless. One owner, one thread.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"
#include "broker/broker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

struct kernel_image {
	const char *name; /* "[kernel.kallsyms]", a module's or a BPF program's; borrowed until a
			     renewal */
	struct build_id build_id; /* size 0: not known */
};

struct kernel_symbol {
	const char *name;      /* borrowed until a renewal; any bytes but NUL, space and tab */
	uint32_t image;	       /* id; images keep their ids over renewals */
	uint64_t image_offset; /* of the address looked up, from the start of the image */
};

/* Reads nothing yet. Returns 0 or -ENOMEM. `broker` is borrowed and must outlive it. */
int kernel_symbols_new(struct broker *broker, struct kernel_symbols **ret_symbols);
void kernel_symbols_free(struct kernel_symbols *symbols);
DEFINE_CLEANUP(struct kernel_symbols, kernel_symbols_free);

/*
 * Reads kallsyms anew, with the modules' starts and all build-ids. Returns 0; -EPERM where every
 * address is zero (CAP_SYSLOG or kernel.kptr_restrict); -ENOMEM, -E2BIG; or what reading returned.
 * The old snapshot stays on error. A module that comes back with another build-id is another image.
 */
int kernel_symbols_renew(struct kernel_symbols *symbols);

/*
 * Parses the text of a kallsyms file, as kernel_symbols_renew() does, but asks the broker for
 * nothing: a module then begins at its lowest symbol. For tests and fuzzing.
 */
int kernel_symbols_parse(struct kernel_symbols *symbols, const char *text, size_t size);

/* The text symbol that holds `ip`. False: none does. Does not renew. */
bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t ip, struct kernel_symbol *ret_symbol);

void kernel_symbols_image(
	const struct kernel_symbols *symbols, uint32_t image, struct kernel_image *ret_image);
size_t kernel_symbols_bytes(const struct kernel_symbols *symbols);
