/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of kernel addresses, from a snapshot of /proc/kallsyms: the kernel, its modules and BPF
 * programs. Text symbols only. Modules and BPF programs come and go, so the resolver renews the
 * snapshot when a stack meets unknown or changed code, at a limited rate.
 *
 * A symbol's identity is (image, offset from the image's start), so boots with different KASLR
 * agree. The kernel is one image that starts at _text. A module is one image that starts where
 * /proc/modules says. Each BPF program is an image of its own, and so is each kind of page that
 * kprobes and ftrace write code to. A program's name contains the hash of its code, so programs of
 * one name have the same code.
 *
 * An address belongs to the last symbol before it, but not beyond the end of the kernel's text, nor
 * 64 KiB or more beyond an image's last symbol. Bounds (I4): 1 Mi symbols, 64 MiB of text and 8192
 * images; programs beyond them stay nameless. One owner, one thread.
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

/* Starts empty. Returns 0 or -ENOMEM. `broker` is borrowed and must outlive it. */
int kernel_symbols_new(struct broker *broker, struct kernel_symbols **ret_symbols);
void kernel_symbols_free(struct kernel_symbols *symbols);
DEFINE_CLEANUP(struct kernel_symbols, kernel_symbols_free);

/*
 * Reads kallsyms, the modules' starts and all build-ids. Returns 0; -EPERM if every address is zero
 * (CAP_SYSLOG or kernel.kptr_restrict); -ENOMEM; -E2BIG; or the error of reading. On error the old
 * snapshot stays. A module reloaded with another build-id is a new image.
 */
int kernel_symbols_renew(struct kernel_symbols *symbols);

/*
 * Parses the text of a kallsyms file as kernel_symbols_renew() does, but without the broker, so a
 * module starts at its lowest symbol. For tests and fuzzing.
 */
int kernel_symbols_parse(struct kernel_symbols *symbols, const char *text, size_t size);

/* Finds the text symbol that contains `ip`. False: none. Does not renew. */
bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t ip, struct kernel_symbol *ret_symbol);

void kernel_symbols_image(
	const struct kernel_symbols *symbols, uint32_t image, struct kernel_image *ret_image);
size_t kernel_symbols_bytes(const struct kernel_symbols *symbols);
