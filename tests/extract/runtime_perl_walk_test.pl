# A program whose frames are known. It tells the frames that it sees itself, innermost first, as "frame LINE NAME FILE"
# each, and then runs until it is killed. Blanks in a name are tildes.
use utf8;
package Röhre;
use strict;
use warnings;
use File::Temp;
use List::Util 'first';
binmode STDOUT, ':utf8';

sub name_of_file {
	my ($file) = @_;
	return '(eval)' if $file =~ /^\(eval /;
	$file =~ s|.*/||;
	return "{main:$file}" =~ tr/ /~/r;
}

# An entry says where its subroutine was called, which is a place in the next one. Evals of blocks are no frames.
sub report {
	my ($lines, $file, $line, $depth) = ('', '-', 0, 0);
	while (my @entry = caller($depth++)) {
		my ($name, $text) = @entry[3, 6];
		if ($name eq '(eval)') {
			next if !defined $text;
			$name = name_of_file($file);
		}
		$lines .= "frame $line $name " . ($file =~ /^\(eval / ? '(eval)' : $file) . "\n";
		($file, $line) = @entry[1, 2];
	}
	# In one write: the reader of its beginning stops this process.
	print "${lines}frame $line " . name_of_file($file) . " $file\nend\n";
	STDOUT->flush;
	while (1) {
	}
}

sub größe {
	my ($depth, $next) = @_;
	return größe($depth - 1, $next) if $depth;
	$next->();
}

sub in_eval {
	my ($next) = @_;
	eval {
		1;
		$next->();
	};
}

sub in_text {
	my ($next) = @_;
	eval "sub of_text { \$_[0]->() }
		of_text(\$next); 1" or die;
}

sub in_begin {
	our ($next) = @_;
	eval "BEGIN { our \$next; \$next->() } 1" or die;
}

sub in_file {
	our ($next) = @_;
	my $file = File::Temp->new(SUFFIX => '.pl');
	binmode $file, ':utf8';
	print $file "use utf8;\n\nunlink '$file';\n\$Röhre::next->();\n1;\n";
	$file->flush;
	$Röhre::next = $next;
	require "$file";
}

sub in_sort {
	my ($next) = @_;
	my @sorted = sort { $next->(); 0 } 1, 2;
}

sub in_sorting_subroutine {
	our ($next) = @_;
	sub compare { our $next; $next->(); 0 }
	my @sorted = sort compare 1, 2;
}

sub in_library {
	my ($next) = @_;
	first { $next->(); 1 } 1;
}

sub in_pattern {
	my ($next) = @_;
	'a' =~ /a(?{ $next->() })/;
}

sub in_replacement {
	my ($next) = @_;
	'a' =~ s/a/$next->()/er;
}

sub in_loops {
	my ($next) = @_;
	my $again = 1;
	for my $number (1) {
		while ($again--) {
			map {
				$next->()
			} $number;
		}
	}
}

sub in_tied {
	my ($next) = @_;
	tie my $value, 'Röhre::Tied', $next;
	return "$value";
}

sub in_operator {
	my ($next) = @_;
	return bless([$next], 'Röhre::Operator') + 1;
}

sub in_destructor {
	my ($next) = @_;
	bless [$next], 'Röhre::Destroyed';
	return;
}

sub in_signal {
	my ($next) = @_;
	local $SIG{USR1} = sub { $next->() };
	kill USR1 => $$;
	return;
}

sub in_warning {
	my ($next) = @_;
	local $SIG{__WARN__} = sub { $next->() };
	warn 'x';
}

sub in_goto {
	my ($next) = @_;
	sub { goto &$next }->();
}

sub in_method { Röhre::Absent->absent(@_) }

sub in_own {
	my ($next) = @_;
	use feature 'lexical_subs';
	no warnings;
	my sub own { $_[0]->() }
	own($next);
}

sub long_name_of_more_characters_than_are_copied_of_any_name_which_is_why_only_its_beginning_is_shown_with_a_mark_behind_it_as_ever {
	my ($next) = @_;
	$next->();
}

package Röhre::Tied;
sub TIESCALAR { bless [$_[1]] }
sub FETCH { $_[0][0]->() }

package Röhre::Operator;
use overload '+' => sub { $_[0][0]->() }, fallback => 1;

package Röhre::Destroyed;
sub DESTROY {
	my ($self) = @_;
	eval {
		$self->[0]->();
	};
}

package Röhre::Absent;
our $AUTOLOAD;
sub AUTOLOAD {
	$_[1]->() if $AUTOLOAD =~ /absent/;
}

package Röhre;
my $next = \&report;
my %all = %Röhre::;
for my $name (sort grep { /^(in|long)_/ } keys %all) {
	my $inner = $next;
	$next = sub { (\&{$all{$name}})->($inner) };
}
größe(20, $next);
