/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/ui/ui_command.h"

#include "base/cleanup.h"
#include "client/http_client.h"
#include "tools/stop_signals.h"
#include "tools/ui/ui_server.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ui_request {
	struct invocation base;
	const char *socket_path;
	const char *remote;
	uint32_t port;
	bool is_silent;
};

enum { PORT_MAX = 65535, PORT_REMOTE = 7448 };

static const struct option_row options[] = {
	{ 0, "port", "PORT", "Listen on this port of the loopback interface, not on a free one.",
		OPTION_NUMBER, .offset = offsetof(struct ui_request, port), .min = 1,
		.max = PORT_MAX },
	{ 0, "no-open", NULL, "Print the address, and do not start a browser.", OPTION_SET,
		.offset = offsetof(struct ui_request, is_silent) },
	{ 0, "remote", "HOST", "Print the command that shows HOST's page here, by ssh.",
		OPTION_STRING, .offset = offsetof(struct ui_request, remote) },
	{ 0, "socket", "PATH", "The service's socket.", OPTION_STRING,
		.offset = offsetof(struct ui_request, socket_path) },
	{ 0 },
};

static void prepare(void *invocation)
{
	((struct ui_request *)invocation)->socket_path = http_client_default_socket();
}

/* A host name that ssh would take for an option, or a shell for a command, is refused. */
static int print_remote(struct ui_request *request)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_@-[]";
	unsigned port = request->port ? request->port : PORT_REMOTE;
	const char *host = request->remote;

	if (!*host || *host == '-' || strspn(host, allowed) != strlen(host))
		return command_misuse(request->base.command, "'%s' is no host name", host);
	output_printf(&request->base.output,
		"ssh -t -o ExitOnForwardFailure=yes -L %u:127.0.0.1:%u %s pilotlight ui --no-open "
		"--port %u\n",
		port, port, host, port);
	return command_flush(&request->base);
}

/*
 * Arguments of processes are public, so the browser gets the address in a file: a page that leads
 * there. "": there is none, and nobody to read it.
 */
static void write_way(const char *address, char path[PATH_MAX])
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	_cleanup_close_ int fd = -1;
	int n = folder ? snprintf(path, PATH_MAX, "%s/pilotlight-ui-XXXXXX", folder) : -1;

	if (n <= 0 || n >= PATH_MAX || (fd = mkostemp(path, O_CLOEXEC)) < 0 ||
		dprintf(fd, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
			address) < 0)
		path[0] = '\0';
}

/* A browser that does not start is no error: the address is printed. */
static void open_browser(const char *path, const struct stop_signals *signals)
{
	char *arguments[] = { (char *)"xdg-open", (char *)path, NULL };
	posix_spawnattr_t attributes;
	pid_t pid;

	if (!path[0] || posix_spawnattr_init(&attributes) != 0)
		return;
	if (posix_spawnattr_setsigmask(&attributes, &signals->original) == 0 &&
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0)
		(void)posix_spawnp(&pid, "xdg-open", NULL, &attributes, arguments, environ);
	(void)posix_spawnattr_destroy(&attributes);
}

static int serve(struct ui_request *request, struct stop_signals *signals)
{
	_cleanup_(ui_server_freep) struct ui_server *server = NULL;
	char way[PATH_MAX] = "";
	int r = ui_server_new(
		request->socket_path, (uint16_t)request->port, &server, &request->base.fault);

	if (r < 0)
		return r;
	output_printf(&request->base.output, "%s\n", ui_server_address(server));
	r = command_flush(&request->base);
	if (r < 0)
		return r;
	if (!request->is_silent && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))) {
		write_way(ui_server_address(server), way);
		open_browser(way, signals);
	}
	r = ui_server_run(server, signals->fd, &request->base.fault);
	if (way[0])
		(void)unlink(way);
	return r;
}

static int run(void *invocation)
{
	struct ui_request *request = invocation;
	struct stop_signals signals;
	int r;

	if (request->remote)
		return print_remote(request);
	r = stop_signals_init(&signals, &request->base.fault);
	if (r < 0)
		return r;
	r = serve(request, &signals);
	/* It has done what it should: it must not end the process when it is no longer held. */
	(void)stop_signals_take(&signals);
	stop_signals_done(&signals);
	return r;
}

const struct command ui_command = {
	.name = "ui",
	.summary = "look at the history in a browser",
	.synopsis = "[OPTION...]",
	.description = "Serve a page to a browser on this machine, until Ctrl-C: the history of "
		       "the host over "
		       "time, flame graphs of any part of it, a table of functions, and "
		       "comparisons. What it "
		       "shows is what this user may ask pilotlightd for. The printed address holds "
		       "a secret: "
		       "other users of the machine see no profile without it.",
	.notes = "Example: pilotlight ui",
	.options = { options },
	.bytes = sizeof(struct ui_request),
	.prepare = prepare,
	.run = run,
};
