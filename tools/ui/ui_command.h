/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight ui`: the page of the history, for a browser on this machine. */
#pragma once

#include "tools/command.h"

extern const struct command ui_command;
