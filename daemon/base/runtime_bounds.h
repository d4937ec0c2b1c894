/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bounds of a runtime description (pilotlight/runtime.h). A worker makes it from a user's file,
 * so it is hostile (I8). One within the bounds may still be wrong about a process: only a walk
 * finds out what is there.
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stdbool.h>

bool runtime_bounds_hold(const struct pilotlight_runtime *runtime);
