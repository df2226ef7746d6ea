# sprof record --source timer: which processes are sampled with the one that was named.
source=timer
load ../tree

@test "timer: the workers of a pre-forking master are sampled with it" {
	preforked
}

@test "timer: --no-children samples the named process alone" {
	without_children
}

@test "timer: -p NAME samples all processes of that name" {
	by_name
}
