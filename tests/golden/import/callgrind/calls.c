/* Two callers of one function, one of which calls it three times as often. */
__attribute__((noinline)) static long leaf(long n)
{
	long sum = 0;

	for (volatile long i = 0; i < n; i++)
		sum += i * n;
	return sum;
}

__attribute__((noinline)) static long often(void)
{
	return leaf(1000) + leaf(1001) + leaf(1002);
}

__attribute__((noinline)) static long seldom(void)
{
	return leaf(1000) + 1;
}

int main(void)
{
	return (int)(often() + seldom()) & 1;
}
