/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

struct folder {
	char path[64], socket[80];
};

static int make_folder(void **state)
{
	static struct folder folder;

	(void)snprintf(folder.path, sizeof(folder.path), "/tmp/http-listen-XXXXXX");
	if (!mkdtemp(folder.path))
		return -1;
	(void)snprintf(folder.socket, sizeof(folder.socket), "%s/s", folder.path);
	*state = &folder;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *folder = *state;

	(void)unlink(folder->socket);
	return rmdir(folder->path);
}

static void a_socket_is_its_groups_alone(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener;
	struct fault fault = { 0 };
	struct stat status;
	gid_t group = getuid() == 0 ? 12345 : getgid();
	mode_t mask = umask(0077);

	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, group, &listener, &fault),
		0);
	(void)umask(mask);
	assert_false(listener.is_tcp);
	assert_false(http_listener_of(listener.fd).is_tcp);
	assert_int_equal(http_listener_of(listener.fd).fd, listener.fd);
	assert_int_equal(listener.group, group);
	assert_int_equal(listener.owner, geteuid());
	assert_false(listener.is_public);
	assert_int_equal(stat(folder->socket, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	assert_int_equal(status.st_mode & 07777, 0660);
	assert_int_equal(status.st_gid, group);
	(void)close(listener.fd);
}

static void a_socket_can_be_for_all(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener, inherited;
	struct fault fault = { 0 };
	struct stat status;

	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_ALL, (gid_t)-1, &listener, &fault),
		0);
	assert_true(listener.is_public);
	assert_int_equal(stat(folder->socket, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0666);
	/* As systemd passes it. Without its file nobody knows whose it is. */
	inherited = http_listener_of(listener.fd);
	assert_int_equal(inherited.group, status.st_gid);
	assert_true(inherited.is_public);
	assert_int_equal(unlink(folder->socket), 0);
	inherited = http_listener_of(listener.fd);
	assert_int_equal(inherited.group, (gid_t)-1);
	assert_int_equal(inherited.owner, (uid_t)-1);
	assert_false(inherited.is_public);
	(void)close(listener.fd);
}

static void a_dead_socket_makes_room_and_a_live_one_does_not(void **state)
{
	struct folder *folder = *state;
	struct http_listener first, second = { .fd = 77 };
	struct fault fault = { 0 };

	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &first, &fault),
		0);
	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &second, &fault),
		-EADDRINUSE);
	assert_int_equal(second.fd, 77);
	assert_non_null(strstr(fault.text, "is the service running already?"));
	(void)close(first.fd);
	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &second, &fault),
		0);
	(void)close(second.fd);
}

static void only_a_dead_socket_is_removed(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener;
	struct fault fault = { 0 };
	char long_path[300];

	assert_int_equal(http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, (gid_t)-1,
				 &listener, &fault),
		0);
	http_unlisten_unix(folder->socket);
	assert_int_equal(access(folder->socket, F_OK), 0);
	(void)close(listener.fd);
	http_unlisten_unix(folder->socket);
	assert_int_equal(access(folder->socket, F_OK), -1);
	http_unlisten_unix(folder->socket);
	/* A folder is no socket, and stays. */
	http_unlisten_unix(folder->path);
	assert_int_equal(access(folder->path, F_OK), 0);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	http_unlisten_unix(long_path);
}

static void a_file_that_is_not_a_socket_stays(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener;
	struct fault fault = { 0 };
	FILE *file = fopen(folder->socket, "w");
	struct stat status;

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, (gid_t)-1,
				 &listener, &fault),
		-EADDRINUSE);
	assert_non_null(strstr(fault.text, "is not a socket"));
	assert_int_equal(stat(folder->socket, &status), 0);
	assert_true(S_ISREG(status.st_mode));
}

static void invalid_paths_are_reported(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener;
	struct fault none = { 0 }, too_long = { 0 };
	char path[200];

	(void)snprintf(path, sizeof(path), "%s/none/s", folder->path);
	assert_int_equal(
		http_listen_unix(path, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &listener, &none), -ENOENT);
	assert_non_null(strstr(none.text, path));
	memset(path, 'x', 108);
	path[108] = '\0';
	assert_int_equal(
		http_listen_unix(path, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &listener, &too_long),
		-ENAMETOOLONG);
	assert_non_null(strstr(too_long.text, "107 bytes"));
}

static void an_impossible_group_leaves_no_socket(void **state)
{
	struct folder *folder = *state;
	struct http_listener listener;
	struct fault fault = { 0 };

	/* Root may give a socket to any group, so become another user. */
	if (getuid() == 0 && (chown(folder->path, 65534, 65534) < 0 || seteuid(65534) < 0)) {
		print_message("# root may give a socket to any group\n");
		skip();
	}
	assert_int_equal(
		http_listen_unix(folder->socket, HTTP_SOCKET_OF_GROUP, 12345, &listener, &fault),
		-EPERM);
	assert_non_null(strstr(fault.text, "12345"));
	assert_int_equal(access(folder->socket, F_OK), -1);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void tcp_can_choose_a_free_port(void **state)
{
	struct http_listener first, second;
	struct fault fault = { 0 }, bad = { 0 };
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	char text[64];

	assert_int_equal(http_listen_tcp("127.0.0.1:0", &first, &fault), 0);
	assert_true(first.is_tcp);
	assert_true(http_listener_of(first.fd).is_tcp);
	assert_int_equal(getsockname(first.fd, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(address.sin_port));
	assert_int_equal(http_listen_tcp(text, &second, &fault), -EADDRINUSE);
	assert_non_null(strstr(fault.text, text));
	(void)close(first.fd);
	assert_int_equal(http_listen_tcp("localhost", &second, &bad), -EINVAL);
	assert_non_null(strstr(bad.text, "'localhost'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_socket_is_its_groups_alone, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_socket_can_be_for_all, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_dead_socket_makes_room_and_a_live_one_does_not,
			make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			only_a_dead_socket_is_removed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_not_a_socket_stays, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			invalid_paths_are_reported, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			an_impossible_group_leaves_no_socket, make_folder, remove_folder),
		cmocka_unit_test(tcp_can_choose_a_free_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
