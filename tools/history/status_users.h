/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what users hold of what they share, with the names of users, which the service does not
 * know: it may not read /etc/passwd. */
#pragma once

#include "tools/history/history_request.h"

/* Returns 0, or -errno with the request's fault. */
int status_users_write(struct history_request *request);
