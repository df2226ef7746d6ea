// Ends before anything can be seen of it, with status 7. True profile: empty, or a few samples of
// the dynamic linker.
int main(void)
{
	return 7;
}
