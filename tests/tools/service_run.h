/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A service in a child process, for the commands that query one. It answers a request for a profile
 * with the request's parameters, one "name=value" a line, and a request for folded stacks or for
 * the table of `pilotlight top` with fixed ones. Each test also enters a temporary folder.
 */
#pragma once

#include "serve/http_server.h"
#include "tests/tools/command_run.h"
#include "tests/tools/test_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static const char service_run_folded[] = "nginx;main;serve;malloc 30\n"
					 "nginx;main;serve;read_[k] 10\n"
					 "node;start;render_[j] 50\n"
					 "node;start;copy_[i] 10\n"
					 "[lost: ring full] 5\n";
static const char service_run_table[] = "S\t100\t5\n"
					"T\t60\tnode\n"
					"T\t40\tnginx\n"
					"F\t50\t50\tweb.service\tnode\tnode\trender_[j]\n"
					"F\t30\t30\tnginx.service\tnginx\tlibc.so.6\tmalloc\n"
					"F\t10\t10\tnginx.service\tnginx\t\tread_[k]\n"
					"F\t10\t10\tweb.service\tnode\tnode\tcopy_[i]\n"
					"F\t0\t60\t\t\tnode\tstart\n";
/* Sets the title of the terminal, hides a line and reverses a name. */
static const char service_run_hostile[] = "\x1b]0;title\x07main\t50 %\x1b[1A\x9b"
					  "2K\xe2\x80\xae\n";
static const char service_run_metrics[] = "# TYPE pilotlight_online_cpus gauge\n"
					  "pilotlight_online_cpus 4\n"
					  "pilotlight_sampling_rate_hertz 10\n"
					  "pilotlight_cost_ratio 0.0005\n"
					  "pilotlight_memory_bytes 33554432\n";

struct service_run {
	char path[48]; /* of the socket */
	pid_t pid;     /* 0: not running */
};

static struct service_run service;

static inline int service_run_echo(void *context, const char *name, const char *value)
{
	FILE *file = context;

	return fprintf(file, "%s=%s\n", name, value) < 0;
}

static inline void service_run_text(struct http_request *request, const char *text)
{
	http_answer(request, &(struct http_answer){ .status = 200,
				     .content_type = "text/plain",
				     .body = strdup(text),
				     .size = strlen(text) });
}

/* The windows cover a quarter more time than "last=…ms" requests. */
static inline void service_run_stacks(struct http_request *request, const char *text)
{
	const char *last = http_request_parameter(request, "last");
	unsigned covered_ms = last ? (unsigned)strtoul(last, NULL, 10) / 4 * 5 : 0;
	char covered[32];
	const struct http_field fields[] = { { "X-Pilotlight-Covered-Seconds", covered },
		{ "X-Pilotlight-Period-Seconds", "0.100000000" } };

	(void)snprintf(covered, sizeof(covered), "%u.%03u", covered_ms / 1000, covered_ms % 1000);
	http_answer(request, &(struct http_answer){ .status = 200,
				     .content_type = "text/plain",
				     .fields = fields,
				     .field_count = 2,
				     .body = strdup(text),
				     .size = strlen(text) });
}

/*
 * The unit chooses the answer: "never" gets none, "bad" 400, "none" 404, "empty" an empty body,
 * "hostile" escape sequences, "slower" an increase of 12.9 points.
 */
static inline void service_run_profile(void *context, struct http_request *request)
{
	const char *format = http_request_parameter(request, "format");
	const char *unit = http_request_parameter(request, "unit");
	static const struct http_field increase = { "X-Pilotlight-Increase", "0.129000000" };
	struct http_answer answer = { .status = 200, .content_type = "text/plain" };
	FILE *file;

	if (unit && strcmp(unit, "slower") == 0) {
		answer.fields = &increase;
		answer.field_count = 1;
	}
	if (unit && strcmp(unit, "never") == 0)
		return;
	if (unit && strcmp(unit, "bad") == 0) {
		http_answer_text(request, 400, "unit 'bad' is none: write nginx.service");
	} else if (unit && strcmp(unit, "none") == 0) {
		http_answer_text(request, 404, "Nothing matches unit 'none'");
	} else if (unit && strcmp(unit, "empty") == 0) {
		http_answer(request, &answer);
	} else if (unit && strcmp(unit, "hostile") == 0) {
		service_run_text(request, service_run_hostile);
	} else if (format && strcmp(format, "folded") == 0) {
		service_run_stacks(request, service_run_folded);
	} else if (format && strcmp(format, "top") == 0) {
		service_run_stacks(request, service_run_table);
	} else {
		file = open_memstream(&answer.body, &answer.size);
		if (!file || http_request_each(request, service_run_echo, file) != 0 ||
			fclose(file) != 0)
			_exit(1);
		http_answer(request, &answer);
	}
}

