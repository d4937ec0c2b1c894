/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_server.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX (512UL << 20)

enum { PASSWORD_BYTES = 1024, TIMEOUT_DEFAULT_S = 120, TIMEOUT_MAX_S = 3600 };

#define PATH(name, field, help)                                        \
	{                                                              \
		0, name, "FILE", help, OPTION_STRING,                  \
			.offset = offsetof(struct fleet_server, field) \
	}

const struct option_row fleet_server_options[] = {
	{ 0, "clickhouse", "URL", "The server, http://HOST:8123 or https://HOST:8443.",
		OPTION_STRING, .offset = offsetof(struct fleet_server, url) },
	{ 0, "user", "NAME", "The user there ($CLICKHOUSE_USER, or `default`).", OPTION_STRING,
		.offset = offsetof(struct fleet_server, user) },
	PATH("password-file", password_file,
		"The first line is the user's password ($CLICKHOUSE_PASSWORD)."),
	PATH("ca-file", ca_file, "Trust these certificates alone."),
	PATH("certificate-file", certificate_file, "Show this client certificate."),
	PATH("key-file", key_file, "The key of the client certificate."),
	{ 0, "timeout", "SECONDS", "Give up on a question after this time (120).", OPTION_NUMBER,
		.offset = offsetof(struct fleet_server, timeout_s), .min = 1,
		.max = TIMEOUT_MAX_S },
	{ 0 },
};

static int read_password(struct fleet_server *server, char password[PASSWORD_BYTES])
{
	const char *path = server->password_file;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, password, PASSWORD_BYTES - 1);

	if (size < 0)
		return fault_set(&server->base.fault, -errno,
			"cannot read the password in '%s': %s", path, strerror(errno));
	password[size] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	if (!*password)
		return fault_set(&server->base.fault, -EINVAL,
			"there is no password in the first line of '%s'", path);
	return 0;
}

int fleet_server_connect(struct fleet_server *server, struct clickhouse_client **ret_client)
{
	char password[PASSWORD_BYTES];
	struct clickhouse_server clickhouse = {
		.url = server->url,
		.user = server->user ? server->user : getenv("CLICKHOUSE_USER"),
		.password = getenv("CLICKHOUSE_PASSWORD"),
		.ca_file = server->ca_file,
		.certificate_file = server->certificate_file,
		.key_file = server->key_file,
	};
	int r;

	if (!server->url)
		return command_misuse(server->base.command,
			"give --clickhouse and the URL of the server, such as "
			"http://clickhouse:8123");
	if (server->password_file) {
		r = read_password(server, password);
		if (r < 0)
			return r;
		clickhouse.password = password;
	}
	/* Without a name no password is sent. */
	if (clickhouse.password && !clickhouse.user)
		clickhouse.user = "default";
	r = clickhouse_client_new(&clickhouse, ANSWER_BYTES_MAX,
		server->timeout_s ? server->timeout_s : TIMEOUT_DEFAULT_S, ret_client,
		&server->base.fault);
	explicit_bzero(password, sizeof(password));
	return r;
}
