# sprof record --source ebpf: which processes are sampled with the one that was named.
source=ebpf
load ../tree

@test "ebpf: the workers of a pre-forking master are sampled with it" {
	preforked
}

@test "ebpf: --no-children samples the named process alone" {
	without_children
}

@test "ebpf: -p NAME samples all processes of that name" {
	by_name
}
