// A function so short that half of its caller's time is in the PLT stub.
unsigned plt_tiny(unsigned x)
{
	return x + 1;
}
