/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The public files that a process on the network reads: those of names, and of certificates and
 * ciphers. Not the folders of private keys beside the certificates, whatever their modes are.
 */
#pragma once

enum { NETWORK_FILES = 23 };

extern const char *const network_files[NETWORK_FILES];
