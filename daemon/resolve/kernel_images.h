/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images of kernel code: the kernel, each module and each BPF program. An id keeps its meaning
 * for the life of the table, so images are never removed. Their number is bounded (I4).
 */
#pragma once

#include "base/build_id.h"
#include "base/hash_index.h"
#include "base/string_pool.h"
#include "broker/broker.h"

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_IMAGES_MAX = 8192 };

enum kernel_image_kind {
	KERNEL_IMAGE_KERNEL, /* only one, with id 0 */
	KERNEL_IMAGE_MODULE,
	KERNEL_IMAGE_SYMBOL, /* one symbol that is an image by itself, such as a BPF program */
};

struct kernel_images {
	struct kernel_image_entry *entries; /* by id */
	size_t count, capacity;
	struct string_pool names;
	struct hash_index index; /* the current image of a (kind, name) */
};

/* Makes a table that holds the kernel. Returns 0 or -ENOMEM. */
int kernel_images_init(struct kernel_images *images);
void kernel_images_done(struct kernel_images *images);

/* Finds or adds the image of that name. Returns 0, -ENOMEM, or -E2BIG. */
int kernel_images_intern(struct kernel_images *images, enum kernel_image_kind kind,
	const char *name, size_t size, uint32_t *ret_image);

/*
 * Reads the build-id of *image, the kernel or a module, through the broker. If it has changed,
 * *image becomes a new image with the same name. An image whose build-id cannot be read stays
 * unchanged. Returns 0, -ENOMEM, or -E2BIG.
 */
int kernel_images_read_build_id(
	struct kernel_images *images, struct broker *broker, uint32_t *image);

/* Borrowed until the next intern. */
const char *kernel_images_name(const struct kernel_images *images, uint32_t image);
const struct build_id *kernel_images_build_id(const struct kernel_images *images, uint32_t image);
size_t kernel_images_bytes(const struct kernel_images *images);
