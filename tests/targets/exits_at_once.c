// Exits with status 7 before a profiler can see any of it. True profile: empty, or a few samples of
// the dynamic linker.
int main(void)
{
	return 7;
}
