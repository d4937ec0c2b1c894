/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices of include/pilotlight/engine_notice.h, which anybody may have written (I8). */
#pragma once

#include "pilotlight/engine_notice.h"

#include <stddef.h>

/* Is it one that an engine would send? Returns 0 or -EBADMSG. */
int engine_notice_check(const void *bytes, size_t size);

/*
 * The next one, checked. Never waits: -EAGAIN where there is none. -EBADMSG it was malformed, and
 * is gone; -EPIPE the other side is; or what receiving failed with. Descriptors are not taken.
 */
int engine_notice_receive(int fd, struct pilotlight_notice *ret_notice);
