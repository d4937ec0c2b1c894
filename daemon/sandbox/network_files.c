/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/network_files.h"

const char *const network_files[NETWORK_FILES] = {
	/* names */
	"/etc/resolv.conf",
	"/etc/hosts",
	"/etc/nsswitch.conf",
	"/etc/host.conf",
	"/etc/gai.conf",
	"/etc/services",
	"/etc/protocols",
	/* certificates, and which ciphers the administrator permits */
	"/etc/ssl/certs",
	"/etc/ssl/cert.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/openssl.cnf",
	"/etc/pki/tls/certs",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/openssl.cnf",
	"/etc/pki/ca-trust",
	"/etc/ca-certificates",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki/ca-trust-source",
	"/var/lib/ca-certificates",
	"/etc/gnutls",
	"/etc/crypto-policies",
	"/usr/share/crypto-policies",
};
