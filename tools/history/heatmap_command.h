/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws when the samples of the history were taken, to parts of a second. */
#pragma once

#include "tools/command.h"

extern const struct command heatmap_command;
