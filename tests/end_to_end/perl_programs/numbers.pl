# Functions of C that call a block for each element get an object from it, and call one more subroutine to make a number
# or a condition of it. So the block's group of frames has no call of Perl's loop then.
use strict;
use warnings;
use List::Util 'first';

package Number;
use overload
	'0+' => sub { main::burn($_[0]{unit}); $_[0]{value} },
	'bool' => sub { main::burn($_[0]{unit}); 1 },
	fallback => 1;

package main;

sub spin {
	my $total = 0;
	for my $number (1 .. 300) {
		$total += $number;
	}
	return $total;
}

sub burn {
	my ($count) = @_;
	while ($count-- > 0) {
		spin();
	}
}

my $unit = $ARGV[0];

sub compare {
	return bless { unit => $unit, value => $a <=> $b }, 'Number';
}

sub by_name { my @pair = sort compare 1, 2 }

sub by_block { my @pair = sort { bless { unit => $unit, value => $a <=> $b }, 'Number' } 1, 2 }

sub by_first { my $first = first { bless { unit => $unit }, 'Number' } 1, 2 }

# This block is a function of C, which has a native frame.
my @versions = map { version->new($_ * 7 % 31) } 1 .. 30;
sub by_function { my @sorted = sort version::vcmp @versions }

for (1 .. 40) {
	by_name();
	by_block();
	by_first();
	by_function() for 1 .. $unit / 10;
}
