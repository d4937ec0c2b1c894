/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options by which commands reach ClickHouse. Passwords come from a file or from the
 * environment: other users can read a command line.
 */
#pragma once

#include "client/clickhouse_client.h"
#include "tools/command.h"

/* Begins the struct of each command that asks ClickHouse. */
struct fleet_server {
	struct invocation base;
	const char *url, *user, *password_file; /* NULL: not given */
	const char *ca_file, *certificate_file, *key_file;
	uint32_t timeout_s;
};

extern const struct option_row fleet_server_options[];

/* Returns 0, EXIT_USAGE without a URL, or -errno with the invocation's fault. */
int fleet_server_connect(struct fleet_server *server, struct clickhouse_client **ret_client);
