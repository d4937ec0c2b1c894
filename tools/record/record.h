/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight record`: profiles now, without a service, and leaves one file. If it recorded a
 * command and all went well, its exit status is the command's.
 */
#pragma once

#include "tools/command.h"

extern const struct command record_command;
