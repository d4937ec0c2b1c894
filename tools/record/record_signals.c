/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int record_signals_init(struct record_signals *signals, struct fault *fault)
{
	struct sigaction hangup = { 0 };

	(void)sigemptyset(&signals->stops);
	(void)sigaddset(&signals->stops, SIGINT);
	(void)sigaddset(&signals->stops, SIGTERM);
	/* nohup(1) wants it ignored, and a signalfd does not. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(&signals->stops, SIGHUP);
	signals->fd = signalfd(-1, &signals->stops, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return fault_set(fault, -errno, "cannot receive signals: %s", strerror(errno));
	(void)sigprocmask(SIG_BLOCK, &signals->stops, &signals->original);
	return 0;
}

bool record_signals_take(struct record_signals *signals)
{
	struct signalfd_siginfo info;
	bool has_come = false;

	/* One of a kind at most is pending, and each is another kind. */
	for (int i = 0; i < _NSIG && read(signals->fd, &info, sizeof(info)) == sizeof(info); i++)
		has_come = true;
	return has_come;
}

void record_signals_release(struct record_signals *signals)
{
	(void)sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

void record_signals_hold(struct record_signals *signals)
{
	(void)sigprocmask(SIG_BLOCK, &signals->stops, NULL);
}

void record_signals_done(struct record_signals *signals)
{
	if (signals->fd < 0)
		return;
	(void)close(signals->fd);
	signals->fd = -1;
	record_signals_release(signals);
}
