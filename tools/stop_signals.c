/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/stop_signals.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A second signal within this time is the same request. */
enum { SAME_SIGNAL_MS = 100 };

int stop_signals_init(struct stop_signals *signals, struct fault *fault)
{
	struct sigaction hangup = { 0 };

	(void)sigemptyset(&signals->stops);
	(void)sigaddset(&signals->stops, SIGINT);
	(void)sigaddset(&signals->stops, SIGTERM);
	/* nohup(1) ignores it; a signalfd would report it all the same. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(&signals->stops, SIGHUP);
	signals->fd = signalfd(-1, &signals->stops, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return fault_set(fault, -errno, "cannot receive signals: %s", strerror(errno));
	(void)sigprocmask(SIG_BLOCK, &signals->stops, &signals->original);
	return 0;
}

static bool take_pending(struct stop_signals *signals)
{
	struct signalfd_siginfo info;
	bool has_come = false;

	/* At most one signal of each number is pending. */
	for (int i = 0; i < _NSIG && read(signals->fd, &info, sizeof(info)) == sizeof(info); i++)
		has_come = true;
	return has_come;
}

bool stop_signals_take(struct stop_signals *signals)
{
	struct pollfd fd = { .fd = signals->fd, .events = POLLIN };

	if (!take_pending(signals))
		return false;
	/* timeout(1) signals its child, and then the process group to which the child belongs. */
	if (poll(&fd, 1, SAME_SIGNAL_MS) > 0)
		(void)take_pending(signals);
	return true;
}

void stop_signals_release(struct stop_signals *signals)
{
	(void)sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

void stop_signals_hold(struct stop_signals *signals)
{
	(void)sigprocmask(SIG_BLOCK, &signals->stops, NULL);
}

void stop_signals_done(struct stop_signals *signals)
{
	if (signals->fd < 0)
		return;
	(void)close(signals->fd);
	signals->fd = -1;
	stop_signals_release(signals);
}
