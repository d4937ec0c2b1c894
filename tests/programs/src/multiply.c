/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GMP's assembler: multiplication and division of long numbers. */
#include <gmp.h>

int main(void)
{
	mpz_t a, b, c;

	mpz_inits(a, b, c, NULL);
	mpz_ui_pow_ui(a, 7, 4000);
	mpz_ui_pow_ui(b, 11, 3000);
	for (;;) {
		mpz_mul(c, a, b);
		mpz_add_ui(c, c, 1);
		mpz_tdiv_q(c, c, b);
		mpz_gcd(c, c, b);
		mpz_powm_ui(c, a, 3, b);
	}
}