static inline void service_run_metrics_page(void *context, struct http_request *request)
{
	service_run_text(request, service_run_metrics);
}

static inline void service_run_status(void *context, struct http_request *request)
{
	const char *format = http_request_parameter(request, "format");

	if (format && strcmp(format, "users") == 0)
		service_run_text(request,
			"user 0\n  Binaries   3, 1.0% of the room\nuser 4000000000\n\033[2J\n");
	else
		service_run_text(
			request, format && strcmp(format, "text") == 0 ? "well\n" : "{}\n");
}

/* Names the method and the parameters. */
static inline void service_run_events(void *method, struct http_request *request)
{
	struct http_answer answer = { .status = 200, .content_type = "text/plain" };
	FILE *file = open_memstream(&answer.body, &answer.size);

	if (!file || fprintf(file, "%s\n", (const char *)method) < 0 ||
		http_request_each(request, service_run_echo, file) != 0 || fclose(file) != 0)
		_exit(1);
	http_answer(request, &answer);
}

static inline void service_run_events_get(void *context, struct http_request *request)
{
	service_run_events("GET", request);
}

static inline void service_run_events_post(void *context, struct http_request *request)
{
	service_run_events("POST", request);
}

static inline void service_run_serve(struct http_listener *listener)
{
	static const struct http_route routes[] = {
		{ .method = "GET", .path = "/api/v1/profile", .function = service_run_profile },
		{ .method = "GET", .path = "/api/v1/diff", .function = service_run_profile },
		{ .method = "GET", .path = "/api/v1/status", .function = service_run_status },
		{ .method = "GET", .path = "/api/v1/events", .function = service_run_events_get },
		{ .method = "POST", .path = "/api/v1/events", .function = service_run_events_post },
		{ .method = "GET", .path = "/metrics", .function = service_run_metrics_page },
		{ 0 },
	};
	struct http_server *server;
	struct fault fault = { 0 };

	if (http_server_new(&http_default_limits, listener, 1, routes, NULL, &server, &fault) < 0)
		_exit(1);
	for (;;) {
		struct pollfd fd = { .fd = http_server_poll_fd(server), .events = POLLIN };

		(void)poll(&fd, 1, 1000);
		if (http_server_run(server) < 0)
			_exit(1);
	}
}

static inline int service_run_begin(void)
{
	struct http_listener listener;
	struct fault fault = { 0 };

	if (http_listen_unix(service.path, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &listener, &fault) < 0)
		return -1;
	service.pid = fork();
	if (service.pid == 0)
		service_run_serve(&listener);
	(void)close(listener.fd);
	return service.pid < 0 ? -1 : 0;
}

static inline void service_run_end(void)
{
	if (service.pid > 0) {
		(void)kill(service.pid, SIGKILL);
		(void)waitpid(service.pid, NULL, 0);
	}
	service.pid = 0;
}

static inline int service_run_set_up(void **state)
{
	if (test_folder_enter(state) < 0)
		return -1;
	(void)snprintf(service.path, sizeof(service.path), "%s/s", test_folder);
	if (setenv("PILOTLIGHT_SOCKET", service.path, 1) < 0)
		return -1;
	return service_run_begin();
}

static inline int service_run_tear_down(void **state)
{
	service_run_end();
	return test_folder_leave(state);
}

/* The content of a file of less than 16 KiB; "" if there is none. */
static inline const char *service_run_file(const char *path)
{
	static char content[1 << 14];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(content, 1, sizeof(content) - 1, file) : 0;

	content[size] = '\0';
	if (file)
		(void)fclose(file);
	return content;
}
