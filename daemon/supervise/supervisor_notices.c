/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_session.h"
#include "supervise/engine_notice.h"
#include "supervise/service_manager.h"
#include "supervise/supervisor.h"
#include "supervise/supervisor_state.h"

#include <errno.h>
#include <string.h>

/*
 * A healthy engine sends a few notices a second. The limit keeps a compromised engine from loading
 * this process and the service manager.
 */
enum { NOTICES_PER_S_MAX = 64 };

bool supervisor_may_read_notices(
	struct supervisor *supervisor, uint64_t now_ns, uint64_t *ret_next_ns)
{
	if (now_ns - supervisor->notices_since_ns >= NSEC_PER_SEC) {
		supervisor->notices_since_ns = now_ns;
		supervisor->notice_count = 0;
	}
	if (supervisor->notice_count < NOTICES_PER_S_MAX)
		return true;
	*ret_next_ns = supervisor->notices_since_ns + NSEC_PER_SEC;
	return false;
}

static void handle_ready(struct supervisor *supervisor)
{
	supervisor->is_ready = supervisor->was_ever_ready = true;
	engine_watch_progressed(&supervisor->watch, clock_monotonic_ns());
	service_manager_ready();
	/* The engine may have read the configuration before SIGHUP came. */
	if (supervisor->sends_sighup_later)
		engine_process_signal(supervisor->engine, SIGHUP);
	supervisor->sends_sighup_later = false;
}

static void handle_notice(struct supervisor *supervisor, const struct pilotlight_notice *notice)
{
	switch (notice->kind) {
	case PILOTLIGHT_NOTICE_READY:
		handle_ready(supervisor);
		break;
	case PILOTLIGHT_NOTICE_RELOADING:
		supervisor->awaits_reloading = false;
		service_manager_reloading();
		break;
	case PILOTLIGHT_NOTICE_STATUS:
		service_manager_status(notice->text);
		break;
	case PILOTLIGHT_NOTICE_PROGRESS:
		engine_watch_progressed(&supervisor->watch, clock_monotonic_ns());
		service_manager_progress();
		break;
	}
}

void supervisor_handle_notices(struct supervisor *supervisor)
{
	struct pilotlight_notice notice;
	uint64_t next_ns;
	int r;

	while (supervisor->engine->notice_fd >= 0 &&
		supervisor_may_read_notices(supervisor, clock_monotonic_ns(), &next_ns)) {
		r = engine_notice_receive(supervisor->engine->notice_fd, &notice);
		if (r == -EAGAIN)
			return;
		supervisor->notice_count++;
		if (r == 0) {
			handle_notice(supervisor, &notice);
			continue;
		}
		if (r == -EBADMSG) {
			if (!supervisor->has_warned)
				log_warning("the engine sent an invalid notice; ignoring it and "
					    "further invalid ones");
			supervisor->has_warned = true;
			continue;
		}
		if (r != -EPIPE)
			log_error("cannot receive the engine's notices: %s; ignoring it until it "
				  "restarts",
				strerror(-r));
		(void)close(TAKE_FD(supervisor->engine->notice_fd));
	}
}

void supervisor_read_limits(struct supervisor *supervisor)
{
	const struct supervisor_options *options = supervisor->options;
	struct capture_limits limits;
	int config_fd;

	/* The engine logs what is wrong with the configuration. */
	if (!options->read_limits ||
		options->read_limits(options->limits_context, &limits, &config_fd) < 0)
		return;
	engine_servers_limit(&supervisor->servers, &limits);
	engine_servers_configure(&supervisor->servers, config_fd);
}

/* The engine must not see a configuration that the limits do not know yet. */
void supervisor_reload(struct supervisor *supervisor)
{
	supervisor_read_limits(supervisor);
	supervisor->awaits_reloading = true;
	/* Before the engine is ready, SIGHUP might end it. */
	supervisor->sends_sighup_later = !supervisor->engine || !supervisor->is_ready;
	if (!supervisor->sends_sighup_later)
		engine_process_signal(supervisor->engine, SIGHUP);
}

void supervisor_end_reload(struct supervisor *supervisor)
{
	supervisor->sends_sighup_later = false;
	if (supervisor->awaits_reloading)
		service_manager_reloading();
	supervisor->awaits_reloading = false;
}
