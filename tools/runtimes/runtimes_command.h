/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight runtimes`: the running interpreters, and whether their frames can be read. */
#pragma once

#include "tools/command.h"

extern const struct command runtimes_command;
