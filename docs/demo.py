"""What `make demo` records: it indexes the words and definitions of Python's own library, searches and saves the index.

It takes SECONDS of wall-clock time (the first argument, 8 without one) and needs nothing but the standard library.
"""
import ast
import collections
import difflib
import gzip
import json
import pathlib
import re
import sqlite3
import sys
import time
import tokenize


def find_definitions(text):
    tree = ast.parse(text)
    return [node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def count_words(text):
    return collections.Counter(word.lower() for word in re.findall(r"[A-Za-z]{4,}", text))


def read_strings(path):
    with tokenize.open(path) as file:
        return [token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.STRING]


def compare(old, new):
    return difflib.SequenceMatcher(None, old[:400], new[:400], autojunk=False).ratio()


def store(db, path, definitions, words):
    db.executemany("INSERT INTO definition VALUES (?, ?)", [(str(path), name) for name in definitions])
    db.executemany("INSERT INTO word VALUES (?, ?, ?)", [(str(path), word, n) for word, n in words.items()])


def search(db):
    return db.execute("""SELECT word, count(DISTINCT path), sum(n) AS total FROM word
                         WHERE word LIKE '%ing' GROUP BY word ORDER BY total DESC, word LIMIT 100""").fetchall()


def save(db):
    rows = db.execute("SELECT path, word, n FROM word").fetchall()
    return gzip.compress(json.dumps(rows).encode())


def main(seconds):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE definition (path TEXT, name TEXT)")
    db.execute("CREATE TABLE word (path TEXT, word TEXT, n INTEGER)")
    end = time.monotonic() + seconds
    before = ""
    while time.monotonic() < end:
        for nr, path in enumerate(sorted(pathlib.Path(ast.__file__).parent.glob("*.py"))):
            if time.monotonic() >= end:
                break
            text = path.read_text(encoding="utf-8", errors="replace")
            store(db, path, find_definitions(text), count_words(text))
            read_strings(path)
            compare(before, text)
            before = text
            if nr % 20 == 19:
                search(db)
        save(db)


main(float(sys.argv[1]) if len(sys.argv) > 1 else 8)
