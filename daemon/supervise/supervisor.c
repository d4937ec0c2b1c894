/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/supervisor.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/time_text.h"
#include "capture/capture_session.h"
#include "pilotlight/engine_notice.h"
#include "supervise/service_manager.h"
#include "supervise/supervisor_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>

enum {
	POLL_SIGNALS,
	POLL_END,
	POLL_NOTICES,
	POLL_SERVERS,
	POLL_FDS = POLL_SERVERS + ENGINE_SERVERS
};

/* --- state that outlives an engine --------------------------------------------------------- */

static void supervised_signals(sigset_t *ret_signals)
{
	(void)sigemptyset(ret_signals);
	(void)sigaddset(ret_signals, SIGTERM);
	(void)sigaddset(ret_signals, SIGINT);
	(void)sigaddset(ret_signals, SIGHUP);
}

/* Omits the variables for the main process alone. */
static int copy_environment(char ***ret_environment)
{
	size_t count = 0, kept = 0;
	char **copy;

	while (environ && environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!service_manager_is_own_variable(environ[i]))
			copy[kept++] = environ[i];
	*ret_environment = copy;
	return 0;
}

static void supervisor_done(struct supervisor *supervisor)
{
	engine_process_free(TAKE_PTR(supervisor->engine));
	engine_servers_done(&supervisor->servers);
	if (supervisor->signal_fd >= 0)
		(void)close(supervisor->signal_fd);
	free(supervisor->environment);
}

static int supervisor_init(struct supervisor *supervisor, const struct supervisor_options *options,
	struct fault *fault)
{
	sigset_t signals;
	int r = service_manager_prepare(fault);

	if (r < 0)
		return r;
	supervisor->options = options;
	supervisor->engine_options = (struct engine_process_options){
		.program = options->program,
		.arguments = options->engine_arguments,
		.listen_fds = options->listen_fds,
		.listen_count = options->listen_count,
	};
	engine_watch_init(&supervisor->watch, service_manager_watchdog_ns());
	r = copy_environment(&supervisor->environment);
	if (r == 0)
		r = engine_servers_init(
			&supervisor->servers, &(struct engine_servers_options){ 0 });
	if (r < 0)
		return fault_set(fault, r, "cannot start the service: %s", strerror(-r));
	if (options->read_limits)
		engine_servers_limit(&supervisor->servers, &(struct capture_limits){ 0 });
	supervisor->engine_options.environment = supervisor->environment;
	supervised_signals(&signals);
	supervisor->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return supervisor->signal_fd < 0
		       ? fault_set(fault, -errno, "cannot receive signals: %s", strerror(errno))
		       : 0;
}

/* --- one engine ---------------------------------------------------------------------------- */

static int start_engine(struct supervisor *supervisor)
{
	_cleanup_(engine_process_freep) struct engine_process *engine = NULL;
	int r;

	supervisor_read_limits(supervisor);
	r = engine_process_start(&supervisor->engine_options, &engine);

	if (r == 0)
		r = engine_servers_connect(
			&supervisor->servers, &engine->broker_fd, &engine->capture_fd);
	if (r < 0)
		return r;
	supervisor->engine = TAKE_PTR(engine);
	supervisor->is_ready = supervisor->has_warned = false;
	engine_watch_started(&supervisor->watch, clock_monotonic_ns());
	return 0;
}

static void finish(struct supervisor *supervisor, int result)
{
	supervisor->is_over = true;
	supervisor->result = result;
}

/* `what` is a clause that says how the last engine ended. */
static void plan_next_engine(
	struct supervisor *supervisor, bool is_renewed, uint64_t lived_ns, const char *what)
{
	char pause[TIME_TEXT_BYTES], status[256];
	uint64_t pause_ns =
		engine_watch_ended(&supervisor->watch, is_renewed, lived_ns, clock_monotonic_ns());

	if (pause_ns == 0) {
		log_info("%s; the next one starts at once", what);
		return;
	}
	(void)snprintf(status, sizeof(status), "%s, the next one starts in %s", what,
		time_text_format_duration(pause_ns, pause));
	log_error("%s; samples stay in the kernel's maps until then", status);
	service_manager_status(status);
}

