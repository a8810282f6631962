import unittest

from solution import slugify


class SlugifyTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slugify("Hello World"), "hello-world")

    def test_accents(self):
        self.assertEqual(slugify("Café au lait!"), "cafe-au-lait")

    def test_runs(self):
        self.assertEqual(slugify("a -- b   c"), "a-b-c")

    def test_ends(self):
        self.assertEqual(slugify("  ...done?  "), "done")

    def test_nothing_left(self):
        self.assertEqual(slugify("!!!"), "")
