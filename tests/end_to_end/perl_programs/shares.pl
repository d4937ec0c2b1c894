# Splits its CPU time 6 : 3 : 1 between three subroutines, whose callees are the same. One of them is called through a
# function of C, one in a destructor, where an eval calls Perl's loop once more. Its chains of calls are known.
use strict;
use warnings;
use List::Util 'first';

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

sub heavy {
	my ($unit) = @_;
	burn(6 * $unit);
}

sub light {
	my ($unit) = @_;
	my @pair = sort { burn($unit); first(sub { burn(2 * $unit); 1 }, 1); 0 } 1, 2;
}

package Shape;

sub new {
	my ($class, $unit) = @_;
	return bless { unit => $unit }, $class;
}

sub DESTROY {
	my ($self) = @_;
	eval { main::burn($self->{unit}) };
}

package main;

# In turns, so that samples that are lost at the start do not change the shares.
sub turns {
	my ($unit) = @_;
	for (1 .. 20) {
		heavy($unit);
		light($unit);
		Shape->new($unit);
	}
}

turns($ARGV[0]);