static void start_next_engine(struct supervisor *supervisor)
{
	char what[128];
	int r = start_engine(supervisor);

	if (r == 0)
		return;
	(void)snprintf(what, sizeof(what), "cannot start an engine: %s", strerror(-r));
	plan_next_engine(supervisor, false, 0, what);
}

static void describe_end(const struct engine_process_end *end, char what[128])
{
	const char *name = end->signal ? sigdescr_np(end->signal) : NULL;
	char lived[TIME_TEXT_BYTES];

	(void)time_text_format_duration(end->lived_ns, lived);
	if (end->signal)
		(void)snprintf(what, 128, "the engine ended by signal %d, %s, after %s",
			end->signal, name ? name : "unknown", lived);
	else
		(void)snprintf(what, 128, "the engine ended with status %d after %s",
			end->exit_status, lived);
}

static void plan_after_end(struct supervisor *supervisor, const struct engine_process_end *end)
{
	const int status = end->signal ? -1 : end->exit_status;
	const bool has_failed =
		status == PILOTLIGHT_ENGINE_EXIT_FAILED || status == PILOTLIGHT_ENGINE_EXIT_MISTAKE;
	/* EXIT_DONE without our SIGTERM: someone else signalled the engine. Restart it. */
	const bool is_renewed =
		status == PILOTLIGHT_ENGINE_EXIT_RENEW || status == PILOTLIGHT_ENGINE_EXIT_DONE;
	char what[128];

	describe_end(end, what);
	if (has_failed && !supervisor->was_ever_ready) {
		finish(supervisor,
			status == PILOTLIGHT_ENGINE_EXIT_MISTAKE ? -EBADMSG : -ECANCELED);
	} else if (supervisor->is_stopping) {
		if (status != PILOTLIGHT_ENGINE_EXIT_DONE)
			log_warning("%s while it was stopping; the open window is lost", what);
		finish(supervisor, 0);
	} else {
		/* The failure may be temporary, and an expired watchdog would end the service. */
		if (has_failed)
			service_manager_progress();
		plan_next_engine(supervisor, is_renewed, end->lived_ns, what);
		supervisor_end_reload(supervisor);
	}
}

static void handle_end(struct supervisor *supervisor)
{
	struct engine_process_end end;
	int r = engine_process_reap(supervisor->engine, &end);

	if (r == -EAGAIN)
		return;
	/* The engine's last notices. */
	supervisor_handle_notices(supervisor);
	engine_servers_disconnect(&supervisor->servers);
	engine_process_free(TAKE_PTR(supervisor->engine));
	if (r < 0)
		finish(supervisor, r);
	else
		plan_after_end(supervisor, &end);
}

/* --- signals and timers -------------------------------------------------------------------- */

static void stop(struct supervisor *supervisor)
{
	if (!supervisor->engine) {
		service_manager_stopping();
		finish(supervisor, 0);
	} else if (supervisor->is_stopping) {
		engine_process_signal(supervisor->engine, SIGKILL);
	} else {
		service_manager_stopping();
		engine_process_signal(supervisor->engine, SIGTERM);
		engine_watch_stopping(&supervisor->watch, clock_monotonic_ns());
	}
	supervisor->is_stopping = true;
}

static void handle_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	/* Each signal is pending at most once, which bounds this loop. */
	while (!supervisor->is_over &&
		read(supervisor->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			stop(supervisor);
		else if (!supervisor->is_stopping)
			supervisor_reload(supervisor);
	}
}

static void handle_timers(struct supervisor *supervisor)
{
	char silence[TIME_TEXT_BYTES];

	switch (engine_watch_next_action(&supervisor->watch, clock_monotonic_ns())) {
	case ENGINE_WATCH_NOTHING:
		break;
	case ENGINE_WATCH_START:
		start_next_engine(supervisor);
		break;
	case ENGINE_WATCH_ABORT:
		log_error("the engine made no progress for %s; killing it",
			time_text_format_duration(supervisor->watch.progress_timeout_ns, silence));
		engine_process_signal(supervisor->engine, SIGABRT);
		break;
	case ENGINE_WATCH_KILL:
		engine_process_signal(supervisor->engine, SIGKILL);
		break;
	}
}

