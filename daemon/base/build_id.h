/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The identity of a binary: the contents of its NT_GNU_BUILD_ID note, up to 20 bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BUILD_ID_BYTES = 20,
	BUILD_ID_HEX_BYTES = 2 * BUILD_ID_BYTES + 1, /* with the NUL */
};

/*
 * The kernel's build-id stacks carry no length: shorter ids arrive zero-padded, so the padding is
 * part of the comparison and `size` is not. A size of 0 means that the binary has no build-id.
 */
struct build_id {
	uint8_t bytes[BUILD_ID_BYTES];
	uint8_t size;
};

/* A longer id than 20 bytes is -EINVAL, as the kernel does not report it either. */
int build_id_set(struct build_id *ret_id, const void *bytes, size_t size);

/* For an id of which only the padded form is known: the size without the zeros at its end. */
void build_id_set_padded(struct build_id *ret_id, const uint8_t bytes[BUILD_ID_BYTES]);

bool build_id_equal(const struct build_id *a, const struct build_id *b);

/* Lower-case hex. Returns `hex`. */
const char *build_id_format(const struct build_id *id, char hex[BUILD_ID_HEX_BYTES]);
