/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_kind.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Variables that configure curl and its TLS library. */
static const char *const network_variables[] = {
	"http_proxy",
	"https_proxy",
	"HTTPS_PROXY",
	"all_proxy",
	"ALL_PROXY",
	"no_proxy",
	"NO_PROXY",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"DEBUGINFOD_HEADERS_FILE",
	NULL,
};

/*
 * The same for a sender, which also finds its credentials (systemd.exec(5), LoadCredential=) and,
 * if it is started without a broker, the configuration.
 */
static const char *const sender_variables[] = {
	"http_proxy",
	"https_proxy",
	"HTTPS_PROXY",
	"all_proxy",
	"ALL_PROXY",
	"no_proxy",
	"NO_PROXY",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"CREDENTIALS_DIRECTORY",
	"PILOTLIGHT_CONFIG",
	NULL,
};

static const struct {
	char *arguments[3];
	const char *const *variables; /* NULL: none */
} kinds[BROKER_CHILDREN] = {
	[BROKER_CHILD_SYMBOL_WORKER] = { { "pilotlight", "symbol-worker", NULL }, NULL },
	[BROKER_CHILD_SYMBOL_FETCH] = { { "pilotlight", "symbol-fetch", NULL }, network_variables },
	[BROKER_CHILD_ANSWER] = { { "pilotlight", "answer", NULL }, NULL },
	[BROKER_CHILD_SINK_SEND] = { { "pilotlight", "sink-send", NULL }, sender_variables },
};

char *const *child_kind_arguments(enum broker_child kind)
{
	assert(kind < BROKER_CHILDREN);
	return kinds[kind].arguments;
}

char *const *child_kind_service_arguments(enum broker_child kind)
{
	static char *const fetch[] = { "pilotlight", "symbol-fetch", "--in-service", NULL };
	static char *const send[] = { "pilotlight", "sink-send", "--in-service", NULL };

	return kind == BROKER_CHILD_SYMBOL_FETCH ? fetch
	       : kind == BROKER_CHILD_SINK_SEND	 ? send
						 : child_kind_arguments(kind);
}

static bool is_allowed(const char *variable, const char *const *names)
{
	for (; *names; names++) {
		size_t length = strlen(*names);

		if (strncmp(variable, *names, length) == 0 && variable[length] == '=')
			return true;
	}
	return false;
}

void child_kind_environment(
	enum broker_child kind, char *ret_variables[CHILD_KIND_VARIABLES_MAX + 1])
{
	const char *const *names;
	size_t count = 0;

	assert(kind < BROKER_CHILDREN);
	names = kinds[kind].variables;
	for (size_t i = 0; names && environ && environ[i]; i++)
		/* A bound, because a variable can occur several times. */
		if (count < CHILD_KIND_VARIABLES_MAX && is_allowed(environ[i], names))
			ret_variables[count++] = environ[i];
	ret_variables[count] = NULL;
}
