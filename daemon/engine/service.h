/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of the service: a pipeline whose windows go to the history, and an HTTP API that
 * queries both. It runs without privileges in a process that the supervisor starts
 * (supervise/supervisor.h).
 */
#pragma once

/*
 * The main function of that process: "engine [--config FILE] [--listen COUNT] [--verbose]", with
 * the descriptors of supervise/supervisor.h, COUNT of them sockets to listen on. Returns one of
 * PILOTLIGHT_ENGINE_EXIT_*.
 */
int service_engine_main(int argc, char **argv);
