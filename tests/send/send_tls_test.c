/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a batch to `openssl s_server`, with certificates that are right and wrong. A receiver that
 * cannot prove who it is gets no byte of a batch.
 */
#include "send/send_job.h"

#include "base/array.h"
#include "base/clock.h"
#include "tests/config/config_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCH  "this is the batch"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

enum { GUARD_MS = 60000, OUTPUT_BYTES = 16384 };

static struct config_folder folder; /* of the sender's configuration, with all certificates */
static int batch_fd;

/* An authority, another one, and what they vouch for. */
static const char make_certificates[] =
	"set -e; new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
	"for name in ca other; do\n"
	"  openssl req -x509 $new -subj /CN=$name -days 2 -keyout $name.key -out $name.pem\n"
	"done\n"
	"sign() {\n" /* NAME AUTHORITY DAYS ALTERNATIVE_NAME */
	"  openssl req $new -subj /CN=$1 -keyout $1.key -out $1.csr\n"
	"  echo subjectAltName=$4 >$1.names\n"
	"  openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days $3 \\\n"
	"    -out $1.pem -extfile $1.names\n"
	"}\n"
	"sign right ca 2 IP:127.0.0.1; sign expired ca -1 IP:127.0.0.1\n"
	"sign elsewhere ca 2 DNS:receiver.example; sign stranger other 2 IP:127.0.0.1\n"
	"sign client ca 2 DNS:client; chmod 644 *\n";

/* --- the receiver --- */

struct server {
	pid_t pid;
	int in_fd, out_fd; /* its standard input, and output */
	int port;
	char output[OUTPUT_BYTES]; /* of what it has decrypted, too */
	size_t size;
};

static void start_server(struct server *server, const char *certificate, const char *options)
{
	char command[512];
	int in[2], out[2];

	(void)snprintf(command, sizeof(command),
		"cd %s && exec openssl s_server -accept 127.0.0.1:0 -cert %s.pem -key %s.key %s",
		folder.path, certificate, certificate, options);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	*server = (struct server){ .in_fd = in[1], .out_fd = out[0] };
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)dup2(out[1], STDERR_FILENO);
		(void)execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(9);
	}
	(void)close(in[0]);
	(void)close(out[1]);
}

/* Returns false at the end of its output. */
static bool read_output(struct server *server)
{
	struct pollfd fd = { server->out_fd, POLLIN, 0 };
	ssize_t n;

	assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	n = read(server->out_fd, server->output + server->size, OUTPUT_BYTES - 1 - server->size);
	if (n <= 0)
		return false;
	server->size += (size_t)n;
	server->output[server->size] = '\0';
	return true;
}

static void await_port(struct server *server)
{
	const char *at;

	while (!(at = strstr(server->output, "ACCEPT 127.0.0.1:")) || !strchr(at, '\n'))
		if (!read_output(server))
			fail_msg("openssl s_server: %s", server->output);
	server->port = atoi(strchr(at, ':') + 1);
}

static void stop_server(struct server *server)
{
	(void)kill(server->pid, SIGKILL);
	(void)waitpid(server->pid, NULL, 0);
	(void)close(server->in_fd);
	(void)close(server->out_fd);
}

/* --- the sender --- */

static struct send_outcome send_to(struct server *server)
{
	const struct send_job_options options = {
		.sink = "test",
		.type = "otlp",
		.timeout_ns = 20ULL * NSEC_PER_SEC,
		.fd = batch_fd,
		.bytes = strlen(BATCH),
	};
	_cleanup_(send_job_freep) struct send_job *job = NULL;
	struct send_outcome outcome;
	bool has_answered = false, has_output = true;

	assert_int_equal(send_job_start(&options, &job), 0);
	for (;;) {
		struct pollfd fds[] = { { send_job_poll_fd(job), POLLIN, 0 },
			{ has_output ? server->out_fd : -1, POLLIN, 0 } };

		assert_true(poll(fds, 2, GUARD_MS) > 0);
		if (fds[1].revents)
			has_output = read_output(server);
		if (!has_answered && strstr(server->output, BATCH)) {
			has_answered = true;
			assert_int_equal(
				write(server->in_fd, ANSWER, strlen(ANSWER)), strlen(ANSWER));
		}
		if (fds[0].revents && send_job_take(job, &outcome) == 0)
			return outcome;
	}
}

static void what_is_wrong_with_tls_gets_no_batch(void **state)
{
	static const char with_client[] = "-Verify 1 -verify_return_error -CAfile ca.pem";
	static const struct {
		const char *name, *certificate, *options; /* of the server */
		const char *authority, *client, *key;	  /* of the sink */
		const char *text;			  /* NULL: the batch is taken */
	} cases[] = {
		{ "right", "right", "", "ca", NULL, NULL, NULL },
		{ "a client certificate", "right", with_client, "ca", "client", "client", NULL },
		{ "another authority", "stranger", "", "ca", NULL, NULL, "certificate" },
		{ "an authority that is not trusted", "right", "", "other", NULL, NULL,
			"certificate" },
		{ "another host", "elsewhere", "", "ca", NULL, NULL, "127.0.0.1" },
		{ "expired", "expired", "", "ca", NULL, NULL, "certificate" },
		{ "no client certificate", "right", with_client, "ca", NULL, NULL, "" },
		{ "a stranger's", "right", with_client, "ca", "stranger", "stranger", "" },
		{ "a key of another", "right", with_client, "ca", "client", "stranger", "key" },
		{ "an old version", "right", "-tls1_1 -cipher ALL:@SECLEVEL=0", "ca", NULL, NULL,
			"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static struct server one, *const server = &one;
		char text[1024], client[256] = "";
		struct send_outcome outcome;

		start_server(server, cases[i].certificate, cases[i].options);
		await_port(server);
		if (cases[i].client)
			(void)snprintf(client, sizeof(client),
				"CertificateFile=%s/%s.pem\nKeyFile=%s/%s.key\n", folder.path,
				cases[i].client, folder.path, cases[i].key);
		(void)snprintf(text, sizeof(text),
			"[sink test]\nType=otlp\nUrl=https://127.0.0.1:%d\nCaFile=%s/%s.pem\n%s",
			server->port, folder.path, cases[i].authority, client);
		config_folder_write(&folder, "x.conf", text);
		outcome = send_to(server);
		if (outcome.verdict != (cases[i].text ? SEND_TRY_AGAIN : SEND_TAKEN) ||
			!outcome.text[0] || (cases[i].text && !strstr(outcome.text, cases[i].text)))
			fail_msg(
				"%s: verdict %d, %s", cases[i].name, outcome.verdict, outcome.text);
		assert_int_equal(strstr(server->output, BATCH) != NULL, !cases[i].text);
		stop_server(server);
	}
}

static int set_up(void **state)
{
	char command[sizeof(make_certificates) + 128];

	batch_fd = memfd_create("batch", MFD_CLOEXEC);
	config_folder_make(&folder);
	(void)snprintf(command, sizeof(command), "cd %s && exec >log 2>&1\n%s", folder.path,
		make_certificates);
	/* The sender of root is another user. */
	if (batch_fd < 0 || write(batch_fd, BATCH, strlen(BATCH)) != (ssize_t)strlen(BATCH) ||
		chmod(folder.path, 0755) < 0 || setenv("PILOTLIGHT_CONFIG", folder.file, true) < 0)
		return -1;
	return system(command) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	config_folder_remove(&folder);
	return close(batch_fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_with_tls_gets_no_batch),
	};

	if (argc > 1 && strcmp(argv[1], "sink-send") == 0)
		return send_main(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
