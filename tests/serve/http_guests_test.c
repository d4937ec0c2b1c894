/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What local users may see who are not root, nor in the socket's group; and what they may take. */
#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

#include <grp.h>
#include <signal.h>
#include <sys/stat.h>

enum { GROUP = 4711, OWNER = 1500, OTHER_GROUP = 4712, MANY_GROUPS = 300 };

static int need_root(void)
{
	if (geteuid() == 0)
		return 0;
	print_message("skipped: only root can connect as other users\n");
	skip();
	return -1;
}

/* Makes a pair of sockets as a user: the kernel records whose it is. */
static void connect_as(uid_t user, gid_t group, const gid_t *groups, size_t group_count, int fds[2])
{
	assert_int_equal(setgroups(group_count, groups), 0);
	assert_int_equal(setegid(group), 0);
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	assert_int_equal(setgroups(0, NULL), 0);
}

/* --- who is one ------------------------------------------------------------------------------- */

static enum http_peer_access access_as(const struct http_server *server, uid_t user, gid_t group,
	const gid_t *groups, size_t group_count)
{
	struct http_peer peer;
	int fds[2];

	connect_as(user, group, groups, group_count, fds);
	http_peer_find(server, fds[0], &peer);
	assert_true(peer.is_local);
	assert_int_equal(peer.uid, user);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return peer.access;
}

static void the_group_of_the_socket_sees_everything(void **state)
{
	struct http_listener listeners[] = {
		{ .is_tcp = true, .owner = OWNER, .group = OTHER_GROUP },
		{ .owner = OWNER, .group = GROUP }
	};
	struct http_server server = { .listeners = listeners, .listener_count = 2 };
	gid_t groups[MANY_GROUPS];

	(void)need_root();
	for (size_t i = 0; i < MANY_GROUPS; i++)
		groups[i] = 5000 + (gid_t)i;
	for (int allows_self = 0; allows_self < 2; allows_self++) {
		enum http_peer_access other = allows_self ? HTTP_PEER_SELF : HTTP_PEER_STRANGER;

		server.access.allows_self = allows_self;
		groups[MANY_GROUPS - 1] = GROUP;
		assert_int_equal(access_as(&server, 0, 0, NULL, 0), HTTP_PEER_ALL);
		assert_int_equal(access_as(&server, 1000, GROUP, NULL, 0), HTTP_PEER_ALL);
		assert_int_equal(
			access_as(&server, 1000, 1000, groups, MANY_GROUPS), HTTP_PEER_ALL);
		assert_int_equal(access_as(&server, OWNER, 1000, NULL, 0), HTTP_PEER_ALL);
		/* The group of a TCP listener is none. */
		groups[MANY_GROUPS - 1] = OTHER_GROUP;
		assert_int_equal(access_as(&server, 1000, 1000, groups, MANY_GROUPS), other);
		assert_int_equal(access_as(&server, 1000, 1000, groups, 1), other);
		assert_int_equal(access_as(&server, 1000, 1000, NULL, 0), other);
		assert_int_equal(access_as(&server, 1000, 0, NULL, 0), other);
	}
	/* Of a socket without a file nobody knows the group. */
	listeners[1].owner = (uid_t)-1;
	listeners[1].group = (gid_t)-1;
	assert_int_equal(access_as(&server, 1000, GROUP, NULL, 0), HTTP_PEER_SELF);
	assert_int_equal(access_as(&server, 0, 0, NULL, 0), HTTP_PEER_ALL);
}

static void peers_that_cannot_be_told_see_nothing(void **state)
{
	struct http_listener listener = { .owner = OWNER, .group = GROUP };
	const struct http_server server = {
		.listeners = &listener, .listener_count = 1, .access.allows_self = true
	};
	const gid_t groups[] = { 1, GROUP };
	struct http_peer peer;
	int fds[2];

	(void)need_root();
	/* Without memory for the groups the user is a member of none. */
	connect_as(1000, 1000, groups, 2, fds);
	fail_allocation(0);
	http_peer_find(&server, fds[0], &peer);
	assert_true(allocation_failed());
	assert_int_equal(peer.access, HTTP_PEER_SELF);
	http_peer_find(&server, fds[0], &peer);
	assert_int_equal(peer.access, HTTP_PEER_ALL);
	(void)close(fds[0]);
	(void)close(fds[1]);
	/* The client has left. */
	http_peer_find(&server, -1, &peer);
	assert_int_equal(peer.access, HTTP_PEER_STRANGER);
}

/* --- what they get ---------------------------------------------------------------------------- */

static struct http_server *start(
	struct http_seen *seen, const struct http_limits *limits, bool allows)
{
	const struct http_access access = { .allows_self = allows };
	struct http_server *server;

	(void)need_root();
	server = http_start(seen, limits);
	http_server_set_access(server, &access);
	return server;
}

