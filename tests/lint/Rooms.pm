# Reads tests/lint/rooms, the floor plan: a line per room, its five columns separated by '|'.
package Rooms;
use strict;
use warnings;

# The rooms in their order: { path, program, may (a hash of paths), doors (a hash of header names),
# sentence, line }. Errors in the list itself go to the callback as (file, line, message).
sub read_list
{
	my ($complain) = @_;
	my (@rooms, %seen);
	my $list = 'tests/lint/rooms';
	open(my $file, '<', $list) or die "cannot read '$list': $!\n";
	while (my $text = <$file>) {
		next if $text =~ /^\s*(#|$)/;
		chomp $text;
		my ($path, $program, $may, $doors, $sentence) = split /\s*\|\s*/, $text, 5;
		my %may;
		for my $name (split ' ', $may) {
			# A top-level folder stands for all of its rooms that are listed so far.
			my @named = grep { $_->{path} eq $name || index("$_->{path}/", "$name/") == 0 } @rooms;
			$complain->($list, $., "'$path' may include '$name', which is no room above it") unless @named;
			$may{ $_->{path} } = 1 for @named;
		}
		$complain->($list, $., "'$path' is listed twice") if $seen{$path}++;
		$complain->($list, $., "'$path' has no sentence") unless ($sentence // '') =~ /\.$/;
		push @rooms, { path => $path, program => $program, may => \%may, sentence => $sentence, line => $.,
			doors => { map { $_ => 1 } split ' ', $doors } };
	}
	return @rooms;
}

# Files of a room, without those of the rooms inside it.
sub files_of
{
	my ($room) = @_;
	return grep { -f } sort glob("$room->{path}/*");
}

1;
