/*
 * SHA-256 and base64 against the published test vectors.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/codec/base64.h"
#include "output/codec/sha256.h"

static void check_hash(const void *data, size_t size, const char *expected)
{
	unsigned char hash[SHA256_SIZE];
	struct buffer hex = { 0 };

	sha256(data, size, hash);
	for (int i = 0; i < SHA256_SIZE; i++)
		buffer_printf(&hex, "%02x", hash[i]);
	assert_string_equal(buffer_cstring(&hex), expected);
	buffer_fini(&hex);
}

/* FIPS 180-2, appendix B, and NIST's short messages. */
static void hashes_are_those_of_the_standard(void **state)
{
	char *million = xcalloc(1, 1000000);

	(void)state;
	check_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', 1000000);
	check_hash(million, 1000000,
		   "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

/* RFC 4648, section 10. */
static void base64_is_that_of_the_standard(void **state)
{
	static const char *const expected[] = { "",	    "Zg==",	"Zm8=",	   "Zm9v",
						"Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };

	(void)state;
	for (size_t n = 0; n <= 6; n++) {
		struct buffer b = { 0 };

		base64_add(&b, "foobar", n);
		assert_string_equal(buffer_cstring(&b), expected[n]);
		buffer_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_standard),
		cmocka_unit_test(base64_is_that_of_the_standard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