static int connect_guest(struct http_server *server, uid_t user)
{
	int fds[2];

	connect_as(user, user, NULL, 0, fds);
	http_connection_add(server, fds[0]);
	assert_int_equal(http_server_run(server), 0);
	return fds[1];
}

static void expect_of_guest(
	struct http_server *server, const char *request, const char *status, const char *text)
{
	int fd = connect_guest(server, 1000);
	char line[512];

	(void)snprintf(line, sizeof(line), "%s HTTP/1.1\r\n" CLOSE, request);
	http_ask(server, fd, line);
	EXPECT_REPLY(server, fd, status, text);
}

static void guests_get_what_is_for_them(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = start(seen, NULL, true);

	expect_of_guest(server, "GET /hello", "HTTP/1.1 200 ", "hello");
	assert_int_equal(seen->peer.access, HTTP_PEER_SELF);
	assert_int_equal(seen->peer.uid, 1000);
	expect_of_guest(server, "PUT /hello", "HTTP/1.1 405 ", "Use GET");
	expect_of_guest(server, "GET /parameters", "HTTP/1.1 403 ", "usermod -aG");
	expect_of_guest(server, "PUT /put", "HTTP/1.1 403 ", "'/put' is for root and the group");
	expect_of_guest(server, "GET /put", "HTTP/1.1 403 ", "is for root");
	expect_of_guest(server, "GET /none", "HTTP/1.1 403 ", "is for root");
	expect_of_guest(server, "GET /hello/", "HTTP/1.1 403 ", "is for root");
	expect_of_guest(server, "GET //hello", "HTTP/1.1 403 ", "is for root");
	assert_int_equal(seen->late_count, 0);
}

static void strangers_get_nothing(void **state)
{
	struct http_server *server = start(*state, NULL, false);

	expect_of_guest(server, "GET /hello", "HTTP/1.1 403 ", "SelfAccess=yes");
	expect_of_guest(server, "GET /none", "HTTP/1.1 403 ", "SelfAccess=yes");
	expect_of_guest(server, "GET /%", "HTTP/1.1 403 ", "SelfAccess=yes");
	EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
}

/* --- what they take --------------------------------------------------------------------------- */

/* Many guests take all connections that they get: half are left for others. */
static void guests_have_half_of_the_connections(void **state)
{
	static const struct http_limits limits = { 16, 8, 16 << 10, 1 << 20, 10, 60 };
	struct http_server *server = start(*state, &limits, true);
	int fds[8 + REFUSALS_MAX], own[6], fd;

	for (size_t i = 0; i < 4; i++)
		fds[i] = connect_guest(server, 1000);
	/* One of them has three. */
	http_ask(server, fds[3], "GET /hello HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fds[3], "HTTP/1.1 429 ", "one user may have 3");
	for (size_t i = 3; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_guest(server, 2000 + (uid_t)i);
	assert_int_equal(http_counters_of(server).open, 8 + REFUSALS_MAX);
	fd = connect_guest(server, 3000);
	http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fd, "HTTP/1.1 503 ");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		own[i] = http_connect(server);
		http_ask(server, own[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		free(http_receive(server, own[i], "hello"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)close(own[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
}

/* Guests who read nothing hold half of the memory, and each of them an eighth. */
static void guests_have_half_of_the_unread_bytes(void **state)
{
	enum { GUESTS = 4 };
	static const struct http_limits limits = { 64, 32, 16 << 10, 8 << 20, 10, 60 };
	struct http_seen *seen = *state;
	struct http_server *server = start(seen, &limits, true);
	int fds[GUESTS], fd;

	seen->big_bytes = (1 << 20) - 1;
	for (size_t i = 0; i < GUESTS; i++) {
		fds[i] = connect_guest(server, 1000 + (uid_t)i);
		http_ask(server, fds[i], "GET /guests-big HTTP/1.1\r\n" HOST "\r\n");
		free(http_receive(server, fds[i], "\r\n\r\n"));
	}
	/* A second one of the same user; then one of a fifth user. */
	seen->big_bytes = 1 << 20;
	fd = connect_guest(server, 1000);
	http_ask(server, fd, "GET /guests-big HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fd, "HTTP/1.1 429 ", "limit for one user: 1048576");
	fd = connect_guest(server, 1000 + GUESTS);
	http_ask(server, fd, "GET /guests-big HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fd, "HTTP/1.1 503 ");
	seen->big_bytes = 3 << 20;
	http_check_big(seen, "GET /big HTTP/1.1\r\n" CLOSE);
	for (size_t i = 0; i < GUESTS; i++)
		(void)close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_of_the_socket_sees_everything),
		cmocka_unit_test(peers_that_cannot_be_told_see_nothing),
		WITH_SERVER(guests_get_what_is_for_them),
		WITH_SERVER(strangers_get_nothing),
		WITH_SERVER(guests_have_half_of_the_connections),
		WITH_SERVER(guests_have_half_of_the_unread_bytes),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
