# Runs for so many seconds, mostly in some 20 subroutines that call each other, every sixth through a function of C. The
# second argument says how many.
use strict;
use warnings;
use List::Util 'first';
use Time::HiRes 'time';

no warnings 'recursion';

sub leaf {
	my $number = 0;
	$number += 1 while $number < 2000;
	return $number;
}

sub deeper {
	my ($depth) = @_;
	return leaf() if $depth == 0;
	return first { deeper($depth - 1) } 1 if $depth % 6 == 0;
	return deeper($depth - 1);
}

my $stop = time + $ARGV[0];
deeper($ARGV[1] // 16) while time < $stop;
