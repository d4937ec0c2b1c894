/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What batches of a sink say of this host: Label= and the host's id. */
#pragma once

#include "config/config.h"

/* Reads the id of this host. Returns 0 with "name=value,…", NULL if there are none; or -ENOMEM. */
int service_attributes_new(const struct config_sink *sink, char **ret_attributes);
