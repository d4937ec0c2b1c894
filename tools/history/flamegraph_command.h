/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight flamegraph`, `report` and `export`: a profile out of the service's history. They are
 * one command with three defaults of where it goes and in what format.
 */
#pragma once

/* Each returns the program's exit status. */
int flamegraph_main(int argc, char **argv);
int report_main(int argc, char **argv);
int export_main(int argc, char **argv);
