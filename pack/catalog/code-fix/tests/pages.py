def test_count_even(app):
    return app.page_count(list("abcdef"), 3)


def test_count_rest(app):
    return app.page_count(list("abcdefg"), 2)


def test_count_none(app):
    return app.page_count([], 4)


def test_first(app):
    return app.page(list("abcdefg"), 1, 3)


def test_last(app):
    return app.page(list("abcdefg"), 3, 3)


def test_past_the_end(app):
    return app.page(list("abcdefg"), 4, 3)


def test_before_the_start(app):
    return app.page(list("abcdefg"), 0, 3)


def test_all(app):
    return app.pages(list("abcde"), 2)


def test_size_zero(app):
    return app.page_count(list("abc"), 0)


def test_size_negative(app):
    return app.pages(list("abc"), -2)
