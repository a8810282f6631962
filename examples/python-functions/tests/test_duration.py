import unittest

from solution import parse_duration


class ParseDurationTest(unittest.TestCase):
    def test_hours_and_minutes(self):
        self.assertEqual(parse_duration("1h30m"), 5400)

    def test_seconds(self):
        self.assertEqual(parse_duration("45s"), 45)

    def test_all(self):
        self.assertEqual(parse_duration("1h1m1s"), 3661)

    def test_refuses(self):
        for text in ["", "h", "10", "30m1h", "1h2h", "1h nonsense", "-5s"]:
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse_duration(text)
