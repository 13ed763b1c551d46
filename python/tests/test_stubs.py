"""The type stubs name what the module has, no more and no less."""

import ast
import pathlib
import unittest

import calder
import calder.env

STUBS = pathlib.Path(calder.__file__).with_name("__init__.pyi")


def names_in(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


class Stubs(unittest.TestCase):
    def test_names(self):
        tree = ast.parse(STUBS.read_text(encoding="utf-8"))
        self.assertEqual(sorted(names_in(tree.body)), sorted(calder.__all__))
        for node in tree.body:
            if not isinstance(node, ast.ClassDef) or node.name in ("Error", "Balance", "Contact", "Energy"):
                continue
            kind = getattr(calder, node.name)
            public = {name for name in vars(kind) if not name.startswith("_")}
            self.assertEqual({name for name in names_in(node.body) if not name.startswith("_")}, public)

    def test_environments(self):
        tree = ast.parse(STUBS.with_name("env.pyi").read_text(encoding="utf-8"))
        self.assertEqual(sorted(names_in(tree.body)), sorted(calder.env.__all__))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                kind = getattr(calder.env, node.name)
                public = {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}
                named = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}
                own = {name for name in public if not any(name in vars(base) for base in kind.__mro__[1:-1])}
                self.assertLessEqual(own, named | {"unwrapped"})

    def test_everything_public_is_documented(self):
        for name in calder.__all__:
            thing = getattr(calder, name)
            if not callable(thing):
                continue
            self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and name != "Error" and not member.startswith("n_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")

    def test_marked_as_typed(self):
        self.assertTrue(STUBS.with_name("py.typed").exists())


if __name__ == "__main__":
    unittest.main()