/* --- the loop ------------------------------------------------------------------------------ */

static int wait_for_anything(struct supervisor *supervisor, struct pollfd fds[POLL_FDS])
{
	const struct engine_process *engine = supervisor->engine;
	uint64_t now_ns = clock_monotonic_ns(), next_ns = engine_watch_next_ns(&supervisor->watch);
	uint64_t may_read_ns = UINT64_MAX;
	bool may_read = engine && supervisor_may_read_notices(supervisor, now_ns, &may_read_ns);
	struct timespec timeout;

	if (engine && may_read_ns < next_ns)
		next_ns = may_read_ns;
	fds[POLL_SIGNALS] = (struct pollfd){ .fd = supervisor->signal_fd, .events = POLLIN };
	fds[POLL_END] = (struct pollfd){ .fd = engine ? engine->pidfd : -1, .events = POLLIN };
	fds[POLL_NOTICES] =
		(struct pollfd){ .fd = may_read ? engine->notice_fd : -1, .events = POLLIN };
	engine_servers_fill_pollfds(&supervisor->servers, &fds[POLL_SERVERS]);
	next_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	timeout = (struct timespec){
		.tv_sec = (time_t)(next_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(next_ns % NSEC_PER_SEC),
	};
	if (ppoll(fds, POLL_FDS, &timeout, NULL) >= 0)
		return 0;
	/* After a failure nothing is ready, whatever revents says. */
	for (size_t i = 0; i < POLL_FDS; i++)
		fds[i].revents = 0;
	return errno == EINTR ? 0 : -errno;
}

static int run_once(struct supervisor *supervisor)
{
	struct pollfd fds[POLL_FDS];
	uint64_t before_ns;
	int r = wait_for_anything(supervisor, fds);

	if (r < 0)
		return r;
	/* The engine waits for us while we load programs; do not count that against it. */
	before_ns = clock_monotonic_ns();
	engine_servers_handle(&supervisor->servers, &fds[POLL_SERVERS]);
	engine_watch_extend(&supervisor->watch, clock_monotonic_ns() - before_ns);
	if (fds[POLL_NOTICES].revents)
		supervisor_handle_notices(supervisor);
	if (fds[POLL_END].revents)
		handle_end(supervisor);
	if (!supervisor->is_over && fds[POLL_SIGNALS].revents)
		handle_signals(supervisor);
	if (!supervisor->is_over)
		handle_timers(supervisor);
	return 0;
}

static int run(const struct supervisor_options *options, struct fault *fault)
{
	_cleanup_(supervisor_done) struct supervisor supervisor = {
		.signal_fd = -1,
	};
	int r = supervisor_init(&supervisor, options, fault);

	if (r < 0)
		return r;
	r = start_engine(&supervisor);
	if (r < 0)
		return fault_set(fault, r, "cannot start the engine: %s", strerror(-r));
	while (r == 0 && !supervisor.is_over)
		r = run_once(&supervisor);
	if (r < 0)
		return fault_set(fault, r, "the service cannot continue: %s", strerror(-r));
	if (supervisor.result == -ECANCELED)
		return fault_set(fault, supervisor.result,
			"the engine could not start; the messages above say why");
	if (supervisor.result == -EBADMSG)
		return fault_set(fault, supervisor.result,
			"the configuration is wrong; the messages above say where");
	return supervisor.result;
}

int supervisor_run(const struct supervisor_options *options, struct fault *fault)
{
	const struct sigaction children = { .sa_handler = SIG_DFL };
	struct sigaction children_before;
	sigset_t signals, signals_before;
	int r;

	assert(options->listen_count <= ENGINE_LISTEN_MAX);
	supervised_signals(&signals);
	if (sigprocmask(SIG_BLOCK, &signals, &signals_before) < 0 ||
		sigaction(SIGCHLD, &children, &children_before) < 0)
		return fault_set(fault, -errno, "cannot receive signals: %s", strerror(errno));
	r = run(options, fault);
	(void)sigaction(SIGCHLD, &children_before, NULL);
	(void)sigprocmask(SIG_SETMASK, &signals_before, NULL);
	return r;
}
