/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders by Landlock, with what each version of the kernel's interface knows of it. */
#pragma once

#include "sandbox/sandbox.h"

/* The kernel's version of the interface, from 1 on; -ENOSYS or -EOPNOTSUPP: it has none. */
int landlock_version(void);

/* sandbox_confine() as with a kernel of `version`, at most what this one has. */
int landlock_confine(int version, const struct sandbox_folder *folders, size_t count);
