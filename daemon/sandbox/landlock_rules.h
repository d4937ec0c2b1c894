/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits access to folders by Landlock, adapted to each version of the kernel's interface. */
#pragma once

#include "sandbox/sandbox.h"

/* The kernel's version of Landlock's interface, from 1 on; -ENOSYS or -EOPNOTSUPP: it has none. */
int landlock_version(void);

/* Has it what sandbox_confine() needs for folders that are written? */
bool landlock_can_confine_writers(void);

/* sandbox_confine() as on a kernel of `version`, which must not exceed the kernel's own. */
int landlock_confine(int version, const struct sandbox_folder *folders, size_t count);
