// One part of a large C++ program with many inlined functions: tests/bench/picture builds it PARTS
// times, each with another PART, so that every template is compiled anew. The work is spread over
// all parts.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{
// A string type of its own in every part and for every Kind, so that no template instance is
// shared.
template <int Kind> struct Word : std::string {
	using std::string::string;

	bool operator<(const Word &other) const
	{
		return std::lexicographical_compare(rbegin(), rend(), other.rbegin(), other.rend());
	}
};

template <int Kind> struct Hash {
	size_t operator()(const Word<Kind> &word) const
	{
		return std::accumulate(word.begin(), word.end(), size_t(Kind),
				       [](size_t sum, char c) { return sum * 31 + size_t(c); });
	}
};

template <int Kind> struct Traits : std::regex_traits<char> {
};

template <int Kind> size_t count_words(unsigned seed)
{
	std::unordered_map<Word<Kind>, std::vector<unsigned>, Hash<Kind>> places;
	std::map<Word<Kind>, size_t> sorted;

	for (unsigned i = 0; i < 200; i++) {
		Word<Kind> word;

		for (unsigned x = seed + i * 7; x; x /= 26)
			word.push_back(char('a' + x % 26));
		places[word].push_back(i);
	}
	for (auto &[word, where] : places) {
		std::sort(where.begin(), where.end(), std::greater<unsigned>());
		sorted.emplace(word, where.size());
	}
	return std::accumulate(
		sorted.begin(), sorted.end(), size_t(0),
		[](size_t sum, const auto &pair) { return sum + pair.second * pair.first.size(); });
}

template <int Kind> size_t match(unsigned seed)
{
	static const std::basic_regex<char, Traits<Kind>> pattern("([a-z]+)([0-9]{2,4})(x|yz)*");
	std::string text = "word" + std::to_string(seed % 1000 + 10) + "yzx";
	std::match_results<std::string::const_iterator> groups;

	return std::regex_match(text, groups, pattern) ? groups[2].str().size() : 0;
}

template <int Kind> struct Leaf {
	Word<Kind> word;
};

template <int Kind> struct Node {
	std::vector<std::shared_ptr<std::variant<Leaf<Kind>, Node>>> children;
};

template <int Kind> size_t visit(const std::variant<Leaf<Kind>, Node<Kind>> &tree)
{
	struct {
		size_t operator()(const Leaf<Kind> &leaf) const
		{
			return Hash<Kind>()(leaf.word) % 7;
		}
		size_t operator()(const Node<Kind> &node) const
		{
			size_t sum = 1;

			for (const auto &child : node.children)
				sum += visit<Kind>(*child);
			return sum;
		}
	} visitor;

	return std::visit(visitor, tree);
}

template <int Kind> size_t walk(unsigned seed)
{
	std::variant<Leaf<Kind>, Node<Kind>> tree = Node<Kind>{};
	auto &root = std::get<Node<Kind>>(tree);

	for (unsigned i = 0; i < 64; i++)
		root.children.push_back(std::make_shared<std::variant<Leaf<Kind>, Node<Kind>>>(
			Leaf<Kind>{ Word<Kind>(i % 9 + 1, char('a' + (seed + i) % 26)) }));
	return visit<Kind>(tree);
}

template <int Kind> size_t all_kinds(unsigned seed)
{
	size_t sum = count_words<Kind>(seed) + match<Kind>(seed) + walk<Kind>(seed);

	if constexpr (Kind > 0)
		sum += all_kinds<Kind - 1>(seed);
	return sum;
}
} // namespace

#define CONCAT(a, b) a##b
#define PART_NAME(n) CONCAT(part_, n)

size_t PART_NAME(PART)(unsigned seed)
{
	return all_kinds<KINDS>(seed);
}
