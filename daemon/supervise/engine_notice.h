/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receives and checks notices (include/pilotlight/engine_notice.h). The sender is untrusted (I8).
 */
#pragma once

#include "pilotlight/engine_notice.h"

#include <stddef.h>

/* Checks a notice's size, version, kind and text. Returns 0 or -EBADMSG. */
int engine_notice_check(const void *bytes, size_t size);

/*
 * Receives the next notice, without blocking. Returns 0; -EAGAIN if there is none; -EBADMSG after
 * it dropped a malformed notice; -EPIPE if the engine closed its end; or -errno of receiving.
 * Accepts no descriptors.
 */
int engine_notice_receive(int fd, struct pilotlight_notice *ret_notice);
